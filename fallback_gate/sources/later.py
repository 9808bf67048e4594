"""Room 1: what changes behind the first bytes of a text.

How a text is written, and what must be undone in it, is decided by its first bytes. A log that others
append to may go on in another form: PowerShell's `>>` writes UTF-16 behind UTF-8, a script appends a
compressed part. What is found there can't be trusted, so such a text ends in `Unreadable`; all of it is
read before that. Colour codes that come late are taken off from the line on which the first one stands.

Whoever reads a text as it stands has a faster search than Python's, and does the first look: `SIGNS`.
"""

from __future__ import annotations

from collections.abc import Callable

from fallback_gate.errors import Unreadable
from fallback_gate.sources import binary, reassembly
from fallback_gate.sources.reader import Buffer, Chunks, Reader, whole_lines

# What hyperscan looks for in a plain text: without any of these it is what its first bytes say. Colour codes
# that parted a word are followed by one that ends them: those are looked for. Three letters each at least,
# and few: `anchors.py` says why.
SIGNS = (
    *(b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"\n\xff\xfe", b"\n\xfe\xff"),
    *(b"\0\n\0", b"\r\0\n", b"\0e\0"),
    *(b"\x1b[0", b"\x1b[m", b"\x1b[2", b"\x1b[3"),
)
ACROSS = 2  # bytes of a sign that may stand before a line
_FROM = binary.HEAD - 32  # colour codes before it are seen with the first bytes
_KEPT = 64  # bytes of the read before that are looked at again: a mark may stand across two
_PACKED = (  # each with the place of a byte in it that is rare in logs
    (b"\x1f\x8b\x08", 1, "gzip data"),
    (b"\xfd7zXZ\0", 0, "xz data"),
    (b"\x28\xb5\x2f\xfd", 3, "Zstandard data"),
    (b"PK\x03\x04", 3, "a zip archive"),
)
_MARKS = ((b"\n\xff\xfe", 2, "UTF-16"), (b"\n\xfe\xff", 1, "UTF-16"))
# ASCII as `a`, NULs as they are, all else as `b`.
_ASCII = frozenset(b"\t\n\r\x1b") | frozenset(range(32, 127))
_CLASSES = bytes(97 if code in _ASCII else 98 if code else 0 for code in range(256))
_ROWS = b"%0"  # high bytes of what comes in rows: table lines (U+25xx) and wide spaces (U+3000)
_CLASSES_WIDE = _CLASSES[: ord("%")] + b"b" + _CLASSES[ord("%") + 1 :]
_WIDE = ((b"\0a" * 12, "UTF-16"), (b"\0\0\0a" * 8, "UTF-32"))
_FEW = 8  # NULs that stand close together in a wide text
_NEAR = 2  # bytes from one NUL to the next there
_MANY = 1000  # NULs from which it is cheaper to look at all bytes
_ASCII_RUN = b"a" * 24  # in UTF-16, only text in UTF-8 holds that: a few CJK characters in a row look alike
_SHIFTED = 12  # characters in a row whose bytes are swapped
_BROKEN = 3  # places in one read of UTF-16 that may be invalid


def another_form(data: bytes | bytearray) -> str | None:
    """What in these bytes is no part of a text in UTF-8, or None."""
    for magic, rare, name in (*_PACKED, *_MARKS):
        if _holds(data, magic, rare):
            return name
    if _has_dense_nuls(data):
        classes = data.translate(_CLASSES)
        for run, name in _WIDE:
            if run in classes:
                return name
    return None


def _holds(data: bytes | bytearray, magic: bytes, rare: int) -> bool:
    """As `in`, by way of a byte that is searched for faster than a word."""
    byte = magic[rare : rare + 1]
    at = data.find(byte)
    for _ in range(_MANY):
        if at < 0:
            return False
        if at >= rare and data.startswith(magic, at - rare):
            return True
        at = data.find(byte, at + 1)
    return magic in data


def _has_dense_nuls(data: bytes | bytearray) -> bool:
    """Whether NULs stand as close together as in a wide text."""
    at, near = data.find(b"\0"), 0
    for _ in range(_MANY):
        if at < 0 or near >= _FEW - 1:
            break
        following = data.find(b"\0", at + 1)
        near = near + 1 if following - at <= _NEAR else 0
        at = following
    return at >= 0


