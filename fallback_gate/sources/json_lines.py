"""Room 1: a log that a collector or a logger keeps as one JSON object a line, as the lines that were written.

    {"@timestamp": "2026-11-30T12:00:00Z", "message": "V1130 ... Graph break in ...", "host": {"name": "n1"}}

The text is under `message` (Elasticsearch, Vector, CloudWatch, most loggers), `MESSAGE` (journald),
`textPayload` (Google Cloud), `event` (structlog), `msg` or `line`, on its own or within `jsonPayload` or
`attributes`. A text of more lines stays one, with carriage returns, so that line feeds still count physical
lines. A record of PyTorch's loggers gets level and name in front, as `logging` does by default. Docker's
json-file driver, which cuts lines in pieces, is `reassembly`'s own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

_TEXTS = ("message", "MESSAGE", "textPayload", "event", "msg", "line")
_WITHIN = ("jsonPayload", "attributes")
_HOSTS = (
    ("kubernetes", "pod_name"),
    ("kubernetes", "pod", "name"),
    ("resource", "labels", "pod_name"),
    ("_HOSTNAME",),
    ("hostname",),
    ("host", "name"),
    ("host",),
)
_TOLD = re.compile(rb'"(?:' + "|".join(_TEXTS).encode() + rb')"\s?:\s?"')
_LONGEST = 1 << 20  # bytes of one line


def are_in(head: bytes) -> bool:
    """Whether a text that starts with these bytes is such a log, by its first line."""
    return _plain(head.lstrip().partition(b"\n")[0]) is not None


def plain_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines that were written; what is no such object stays as it is."""
    for block in blocks:
        lines = ((line, _plain(line)) for line in block.split(b"\n"))
        yield b"\n".join(line if text is None else text for line, text in lines)


def _plain(line: bytes) -> bytes | None:
    if not line.startswith(b"{") or len(line) > _LONGEST or not _TOLD.search(line):
        return None
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    for part in (said, *(said.get(key) for key in _WITHIN)):
        text = _first(part, _TEXTS) if isinstance(part, dict) else None
        if text is not None:
            lines = text.rstrip("\r\n").replace("\n", "\r")
            return f"{_host(said)}{_opening(part)}{lines}".encode("utf-8", "replace")
    return None


def _first(said: dict[str, Any], keys: Iterable[str]) -> str | None:
    """The first of these that is a text."""
    return next((said[key] for key in keys if isinstance(said.get(key), str)), None)


def _opening(said: dict[str, Any]) -> str:
    """Level and name of PyTorch's logger."""
    name = _first(said, ("name", "logger", "logger_name")) or ""
    level = (_first(said, ("levelname", "level")) or "INFO").upper()
    return f"{level}:{name}:" if name.split(".")[0] == "torch" else ""


def _host(said: Any) -> str:
    """The envelope that names the machine or the pod, where the object tells it."""
    for path in _HOSTS:
        found = said
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, str) and found.isprintable() and 0 < len(found) < 254:
            return f"\x1e{found}\x1e"
    return ""
