"""Room 1: a log that a collector or a logger keeps as one JSON object a line, as the lines that were written.

    {"@timestamp": "2026-11-30T12:00:00Z", "message": "V1130 ... Graph break in ...", "host": {"name": "n1"}}

The text is under `message` (Elasticsearch, Vector, CloudWatch, most loggers), `MESSAGE` (journald),
`textPayload` (Google Cloud), `event` (structlog), `msg` or `line`, on its own or within `jsonPayload` or
`attributes`, or else in any string of the object; a logger's traceback stands beside it. A text of more
lines comes out as so many, of which all but the last end in `GOES_ON`: they are one physical line. Where the
name of its logger tells what a message is, it gets level and name in front, as `logging` does by default.
Docker's json-file driver, which cuts lines in pieces, is `joining`'s own. What a line says that can't be
taken apart, nobody knows: such a text ends in `Unreadable`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from fallback_gate.errors import Unreadable
from fallback_gate.sources.envelope import GOES_ON, is_glog, unwrap
from fallback_gate.sources.reader import LONGEST

_TEXTS = ("message", "MESSAGE", "textPayload", "event", "msg", "line")
_BESIDE = ("exc_info", "exc_text", "exception", "traceback", "stack_trace", "stack")
_WITHIN = ("jsonPayload", "attributes", "error")
_HOSTS = (
    ("kubernetes", "pod_name"),
    ("kubernetes", "pod", "name"),
    ("resource", "labels", "pod_name"),
    ("_HOSTNAME",),
    ("hostname",),
    ("host", "name"),
    ("host",),
)
_OPENS = re.compile(rb'\{\s*"')
_OPENS_NEXT = re.compile(r'\{\s*"')
_BETWEEN = re.compile(r"[\s,\[\]]*")
_TEXT = re.compile(rb'"(?:' + "|".join(_TEXTS).encode() + rb')"\s*:\s*("(?:[^"\\]|\\.)*")')
_BRACE = '{"'
_LOGGERS = frozenset(  # of PyTorch and TVM: what they say is known by who says it
    ("torch", "TensorRT", "autotvm", "te_compiler", "compile_engine", "strategy", "auto_scheduler", "topi")
)
_FAR = 1024  # bytes from the start of a line in which its envelopes stand
_MOST_LINES = 20_000  # of one text
_MORE = GOES_ON.decode()


def are_in(head: bytes, *, within: bool | None) -> bool:
    """Whether a text that starts with these bytes is such a log: one of its first lines is such an object.

    `within`: whether that stands in an envelope; None where either will do.
    """
    found = (_objects(line) for line in head.split(b"\n"))
    return any(within in (None, bool(around)) and any(map(_texts, said)) for around, said, _ in found)


def plain_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines that were written; what is no such object stays as it is.

    Raises `Unreadable` at the end, where a line looks like one and is none.
    """
    given, lost = 1, None
    for block in blocks:
        lines, at = plain(block)
        lost = given + at if lost is None and at is not None else lost
        given += block.count(b"\n")
        yield lines
    if lost is not None:
        raise Unreadable(
            f"line {lost:,} holds a JSON object that is cut, broken, longer than {LONGEST:,} bytes or "
            "without its text, so that what it says is lost: export the log again (journalctl needs --all)"
        )


def plain(block: bytes) -> tuple[bytes, int | None]:
    """The same of one block; and the first of its lines, counted from 0, of which something is lost."""
    lines = [_plain(line) for line in block.split(b"\n")]
    return b"\n".join(text for text, _ in lines), next(
        (at for at, (_, whole) in enumerate(lines) if not whole), None
    )


def _plain(line: bytes) -> tuple[bytes, bool]:
    """What a line says, and whether that is all."""
    around, said, whole = _objects(line)
    if not said:
        return (GOES_ON + b"\n").join((line, *_salvaged(line))), whole
    lines: list[str] = []
    for one in said:
        texts = [*_texts(one)]
        if texts:
            texts += _beside(one)
        else:
            lines += () if lines else (line.decode("utf-8", "replace"),)
            whole &= one.get("MESSAGE", "") is not None
            if "log" not in one:  # which is Docker's
                texts = [text for text in _strings(one) if " " in text]
        opening = around + _host(one)
        for text in dict.fromkeys(texts):
            lines += [opening + part for part in _lines(text)]
    return f"{_MORE}\n".join(lines).encode("utf-8", "replace"), whole


