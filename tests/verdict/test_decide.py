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
from fallback_gate.verdict.decide import exit_code, expectations, outcome, proven
from tests.policy.make import event, policy

LOG = LogReport("a.log", 10, recognised=True, outcome=Outcome.PASS)


def process(rank: int | None = 0, name: str = "torch.compile", state: State = State.PROVEN) -> ProcessVerdict:
    """A process of one compiler that owes one kind."""
    compiler = CompilerProof(
        name, None, {Kind.GRAPH_BREAK: Proof(state, "why")}, frozenset({Kind.GRAPH_BREAK})
    )
    return ProcessVerdict("a.log", rank, 1, Outcome.PASS, (compiler,))


@pytest.mark.parametrize(
    ("decisions", "exceeded", "whole", "expected"),
    [
        ("", [], True, Outcome.PASS),
        ("", [], False, Outcome.UNPROVEN),
        ("blocked", [], True, Outcome.BLOCKED),
        ("blocked", [], False, Outcome.BLOCKED),
        ("allowed warned", [], True, Outcome.PASS),
        ("allowed warned", [], False, Outcome.UNPROVEN),
        ("allowed blocked", [], True, Outcome.BLOCKED),
        ("", ["too many"], True, Outcome.BLOCKED),
        ("", ["too many"], False, Outcome.BLOCKED),
    ],
)
def test_the_outcome(decisions: str, exceeded: list[str], whole: bool, expected: Outcome) -> None:
    findings = [Finding(event(), Class.UNLISTED, Decision(decision)) for decision in decisions.split()]
    assert outcome(findings, exceeded, whole) is expected


@pytest.mark.parametrize(
    ("ended", "codes"),
    [
        (Outcome.PASS, (0, 0)),
        (Outcome.WAIVED, (0, 0)),
        (Outcome.BLOCKED, (1, 0)),
        (Outcome.UNPROVEN, (3, 3)),
    ],
)
def test_exit_zero_hides_what_is_blocked_and_nothing_else(ended: Outcome, codes: tuple[int, int]) -> None:
    assert (exit_code(ended, exit_zero=False), exit_code(ended, exit_zero=True)) == codes


def test_the_whole_run_is_proven_or_not(tmp_path: Path) -> None:
    said = policy(tmp_path, "")
    assert proven([process()], [LOG], said, [])
    assert proven([process()], [LOG, replace(LOG, recognised=False, outcome=None)], said, [])
    lacking = {
        "no process": ([], [LOG], []),
        "no log judged": ([process()], [replace(LOG, outcome=None)], []),
        "a log not recognised": ([process()], [LOG, replace(LOG, recognised=False)], []),
        "a log in trouble": ([process()], [replace(LOG, problem="cut")], []),
        "a process without compiler": ([process(), replace(process(), compilers=())], [LOG], []),
        "a kind unproven": ([process(), process(state=State.UNPROVEN)], [LOG], []),
        "a kind not shown": ([process(state=State.UNOBSERVABLE)], [LOG], []),
        "a limit open": ([process()], [LOG], ["at least 1"]),
        "an expectation": ([process()], [LOG], ["a rank"]),
    }
    assert {why: proven(p, logs, said, missing) for why, (p, logs, missing) in lacking.items()} == (
        dict.fromkeys(lacking, False)
    )


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


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("tvm", "and no log shows it"),
        ("torch.compil", "no reader or rule has that name, the nearest is torch.compile"),
        ("zzz", "no reader or rule has that name"),
    ],
)
def test_a_compiler_that_no_reader_has_is_told(name: str, hint: str, tmp_path: Path) -> None:
    rules = policy(tmp_path, f"expect: {{compilers: [{name}]}}")
    (missing,) = expectations([process(0)], rules, known=["torch.compile", "tvm.relax"])
    assert missing.endswith(hint)


def test_one_of_a_family_is_enough(tmp_path: Path) -> None:
    rules, known = policy(tmp_path, "expect: {compilers: [torch]}"), ["torch.compile", "torch"]
    assert expectations([process(0)], rules, known=known[:1]) == []
    assert (
        len(expectations([process(0)], rules, known=known)) == 1
    )  # a compiler of the user's own is called so


@pytest.mark.parametrize(
    ("count", "listed"), [(8, "1, 2, 3, 4, 5, 6, 7, 8"), (9, "1, 2, 3, 4, 5, 6, 7, 8 ..."), (1, "1")]
)
def test_the_ranks_that_no_log_shows_are_listed(count: int, listed: str, tmp_path: Path) -> None:
    (missing,) = expectations([process(0)], policy(tmp_path, f"expect: {{ranks: {count + 1}}}"))
    assert missing == f"the policy expects {count + 1} ranks; in no log are {count}: {listed}"


def test_others_than_the_policy_may_expect_ranks(tmp_path: Path) -> None:
    """A number that two ask for is told once; ranks that only a seal tells of count."""
    said = policy(tmp_path, "expect: {ranks: 2}")
    asked = [(3, "--expect-ranks"), (2, "a seal")]
    missing = expectations([process(0)], said, asked)
    assert missing == [
        "a seal expects 2 ranks; in no log are 1: 1", "--expect-ranks expects 3 ranks; in no log are 2: 1, 2",
    ]  # fmt: skip
    assert expectations([process(0)], said, asked, sealed=[1, 2]) == []
    assert expectations([process(0)], policy(tmp_path, ""), asked, sealed=[1]) == [
        "--expect-ranks expects 3 ranks; in no log are 1: 2"
    ]
