"""Room 1: readers that wait for a log to grow, and what they can't have read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from fallback_gate.errors import Unreadable
from fallback_gate.sources.growing import Ending, Followed, GrowingFile, Pipe
from fallback_gate.sources.grown import Grown
from fallback_gate.sources.reader import Ahead, Chunks
from fallback_gate.sources.reassembly import steps


def taken(feed: GrowingFile, *, last: bool = False) -> bytes:
    """All that a feed has at the moment."""
    buffer, text = bytearray(7), b""
    while count := feed.take(buffer, last=last):
        text += buffer[:count]
    return text


def test_a_file_that_comes_late_and_grows(tmp_path: Path) -> None:
    place = tmp_path / "late.log"
    feed = GrowingFile(place)
    assert taken(feed) == b""
    assert not feed.there
    place.write_bytes(b"the first line\n")
    assert taken(feed) == b"the first line\n"
    assert feed.there
    with place.open("ab") as file:
        file.write(b"and more")
    assert taken(feed) == b"and more"
    feed.leave()


@pytest.mark.skipif(sys.platform == "win32", reason="an open file can't be moved there")
def test_a_rotated_file_is_one_text_with_the_new_one(tmp_path: Path) -> None:
    place = tmp_path / "a.log"
    place.write_bytes(b"old, torn")
    feed = GrowingFile(place)
    assert taken(feed) == b"old, torn"
    place.rename(tmp_path / "a.log.1")
    with (tmp_path / "a.log.1").open("ab") as file:
        file.write(b" apart")
    place.write_bytes(b"new\n")
    assert taken(feed) == b" apart"  # the writer may still be at the old one
    assert taken(feed, last=True) == b"\nnew\n"
    feed.leave()


@pytest.mark.skipif(sys.platform == "win32", reason="an open file can't be moved there")
def test_what_is_written_to_a_file_after_it_was_left_is_told(tmp_path: Path) -> None:
    place = tmp_path / "a.log"
    place.write_bytes(b"old\n")
    feed = GrowingFile(place)
    taken(feed)
    place.rename(tmp_path / "a.log.1")
    place.write_bytes(b"new\n")
    assert taken(feed, last=True) == b"new\n"
    with (tmp_path / "a.log.1").open("ab") as file:
        file.write(b"too late\n")
    with pytest.raises(Unreadable, match="written to after that"):
        feed.leave()


@pytest.mark.parametrize("after", [b"", b"new\n", b"another text, longer than what stood there before\n"])
def test_a_file_that_is_cut_short_under_its_writer_is_unreadable_in_the_end(
    tmp_path: Path, after: bytes
) -> None:
    place = tmp_path / "a.log"
    place.write_bytes(b"the text that was there\n")
    feed = GrowingFile(place)
    taken(feed)
    place.write_bytes(after)
    assert taken(feed) == after
    with pytest.raises(Unreadable, match="cut short"):
        feed.leave()


def test_a_pipe_ends_with_its_writer(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("no named pipes there")
    place = tmp_path / "pipe"
    os.mkfifo(place)
    followed = Followed(Pipe(place), Ending())
    waited: list[int] = []
    with place.open("wb", buffering=0) as writer:
        writer.write(b"one ")
        buffer = bytearray(100)
        assert bytes(buffer[: followed.readinto(buffer)]) == b"one "
        followed.waiting = lambda: waited.append(writer.write(b"two") if not waited else 0)
        assert bytes(buffer[: followed.readinto(buffer)]) == b"two"
    assert waited
    assert followed.readinto(buffer) == 0


def test_an_ending_drains_or_stops(tmp_path: Path) -> None:
    place = tmp_path / "a.log"
    place.write_bytes(b"what is there")
    ending, buffer = Ending(), bytearray(100)
    ending.drain.set()
    followed = Followed(GrowingFile(place), ending)
    assert followed.readinto(buffer) == 13
    assert followed.readinto(buffer) == 0
    stopped = Ending()
    stopped.now()
    assert Followed(GrowingFile(place), stopped).readinto(buffer) == 0


def test_the_first_bytes_must_do_where_no_more_come(tmp_path: Path) -> None:
    place = tmp_path / "a.log"
    place.write_bytes(b"few")
    followed = Followed(GrowingFile(place), Ending())
    ahead = Ahead(followed, followed.enough)
    assert ahead.peek(100) == b"few"
    assert ahead.short
    with place.open("ab") as file:
        file.write(b" and more")
    buffer = bytearray(100)
    assert [bytes(buffer[: ahead.readinto(buffer)]) for _ in range(2)] == [b"few", b" and more"]


CUT = b"2026-01-01T00:00:00.0Z stdout P a first pie\n2026-01-01T00:00:00.0Z stdout F ce\n"


@pytest.mark.parametrize(("head", "rest", "whole"), [(b"plain\n", CUT, False), (b"plain\n", b"text\n", True)])
def test_a_text_whose_form_only_later_lines_tell_is_unreadable(head: bytes, rest: bytes, whole: bool) -> None:
    grown = Grown(Chunks(iter((head, rest))), steps(head, console=False), console=False)
    buffer, text = bytearray(1000), b""
    for _ in range(2):
        text += buffer[: grown.readinto(buffer)]
    assert text == head + rest
    if whole:
        assert grown.readinto(buffer) == 0
    else:
        with pytest.raises(Unreadable, match="fallback-gate check"):
            grown.readinto(buffer)
