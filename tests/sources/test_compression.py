"""Room 1: packed logs, whole, in many members, cut, corrupt, and bombs."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from contextlib import nullcontext
from io import BytesIO

import pytest
import zstandard

from fallback_gate.errors import Unreadable
from fallback_gate.sources.compression import RATIO_FROM, detect
from fallback_gate.sources.reader import FileReader
from fallback_gate.sources.stream import Stream

TEXT = b"".join(b"step %d: graph break at decoder.py:%d\n" % (n, n * n) for n in range(5_000))

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lambda data: lzma.compress(data, preset=0),
    "lzma": lambda data: lzma.compress(data, format=lzma.FORMAT_ALONE),
    "bzip2": bz2.compress,
    "Zstandard": zstandard.ZstdCompressor(write_checksum=True).compress,
}
packers = pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
many_members = pytest.mark.parametrize("name", ["gzip", "xz", "bzip2", "Zstandard"])


@packers
@pytest.mark.parametrize("text", [b"", b"one line\n", TEXT], ids=["empty", "line", "long"])
def test_unpacks_by_content(decode, pack, text):
    assert decode(pack(text)) == (text, "")


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"\xfd7zXZ\x00\x00", "xz"),
        (b"BZh91AY&SY", "bzip2"),
        (b"BZh1\x17rE8P\x90", "bzip2"),
        (b"(\xb5/\xfd", "Zstandard"),
        (b"\x5f*M\x18", "Zstandard"),
        (b"BZh9 is no archive", None),
        (b"plain text", None),
        (b"", None),
    ],
)
def test_detect(head, name):
    form = detect(head)
    assert (form and form.name) == name


@many_members
def test_members_are_one_text(decode, name):
    pack = PACKERS[name]
    assert decode(pack(b"a\n") + pack(b"") + pack(TEXT) + pack(b"z\n")) == (b"a\n" + TEXT + b"z\n", "")


@many_members
def test_zero_padding_after_a_member_is_nothing(decode, name):
    packed = PACKERS[name](TEXT)
    assert decode(packed + bytes(4_096) + packed + bytes(512)) == (TEXT + TEXT, "")


def test_zstandard_skippable_frame(decode):
    skipped = b"\x50*M\x18\x05\0\0\0hello"
    assert decode(skipped + PACKERS["Zstandard"](TEXT)) == (TEXT, "")


@packers
@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9, 0.99])
def test_cut_data_gives_what_came_before_and_says_so(decode, pack, kept):
    packed = pack(TEXT)
    text, problem = decode(packed[: int(len(packed) * kept)])
    assert TEXT.startswith(text)
    assert "cut off at byte" in problem


@packers
def test_cut_by_one_byte(decode, pack):
    text, problem = decode(pack(TEXT)[:-1])
    assert TEXT.startswith(text)
    assert problem


def test_cut_gzip_gives_all_text_before_the_cut(decode):
    packed = gzip.compress(TEXT)
    whole = zlib.decompressobj(31).decompress(packed[:-8])
    assert whole == TEXT
    assert decode(packed[:-8])[0] == TEXT
    assert "cut off" in decode(packed[:-8])[1]


@pytest.mark.parametrize("name", ["gzip", "xz", "bzip2", "Zstandard"])
def test_corrupt_checksum(decode, name):
    packed = bytearray(PACKERS[name](TEXT))
    packed[-6 if name == "gzip" else -3] ^= 0xFF
    text, problem = decode(bytes(packed))
    assert TEXT.startswith(text)
    assert f"corrupt {name} data" in problem


@packers
def test_garbage_after_the_end(decode, pack):
    text, problem = decode(pack(TEXT) + b"this is not a member")
    assert text == TEXT
    assert "corrupt" in problem


@packers
def test_reading_on_after_a_failure_fails_again(pack):
    with Stream(lambda: nullcontext(FileReader(BytesIO(pack(TEXT)[:-9]))), 1 << 40) as stream:
        buffer = bytearray(1 << 20)
        with pytest.raises(Unreadable):  # noqa: PT012
            while stream.readinto(buffer):
                pass
        with pytest.raises(Unreadable):
            stream.readinto(buffer)


@pytest.mark.parametrize("name", ["gzip", "xz", "bzip2", "Zstandard"])
def test_bomb_stops_soon_after_the_first_64_mib(decode, name):
    packed = PACKERS[name](b"x" * (130 << 20))
    text, problem = decode(packed, 1 << 20)
    assert "-fold" in problem
    assert RATIO_FROM - (33 << 20) <= len(text) <= RATIO_FROM


def test_limit_on_text(decode):
    text, problem = decode(gzip.compress(TEXT * 20), limit=1_000_000)
    assert len(text) <= 1_000_000
    assert "limit of 1,000,000 bytes" in problem


def test_limit_does_not_hold_for_plain_text(decode):
    assert decode(TEXT, limit=10) == (TEXT, "")


def test_zstandard_window_beyond_memory(decode):
    parameters = zstandard.ZstdCompressionParameters(window_log=28)
    pack = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    text, problem = decode(pack.compress(TEXT) + pack.flush())
    assert text == b""
    assert "memory" in problem


@packers
def test_packed_twice(decode, pack):
    text, problem = decode(pack(pack(TEXT)))
    assert text == b""
    assert "compressed data inside" in problem
