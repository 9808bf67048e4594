"""The annex: the lines of a file, whatever it is packed in, and never all of it in memory."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from fallback_gate.errors import InputError, Unreadable
from fallback_gate.sources import Source
from fallback_gate.sources.reader import Reader

LIMIT: Final = 8 << 30  # bytes of text that one file may hold
MOST_JSON: Final = 512 << 20  # bytes of a document that has to be in memory as a whole
MOST_FIELD: Final = 1 << 20  # characters of one line or one field

__all__ = ["Bytes", "Unreadable", "document", "lines", "lines_of", "rows", "size", "text_of"]


class Bytes(io.RawIOBase):
    """A reader of ours as Python's own want it."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """As the reader does."""
        return self._reader.readinto(buffer)


def size(path: str) -> int:
    """Bytes on disk. Raises `InputError` for what is no readable file."""
    try:
        if not os.path.isfile(path):
            what = "a pipe or a device, which can't be read twice" if os.path.exists(path) else "no such file"
            raise InputError(f"{path}: {'a folder' if os.path.isdir(path) else what}; name a file")
        with open(path, "rb"):
            return os.path.getsize(path)
    except OSError as problem:
        raise InputError(f"cannot read {path}: {problem.strerror}") from None


def lines(path: str, limit: int = LIMIT) -> Iterator[str]:
    """The lines without their ends, UTF-8 or UTF-16, plain or packed as gz, xz, bz2, zst.

    Raises `InputError` for a file that can't be opened, and `Unreadable` where it ends before its time, is
    binary, or holds an endless line.
    """
    yield from lines_of(Source(path, named=True, size=size(path), file=Path(path)), limit)


def lines_of(source: Source, limit: int = LIMIT) -> Iterator[str]:
    """As `lines`, of a source that was found already. Raises `Unreadable`."""
    with source.open(limit=limit) as stream:
        text = io.TextIOWrapper(io.BufferedReader(Bytes(stream)), encoding="utf-8-sig", errors="replace")
        while line := text.readline(MOST_FIELD):
            if len(line) == MOST_FIELD:
                raise Unreadable(f"a line of more than {MOST_FIELD:,} characters")
            yield line.rstrip("\r\n")


def rows(source: Iterator[str]) -> Iterator[list[str]]:
    """The rows of a CSV file. Raises `Unreadable` for what is none."""
    try:
        yield from csv.reader(source)
    except csv.Error as wrong:
        raise Unreadable(f"no CSV: {wrong}") from None


def document(path: str) -> str:
    """The whole text of a file that has to be read as one. Raises as `lines` does."""
    return text_of(Source(path, named=True, size=size(path), file=Path(path)))


def text_of(source: Source) -> str:
    """As `document`, of a source that was found already. Raises `Unreadable`."""
    with source.open(limit=MOST_JSON) as stream:
        data = io.BufferedReader(Bytes(stream)).read(MOST_JSON + 1)
    if len(data) > MOST_JSON:
        raise Unreadable(f"more than {MOST_JSON >> 20} MiB")
    return data.decode("utf-8-sig", "replace")
