"""Room 1: a large file in parts: each line is one part's own, and what only the whole tells is not parted."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fallback_gate.sources import Source, expand, parts

MB = 1 << 20


def source(path: Path) -> Source:
    (found,), errors = expand([path.name], path.parent)
    assert not errors
    return found


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 40_000), st.integers(1, 60)), min_size=1, max_size=30))
def test_each_line_is_one_parts_own(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[int, int]]
) -> None:
    text = b"".join((b"." * length + b"\n") * count for length, count in runs)
    text *= 1 + 6 * MB // len(text)
    path = tmp_path_factory.mktemp("log") / "big.log"
    path.write_bytes(text)
    found = parts.split(source(path), MB)
    assert len(found) >= 2
    assert (found[0].first, found[-1].stop) == (0, None)
    for one, following in pairwise(found):
        assert one.stop == following.first
        assert text[following.first - 1 : following.first] == b"\n"
        assert parts.FIRST <= following.begin < following.first
        assert (following.begin - parts.FIRST) % parts.STEP == 0
    for part in found:
        with parts.reader(source(path), part) as reader:
            buffer = bytearray(2 * MB)
            count = reader.readinto(buffer)
        start = max(0, part.begin - parts.HISTORY)
        assert buffer[:count] == text[start : part.begin or parts.FIRST]


def test_a_line_without_end_is_not_parted(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    path.write_bytes(b"a\n" + b"." * 5 * MB + b"\nz\n")
    assert parts.split(source(path), MB) == []


TRAILER = b'"fallback_gate_sha256": "' + b"0" * 64 + b'"}\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("small.log", b"line\n" * 300_000),
        ("packed.log.gz", gzip.compress(bytes(range(97, 123)) * MB, 0)),
        ("wide.log", ("line\n" * MB).encode("utf-16")),
        ("binary.log", b"\x7fELF" + bytes(6 * MB)),
        ("colours.log", b"\x1b[31mline\x1b[0m\n" * 600_000),
        ("sealed.log", b'{"fallback_gate_header": 1}\n' + b"line\n" * MB),
        ("headless.log", b"line\n" * MB + TRAILER),
    ],
)
def test_what_only_the_whole_tells_is_not_parted(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert parts.split(source(path), MB) == []
