"""Room 1: a large plain file in parts, for several processes to read.

Whoever reads a part sees it just as it would have come up in one reading of the whole: its reads end at the
same bytes, and the lines before and behind are there. Only a text that stands in the file as it is can be
parted, since all else is known from its start on: what is packed, transcoded, put together or sealed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from fallback_gate.errors import Unreadable
from fallback_gate.sources import binary, seal, sealed
from fallback_gate.sources.envelope import branches
from fallback_gate.sources.later import SIGNS
from fallback_gate.sources.reader import Ahead, Buffer, Reader
from fallback_gate.sources.source import Source

STEP = 1 << 20  # bytes a read, of whoever reads a text from its start
FIRST = 128 << 10  # bytes until its reads are that long
HISTORY = 32 << 10  # bytes before a part that a record may look back at
_LINE = 64 << 10  # bytes in which a line must end, for a part to begin behind it


class Part(NamedTuple):
    """A part of a text: lines that start at the offsets from `first` up to `stop` (None: the end) are its
    own. `begin` is where its first read ends that would be one in the whole; `branches` are those that the
    text announces at its start.
    """

    begin: int
    first: int
    stop: int | None
    branches: tuple[str, ...]


def split(source: Source, size: int) -> list[Part]:
    """Parts of about so many bytes; none where the text is too small, or can't be parted."""
    if source.size is None or source.size < 2 * size or source.trace or not source.rereadable:
        return []
    steps = range(FIRST + size // STEP * STEP, source.size - size // 2, size // STEP * STEP)
    try:
        with source.stored() as file:
            stored = Ahead(file)
            head = stored.peek(binary.HEAD)
            if _needs_all(source, head):
                return []
            binary.refuse(head)
            announced = branches(head)
        starts = [(begin, first) for begin in steps if (first := _line_from(source, begin)) is not None]
    except Unreadable:
        return []
    if not starts:
        return []
    stops = [first for _, first in starts]
    begins = [(0, 0), *starts]
    return [Part(*at, stop, announced) for at, stop in zip(begins, [*stops, None], strict=True)]


def _needs_all(source: Source, head: bytes) -> bool:
    """Whether the text is sealed, or was once: then only the whole of it can be verified; or changes its
    form, as one with colour codes does."""
    if seal.HEADER.encode() in head.partition(b"\n")[0] or any(sign in head for sign in SIGNS):
        return True
    with source.stored(from_byte=max(0, (source.size or 0) - sealed.TAIL)) as file:
        return sealed.ended(Ahead(file).peek(2 * sealed.TAIL))


def _line_from(source: Source, begin: int) -> int | None:
    """Where the first line starts behind an offset."""
    with source.stored(from_byte=begin) as file:
        at = Ahead(file).peek(_LINE).find(b"\n")
    return None if at < 0 else begin + at + 1


@contextmanager
def reader(source: Source, part: Part) -> Iterator[Reader]:
    """Reads the text from a little before the part on: the first read ends at `begin`."""
    with source.stored(from_byte=max(0, part.begin - HISTORY)) as file:
        yield _Stepped(file, HISTORY if part.begin else FIRST)


class _Stepped:
    def __init__(self, file: Reader, first: int) -> None:
        self._file, self._left = file, first

    def readinto(self, buffer: Buffer, /) -> int:
        if self._left:
            buffer = memoryview(buffer)[: self._left]
        count = self._file.readinto(buffer)
        self._left -= min(count, self._left)
        return count
