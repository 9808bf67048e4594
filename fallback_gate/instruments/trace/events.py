"""The annex, kernel traces: the events of a Chrome trace, one after another, in bounded memory.

The Trace Event Format is one JSON document of any size: a list of events, or an object that has it under
`traceEvents`. The list is cut at its elements by the decoder itself, a few megabytes of text at a time, so
that a trace of gigabytes needs no more memory than its largest event.

Source: "Trace Event Format", docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from json.scanner import make_scanner
from typing import Any

from fallback_gate.errors import Unreadable
from fallback_gate.sources.reader import Reader

CHUNK = 1 << 22  # bytes read at a time
LARGEST_HEAD = 1 << 25  # characters before the list of events
LARGEST_EVENT = 1 << 25  # characters of one event

_LIST = re.compile(r'(?<!\\)"traceEvents"\s*:\s*\[|\A\s*\[')
_BETWEEN = re.compile(r"[\s,]*")


def events(text: Reader) -> Iterator[dict[str, Any]]:
    """Each event of the trace. Raises `Unreadable` where the text is no trace or ends before its time."""
    more = _characters(text)
    pending, at = _head(more)
    scan = make_scanner(json.JSONDecoder(strict=False))  # type: ignore[arg-type]
    while True:
        try:
            while True:
                at = _BETWEEN.match(pending, at).end()  # type: ignore[union-attr]
                if pending[at : at + 1] == "]":
                    return
                event, at = scan(pending, at)
                if isinstance(event, dict):
                    yield event
        except (StopIteration, json.JSONDecodeError):
            rest = pending[at:]
            if len(rest) > LARGEST_EVENT:
                raise Unreadable(f"not valid JSON from here on: {rest[:60]!r}") from None
            piece = next(more, None)
            if piece is None:
                what = (
                    f"not valid JSON from here on: {rest[:60]!r}" if rest.strip() else "the list has no end"
                )
                raise Unreadable(f"the trace is cut short or damaged: {what}") from None
            pending, at = rest + piece, 0
        except (RecursionError, ValueError) as error:
            raise Unreadable(f"an event can't be read: {error}") from None


def _characters(text: Reader) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    buffer = bytearray(CHUNK)
    while count := text.readinto(buffer):
        yield decoder.decode(bytes(memoryview(buffer)[:count]))


def _head(more: Iterator[str]) -> tuple[str, int]:
    """The text up to and after the start of the list, and where the list starts in it."""
    pending = ""
    for piece in more:
        pending += piece
        found = _LIST.search(pending)
        if found:
            return pending, found.end()
        if len(pending) > LARGEST_HEAD:
            break
    raise Unreadable('no Chrome trace: there is no list of events under "traceEvents"')
