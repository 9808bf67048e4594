"""Room 6: one outcome. Blocked beats unproven, unproven beats pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fallback_gate.model import (
    Class,
    CompilerProof,
    Decision,
    Finding,
    Kind,
    LogReport,
    Outcome,
    ProcessVerdict,
    Proof,
    State,
)  # fmt: skip
from fallback_gate.policy.limits import Limits
from fallback_gate.verdict.decide import expectations, outcome, whole
from tests.policy.make import event, policy

LOG = LogReport("a.log", 10, recognised=True, outcome=Outcome.PASS)
NONE = Limits()


def process(rank: int | None = 0, name: str = "torch.compile", state: State = State.PROVEN) -> ProcessVerdict:
    """A process of one compiler that owes one kind."""
    compiler = CompilerProof(
        name, None, {Kind.GRAPH_BREAK: Proof(state, "why")}, frozenset({Kind.GRAPH_BREAK})
    )
    return ProcessVerdict("a.log", rank, 1, Outcome.PASS, (compiler,))


@pytest.mark.parametrize(
    ("decisions", "limits", "proven", "expected"),
    [
        ("", NONE, True, Outcome.PASS),
        ("", NONE, False, Outcome.UNPROVEN),
        ("blocked", NONE, True, Outcome.BLOCKED),
        ("blocked", NONE, False, Outcome.BLOCKED),
        ("allowed warned", NONE, True, Outcome.PASS),
        ("allowed warned", NONE, False, Outcome.UNPROVEN),
        ("allowed blocked", NONE, True, Outcome.BLOCKED),
        ("", Limits(exceeded=("too many",)), True, Outcome.BLOCKED),
        ("", Limits(exceeded=("too many",)), False, Outcome.BLOCKED),
    ],
)
def test_the_outcome(decisions: str, limits: Limits, proven: bool, expected: Outcome) -> None:
    findings = [Finding(event(), Class.UNLISTED, Decision(decision)) for decision in decisions.split()]
    assert outcome(findings, limits, proven) is expected


def test_the_whole_run_is_proven_or_not(tmp_path: Path) -> None:
    said = policy(tmp_path, "")
    assert whole([process()], [LOG], said, NONE, [])
    assert whole([process()], [LOG, replace(LOG, recognised=False, outcome=None)], said, NONE, [])
    lacking = {
        "no process": ([], [LOG], NONE, []),
        "no log judged": ([process()], [replace(LOG, outcome=None)], NONE, []),
        "a log not recognised": ([process()], [LOG, replace(LOG, recognised=False)], NONE, []),
        "a log in trouble": ([process()], [replace(LOG, problem="cut")], NONE, []),
        "a process without compiler": ([process(), replace(process(), compilers=())], [LOG], NONE, []),
        "a kind unproven": ([process(), process(state=State.UNPROVEN)], [LOG], NONE, []),
        "a kind not shown": ([process(state=State.UNOBSERVABLE)], [LOG], NONE, []),
        "a limit open": ([process()], [LOG], Limits(open=("at least 1",)), []),
        "an expectation": ([process()], [LOG], NONE, ["a rank"]),
    }
    assert {
        why: whole(p, logs, said, limits, missing) for why, (p, logs, limits, missing) in lacking.items()
    } == (dict.fromkeys(lacking, False))


@pytest.mark.parametrize(
    ("expect", "ranks", "count"),
    [
        ("{}", [0], 0),
        ("{ranks: 2}", [0, 1], 0),
        ("{ranks: 2}", [1, 0, 5], 0),
        ("{ranks: 2}", [0], 1),
        ("{ranks: 1}", [None], 1),
        ("{ranks: 64}", [0], 1),
        ("{compilers: [torch.compile]}", [0], 0),
        ("{compilers: [torch.compile, tvm]}", [0], 1),
        ("{compilers: [tvm], ranks: 3}", [0], 2),
    ],
)
def test_what_the_policy_expects(expect: str, ranks: list[int | None], count: int, tmp_path: Path) -> None:
    missing = expectations([process(rank) for rank in ranks], policy(tmp_path, f"expect: {expect}"))
    assert len(missing) == count
