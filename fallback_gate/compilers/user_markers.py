"""Room 3: what a user's own markers prove: they state it, and whether they start or end a compile.

One process may compile more than once, and each compile speaks for itself: up to each line that ends one, a line
that proves the kind must have come since the last such line, and nothing may have begun that did not end. A line
that would end a compile and say that the kind was watched, but says it otherwise (`report level 0`), ends
one that proves nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from fallback_gate.compilers.rule import Evidence, Marker
from fallback_gate.model import Kind, Proof, State

OTHERWISE = " otherwise"  # behind a marker's id: a line with its anchor that its pattern does not match


class _Line(NamedTuple):
    """A line of a marker; `proves` nothing where it says it otherwise."""

    position: int
    marker: Marker
    proves: frozenset[Kind]


def by_markers(evidence: Evidence, required: frozenset[Kind]) -> Mapping[Kind, Proof]:
    """The proof that user markers give, for kinds that no built-in marker speaks for."""
    lines = sorted(_lines(evidence), key=lambda line: line.position)
    seen = {line.marker.id: line.marker for line in lines}
    began = next((marker.id for marker in seen.values() if marker.starts), None)
    why = "no proof marker in the policy says that this log would show it; add one under `rules`"
    if began:
        why = f"marker {began} shows the compiler at work, and no marker was seen that proves this kind"
    found = {kind: Proof(State.UNPROVEN, why) for kind in required}
    found |= {kind: _proof(kind, lines) for marker in seen.values() for kind in sorted(marker.proves)}
    return {
        kind: proof if proof.state is State.PROVEN else replace(proof, setting=_setting(kind, evidence))
        for kind, proof in found.items()
    }


def _setting(kind: Kind, evidence: Evidence) -> str | None:
    """How to record a log that proves the kind."""
    said = (marker.setting for marker in evidence.markers.values() if kind in marker.proves)
    return next(filter(None, said), None)


def _lines(evidence: Evidence) -> list[_Line]:
    return [
        _Line(position, marker, proves)
        for marker in evidence.markers.values()
        for id, proves in ((marker.id, marker.proves), (marker.id + OTHERWISE, frozenset[Kind]()))
        for position in evidence.facts.get(id, {}).values()
    ]


def _proof(kind: Kind, lines: Sequence[_Line]) -> Proof:
    """What the markers say about one kind, compile by compile."""
    shows = next(line for line in lines if kind in line.marker.proves)
    ends = [line.marker for line in lines if line.marker.ends]
    enough = [marker for marker in ends if kind in marker.proves] or ends
    if not enough:
        why = f"marker {shows.marker.id} was seen, but no marker that ends the compile phase"
        return Proof(State.UNPROVEN, why)
    for end in {marker.id: marker for marker in enough}.values():
        if left := _open(kind, end, lines):
            return left
    return Proof(State.PROVEN, f"marker {shows.marker.id} of the policy was seen", shows.position)


def _open(kind: Kind, end: Marker, lines: Sequence[_Line]) -> Proof | None:
    """The first compile that leaves the kind open, of those that this marker ends and one behind them."""
    shown, begun = False, Counter[str]()
    for line in lines:
        shown |= kind in line.proves
        begun[line.marker.id] += line.marker.starts
        if line.marker.id != end.id:
            continue
        if end.ends and kind in end.proves and kind not in line.proves:
            why = f"a compile ended with a line that has the anchor of {end.id} and says it otherwise"
        elif not shown:
            why = f"a compile ended ({end.id}) for which no marker proves this kind"
        elif max(begun.values()) > 1:
            why = f"{begun.most_common(1)[0][0]} was seen twice before {end.id}: one compile did not end"
        else:
            shown, begun = False, Counter()
            continue
        return Proof(State.UNPROVEN, why, line.position)
    if shown or begun.total():
        return Proof(State.UNPROVEN, f"a compile goes on behind the last line that ends one ({end.id})")
    return None
