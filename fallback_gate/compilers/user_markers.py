"""Room 3: what a user's own markers prove: they state it, and whether they end the compile phase."""

from __future__ import annotations

from collections.abc import Mapping

from fallback_gate.compilers.rule import Evidence
from fallback_gate.model import Kind, Proof, State


def by_markers(evidence: Evidence, required: frozenset[Kind]) -> Mapping[Kind, Proof]:
    """The proof that user markers give, for kinds that no built-in marker speaks for."""
    seen = [marker for marker in evidence.markers.values() if marker.id in evidence.facts]
    ended = any(marker.ends for marker in seen)
    proven: dict[Kind, Proof] = {}
    for marker in seen:
        for kind in marker.proves:
            if ended:
                why = f"marker {marker.id} of the policy was seen"
                proven[kind] = Proof(State.PROVEN, why, evidence.first(marker.id))
            else:
                why = f"marker {marker.id} was seen, but no marker that ends the compile phase"
                proven.setdefault(kind, Proof(State.UNPROVEN, why))
    began = next((marker.id for marker in seen if marker.starts), None)
    why = "no proof marker in the policy says that this log would show it; add one under `rules`"
    if began:
        why = f"marker {began} shows the compiler at work, and no marker was seen that proves this kind"
    return {kind: Proof(State.UNPROVEN, why) for kind in required} | proven
