"""Room 3: what a user's markers prove when a process compiles more than once: each compile speaks for itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fallback_gate.compilers import READERS
from fallback_gate.compilers.book import Book
from fallback_gate.compilers.rule import Marker
from fallback_gate.compilers.user_markers import by_markers
from fallback_gate.model import Kind, Proof, State

KIND = Kind.OP_FALLBACK


def marker(name: str, pattern: str, **says: Any) -> Marker:
    """A marker as a policy declares it; its anchor is what stands before the first bracket."""
    anchor = pattern.partition("[")[0]
    return Marker(f"m/{name}", "acme", (anchor,), pattern, "", "", (), limit=0.1, **says)


BEGIN = marker("begin", "acme: compiling", starts=True)
LEVEL = marker("level", "acme: report on", proves=frozenset({KIND}), setting="set ACME_REPORT=2")
END = marker("end", "acme: finished", ends=True)
ENDS = (BEGIN, LEVEL, END)
ALSO = marker("also", "acme: finished", proves=frozenset({KIND}))
ALL = marker("all", "acme: done, level [2-9]", proves=frozenset({KIND}), ends=True)
DEVICE = marker("device", "acme: device report", proves=frozenset({Kind.DEVICE_FALLBACK}), ends=True)


@pytest.mark.parametrize(
    ("declared", "lines", "why"),
    [
        (ENDS, "compiling|report on|finished", None),
        (ENDS, "compiling|report on|finished|compiling|report on|finished", None),
        (ENDS, "report on|finished", None),
        (ENDS, "compiling|report on|report on|finished", None),
        (ENDS, "compiling|report on|finished|compiling|finished", "for which no marker proves"),
        (ENDS, "compiling|finished|compiling|report on|finished", "for which no marker proves"),
        (ENDS, "compiling|finished|report on", "for which no marker proves"),
        (ENDS, "compiling|report on|finished|report on", "goes on"),
        (ENDS, "compiling|report on|finished|compiling", "goes on"),
        (ENDS, "compiling|report on|compiling|finished", "seen twice"),
        (ENDS, "compiling|report on", "no marker that ends"),
        (ENDS, "report on|report on|finished|finished", "for which no marker proves"),
        ((ALL,), "done, level 2", None),
        ((ALL,), "done, level 2|done, level 3", None),
        ((ALL,), "done, level 2|done, level 0", "otherwise"),
        ((ALL,), "done, level 0|done, level 2", "otherwise"),
        ((ALL,), "done, level 0", "otherwise"),
        ((ALL,), "done, level 2|+ echo acme: done, level 0", None),
        ((ALL, DEVICE), "done, level 2|device report", None),
        ((ALL, END), "done, level 2|finished", None),
        ((ALL, END), "done, level 2|done, level 0|finished", "otherwise"),
        (
            (ALL, END),
            "finished|done, level 2",
            None,
        ),  # the line that proves speaks for its compile, not one beside it
        ((BEGIN, ALL), "compiling|done, level 2|compiling", "goes on"),
        ((ALSO, END), "finished", None),  # one line is both
    ],
)
def test_each_compile_speaks_for_itself(
    declared: tuple[Marker, ...], lines: str, why: str | None, read: Callable[..., Any]
) -> None:
    text = [line if line[0] == "+" else f"acme: {line}" for line in lines.split("|")]
    (evidence,) = read(*text, book=Book(READERS, declared)).evidence.all()
    proof = by_markers(evidence, frozenset())[KIND]
    if why is None:
        proving = [one for one in declared if KIND in one.proves]
        shows, at = next(
            (one, n) for n, line in enumerate(text, 1) for one in proving if line.startswith(one.anchor)
        )
        assert proof == Proof(State.PROVEN, f"marker {shows.id} of the policy was seen", at)
    else:
        assert proof.state is State.UNPROVEN
        assert why in proof.why
        assert proof.setting == ("set ACME_REPORT=2" if LEVEL in declared else None)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("report on", "no proof marker in the policy says that this log would show it; add one under `rules`"),
        ("report on|compiling", "marker m/begin shows the compiler at work, and no marker was seen that proves this kind"),
    ],
)  # fmt: skip
def test_a_kind_that_no_marker_proves_is_told_beside_those_that_are(
    lines: str, why: str, read: Callable[..., Any]
) -> None:
    text = [f"acme: {said}" for said in f"{lines}|finished".split("|")]
    (evidence,) = read(*text, book=Book(READERS, ENDS)).evidence.all()
    found = by_markers(evidence, frozenset({KIND, Kind.GRAPH_BREAK}))
    assert found[Kind.GRAPH_BREAK] == Proof(State.UNPROVEN, why)  # and LEVEL's setting would not show it
    assert found[KIND].state is State.PROVEN
    assert set(found) == {KIND, Kind.GRAPH_BREAK}


@pytest.mark.parametrize(
    ("declared", "lines", "line"),
    [
        (ENDS, "compiling|report on|finished|compiling|finished", 5),
        (ENDS, "compiling|finished|compiling|report on|finished", 2),
        (ENDS, "compiling|report on|compiling|finished", 4),
        ((ALL,), "done, level 2|done, level 0|done, level 2", 2),
        (ENDS, "compiling|report on|finished|compiling", None),  # no line ends it
    ],
)
def test_the_line_at_which_a_compile_ends_that_proves_nothing(
    declared: tuple[Marker, ...], lines: str, line: int | None, read: Callable[..., Any]
) -> None:
    text = [f"acme: {said}" for said in lines.split("|")]
    (evidence,) = read(*text, book=Book(READERS, declared)).evidence.all()
    assert by_markers(evidence, frozenset())[KIND].line == line
