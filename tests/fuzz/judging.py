"""Fuzzing: one input judged in this process, as `check` does it, without the policy being read anew each time."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from functools import cache, partial
from pathlib import Path

from fallback_gate.compilers.book import Book
from fallback_gate.compilers.log import read_log
from fallback_gate.judging.files import Names
from fallback_gate.judging.judge import judge
from fallback_gate.judging.terms import Options, Terms, terms
from fallback_gate.model import Verdict
from fallback_gate.reading.run import Reading, Run, read, traces
from fallback_gate.reading.workers import read_apart
from fallback_gate.scan.window import Scan
from fallback_gate.sources import Source, expand
from fallback_gate.sources.reader import Buffer, Reader
from fallback_gate.sources.stream import Stream
from fallback_gate.sources.traces import is_trace

TODAY = date(2026, 11, 30)
NAME = "compile.log"


@cache
def strict() -> Terms:
    """The rule that blocks whatever falls back."""
    return terms(Names("builtin:strict"), Options(TODAY), Path(), {})


@cache
def folder() -> Path:
    """Where inputs are written: in memory, where there is such a place."""
    shared = Path("/dev/shm")
    place = Path(
        tempfile.mkdtemp(prefix="fallback-gate-fuzz-", dir=shared if os.access(shared, os.W_OK) else None)
    )
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def put(data: bytes, name: str = NAME) -> str:
    """Write an input."""
    place = folder() / name
    place.write_bytes(data)
    return str(place)


def judged(data: bytes, name: str = NAME) -> Verdict:
    """The verdict on one log."""
    return _verdict(put(data, name), _whole)


def judged_in_pieces(data: bytes, stored: int, text: int, name: str = NAME) -> Verdict:
    """The same, where the file gives at most `stored` bytes a read, and the window takes `text`."""
    return _verdict(put(data, name), partial(_in_pieces, stored=stored, text=text))


def judged_apart(data: bytes, name: str = NAME) -> Verdict:
    """The same, as a worker reads it: with its reports on their way to a fold elsewhere."""
    return _verdict(put(data, name), _apart)


def _verdict(path: str, how: object) -> Verdict:
    sources, errors = expand([path], Path())
    run, book = Run(), strict().book
    for source in (one for one in sources if not is_trace(one)):
        run.take(source, how(source, book, run))  # type: ignore[operator]
    for source in traces(run, sources):
        run.take(source, how(source, book, run))  # type: ignore[operator]
    return judge(run, strict(), errors)


def _whole(source: Source, book: Book, run: Run) -> Reading:
    return read(source, book, run.fold.add)


def _apart(source: Source, book: Book, run: Run) -> Reading:
    batches: list[object] = []
    reading = read_apart(source, None, book, batches.append, None, False)
    assert isinstance(reading, Reading)
    for batch in batches:
        for report, process, times in batch:  # type: ignore[attr-defined]
            run.fold.add(report, process, times)
    return reading


class Pieces:
    """A reader that gives a few bytes at a time."""

    def __init__(self, reader: Reader, most: int) -> None:
        self._reader, self._most = reader, most

    def readinto(self, buffer: Buffer, /) -> int:
        """At most so many."""
        return self._reader.readinto(memoryview(buffer)[: self._most])


def _in_pieces(source: Source, book: Book, run: Run, stored: int, text: int) -> Reading:
    @contextmanager
    def opened() -> Iterator[Reader]:
        with source.stored() as whole:
            yield Pieces(whole, stored)

    counted = not source.rereadable
    with Stream(opened, 1 << 30, trace=source.trace, looks=True) as stream:
        scan = Scan(book.anchors, Pieces(stream, text), count_lines=counted, look=stream.look)
        said = read_log(source.path, scan, book, run.fold.add)
    return Reading(said, counted, stream.as_stored, stream.seal)
