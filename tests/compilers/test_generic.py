"""Room 3: the one line that an in-house compiler can print, and the markers that prove the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fallback_gate.compilers.generic import prove
from fallback_gate.compilers.rule import Evidence, Marker, Sighting
from fallback_gate.compilers.user_markers import by_markers
from fallback_gate.model import Kind, State


@pytest.mark.parametrize(
    ("line", "op", "reason"),
    [
        ("2026-11-30 09:14:07 WARNING build: fallback to eager: op=gate_attn", "gate_attn", None),
        ("fallback to eager: op=aten::sort reason=no lowering", "aten::sort", "no lowering"),
        (
            "fallback to eager: op=aten.sort.stable, reason=no lowering for it  ",
            "aten::sort",
            "no lowering for it",
        ),
        ("fallback to eager: op=gate_attn layer=3 reason=x", "gate_attn", None),
        ("fallback to eager: op=gate_attn; see the manual", "gate_attn", None),
        ("fallback to eager: op=gate_attn.", "gate_attn", None),
        ("Fallback to eager: op=gate_attn", "gate_attn", None),
        ("fallback to eager: op='gate_attn' reason=no lowering", "gate_attn", "no lowering"),
        ('fallback to eager: op="aten::sort", reason=x', "aten::sort", "x"),
        ("fallback to eager: op=`aten.sort.stable`.", "aten::sort", None),
        (
            '{"log":"fallback to eager: op=gate_attn reason=\\"quoted\\"\\n","stream":"stdout"}',
            "gate_attn",
            '"quoted"',
        ),
    ],
)
def test_the_form(line: str, op: str, reason: str | None, read: Callable[..., Any]) -> None:
    (report,) = read(line).reports
    assert (report.compiler, report.op, report.reason) == ("generic", op, reason)
    assert not report.at_least


@pytest.mark.parametrize(
    "line",
    [
        "fallback to eager: op=",
        "fallback to eager: op= ",
        "FALLBACK TO EAGER: op=x",
        "fallback to eager: ops=x",
    ],
)
def test_another_form(line: str, read: Callable[..., Any]) -> None:
    assert read(line).reports == []


def marker(name: str, *proves: Kind, ends: bool = False) -> Marker:
    """A marker as a policy declares it."""
    return Marker(name, "generic", ("anchor",), "anchor", "", "", (), proves=frozenset(proves), ends=ends)


SHOWS, ENDS = marker("m/on", Kind.OP_FALLBACK), marker("m/end", ends=True)
BOTH = marker("m/both", Kind.OP_FALLBACK, Kind.GRAPH_BREAK, ends=True)


@pytest.mark.parametrize(
    ("declared", "seen", "state"),
    [
        ((), (), State.UNPROVEN),
        ((SHOWS, ENDS), (), State.UNPROVEN),
        ((SHOWS, ENDS), (SHOWS,), State.UNPROVEN),
        ((SHOWS, ENDS), (ENDS,), State.UNPROVEN),
        ((SHOWS, ENDS), (SHOWS, ENDS), State.PROVEN),
        ((BOTH,), (BOTH,), State.PROVEN),
    ],
)
def test_a_marker_must_show_and_the_end_be_seen(
    declared: tuple[Marker, ...], seen: tuple[Marker, ...], state: State
) -> None:
    evidence = Evidence(markers={m.id: m for m in declared})
    for at, m in enumerate(seen):
        evidence.add(Sighting(m.id, at))
    proof = prove(evidence)[Kind.OP_FALLBACK]
    assert proof.state is state
    assert proof.why
    if state is State.PROVEN:
        assert proof.line == 0


def test_a_marker_proves_what_it_states_and_no_more() -> None:
    evidence = Evidence(markers={BOTH.id: BOTH})
    evidence.add(Sighting(BOTH.id, 5))
    proof = by_markers(evidence, frozenset({Kind.COMPILE_ERROR}))
    assert {kind: said.state for kind, said in proof.items()} == {
        Kind.COMPILE_ERROR: State.UNPROVEN,
        Kind.OP_FALLBACK: State.PROVEN,
        Kind.GRAPH_BREAK: State.PROVEN,
    }
