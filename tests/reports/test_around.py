"""What is around a run, in every report that shows it: causes that are ruled out or not, and the way back."""

from __future__ import annotations

from datetime import date

import pytest

from fallback_gate.model.claims import HeldRollback, Rollback
from fallback_gate.model.exclusions import Cause, Exclusion, Exclusions, Standing
from fallback_gate.reports import FORMATS
from tests.reports import sample

CAUSES = (
    Exclusion(Cause.CLOCKS, Standing.RULED_OUT, "at boost", "the clock was at 1,980 MHz (smi.txt)"),
    Exclusion(Cause.THROTTLING, Standing.FOUND, "power cap", "the power cap was active (smi.txt)"),
    Exclusion(Cause.BATCH, Standing.OPEN, "not told", "no file tells the batch"),
)
GIVEN = Exclusions(CAUSES, ("the driver is 580.1 (smi.txt)",), ("smi.txt",), "throttling is not ruled out")
BACK = Rollback("model-v1.pt2", "torch", "2.11.0", None, date(2026, 11, 1), "policy.yaml:9")


@pytest.mark.parametrize("name", ["text", "markdown", "html", "json"])
def test_each_cause_says_how_it_stands_and_why(name: str) -> None:
    report = FORMATS[name](sample.blocked_run(exclusions=GIVEN))
    words = " ".join(report.replace("\\", "").split())
    for cause in CAUSES:
        assert cause.why in words
    assert "hrottling is not ruled out" in words
    assert "the driver is 580.1" in words.replace("The driver", "the driver")


@pytest.mark.parametrize("name", ["text", "markdown", "html", "json"])
@pytest.mark.parametrize("problem", ["the artefact is not there", None])
def test_the_way_back_is_told_with_what_is_wrong_of_it(name: str, problem: str | None) -> None:
    held = HeldRollback(BACK, problem, () if problem else ("it is there", "torch is 2.11.0"))
    report = FORMATS[name](sample.blocked_run(rollback=held))
    assert "model-v1.pt2" in report.replace("\\", "")
    assert (problem or "it is there") in report
