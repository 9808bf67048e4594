"""Room 5: a policy's own cases, and what a policy may say of them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from fallback_gate.errors import PolicyError
from fallback_gate.model import Decision, Outcome
from fallback_gate.policy import load

from .make import TODAY, policy, written

CASE = """
tests:
  - name: a fallback of gate_attn
    logs: [../logs/a.log, "/tmp/*.log", "s3://bucket/x.log"]
    verdict: blocked
    today: 2026-12-24
    blocked: [gate_attn, "*attn*"]
    allowed: "aten::sort"
"""


def test_a_case(tmp_path: Path) -> None:
    (case,) = policy(tmp_path, CASE).tests
    assert (case.name, case.verdict, case.today) == (
        "a fallback of gate_attn",
        Outcome.BLOCKED,
        date(2026, 12, 24),
    )
    assert case.decided == (
        (Decision.BLOCKED, ("gate_attn", "*attn*")),
        (Decision.ALLOWED, ("aten::sort",)),
    )
    assert [log.replace("\\", "/") for log in case.logs] == [
        f"{tmp_path.as_posix()}/../logs/a.log",
        "/tmp/*.log",
        "s3://bucket/x.log",
    ]
    assert case.source.endswith("policy.yaml:4")


def test_cases_are_not_inherited(tmp_path: Path) -> None:
    written(tmp_path, "version: 1\n" + CASE, "base.yaml")
    assert policy(tmp_path, "extends: [base.yaml]\n").tests == ()


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("{name: x, text: t}", ["verdict is missing"]),
        ("{verdict: pass, text: t}", ["name is missing"]),
        ("{name: x, verdict: pass}", ["either `logs` or `text`"]),
        ("{name: x, verdict: pass, text: t, logs: [a]}", ["either `logs` or `text`"]),
        ("{name: x, verdict: waived, text: t}", ["'waived'", "pass, blocked, unproven"]),
        ("{name: x, verdict: blok, text: t}", ["nearest is blocked"]),
        ("{name: x, verdict: pass, logs: []}", ["empty list"]),
        ("{name: x, verdict: pass, logs: a.log}", ["must be a list"]),
        ("{name: x, verdict: pass, text: t, blockd: [a]}", ["blockd", "nearest known key is blocked"]),
        ("{name: x, verdict: pass, text: t, blocked: ['a[b']}", ["glob"]),
        ("{name: x, verdict: pass, text: t, today: soon}", ["soon", "YYYY-MM-DD"]),
        ("x", ["mapping"]),
    ],
)
def test_a_bad_case_says_where(tmp_path: Path, case: str, words: list[str]) -> None:
    with pytest.raises(PolicyError) as caught:
        load(written(tmp_path, f"version: 1\ntests:\n  - {case}\n"), TODAY)
    told = [text for text in caught.value.problems if all(word in text for word in words)]
    assert told, caught.value.problems
    assert "policy.yaml:3: " in told[0]


def test_cases_stand_in_a_list(tmp_path: Path) -> None:
    path = written(tmp_path, "version: 1\ntests: {name: x, verdict: pass, text: t}\n")
    with pytest.raises(PolicyError) as caught:
        load(path, TODAY)
    (problem,) = caught.value.problems
    assert problem.startswith(f"{path}:2: must be a list and is a mapping (tests); ")


def test_the_page_s_example_is_valid(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "policy.md").read_text(encoding="utf-8")
    example = next(block for block in page.split("```yaml\n") if block.startswith("tests:")).split("```")[0]
    first, second = policy(tmp_path, example).tests
    assert (first.verdict, second.verdict) == (Outcome.BLOCKED, Outcome.UNPROVEN)