def _objects(line: bytes) -> tuple[str, list[dict[str, Any]], bool]:
    """The envelopes around the objects of a line, the objects, and whether there is nothing else."""
    start = _OPENS.search(line, 0, _FAR) if b"{" in line else None
    if start is None:
        return "", [], True
    around = line[: start.start()].decode("utf-8", "replace").lstrip(" \t,[\ufeff")
    if around and unwrap(around + _BRACE)[0] != _BRACE:
        return "", [], True
    text, at = line[start.start() :].decode("utf-8", "replace"), 0
    said: list[dict[str, Any]] = []
    try:
        while _OPENS_NEXT.match(text, at):
            one, at = _DECODER.raw_decode(text, at)
            said.append(one)
            at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
    except (ValueError, RecursionError):
        return around, said, False
    return around, said, at == len(text)


def _salvaged(line: bytes) -> Iterator[bytes]:
    """The texts of a line that is no whole object: cut at its start, or behind words that are no envelope."""
    found = _TEXT.findall(line)
    if found and not is_glog(unwrap(line.decode("utf-8", "replace"))[0]):  # which may quote an object
        for text in found:
            try:
                said = _DECODER.decode(text.decode("utf-8", "replace"))
            except ValueError:
                said = text[1:-1].decode("utf-8", "replace")
            yield from (one.encode("utf-8", "replace") for one in _lines(said))


def _lines(text: str) -> Iterator[str]:
    """The lines of a text; beyond a bound they stay one."""
    parts = text.rstrip("\r\n").replace(_MORE, " ").split("\n", _MOST_LINES)
    return (part.replace("\n", "\r") for part in parts)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; what one name is given more than once is a list."""
    said = dict(pairs)
    if len(said) < len(pairs):
        said = {name: [value for key, value in pairs if key == name] for name in said}
    return said


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_once)


def _texts(said: dict[str, Any]) -> list[str]:
    """What an object says, with level and name of its logger where they tell more."""
    told = ((part, key, part[key]) for part in _parts(said) for key in _TEXTS if key in part)
    return [
        _opening(part) + text
        for part, key, value in told
        if not (key in ("event", "line") and isinstance(value, dict))  # Elasticsearch's own
        for text in _strings(value)
    ]


def _beside(said: dict[str, Any]) -> list[str]:
    """The traceback that stands beside the text."""
    return [text for part in _parts(said) for key in _BESIDE if key in part for text in _strings(part[key])]


def _parts(said: dict[str, Any]) -> list[dict[str, Any]]:
    """The object, and what else of it may hold the text."""
    return [part for part in (said, *map(said.get, _WITHIN)) if isinstance(part, dict)]


def _strings(said: Any) -> Iterator[str]:
    """All strings within, of objects in strings too."""
    left = [said]
    while left:
        one = left.pop()
        if isinstance(one, str):
            _, inner, whole = _objects(one.encode("utf-8", "replace"))
            if inner and whole:
                left += inner
            else:
                yield one
        elif isinstance(one, dict):
            left += reversed(one.values())
        elif isinstance(one, list):
            try:
                yield bytes(one).decode("utf-8", "replace")  # journald's, where it is not printable
            except (TypeError, ValueError):
                left += reversed(one)


def _first(said: dict[str, Any], keys: Iterable[str]) -> str | None:
    """The first of these that is a text."""
    return next((said[key] for key in keys if isinstance(said.get(key), str)), None)


def _opening(said: dict[str, Any]) -> str:
    """Level and name of the logger, where they tell what the message is."""
    name = _first(said, ("name", "logger", "logger_name")) or ""
    level = (_first(said, ("levelname", "level")) or "INFO").upper()
    return f"{level}:{name}:" if name.partition(".")[0] in _LOGGERS else ""


def _host(said: Any) -> str:
    """The envelope that names the machine or the pod, where the object tells it."""
    for path in _HOSTS:
        found = said
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, str) and found.isprintable() and 0 < len(found) < 254:
            return f"\x1e{found}\x1e"
    return ""
