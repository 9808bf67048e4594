"""The log of a recording: two streams never tear each other's lines, and nothing of either is lost."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fallback_gate.capture.log import LONGEST, Log

CHUNKS = st.lists(st.tuples(st.integers(0, 1), st.lists(st.sampled_from("ab\n"), max_size=8)), max_size=30)


@given(CHUNKS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_lines_stay_whole(tmp_path: Path, chunks: list[tuple[int, list[str]]]) -> None:
    """Stream 0 prints in small letters, stream 1 in capitals: a line of both would be a torn one."""
    streams = [b"", b""]
    log = Log(tmp_path / "log", None)
    for stream, characters in chunks:
        text = "".join(characters).encode()
        chunk = text.upper() if stream else text
        streams[stream] += chunk
        log.write(stream, chunk)
    log.finish([])
    log.close()
    lines = (tmp_path / "log").read_bytes().splitlines()
    own = [[line for line in lines if line and line.isupper() == bool(stream)] for stream in (0, 1)]
    for stream in (0, 1):
        assert own[stream] == [line for line in streams[stream].split(b"\n") if line]
    assert all(line.isupper() or line.islower() for line in lines if line)
    printed = sum(stream.count(b"\n") for stream in streams)
    assert len(lines) == printed + log.added == log.lines
    assert log.bytes == sum(map(len, streams)) + log.added


def test_a_line_without_end_does_not_wait_for_ever(tmp_path: Path) -> None:
    log = Log(tmp_path / "log", None)
    log.write(0, b"x" * LONGEST)
    assert (tmp_path / "log").stat().st_size == LONGEST
    log.write(1, b"other\n")
    log.write(0, b"end\n")
    log.write(1, b"more\n")
    log.finish([b"{}"])
    log.close()
    assert (tmp_path / "log").read_bytes() == b"x" * LONGEST + b"end\nother\nmore\n{}\n"
    assert log.added == 0


def test_what_comes_late_is_left_out(tmp_path: Path) -> None:
    log = Log(tmp_path / "log", None)
    log.write(0, b"in time\n")
    log.finish([])
    log.write(0, b"late\n")
    log.close()
    assert (tmp_path / "log").read_bytes() == b"in time\n"
