"""The side door: the log of a recording: whole lines of each stream in the order of their arrival, hashed.

Two streams never tear each other's lines: what has no line feed yet waits for it, up to `LONGEST` bytes. The
file is written as the output comes, so that it can be read whatever happens; the trailer, which alone makes
it proof, comes last.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from fallback_gate.sources import seal

LONGEST = 1 << 20  # bytes of a line that are waited for
MOST_WAITING = 8 << 20  # bytes that wait while the other stream is within such a line


class Log:
    """The file at `path`, opened anew. Raises `OSError` where it can't be.

    `problem` says why writing stopped, a full disk say: from then on nothing is written, and the log stays
    without its trailer. `added`: line feeds that the command did not print, after a last line without one.
    """

    def __init__(self, path: Path, key: bytes | None) -> None:
        self.problem: str | None = None
        self.lines = self.bytes = self.added = 0
        self._path = path
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115
        self._keyed = key is not None
        self._hash = seal.hasher(key)
        self._lock = Lock()
        self._open = True  # the streams may still write
        self._waiting: dict[int, bytearray] = {}
        self._within: int | None = None  # the stream whose long line stands unfinished in the file

    def header(self, facts: Mapping[str, Any]) -> None:
        """Write the first line."""
        line = seal.header(facts)
        self._put(line)
        self.lines = self.bytes = 0

    def write(self, stream: int, chunk: bytes) -> None:
        """Take what one stream printed. Never raises; may be called from several threads."""
        with self._lock:
            if not self._open:
                return
            waiting = self._waiting.setdefault(stream, bytearray())
            if self._within not in (None, stream) and len(waiting) < MOST_WAITING:
                waiting += chunk
                return
            cut = chunk.rfind(b"\n") + 1
            if not cut:
                waiting += chunk
                if len(waiting) < LONGEST:
                    return
                cut, self._within = 0, stream
                self._release(stream)
                return
            self._release(stream)
            self._put(memoryview(chunk)[:cut])
            waiting += memoryview(chunk)[cut:]
            if self._within == stream:
                self._within = None
                for other in self._waiting:
                    self._release_lines(other)

    def finish(self, closings: Iterable[bytes]) -> int:
        """Write what still waits, then the closing records, each a line; how many those were."""
        with self._lock:
            self._open = False
            if self._within is not None:
                self._release(self._within)
                self._end_line()
            for stream, waiting in self._waiting.items():
                if waiting:
                    unfinished = not waiting.endswith(b"\n")
                    self._release(stream)
                    if unfinished:
                        self._end_line()
            count = 0
            for line in closings:
                self._put(line + b"\n")
                count += 1
            return count

    def seal(self, facts: Mapping[str, Any]) -> None:
        """Write the trailer; nothing where writing failed before, or where another file has the name now."""
        with self._lock:
            self._open = False
            if self.problem is None and not self._is_there():
                self.problem = (
                    "something took the log away, or put another file in its place, as it was written"
                )
            if self.problem is None:
                self._put(seal.trailer(facts, self._hash, self._keyed), hashed=False)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._open = False
            try:
                self._file.close()
            except OSError as error:
                self.problem = self.problem or _why(error)

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._file.fileno()))
        except OSError:
            return False

    def _end_line(self) -> None:
        self._put(b"\n")
        self.added += 1

    def _release(self, stream: int) -> None:
        waiting = self._waiting.get(stream)
        if waiting:
            self._put(bytes(waiting))
            waiting.clear()

    def _release_lines(self, stream: int) -> None:
        waiting = self._waiting[stream]
        cut = waiting.rfind(b"\n") + 1
        if cut:
            self._put(bytes(waiting[:cut]))
            del waiting[:cut]

    def _put(self, data: bytes | memoryview, *, hashed: bool = True) -> None:
        if self.problem is not None or not data:
            return
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
        except OSError as error:
            self.problem = _why(error)
            return
        if hashed:
            self._hash.update(data)
        self.bytes += len(data)
        self.lines += bytes(data).count(b"\n")


def _why(error: OSError) -> str:
    return f"the log could not be written on: {error.strerror or error}"
