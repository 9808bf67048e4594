"""Room 1: readers, the one shape in which bytes move through this room.

A reader fills the caller's buffer and says how many bytes it wrote; 0 is the end. `FileReader` takes them
from the operating system, `Chunks` from a generator that unpacks or transcodes, and `Ahead` lets us look
at the first bytes of either before anyone reads them. `chunks` is the way back, from a reader to a generator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from fallback_gate.errors import Unreadable

Buffer = bytearray | memoryview


class Reader(Protocol):
    """Anything that fills a buffer; raises `Unreadable` where the bytes end before their time."""

    def readinto(self, buffer: Buffer, /) -> int:
        """Write up to `len(buffer)` bytes into the buffer; the number written, 0 at the end."""


class RawFile(Protocol):
    """A binary file object; None from `readinto` means that a non-blocking file has nothing yet."""

    def readinto(self, buffer: Buffer, /) -> int | None:
        """As `io.RawIOBase.readinto`."""


MOST_GROWN = 1 << 30  # bytes that a file may gain while it is read
LONGEST = 1 << 20  # bytes without a line feed that are taken for a line
_READ = 256 << 10


class FileReader:
    """Bytes from the operating system. `expected` is the size in bytes when the file was opened; None for
    what has no size, such as a pipe. A file that is written on is read to the end that it has by then, unless
    it grows without end."""

    def __init__(self, file: RawFile, expected: int | None = None) -> None:
        self._file = file
        self._expected = expected
        self._taken = 0

    def readinto(self, buffer: Buffer, /) -> int:
        """Read once; an error of the operating system, or a file that shrank, is `Unreadable`."""
        try:
            count = self._file.readinto(buffer)
        except OSError as error:
            raise Unreadable(f"reading failed at byte {self._taken:,}: {error.strerror or error}") from error
        if count is None:
            raise Unreadable(f"input is non-blocking and had nothing to read at byte {self._taken:,}")
        self._taken += count
        if self._expected is None:
            return count
        if self._taken > self._expected + MOST_GROWN:
            raise Unreadable(
                f"grew by more than {MOST_GROWN:,} bytes while it was read: check it once its writer is "
                "done, or follow it with `fallback-gate watch`"
            )
        if not count and self._taken < self._expected:
            raise Unreadable(
                f"shrank while it was read: {self._taken:,} of {self._expected:,} bytes were left"
            )
        return count


class Chunks:
    """Bytes from an iterator of chunks, none of which needs to fit the caller's buffer."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readinto(self, buffer: Buffer, /) -> int:
        """Copy what is left of the current chunk, or of the next one that is not empty."""
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        count = min(len(self._rest), len(buffer))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def chunks(reader: Reader, size: int = _READ) -> Iterator[bytes]:
    """All that a reader gives, at most `size` bytes at a time."""
    buffer = bytearray(size)
    while count := reader.readinto(buffer):
        yield bytes(buffer[:count])


def whole_lines(reader: Reader) -> Iterator[bytes]:
    """The text in blocks of whole lines; a line longer than `LONGEST` comes in parts."""
    rest = b""
    for chunk in chunks(reader):
        block = rest + chunk
        cut = block.rfind(b"\n") + 1
        if not cut and len(block) > LONGEST:
            cut = len(block)
        if cut:
            yield block[:cut]
        rest = block[cut:]
    if rest:
        yield rest


class Ahead:
    """A reader whose first bytes can be looked at before they are read.

    `enough`: asked before more is awaited, whether what is there must do for a look; `short` says that it
    did.
    """

    def __init__(self, reader: Reader, enough: Callable[[], bool] = lambda: False) -> None:
        self._reader = reader
        self._enough = enough
        self._head = b""
        self._failure: Unreadable | None = None
        self._ended = False
        self.short = False

    def peek(self, size: int) -> bytes:
        """The next bytes: `size` of them, or fewer where the end, or trouble, comes first.

        Trouble is kept for the reader who gets there, after what came before it.
        """
        head = bytearray(self._head)
        room = bytearray(size)
        while len(head) < size and self._failure is None and not self._ended:
            if head and self._enough():
                self.short = True
                break
            try:
                count = self._reader.readinto(memoryview(room)[: size - len(head)])
            except Unreadable as failure:
                self._failure = failure
                break
            self._ended = not count
            head += room[:count]
        self._head = bytes(head)
        return self._head

    def skip(self, size: int) -> None:
        """Drop bytes that were peeked at."""
        self._head = self._head[size:]

    def readinto(self, buffer: Buffer, /) -> int:
        """First what was peeked at, then straight from the reader behind."""
        if self._head:
            count = min(len(self._head), len(buffer))
            buffer[:count] = self._head[:count]
            self._head = self._head[count:]
            return count
        if self._failure is not None:
            raise self._failure
        if self._ended:
            return 0
        return self._reader.readinto(buffer)


class Told:
    """A reader that tells how many bytes it gave so far."""

    def __init__(self, reader: Reader, tell: Callable[[int], None]) -> None:
        self._reader, self._tell = reader, tell
        self._given = 0

    def readinto(self, buffer: Buffer, /) -> int:
        """As the reader's."""
        count = self._reader.readinto(buffer)
        self._given += count
        self._tell(self._given)
        return count
