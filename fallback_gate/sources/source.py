"""Room 1: a source, one log that the gate was given: its name, and how to read it."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from fallback_gate.errors import Unreadable, reason
from fallback_gate.sources import archive, compression
from fallback_gate.sources.envelope import GOES_ON, all_feeds, feeds
from fallback_gate.sources.later import Later
from fallback_gate.sources.names import real
from fallback_gate.sources.reader import Ahead, FileReader, RawFile, Reader
from fallback_gate.sources.remote import Remote
from fallback_gate.sources.seal import Trace
from fallback_gate.sources.stream import Stream, is_plain

if TYPE_CHECKING:
    import zipfile

_READ = 1 << 20


class Source(NamedTuple):
    """One log.

    `path` is its name for people, with unprintable characters escaped; a member of an archive is
    `run.zip!/3_build.txt`. `named`: the user named it, rather than a folder or a pattern that holds it.
    `size`: bytes of the file on disk, or of the member once out of its archive; None for a pipe.
    `file` is where it stands, on disk or behind a URL (None: standard input), `member` which part of that
    archive it is, `once` says that its bytes are gone when read, `problem` why it can't be read at all,
    `trace` that it is a structured trace which the seal of another log covers, `is_report` that it is a
    report of our own, which was found beside logs.
    """

    path: str
    named: bool
    size: int | None = None
    file: Path | Remote | None = None
    member: zipfile.ZipInfo | None = None
    once: bool = False
    problem: str | None = None
    trace: Trace | None = None
    is_report: bool = False

    def open(
        self, *, limit: int = compression.LIMIT, key: bytes | None = None, looks: bool = False
    ) -> Stream:
        """Its text from the start; `limit` bounds what compressed data may hold, in bytes; `key` and `looks`
        as in `Stream`.

        Opening never fails: `Stream.readinto` raises what went wrong.
        """
        return Stream(lambda: self.stored(limit), limit, key, self.trace, looks=looks)

    @property
    def key(self) -> tuple[str, str]:
        """What tells two names of one log from two logs: its real place, and which member it is."""
        if isinstance(self.file, Remote):
            place = self.file.url
        else:
            place = real(self.file) if self.file else self.path
        return place, self.member.filename if self.member else ""

    @property
    def rereadable(self) -> bool:
        """A file on disk is the text, late colour codes aside, so that `lines_at` can count lines later."""
        if self.once or self.member or self.problem or isinstance(self.file, Remote):
            return False
        try:
            with self.stored() as stored:
                return is_plain(Ahead(stored))
        except Unreadable:
            return False

    def sha256(self) -> str | None:
        """The SHA-256 of the file on disk, or of the member once out of its archive, in hexadecimal.

        None where the bytes can be read only once. Raises `Unreadable`.
        """
        if self.once:
            return None
        digest, buffer = hashlib.sha256(), bytearray(_READ)
        with self.stored() as stored:
            while count := stored.readinto(buffer):
                digest.update(memoryview(buffer)[:count])
        return digest.hexdigest()

    def count_lines(self) -> int | None:
        """How many lines its text has, the last with or without a line feed; None where it can't be read."""
        count, last, buffer = 0, b"\n", bytearray(_READ)
        try:
            with self.open() as stream:
                while got := stream.readinto(buffer):
                    count += feeds(buffer, 0, got) - (last == GOES_ON and buffer.startswith(b"\n"))
                    last = bytes(buffer[got - 1 : got])
        except Unreadable:
            return None
        return count + (last != b"\n")

    def lines_at(self, positions: Iterable[int], *, as_stored: bool = False) -> dict[int, int]:
        """The 1-based physical line of each byte offset in the text, counted by line feeds; for `rereadable`
        sources. `as_stored`: the text was `Stream.as_stored`.

        Reads no further than the last position. Raises `Unreadable`.
        """
        lines: dict[int, int] = {}
        start, end, line = 0, 0, 1  # of the bytes in the buffer, and the line up to which they are counted
        done = 0
        buffer = bytearray(_READ)
        with self.stored() as stored:
            text = stored if as_stored else Later(stored, codes=True, watch=True)
            for position in sorted(set(positions)):
                while position > end:
                    line += all_feeds(buffer, done, end - start)
                    start, done = end, 0
                    count = text.readinto(buffer)
                    if not count:
                        break
                    end += count
                upto = min(position, end) - start
                line += all_feeds(buffer, done, upto)
                done = upto
                lines[position] = line
        return lines

    @contextmanager
    def stored(self, limit: int = compression.LIMIT, *, from_byte: int = 0) -> Iterator[Reader]:
        """A reader of its bytes as they stand on disk, or in the archive once unpacked from it.

        `from_byte`: for a file on disk, the offset of the first that is read.
        """
        if self.problem:
            raise Unreadable(self.problem)
        if self.file is None:
            yield FileReader(cast(RawFile, sys.stdin.buffer))
            return
        if isinstance(self.file, Remote):
            from fallback_gate.sources.blocks import Object, Unchanged

            with Object(self.file) as thing:
                whole = FileReader(thing, thing.size)
                member = archive.open_member(thing, self.member, limit) if self.member else None
                yield Unchanged(member or whole, thing)
            return
        with ExitStack() as stack:
            try:
                file = stack.enter_context(open(self.file, "rb", buffering=0))
            except (OSError, ValueError) as error:
                raise Unreadable(f"can't be opened: {reason(error)}") from error
            if self.member:
                yield archive.open_member(file, self.member, limit)
            else:
                if from_byte:
                    file.seek(from_byte)
                size = os.fstat(file.fileno()).st_size
                yield FileReader(file, None if self.once else max(0, size - from_byte))
