"""Room 6: a run as one side of a comparison: what of a verdict, or of its reports, is compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fallback_gate.model import (
    Class,
    CompilerProof,
    Decision,
    Finding,
    Kind,
    LogReport,
    Outcome,
    PolicySummary,
    ProcessVerdict,
    Proof,
    State,
    Verdict,
    measures,
)
from fallback_gate.model.environment import Environment
from fallback_gate.model.history import Fallback, Number, Side, Step
from fallback_gate.model.measures import Measured, Measurement
from fallback_gate.verdict.compare import compare, of_reports, of_verdict
from fallback_gate.verdict.past_report import PastReport
from tests.policy.make import TODAY, event


def finding(op: str = "aten::sort", found_as: Class = Class.UNLISTED, **said: Any) -> Finding:
    return Finding(event(op, **said), found_as, Decision.BLOCKED)


def process(rank: int | None, *compilers: tuple[str, str | None], **proof: State) -> ProcessVerdict:
    """A process whose compilers owe graph breaks."""
    said = {Kind(kind): Proof(state, "why") for kind, state in proof.items()}
    proven = tuple(CompilerProof(*one, said, frozenset({Kind.GRAPH_BREAK})) for one in compilers)
    return ProcessVerdict("a.log", rank, 1, Outcome.PASS, proven)


def verdict(*findings: Finding, **said: Any) -> Verdict:
    values: dict[str, Any] = {
        "outcome": Outcome.PASS, "exit_code": 0, "today": TODAY, "policy": PolicySummary("p", None, None),
        "logs": (LogReport("a.log", 1),), "processes": (process(0, ("c", "1")),), "findings": findings, "proven": True,
    }  # fmt: skip
    return Verdict(**{**values, **said})


def test_a_verdict_as_a_side() -> None:
    found = finding(
        at=("/app/x y/m.py", 4, "f"), sites=2, count=5, log="b.log", line=9, fingerprint="f1",
        reason="placed on CPUExecutionProvider", kind=Kind.DEVICE_FALLBACK,
    )  # fmt: skip
    processes = (
        process(3, ("c", "1")),
        process(0, ("c", "1"), ("d", None)),
        process(None, ("c", "2")),
        process(None),
    )
    measured = (
        Measured(Measurement("trace", "kernels_per_step", 512, "t.json"), measures.State.MET),
        Measured(Measurement("counters", "dram_share", 0.7, "k.csv", "gemm"), measures.State.EXCEEDED),
    )
    around = Environment(devices=("H200",))
    said = verdict(found, processes=processes, measurements=measured, environment=around)
    assert of_verdict("new", said) == Side(
        "new",
        (
            Fallback(
                fingerprint="f1", compiler="torch.compile", kind=Kind.DEVICE_FALLBACK, op="aten::sort", file="m.py",
                function="f", sites=2, reports=5, at_least=False, device="CPUExecutionProvider",
                event_class=Class.UNLISTED, spot="b.log:9",
            ),
        ),
        None,
        (("c", "1"), ("d", None), ("c", "2")),
        (0, 3),
        1,
        around,
        (
            Number("trace", "kernels_per_step", None, 512, "kernels"),
            Number("counters", "dram_share", "gemm", 0.7, "share"),
        ),
    )  # fmt: skip


def test_reports_of_one_fallback_are_one() -> None:
    """Of sites the worst rank counts, all reports count, and the worst class stands."""
    one = finding(sites=1, count=2, line=None, found_as=Class.COLD, ranks=(0,), fingerprint="f")
    other = finding(sites=1, count=3, found_as=Class.HOT, ranks=(1,), fingerprint="f", at=("m.py", 2, "f"))
    (both,) = of_verdict("x", verdict(one, other)).fallbacks
    assert (both.sites, both.reports, both.event_class, both.spot) == (1, 5, Class.HOT, "compile.log")
    (both,) = of_verdict("x", verdict(replace(other, event_class=Class.UNLISTED), one)).fallbacks
    assert both.event_class is Class.UNLISTED
    (once,) = of_verdict("x", verdict(one, finding(fingerprint="f", count_is_lower_bound=True))).fallbacks
    assert once.at_least


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"proven": True, "reasons": ("x",)}, None),
        ({"logs": (LogReport("a.log", 1), LogReport("b.log", 1, problem="cut short"))}, "b.log: cut short"),
        ({"processes": (process(0, ("c", None), graph_break=State.UNPROVEN),)}, "its logs could not have shown graph_break"),
        ({"processes": (process(0, ("c", None), graph_break=State.UNOBSERVABLE),)}, "its logs could not have shown graph_break"),
        ({"processes": (process(0, ("c", None), op_fallback=State.UNPROVEN),), "reasons": ("a rank", "b")}, "a rank"),
        ({"processes": (process(0, ("c", None), graph_break=State.PROVEN),)}, "its evidence is incomplete"),
        ({"processes": (replace(process(0), why="silent"),)}, "silent"),
    ],
)  # fmt: skip
def test_why_a_run_may_not_show_every_fallback(said: dict[str, Any], problem: str | None) -> None:
    assert of_verdict("x", verdict(**{"proven": False, **said})).problem == problem


def report(*findings: Finding, **said: Any) -> PastReport:
    values: dict[str, Any] = {
        "path": "r.json", "outcome": Outcome.PASS, "policy": PolicySummary("p", None, None), "findings": findings,
        "reasons": (), "compilers": (("c", "1"),), "ranks": (0,), "processes": 0, "problem": None,
    }  # fmt: skip
    return PastReport(**{**values, **said})


def test_a_report_for_each_rank_is_one_run() -> None:
    first = report(finding(sites=1, count=2, fingerprint="f"), finding("aten::topk"), processes=1)
    second = report(
        finding(sites=3, count=4, fingerprint="f", found_as=Class.HOT, count_is_lower_bound=True),
        path="s.json", ranks=(2, 1), compilers=(("d", None), ("c", "1")), processes=2, problem="cut",
    )  # fmt: skip
    side = of_reports("new", [first, second])
    assert (side.name, side.problem, side.ranks, side.processes) == ("new", "s.json: cut", (0, 1, 2), 3)
    assert side.compilers == (("c", "1"), ("d", None))
    assert [(one.op, one.sites, one.reports, one.at_least, one.event_class) for one in side.fallbacks] == [
        ("aten::sort", 3, 6, True, Class.HOT),
        ("aten::topk", 1, 1, False, Class.UNLISTED),
    ]
    assert of_reports("old", [first]).problem is None
    both = (
        report(finding(fingerprint="f", found_as=Class.COLD)),
        report(finding(fingerprint="f", found_as=Class.COLD)),
    )
    assert of_reports("x", both).fallbacks[0].event_class is Class.COLD
    third = report(finding(fingerprint="f", reason="runs on the CPU", kind=Kind.DEVICE_FALLBACK))
    assert [one.device for one in of_reports("x", [first, third]).fallbacks] == ["CPU", None]
    assert [one.device for one in of_reports("x", [third, first]).fallbacks] == ["CPU", None]


def fallback(op: str = "a", **said: Any) -> Fallback:
    values: dict[str, Any] = {
        "fingerprint": f"{op}{said}", "compiler": "c", "kind": Kind.OP_FALLBACK, "op": op, "file": "", "function": "",
        "sites": 1, "reports": 1, "at_least": False, "device": None, "event_class": None, "spot": "x:1",
    }  # fmt: skip
    return Fallback(**{**values, **said})


def side(*fallbacks: Fallback, **said: Any) -> Side:
    return Side("run", fallbacks, **{"compilers": (("c", None),), **said})


def test_changes_come_worst_first_then_by_name() -> None:
    old = side(fallback("z"), fallback("m", sites=2, fingerprint="m"), fallback("k"), fallback("s"))
    new = side(
        fallback("b"),
        fallback("a"),
        fallback("m", fingerprint="m"),
        fallback("s"),
        fallback("k", function="f"),
    )
    told = [(change.step, change.shown.op) for change in compare(old, new).changes]
    assert told == [
        (Step.NEW, "a"), (Step.NEW, "b"), (Step.MOVED, "k"), (Step.FEWER, "m"), (Step.GONE, "z"), (Step.SAME, "s"),
    ]  # fmt: skip


def test_where_it_moved_is_said_in_full() -> None:
    old, new = fallback(file="m.py", function="f"), fallback(file="n.py", device="CPU")
    (change,) = compare(side(old), side(new)).changes
    assert change.what == "not told -> CPU, m.py in f -> n.py"
    assert (change.old, change.new) == (old, new)
    old, new = fallback(device="CPU", fingerprint="f"), fallback(device="AICPU", fingerprint="f")
    (change,) = compare(side(old), side(new)).changes
    assert (change.step, change.old, change.new, change.what) == (Step.MOVED, old, new, "CPU -> AICPU")


def test_of_two_homes_that_of_the_same_kind_is_the_nearer() -> None:
    homes = fallback(kind=Kind.GRAPH_BREAK), fallback(kind=Kind.DEVICE_FALLBACK)
    for old in (homes, homes[::-1]):
        (moved,) = compare(side(*old), side(fallback(kind=Kind.GRAPH_BREAK, function="f"))).of(Step.MOVED)
        assert moved.old == homes[0]


def test_two_that_moved_have_two_homes() -> None:
    """The second may not be matched with the home of the first: then it is new."""
    compared = compare(side(fallback(function="f")), side(fallback(function="g"), fallback(function="h")))
    assert [change.step for change in compared.changes] == [Step.NEW, Step.MOVED]
    assert compared.exit_code == 1
    swapped = compare(
        side(fallback(compiler="d"), fallback(kind=Kind.GRAPH_BREAK)),
        side(fallback(function="f"), fallback(compiler="d", function="g")),
    )
    pairs = {(c.old.compiler, c.new.compiler) for c in swapped.changes if c.old and c.new}
    assert pairs == {("c", "c"), ("d", "d")}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ({"ranks": tuple(range(8))}, {}, "does not show 8 ranks of the old one: 0, 1, 2, 3, 4, 5, 6, 7"),
        ({"ranks": tuple(range(9))}, {}, "does not show 9 ranks of the old one: 0, 1, 2, 3, 4, 5, 6, 7 ..."),
        ({"compilers": (("c", "1"), ("d", "1"), ("e", None))}, {}, "does not show d, e at work"),
    ],
)
def test_what_the_new_run_does_not_show(old: dict[str, Any], new: dict[str, Any], told: str) -> None:
    (open_,) = compare(side(**old), side(**new)).open
    assert told in open_
    assert open_.endswith(told.rpartition(" ")[2] if "ranks" in old else "may not have run")


def test_what_the_new_run_has_more_of_leaves_nothing_open() -> None:
    more = {"ranks": (0, 1), "compilers": (("c", "2"), ("d", None)), "processes": 2}
    compared = compare(side(ranks=(0,), compilers=(("c", "1"),), processes=1), side(**more))
    assert (compared.open, compared.exit_code) == ((), 0)


def test_what_got_worse_leaves_nothing_open() -> None:
    new = side(fallback("*", fingerprint="1"), fallback("a", at_least=True, sites=2, fingerprint="2"))
    old = side(fallback("a", fingerprint="2"))
    assert compare(old, new).open == ()
    assert compare(old, new).exit_code == 1
    fewer = compare(side(fallback(sites=2, fingerprint="2")), side(fallback(at_least=True, fingerprint="2")))
    assert fewer.open == ("a (op_fallback) is said once for many: there may be more now",)
    nameless = compare(side(fallback("*", fingerprint="2")), side(fallback("*", fingerprint="2")))
    assert nameless.open == ("x:1 names no operator, and may mean another one than before",)
