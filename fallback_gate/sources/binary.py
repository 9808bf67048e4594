"""Room 1: what is no log at all: an executable or a model file that a pattern caught.

Real logs are not clean text: they hold runs of NULs from a file that was truncated under its writer,
colour codes, backspaces, bytes in some legacy encoding. So a file is binary by its known first bytes, or by
a share of control characters that no text has (random bytes have 9%).
"""

from __future__ import annotations

from fallback_gate.errors import Unreadable

HEAD = 64 << 10  # bytes of text that are looked at
_SHARE = 0.05
_FEW = 8  # control characters that a short log may hold, whatever their share
_CONTROLS = bytes(
    code for code in (*range(1, 32), 127) if code not in b"\a\b\t\n\v\f\r\x1b"
)  # NUL is judged apart

_MAGIC = (
    (0, b"\x7fELF", "an executable"),
    (0, b"\xcf\xfa\xed\xfe", "an executable"),
    (0, b"\xce\xfa\xed\xfe", "an executable"),
    (0, b"\xca\xfe\xba\xbe", "an executable or class file"),
    (0, b"MZ\x90\0", "an executable"),
    (0, b"\0asm", "a WebAssembly module"),
    (0, b"!<arch>\n", "an object archive"),
    (0, b"BC\xc0\xde", "LLVM bitcode"),
    (0, b"\x89PNG\r\n", "an image"),
    (0, b"\xff\xd8\xff", "an image"),
    (0, b"GIF8", "an image"),
    (0, b"%PDF-", "a PDF document"),
    (0, b"SQLite format 3\0", "an SQLite database"),
    (0, b"\x93NUMPY", "a NumPy array"),
    (0, b"\x89HDF\r\n", "an HDF5 file"),
    (0, b"GGUF", "a model file"),
    (8, b'{"', "a safetensors file"),
    (0, b"PAR1", "a Parquet file"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"),
    (0, b"Rar!\x1a\x07", "a RAR archive: unpack it first"),
    (0, b"\x04\x22\x4d\x18", "LZ4 data: unpack it first"),
    (0, b"\x1f\x9d", "compress (.Z) data: unpack it first"),
    (257, b"ustar", "a tar archive: unpack it first"),
)


def refuse(head: bytes) -> None:
    """Raise `Unreadable` where a text that starts with these bytes is no log."""
    if kind := _kind(head):
        raise Unreadable(f"binary data, not a log ({kind})")


def _kind(head: bytes) -> str | None:
    for offset, magic, kind in _MAGIC:
        if head.startswith(magic, offset) and (kind != "a safetensors file" or 0 in head[:8]):
            return kind
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a pickle"
    text = len(head) - head.count(0)
    if head and not text:
        return f"nothing but NULs in its first {len(head):,} bytes"
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls > max(_FEW, _SHARE * text):
        return f"{controls / text:.0%} control characters"
    return None
