"""Room 1: unpacking gzip, xz, bzip2 and Zstandard as a stream, bounded in memory and in output.

A format is known by its first bytes, never by a file's name. Sources: RFC 1952 (gzip), the .xz file
format 1.2, the .lzma header of LZMA SDK, the bzip2 block header, RFC 8878 (Zstandard). Members that
follow each other, and zero padding between them, are one text.
"""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from fallback_gate.errors import Unreadable
from fallback_gate.sources.reader import Reader, chunks

MEMORY = 128 << 20  # bytes of window that a stream may ask for
LIMIT = 64 << 30  # bytes of text that an archive may hold
RATIO = 400  # text over packed bytes; checked once there is RATIO_FROM of text
RATIO_FROM = 64 << 20

_PIECE = 64 << 10  # fed at once
_TEXT = 256 << 10  # taken at once


class Decoder(Protocol):
    """What `bz2` and `lzma` call a decompressor, for one member of a stream."""

    @property
    def eof(self) -> bool:
        """The member is complete."""

    @property
    def needs_input(self) -> bool:
        """All text of what was fed is out."""

    @property
    def unused_data(self) -> bytes:
        """What was fed beyond the member's end."""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Feed, and take up to `max_length` bytes of text."""


class _Deflate:
    """zlib's decompressor behind the interface of the others."""

    def __init__(self, window: int) -> None:
        self._zlib = zlib.decompressobj(window)
        self._full = False

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._full and not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        text = self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)
        self._full = len(text) == max_length  # zlib may hold more text without any input left
        return text


class Format(NamedTuple):
    """One compression format: the first bytes that show it, and a decoder for one member."""

    name: str
    magic: tuple[bytes, ...]
    decoder: Callable[[], Decoder]
    members: bool = True  # more may follow the first
    raises: Callable[[], tuple[type[Exception], ...]] = tuple  # beside what all decoders raise


def _xz() -> Decoder:
    return lzma.LZMADecompressor(format=lzma.FORMAT_AUTO, memlimit=MEMORY)


def _zstd() -> Any:
    """The standard library's module, which before Python 3.14 is a package."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError as error:
        raise Unreadable("Zstandard data needs a package: pip install backports.zstd") from error
    return zstd


def _zstandard() -> Decoder:
    zstd = _zstd()
    options = {zstd.DecompressionParameter.window_log_max: MEMORY.bit_length() - 1}
    decoder: Decoder = zstd.ZstdDecompressor(options=options)
    return decoder


DEFLATE = Format("deflate", (), lambda: _Deflate(-zlib.MAX_WBITS), members=False)  # a zip's, without magic
FORMATS = (
    Format("gzip", (b"\x1f\x8b\x08",), lambda: _Deflate(16 + zlib.MAX_WBITS)),
    Format("xz", (b"\xfd7zXZ\0", b"\x5d\0\0"), _xz),
    Format("bzip2", tuple(b"BZh%d1AY&SY" % level for level in range(1, 10)), bz2.BZ2Decompressor),
    Format("bzip2", tuple(b"BZh%d\x17rE8P\x90" % level for level in range(1, 10)), bz2.BZ2Decompressor),
    Format(
        "Zstandard",
        (b"\x28\xb5\x2f\xfd", *(b"%c\x2a\x4d\x18" % low for low in range(0x50, 0x60))),
        _zstandard,
        raises=lambda: (_zstd().ZstdError,),
    ),
)


def detect(head: bytes) -> Format | None:
    """The compression format that starts with these bytes."""
    return next((form for form in FORMATS if head.startswith(form.magic)), None)


def unpack(packed: Reader, form: Format, limit: int = LIMIT) -> Iterator[bytes]:
    """The text of a packed stream, chunk by chunk.

    Raises `Unreadable` where the data is cut or corrupt, asks for more than `MEMORY`, holds more text
    than `limit` bytes, or expands more than `RATIO` times.
    """
    pieces = chunks(packed, _PIECE)
    piece: bytes | None = next(pieces, b"")
    decoder, fed, given = form.decoder(), len(piece or b""), 0
    corrupt: tuple[type[Exception], ...]
    corrupt = (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError, *form.raises())
    while piece is not None:
        try:
            text = decoder.decompress(piece, _TEXT)
        except corrupt as error:
            raise Unreadable(
                f"corrupt {form.name} data at about byte {fed:,}, after {given:,} bytes of text: {error}"
            ) from error
        given += len(text)
        if given > limit:
            raise Unreadable(f"{form.name} data holds more than the limit of {limit:,} bytes of text")
        if given > RATIO_FROM and given > RATIO * fed:
            raise Unreadable(f"{form.name} data expands {given // fed:,}-fold after {given:,} bytes: a bomb")
        yield text
        if decoder.eof:
            piece = decoder.unused_data.lstrip(b"\0") if form.members else None
            while piece == b"":
                piece = next(pieces, None)
                fed += len(piece or b"")
                piece = piece and piece.lstrip(b"\0")
            decoder = form.decoder() if piece else decoder
        elif decoder.needs_input:
            piece = next(pieces, None)
            if piece is None:
                raise Unreadable(f"{form.name} data is cut off at byte {fed:,}, after {given:,} of text")
            fed += len(piece)
        else:
            piece = b""
