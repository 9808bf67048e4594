"""The front door: where reports go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fallback_gate.cli.output import OutputError, to_files, wants_color


@pytest.mark.parametrize(
    ("choice", "environ", "terminal", "color"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "0"}, False, False),
        ("auto", {"FORCE_COLOR": ""}, False, False),
        ("auto", {"CLICOLOR_FORCE": "1"}, False, True),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_when_the_report_is_coloured(
    choice: str, environ: dict[str, str], terminal: bool, color: bool
) -> None:
    assert wants_color(choice, environ, terminal) is color


def test_a_report_is_written_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "r.txt"
    to_files([(str(path), "é\n\udc80")])
    assert path.read_bytes() == "é\n".encode() + b"\\udc80\n"


def test_a_report_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OutputError, match="taken"):
        to_files([(str(tmp_path / "taken"), "x")])
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_report_never_takes_the_place_of_an_input(tmp_path: Path) -> None:
    log = tmp_path / "compile.log"
    log.write_text("x")
    with pytest.raises(OutputError, match="overwrite an input"):
        to_files([(str(tmp_path / "." / "compile.log"), "{}")], keep=[str(log)])
    assert log.read_text() == "x"


def test_two_reports_need_two_places(tmp_path: Path) -> None:
    place = str(tmp_path / "report")
    with pytest.raises(OutputError, match="two reports"):
        to_files([(place, "a"), (place, "b")])
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old", encoding="utf-8")
    link = tmp_path / "link.txt"
    try:
        link.symlink_to("real.txt")
    except OSError:
        pytest.skip("this system makes no links")
    to_files([(str(link), "new")])
    assert link.is_symlink()
    assert (tmp_path / "real.txt").read_text(encoding="utf-8") == "new\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes as POSIX has them")
def test_what_is_no_file_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    """As root, a report for /dev/null would else take the place of the device."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        to_files([(str(pipe), "said"), (str(tmp_path / "r.txt"), "said")])
        assert os.read(reader, 100) == b"said\n"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pipe", "r.txt"]
