"""Room 1: members of a zip archive, such as the logs of a CI run. A member is read in place, never extracted.

The standard library reads the directory; a member's bytes are read here, so that they are bounded like
any other packed stream, and an archive of thousands is not parsed anew for each. Source: PKWARE's
APPNOTE.TXT 6.3, sections 4.3.7 (local header), 4.4.4 (flags) and 4.4.5 (methods).
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from io import FileIO
from typing import TYPE_CHECKING, BinaryIO

from fallback_gate.errors import Unreadable
from fallback_gate.sources.compression import DEFLATE, LIMIT, unpack
from fallback_gate.sources.reader import Buffer, Chunks, FileReader, Reader, chunks

if TYPE_CHECKING:
    import zipfile

    from fallback_gate.sources.blocks import Object

MAGIC = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")

_LOCAL = struct.Struct("<4s22xHH")  # signature; lengths of name and of extra field
_ENCRYPTED = 0x1 | 0x40
_STORED, _DEFLATED = 0, 8  # methods that are read
_EMPTY = 2  # bytes of nothing, deflated
_END = 22  # bytes of the record at an archive's end, without its comment
_END_AT_MOST = _END + 0xFFFF


def members(file: BinaryIO | Object) -> list[zipfile.ZipInfo]:
    """The files in the archive, hidden ones left out, in its own order.

    Raises `Unreadable` where the directory is cut or corrupt, or members share bytes (a bomb).
    """
    import zipfile

    try:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
        size = file.seek(0, os.SEEK_END)
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, struct.error) as error:
        raise Unreadable(f"zip archive is cut off or corrupt: {error}") from error
    if sum(info.compress_size for info in infos) > size:
        raise Unreadable("zip archive is corrupt: its members hold more bytes than the archive")
    return [info for info in infos if not _is_folder(info) and not _hidden(info.filename)]


def stray(file: BinaryIO | Object) -> str | None:
    """What an archive holds beside its members: bytes before the first or behind its end. None for most."""
    import zipfile

    try:
        with zipfile.ZipFile(file) as archive:
            first = min((info.header_offset for info in archive.infolist()), default=0)
            comment = len(archive.comment)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _END_AT_MOST))
        tail = file.read()
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, struct.error):
        return None  # `members` tells
    behind = len(tail) - tail.rfind(MAGIC[1]) - _END - comment
    if first > 0:
        return f"zip archive has {first:,} bytes before its first member, which are not read"
    if behind > 0:
        return f"zip archive has {behind:,} bytes behind its end, which are not read"
    return None


def problem(info: zipfile.ZipInfo) -> str | None:
    """Why a member can't be read, or None."""
    if info.flag_bits & _ENCRYPTED:
        return "encrypted member of a zip archive: unpack it first"
    if info.compress_type not in (_STORED, _DEFLATED):
        return f"member of a zip archive in compression method {info.compress_type}: unpack it first"
    return None


def open_member(file: FileIO | Object, info: zipfile.ZipInfo, limit: int = LIMIT) -> Reader:
    """A reader of one member's bytes, unpacked; at the end they are checked against their CRC-32."""
    return Chunks(_checked(file, info, limit))


def _checked(file: FileIO | Object, info: zipfile.ZipInfo, limit: int) -> Iterator[bytes]:
    start = info.header_offset
    try:
        file.seek(start)
        signature, name, extra = _LOCAL.unpack(file.read(_LOCAL.size))
        file.seek(start + _LOCAL.size + name + extra)
    except (OSError, ValueError, struct.error) as error:
        raise Unreadable(f"zip archive is corrupt at byte {start:,}: {error}") from error
    if signature != MAGIC[0]:
        raise Unreadable(f"zip archive is corrupt at byte {start:,}: no member starts there")
    packed = _Slice(FileReader(file), info.compress_size)
    stored = info.compress_type == _STORED
    given, checksum = 0, 0
    for text in chunks(packed) if stored else unpack(packed, DEFLATE, limit):
        given += len(text)
        checksum = zlib.crc32(text, checksum)
        yield text
    if (given, checksum) != (info.file_size, info.CRC):
        raise Unreadable(f"zip archive is corrupt: checksum or size is wrong after {given:,} bytes of text")


class _Slice:
    """The next `size` bytes of a reader."""

    def __init__(self, reader: Reader, size: int) -> None:
        self._reader = reader
        self._left = size

    def readinto(self, buffer: Buffer, /) -> int:
        count = self._reader.readinto(memoryview(buffer)[: self._left]) if self._left else 0
        self._left -= count
        return count


def _is_folder(info: zipfile.ZipInfo) -> bool:
    """An entry for a folder; one that holds bytes is a file, whatever its name says."""
    return info.filename.endswith("/") and not info.file_size and info.compress_size <= _EMPTY


def _hidden(name: str) -> bool:
    """Windows' separator is one too: `.\\logs\\x.log` is not hidden."""
    parts = name.replace("\\", "/").split("/")
    return any(part.startswith(".") and part.strip(".") or part == "__MACOSX" for part in parts)
