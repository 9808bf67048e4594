"""Room 7: what each report owes its reader, whatever its form; a new format is held to it without a word here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fallback_gate.reports import FORMATS
from tests.reports import sample

PAGE = Path(__file__).parents[2] / "docs" / "reports.md"
RUNS = {  # by what a report says of it
    "block(ed|er)": sample.blocked_run(),
    "(un|not )proven": sample.default_level_run(),
    "waived": sample.waived_run(),
    "compile.log": sample.verdict(
        None, 2, errors=("compile.log: no such file",)
    ),  # where no verdict is reached
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("said", RUNS)
def test_it_can_not_be_taken_for_a_pass(name: str, said: str) -> None:
    report = FORMATS[name](RUNS[said])
    assert report != FORMATS[name](sample.passing_run())
    assert re.search(said, report.lower())


@pytest.mark.parametrize("name", FORMATS)
def test_it_has_a_row_on_its_page(name: str) -> None:
    assert f"| `{name.removesuffix('-v1')}` |" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FORMATS)
def test_however_many_events_there_are(name: str) -> None:
    """6,951 operators that block at 7,000 places: all are named, or the rest is counted, and it stays small."""
    report = FORMATS[name](sample.many_events_run(7_000)).replace("%2C", ",")
    assert len(report.encode()) < 20e6
    named = len(set(re.findall(r"op_\d+\b", report)))
    left = {int(count.replace(",", "")) for count in re.findall(r"([\d,]+) (?:more|failure)\b", report)}
    assert named == 6_950 or any(6_950 <= named + rest <= 7_000 for rest in left)
