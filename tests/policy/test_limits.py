"""Room 5: counts are of distinct sites in the worst single rank."""

from __future__ import annotations

from pathlib import Path

import pytest

from fallback_gate.model import Event, Kind
from fallback_gate.policy import judge, limits
from fallback_gate.policy.limits import worst

from .make import OURS, TODAY, event, policy

A0, A1 = event("a", ranks=(0,)), event("a2", ranks=(1,))
BOTH = event("b", ranks=(0, 1))
LOOSE = event("c", count_is_lower_bound=True)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], (0, None)),
        ([event("a", count=9)], (1, None)),
        ([event("a"), event("b", sites=2)], (3, None)),
        ([A0, A1], (1, 0)),
        ([A0, A1, BOTH], (2, 0)),
        ([A1, BOTH], (2, 1)),
        ([event("a"), A0, BOTH], (2, 0)),
        ([A1, A0], (1, 0)),
        ([A1, event("a")], (1, None)),
        ([event("a", ranks=(3, 4), processes=()), event("b", ranks=(4,), processes=())], (2, 4)),
    ],
)
def test_worst(events: list[Event], expected: tuple[int, int | None]) -> None:
    assert worst(events) == expected


@pytest.mark.parametrize(
    ("text", "events", "exceeded", "open_"),
    [
        ("budgets: {op_fallback: 2}", [A0, BOTH, A1], 0, 0),
        ("budgets: {op_fallback: 1}", [A0, BOTH, A1], 1, 0),
        ("budgets: {graph_break: 0}", [A0, BOTH, A1], 0, 0),
        ("budgets: {events: 1, op_fallback: 1}", [A0, BOTH], 2, 0),
        ("budgets: {events: 0}", [], 0, 0),
        ("budgets: {op_fallback: 1}", [LOOSE], 0, 1),
        ("budgets: {op_fallback: 0}", [LOOSE], 1, 0),
        (f"cold: [{{op: a, max_count: 1, {OURS}}}]", [A0], 0, 0),
        (f"cold: [{{op: 'a*', max_count: 1, {OURS}}}]", [A0, A1], 0, 0),
        (f"cold: [{{op: [a, b], max_count: 1, {OURS}}}]", [A0, BOTH], 1, 0),
        (f"cold: [{{op: a, max_count: 1, {OURS}}}, {{op: b, max_count: 1, {OURS}}}]", [A0, BOTH], 0, 0),
        (f"cold: [{{op: a, max_count: 0, {OURS}}}]", [A0], 1, 0),
        (f"cold: [{{op: c, max_count: 1, {OURS}}}]", [LOOSE], 0, 1),
        (f"cold: [{{op: a, max_count: 1, {OURS}}}]", [A0, LOOSE], 0, 0),
    ],
)
def test_limits(tmp_path: Path, text: str, events: list[Event], exceeded: int, open_: int) -> None:
    rules = policy(tmp_path, text)
    found = limits([judge(one, rules, TODAY) for one in events], rules)
    assert (len(found.exceeded), len(found.open)) == (exceeded, open_)


def test_the_sentences(tmp_path: Path) -> None:
    rules = policy(tmp_path, "unlisted: warn\nbudgets: {graph_break: 0, events: 5}\n")
    findings = [
        judge(event("f", kind=Kind.GRAPH_BREAK, ranks=(3,)), rules, TODAY),
        judge(LOOSE, rules, TODAY),
    ]
    found = limits(findings, rules)
    assert found.exceeded == ("the budget for graph_break is 0, exceeded by 1 site on rank 3",)
    assert found.open[0].startswith("the budget for events is 5, met by at least 1 site")
