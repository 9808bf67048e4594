"""Room 3: a generated wrapper of which a part is lost, or whose lines are not as printed, proves no call's absence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fallback_gate import check
from fallback_gate.model import Outcome

CLEAN = (Path(__file__).parents[1] / "data" / "clean.2.9.1.log").read_text(encoding="utf-8").splitlines()
OPENS = next(number for number, line in enumerate(CLEAN) if line.endswith("Output code: "))
ENDS = next(number for number, line in enumerate(CLEAN) if "Output code written to" in line)
CALL = next(number for number, line in enumerate(CLEAN) if "def call(" in line)
RETURNS = next(number for number, line in enumerate(CLEAN) if "return (buf" in line)


@pytest.mark.parametrize(
    ("kept", "outcome"),
    [
        (lambda number: True, Outcome.PASS),
        (lambda number: not OPENS < number < ENDS, Outcome.UNPROVEN),
        (lambda number: number != CALL, Outcome.UNPROVEN),
        (lambda number: number != RETURNS, Outcome.UNPROVEN),
        (lambda number: not CALL < number <= RETURNS, Outcome.UNPROVEN),
        (lambda number: not CALL - 3 < number < RETURNS, Outcome.UNPROVEN),
    ],
)
def test_a_hole_in_a_printed_wrapper(tmp_path: Path, kept: Callable[[int], bool], outcome: Outcome) -> None:
    log = tmp_path / "a.log"
    log.write_text("\n".join(line for n, line in enumerate(CLEAN) if kept(n)) + "\n", encoding="utf-8")
    assert check(log, environ={}, cwd=tmp_path).outcome is outcome
