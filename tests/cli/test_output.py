"""The front door: where reports go."""

from __future__ import annotations

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