def not_utf_16(data: bytes, codec: str) -> str | None:
    """What in these bytes, which start with a whole unit, is no part of a text in UTF-16; or None."""
    for magic, _, name in _PACKED:
        if magic in data and (b"\0" + magic in data or b"\n" + magic in data):
            return name
    kinds = data.translate(_CLASSES_WIDE)
    if _ASCII_RUN in kinds:
        return "UTF-8"
    if _WIDE[1][0] in kinds:
        return "UTF-32"
    low, high = (data[0::2], data[1::2]) if codec == "utf-16-le" else (data[1::2], data[0::2])
    if bytes(_SHIFTED) in low:
        # Where a unit is all NULs, it is a hole, not a character whose bytes are swapped.
        classes = bytes(97 * (a == 0 < b and b not in _ROWS) for a, b in zip(low, high, strict=False))
        if b"a" * _SHIFTED in classes:
            return "UTF-16 that is shifted by a byte or has its bytes swapped"
    broken = data[: len(data) & ~1].decode(codec, "replace").count("\ufffd")
    if broken - data.count(b"\xfd\xff") - data.count(b"\xff\xfd") > _BROKEN:
        return "no valid UTF-16"
    return None


def changed(position: int, form: str) -> Unreadable:
    """Why a text that changes its form is no whole log."""
    return Unreadable(
        f"the text changes its form at about byte {position:,}: {form} stands in it and can't be read there; "
        "write each form to a log of its own"
    )


class Later:
    """A reader of text that watches what comes.

    `codes` says that late colour codes are taken off here. `watch`: it looks at each read itself, else
    whoever reads looks for `SIGNS` and calls `look`.
    """

    def __init__(self, reader: Reader, *, codes: bool, watch: bool) -> None:
        self._reader = reader
        self._codes = codes
        self._watch = watch
        self._before = b""
        self._given = 0
        self._failure: Unreadable | None = None
        self._without_codes: Chunks | None = None

    @property
    def as_stored(self) -> bool:
        """No code was taken off: a position in this text is one in the reader's."""
        return self._without_codes is None

    def readinto(self, buffer: Buffer, /) -> int:
        """As the reader's; raises `Unreadable` at the end of a text that changed its form."""
        if self._without_codes is not None:
            return self._without_codes.readinto(buffer)
        if not self._watch:
            return self._read(buffer)
        known = len(self._before)
        count, data = self._watched(buffer)
        back = self._take_back(data, known)
        return count - back if back < count or not count else self.readinto(buffer)

    def look(self, data: bytes, known: int) -> int:
        """A sign stands in `data`, the last bytes that were given. Of these, the first `known` were clean.

        Returns how many at its end the caller gives back: they come again, without colour codes.
        """
        self._check(data)
        return self._take_back(data, known)

    def _read(self, buffer: Buffer) -> int:
        count = self._reader.readinto(buffer)
        if not count and self._failure is not None:
            raise self._failure
        self._given += count
        return count

    def _watched(self, buffer: Buffer) -> tuple[int, bytes]:
        """Read, and check; the bytes read, behind some of those before them."""
        count = self._read(buffer)
        data = self._before + bytes(memoryview(buffer)[:count])
        self._check(data)
        self._before = data[-_KEPT:]
        return count, data

    def _check(self, data: bytes) -> None:
        if self._failure is None and (not data.isascii() or 0 in data):
            form = another_form(data)
            if form:
                self._failure = changed(self._given - len(data), form)

    def _take_back(self, data: bytes, known: int) -> int:
        """How many bytes, from the line on in which the first colour code stands."""
        if not self._codes:
            return 0
        code = data.find(b"\x1b", max(known, _FROM - (self._given - len(data))))
        while code >= 0 and data[code + 1 : code + 2] not in (b"[", b""):
            code = data.find(b"\x1b", code + 1)
        if code < 0:
            return 0
        rest = data[max(known, data.rfind(b"\n", 0, code) + 1) :]
        blocks = whole_lines(_After(rest, lambda buffer: self._watched(buffer)[0]))
        self._without_codes = Chunks(reassembly.without_codes(blocks))
        return len(rest)


class _After:
    """Bytes that were read already, then what a function reads."""

    def __init__(self, first: bytes, read: Callable[[Buffer], int]) -> None:
        self._first = memoryview(first)
        self._read = read

    def readinto(self, buffer: Buffer, /) -> int:
        """First what was read already."""
        if self._first:
            count = min(len(self._first), len(buffer))
            buffer[:count] = self._first[:count]
            self._first = self._first[count:]
            return count
        return self._read(buffer)
