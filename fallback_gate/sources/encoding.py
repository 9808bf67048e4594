"""Room 1: text that is not UTF-8.

PowerShell 5 redirects in UTF-16, mostly with a byte-order mark. Everything after this room
counts lines by the byte of a line feed, so UTF-16 becomes UTF-8 in the stream. Bytes that are no valid UTF-8
pass as they are: real logs hold them, and nothing here needs them gone.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import NamedTuple

from fallback_gate.sources import later
from fallback_gate.sources.reader import Reader, chunks

_READ = 64 << 10
_KEPT = 64  # bytes of the read before that are looked at again
_ENOUGH = 16  # bytes from which a text without a mark can be told by its NULs


class Encoding(NamedTuple):
    """How a text is written: the codec that it needs (None: it passes as it is) and the size of its mark."""

    codec: str | None = None
    mark: int = 0


def detect(head: bytes) -> Encoding:
    """The encoding of a text that starts with these bytes."""
    if head.startswith(codecs.BOM_UTF8):
        return Encoding(mark=len(codecs.BOM_UTF8))
    if head.startswith(codecs.BOM_UTF16_LE):
        return Encoding("utf-16-le", len(codecs.BOM_UTF16_LE))
    if head.startswith(codecs.BOM_UTF16_BE):
        return Encoding("utf-16-be", len(codecs.BOM_UTF16_BE))
    half = len(head) // 2
    if len(head) >= _ENOUGH:
        first, second = head[0::2].count(0), head[1::2].count(0)
        # A log is mostly ASCII: nearly every other byte is NUL, and those between hardly ever.
        if second > 0.7 * half and first < 0.05 * half:
            return Encoding("utf-16-le")
        if first > 0.7 * half and second < 0.05 * half:
            return Encoding("utf-16-be")
    return Encoding()


def transcode(reader: Reader, codec: str) -> Iterator[bytes]:
    """The text as UTF-8, chunk by chunk; what the codec does not know becomes U+FFFD.

    Raises `Unreadable` at the end of a text that went on in another form.
    """
    decoder = codecs.getincrementaldecoder(codec)(errors="replace")
    before, done, failure = b"", 0, None  # `before` starts at a whole unit
    for chunk in chunks(reader, _READ):
        data = before + chunk
        if failure is None and (form := later.not_utf_16(data, codec)):
            failure = later.changed(done, form)
        before = data[max(0, len(data) - _KEPT) & ~1 :]
        done += len(chunk)
        yield decoder.decode(chunk).encode()
    yield decoder.decode(b"", final=True).encode()
    if failure is not None:
        raise failure
