"""Room 1: a source, its facts, its lines, and what happens when its file changes."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.errors import Unreadable
from fallback_gate.sources import Source, expand
from fallback_gate.sources.reader import MOST_GROWN, FileReader


def source_of(path: Path, data: bytes) -> Source:
    path.write_bytes(data)
    return Source(path.name, named=True, size=len(data), file=path)


@pytest.mark.parametrize(
    ("data", "rereadable"),
    [
        (b"plain\n", True),
        (b"", True),
        (b"\xff garbage \x80\n", True),
        (b"\xef\xbb\xbfmarked\n", False),
        ("wide\n".encode("utf-16"), False),
        ("wide without a mark\n".encode("utf-16-le"), False),
        (gzip.compress(b"packed\n", mtime=0), False),
    ],
)
def test_rereadable(tmp_path, data, rereadable):
    assert source_of(tmp_path / "a.log", data).rereadable is rereadable


def test_sha256_is_of_the_stored_bytes(tmp_path):
    # SHA-256 of "abc": FIPS 180-2, appendix B.1
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert source_of(tmp_path / "a.log", b"abc").sha256() == expected
    packed = gzip.compress(b"abc" * 1_000_000)
    assert source_of(tmp_path / "a.gz", packed).sha256() == hashlib.sha256(packed).hexdigest()


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", {0: 1}),
        (b"a\nb\n", {0: 1, 1: 1, 2: 2, 3: 2, 4: 3}),
        (b"a\r\nb\rc\0\n\nd", {0: 1, 3: 2, 5: 2, 8: 3, 9: 4}),
        (b"short\n", {100: 2}),
    ],
)
def test_lines_at(tmp_path, data, lines):
    assert source_of(tmp_path / "a.log", data).lines_at(lines) == lines


@given(
    data=st.lists(st.sampled_from([b"\n", b"x" * 300_000, b"ab\r\n", b"\0"]), max_size=14).map(b"".join),
    positions=st.lists(st.integers(0, 3_000_000), max_size=8),
)
def test_lines_at_is_a_count_of_line_feeds(data, positions):
    with tempfile.TemporaryDirectory() as folder:
        lines = source_of(Path(folder, "a.log"), data).lines_at(reversed(positions))
    assert lines == {position: data[:position].count(b"\n") + 1 for position in positions}


@pytest.mark.skipif(sys.platform == "win32", reason="files have no holes there")
def test_lines_at_reads_no_further_than_needed(tmp_path):
    source = source_of(tmp_path / "a.log", b"line\n" * 500_000)
    os.truncate(tmp_path / "a.log", 1 << 40)  # a hole that would take minutes to read
    assert source.lines_at([1_500_000]) == {1_500_000: 300_001}


def test_a_file_that_grows_is_read_to_its_new_end(tmp_path):
    source = source_of(tmp_path / "a.log", b"x" * 100_000)
    buffer = bytearray(200_000)
    with source.open() as stream:
        count = stream.readinto(buffer)
        with open(tmp_path / "a.log", "ab") as file:
            file.write(b"y" * 50_000)
        while more := stream.readinto(buffer):
            count += more
    assert count == 150_000


def test_a_file_that_shrinks_is_no_whole_log(tmp_path):
    source = source_of(tmp_path / "a.log", b"x" * 300_000)
    buffer = bytearray(10_000)
    with source.open() as stream:
        assert stream.readinto(buffer) == 10_000
        os.truncate(tmp_path / "a.log", 100_000)
        with pytest.raises(Unreadable, match="shrank"):  # noqa: PT012
            while stream.readinto(buffer):
                pass


class Spring:
    """A file that always has more."""

    def readinto(self, buffer: memoryview, /) -> int:
        return len(buffer)


def test_a_file_that_grows_as_fast_as_it_is_read_has_an_end():
    reader, buffer = FileReader(Spring(), expected=100), bytearray(64 << 20)
    with pytest.raises(Unreadable, match="grew by more than 1,073,741,824 bytes while it was read"):  # noqa: PT012
        for _ in range(MOST_GROWN // len(buffer) + 2):
            reader.readinto(buffer)
    pipe = FileReader(Spring())
    assert sum(pipe.readinto(buffer) for _ in range(18)) > MOST_GROWN


def test_a_file_that_vanished_fails_in_readinto(tmp_path):
    source = Source("gone.log", named=True, file=tmp_path / "gone.log")
    assert source.rereadable is False
    with source.open() as stream, pytest.raises(Unreadable, match="can't be opened: No such file"):
        stream.readinto(bytearray(10))
    with pytest.raises(Unreadable):
        source.sha256()
    with pytest.raises(Unreadable):
        source.lines_at([1])


def test_an_error_of_the_operating_system_is_unreadable():
    class Disk(io.RawIOBase):
        reads = 0

        def readinto(self, buffer):
            self.reads += 1
            if self.reads > 2:
                raise OSError(5, "Input/output error")
            buffer[:4] = b"text"
            return 4

    reader = FileReader(Disk())
    assert [reader.readinto(bytearray(8)), reader.readinto(bytearray(8))] == [4, 4]
    with pytest.raises(Unreadable, match="reading failed at byte 8: Input/output error"):
        reader.readinto(bytearray(8))


def test_input_that_would_block_is_not_its_end():
    class Empty(io.RawIOBase):
        def readinto(self, buffer):
            return None

    with pytest.raises(Unreadable, match="non-blocking"):
        FileReader(Empty()).readinto(bytearray(8))


@pytest.mark.parametrize("stored", [b"hello\n", gzip.compress(b"hello\n")], ids=["plain", "packed"])
def test_standard_input(monkeypatch, drain, stored):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stored)))
    (source,), errors = expand(["-"], Path.cwd(), stdin_name="build.log")
    assert errors == []
    assert (source.path, source.named, source.size) == ("build.log", True, None)
    assert (source.rereadable, source.sha256()) == (False, None)
    assert drain(source.open()) == (b"hello\n", "")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_named_pipe_is_read_as_a_stream(tmp_path, drain):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (source,), errors = expand([str(pipe)], tmp_path)
    assert (errors, source.size, source.rereadable) == ([], None, False)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"through the pipe\n" * 10_000,))
    writer.start()
    assert drain(source.open()) == (b"through the pipe\n" * 10_000, "")
    writer.join()


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device here")
def test_endless_device(drain):
    (source,), errors = expand(["/dev/zero"], Path("/"))
    assert errors == []
    assert drain(source.open()) == (
        b"",
        "binary data, not a log (nothing but NULs in its first 65,536 bytes)",
    )


@pytest.mark.parametrize(
    ("data", "lines"), [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\n\nb", 3), (b"x\r\n" * 200_000, 200_000)]
)
@pytest.mark.parametrize("packed", [False, True])
def test_how_many_lines(tmp_path: Path, data: bytes, lines: int, packed: bool) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(gzip.compress(data) if packed else data)
    assert Source("a.log", True, file=path).count_lines() == lines


def test_no_number_of_lines_of_what_can_not_be_read(tmp_path: Path) -> None:
    assert Source("gone.log", True, file=tmp_path / "gone.log").count_lines() is None
