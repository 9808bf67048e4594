"""Room 1: UTF-16 becomes UTF-8, wherever a chunk ends."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.sources.encoding import Encoding, detect

LINES = "Graph break: é 😀\r\n" * 3 + "ਊ\n"  # U+0A0A: both of its bytes are a line feed

WRITTEN = {
    "utf-8": (b"", "utf-8"),
    "utf-8 with mark": (codecs.BOM_UTF8, "utf-8"),
    "utf-16-le": (codecs.BOM_UTF16_LE, "utf-16-le"),
    "utf-16-be": (codecs.BOM_UTF16_BE, "utf-16-be"),
}
PACKED = (bytes, gzip.compress, bz2.compress, lzma.compress, zstandard.compress)


@pytest.mark.parametrize(("mark", "codec"), WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 4_096])
def test_text_is_the_same_in_any_encoding(decode, mark, codec, size):
    assert decode(mark + LINES.encode(codec), size) == (LINES.encode(), "")


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("shift", [0, 1])
def test_surrogate_pair_across_our_own_reads(decode, codec, shift):
    # Our reads are 64 KiB: the pairs stand astride of their ends, or not.
    text = "a" * shift + "b" * 30_000 + "😀" * 70_000 + "\n"
    mark = codecs.BOM_UTF16_LE if codec == "utf-16-le" else codecs.BOM_UTF16_BE
    assert decode(mark + text.encode(codec), 999) == (text.encode(), "")


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_mark(decode, codec):
    text = "torch/_dynamo: Graph break at é\r\n" * 5_000
    assert decode(text.encode(codec)) == (text.encode(), "")


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        (codecs.BOM_UTF16_LE + "ok\n".encode("utf-16-le") + b"!", "ok\n\ufffd"),  # half a unit at the end
        (codecs.BOM_UTF16_LE + b"\x3d\xd8a\0\n\0", "\ufffda\n"),  # half a surrogate pair
        (codecs.BOM_UTF16_BE + b"\xdc\x00\0a\0\n", "\ufffda\n"),
        (codecs.BOM_UTF16_LE, ""),
        (codecs.BOM_UTF8, ""),
    ],
)
def test_odd_utf_16(decode, stored, text):
    assert decode(stored) == (text.encode(), "")


@pytest.mark.parametrize(
    "stored",
    [
        b"caf\xe9 \xff\xfe\x80 latin and garbage\n",
        b"a\r\nb\rc\n\n",
        b"text " + bytes(1_400) + b" and more text\n",
        b"\x1b[31mred\x1b[0m\n",
        b"",
    ],
)
def test_what_is_not_utf_16_passes_byte_by_byte(decode, stored):
    assert decode(stored, 3) == (stored, "")


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        (b"plain ascii, long enough to tell", Encoding()),
        (b"\xef\xbb\xbfabc", Encoding(None, 3)),
        (b"\xff\xfea\0", Encoding("utf-16-le", 2)),
        (b"\xfe\xff\0a", Encoding("utf-16-be", 2)),
        ("no mark, but NULs".encode("utf-16-le"), Encoding("utf-16-le", 0)),
        ("no mark, but NULs".encode("utf-16-be"), Encoding("utf-16-be", 0)),
        (b"a\0", Encoding()),
        (bytes(64), Encoding()),
        (b"half text, half" + bytes(400), Encoding()),
    ],
)
def test_detect(head, encoding):
    assert detect(head) == encoding


# No control characters, since a text full of them is taken for binary data, and no NUL, which may look
# like UTF-16 without a mark; the first character is plain, so that no text begins like an archive.
texts = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\r\n\t\x1b"), max_size=300)


@given(
    text=texts.map("L".__add__),
    written=st.sampled_from(sorted(WRITTEN)),
    pack=st.sampled_from(PACKED),
    size=st.integers(1, 400),
)
def test_any_text_in_any_clothes_reads_back(decode, text, written, pack, size):
    mark, codec = WRITTEN[written]
    assert decode(pack(mark + text.encode(codec)), size) == (text.encode(), "")


@given(stored=st.binary(max_size=600), size=st.integers(1, 700))
def test_any_bytes_end_in_text_or_one_clear_reason(decode, stored, size):
    text, problem = decode(stored, size)
    assert text == stored or problem or detect(stored) != Encoding()
    assert "\n" not in problem
