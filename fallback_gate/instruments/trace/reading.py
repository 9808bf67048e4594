"""The annex, kernel traces: from a path to a summary: which format it is, and who reads it."""

from __future__ import annotations

import os
from pathlib import Path

from fallback_gate.errors import InputError, Unreadable
from fallback_gate.instruments.trace import chrome, nsys, tables
from fallback_gate.instruments.trace.events import events
from fallback_gate.instruments.trace.summary import Summary, summarise
from fallback_gate.instruments.trace.timeline import Timeline
from fallback_gate.sources import Source, expand
from fallback_gate.sources.reader import Ahead

LIMIT = 64 << 30  # bytes that a packed trace may hold


def read(path: str | os.PathLike[str], cwd: Path | None = None) -> Summary:
    """Read one trace. What is damaged is read as far as it goes, and `Summary.problem` says so.

    Raises `InputError` where there is no such file or it is no trace.
    """
    return summarise(timeline(path, cwd))


def timeline(path: str | os.PathLike[str], cwd: Path | None = None) -> Timeline:
    """What the trace holds, kernel by kernel. Raises as `read` does."""
    sources, errors = expand([os.fspath(path)], cwd or Path.cwd())
    if errors or len(sources) != 1:
        raise InputError(errors[0] if errors else f"{path}: name one trace")
    found = Timeline()
    file = sources[0].file
    if isinstance(file, Path) and nsys.is_export(file):
        nsys.fill(found, file)
    else:
        _text(found, sources[0])
    return found


def _text(timeline: Timeline, source: Source) -> None:
    with source.open(limit=LIMIT) as stream:
        head = Ahead(stream)
        try:
            start = head.peek(4096)
        except Unreadable as problem:
            raise InputError(f"{source.path}: {problem}") from problem
        if start.lstrip()[:1] in (b"{", b"["):
            chrome.fill(timeline, events(head))
        else:
            tables.fill(timeline, head)
        if not timeline.format or (timeline.problem and not timeline.names and not timeline.totals):
            why = timeline.problem or "no trace of a known format"
            raise InputError(f"{source.path}: {why}; docs/trace.md lists the formats")
