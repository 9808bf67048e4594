"""Room 1: a log that is still being written: readers that wait for more, where others end.

A file may not be there yet, may be moved away while a new one takes its name, or be cut to nothing under
its writer: it is read on as one text. What its writer may have put where nobody reads any more makes it
`Unreadable` at the end, after what could be read. A pipe ends when its writer does.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fallback_gate.errors import Unreadable
from fallback_gate.sources import compression
from fallback_gate.sources.reader import Buffer, Reader
from fallback_gate.sources.stream import Stream

POLL = 0.2  # seconds
SETTLED = 1.0  # seconds without a byte after which what stands there is taken for whole
LONGEST_LOOK = 5.0  # seconds after which the first bytes must do, however many
_KEPT = 64  # bytes before the place of reading that must be the same ever after
_MOST_LEFT = 8  # files that were moved away and are kept open
_PIPED = 64 << 10  # bytes a read
_CUT = "was cut short while it was followed: what its writer wrote just before may never have been read"
_LATE = "was moved away while it was followed, and written to after that: those lines were not read"


@dataclass(slots=True)
class Ending:
    """When readers stop to wait. `drain`: read what is there, then end; `stop`: end at once."""

    drain: threading.Event = field(default_factory=threading.Event)
    stop: bool = False

    def now(self) -> None:
        """End at once."""
        self.stop = True
        self.drain.set()


class Feed(Protocol):
    """Where bytes come from that are not all there yet."""

    over: bool  # nothing will come any more

    def take(self, buffer: Buffer, *, last: bool) -> int:
        """Write what is there into the buffer; 0 where nothing is there now, or (`last`) nothing is left.

        Raises `Unreadable`.
        """

    def leave(self) -> None:
        """Close it. Raises `Unreadable` where something of it was never read."""


class Followed:
    """A reader of a feed, which waits for more. `waiting` is called while nothing comes, from the thread of
    the reader."""

    def __init__(self, feed: Feed, ending: Ending) -> None:
        self._feed, self._ending = feed, ending
        self.waiting: Callable[[], None] = lambda: None
        self._next = b""  # taken already, by `enough`
        self._failure: Unreadable | None = None
        self._first: float | None = None  # when the first bytes came
        self.moved = time.monotonic()

    @property
    def quiet(self) -> float:
        """For how long nothing came, in seconds."""
        return time.monotonic() - self.moved

    def readinto(self, buffer: Buffer, /) -> int:
        """Wait for bytes; 0 once the feed is over or the ending has come."""
        if self._next:
            count = min(len(self._next), len(buffer))
            buffer[:count] = self._next[:count]
            self._next = self._next[count:]
            return count
        if self._failure is not None:
            raise self._failure
        while not self._ending.stop:
            last = self._ending.drain.is_set() or self._feed.over
            count = self._feed.take(buffer, last=last)
            if count:
                self.moved = time.monotonic()
                return count
            if last:
                break
            self.waiting()
            self._ending.drain.wait(POLL)
        self._feed.leave()
        return 0

    def enough(self) -> bool:
        """Whether nothing comes for so long that the first bytes must do. Waits to find out."""
        room = bytearray(_PIPED)
        self._first = self._first or time.monotonic()
        while not (self._next or self._feed.over or self._ending.drain.is_set()):
            try:
                count = self._feed.take(room, last=False)
            except Unreadable as failure:
                self._failure = failure
                return False
            if count:
                self._next, self.moved = bytes(room[:count]), time.monotonic()
            elif self.quiet > SETTLED or time.monotonic() - self._first > LONGEST_LOOK:
                return True
            else:
                self._ending.drain.wait(POLL)
        return False

    def open(self, key: bytes | None) -> Stream:
        """Its text; as `Source.open`."""
        return Stream(self._opened, compression.LIMIT, key, looks=True, enough=self.enough)

    @contextmanager
    def _opened(self) -> Iterator[Reader]:
        yield self


class GrowingFile:
    """A file that is written to. `there`: it was seen."""

    over = False

    def __init__(self, place: Path) -> None:
        self.there = False
        self._place = place
        self._file: int | None = None
        self._taken = 0  # bytes of the file that is open
        self._before = b""  # the last of them
        self._left: list[tuple[int, int]] = []  # files that were moved away, and how much of each was read
        self._problem = ""
        self._since: float | None = None  # when another file was first seen under the name

    def take(self, buffer: Buffer, *, last: bool) -> int:
        """What was added; a line feed behind a file that ended without one, where another one follows."""
        try:
            while self._file is not None or self._open():
                assert self._file is not None
                if not self._is_as_read():
                    self._problem = self._problem or _CUT
                    os.lseek(self._file, 0, os.SEEK_SET)
                elif data := os.read(self._file, len(buffer)):
                    self._taken += len(data)
                    self._before = (self._before + data[-_KEPT:])[-_KEPT:]
                    buffer[: len(data)] = data
                    return len(data)
                elif self._is_replaced(last=last):
                    self._left.append((self._file, self._taken))
                    self._file = None
                    if len(self._left) > _MOST_LEFT:
                        self._leave_first()
                else:
                    return 0
                torn = bool(self._before) and not self._before.endswith(b"\n")
                self._taken, self._before = 0, b""
                if torn:
                    buffer[:1] = b"\n"
                    return 1
        except OSError as error:
            raise Unreadable(f"reading failed at byte {self._taken:,}: {error.strerror or error}") from error
        return 0

    def leave(self) -> None:
        """Close all. Raises `Unreadable` where the writer may have written what nobody read."""
        while self._left:
            self._leave_first()
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if self._problem:
            raise Unreadable(self._problem)

    def _open(self) -> bool:
        try:
            self._file = os.open(self._place, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except FileNotFoundError:
            return False
        except OSError as error:
            raise Unreadable(f"can't be opened: {error.strerror or error}") from error
        self.there, self._since = True, None
        return True

    def _is_as_read(self) -> bool:
        """Whether what was read still stands in the file."""
        assert self._file is not None
        if os.fstat(self._file).st_size < self._taken:
            return False
        os.lseek(self._file, self._taken - len(self._before), os.SEEK_SET)
        return os.read(self._file, len(self._before)) == self._before if self._before else True

    def _is_replaced(self, *, last: bool) -> bool:
        """Whether another file has the name, and the writer had time to change over."""
        assert self._file is not None
        try:
            now = os.stat(self._place)
        except OSError:
            return False
        if os.path.samestat(now, os.fstat(self._file)):
            return False
        self._since = self._since or time.monotonic()
        return last or time.monotonic() - self._since > SETTLED

    def _leave_first(self) -> None:
        file, taken = self._left.pop(0)
        if os.fstat(file).st_size != taken:
            self._problem = self._problem or _LATE
        os.close(file)


class Pipe:
    """Standard input, or a pipe with a name. A thread of its own waits at it, as no system can be asked
    alike whether something is there."""

    def __init__(self, place: Path | None) -> None:
        self.over = False
        self._place = place
        self._chunks: queue.Queue[bytes | OSError] = queue.Queue(8)
        self._rest = b""
        threading.Thread(target=self._pump, daemon=True).start()

    def take(self, buffer: Buffer, *, last: bool) -> int:
        """What came."""
        if not self._rest and not self.over:
            try:
                chunk = self._chunks.get_nowait()
            except queue.Empty:
                return 0
            if isinstance(chunk, OSError):
                self.over = True
                raise Unreadable(f"reading failed: {chunk.strerror or chunk}") from chunk
            self._rest, self.over = chunk, not chunk
        count = min(len(self._rest), len(buffer))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def leave(self) -> None:
        """Leave it to its writer."""

    def _pump(self) -> None:
        try:
            file = os.open(self._place, os.O_RDONLY) if self._place else sys.stdin.fileno()
            while chunk := os.read(file, _PIPED):
                self._chunks.put(chunk)
            self._chunks.put(b"")
        except (OSError, ValueError) as error:
            self._chunks.put(error if isinstance(error, OSError) else OSError(str(error)))
