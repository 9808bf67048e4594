"""Room 5: what became of the figures that a policy claims, and of the artefact to fall back to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date

from fallback_gate.model.claims import LOWER, METRICS, Claim, Rollback
from fallback_gate.model.inputs import Direction, PolicyChange
from fallback_gate.policy.entry import Policy


def claims(old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """Claims that ask for less or are gone, ask for more or are new."""
    before, after = (
        {_about(claim): claim for claim in sorted(policy.claims, key=_demand)} for policy in (old, new)
    )
    for about in dict.fromkeys((*before, *after)):
        was, now = before.get(about), after.get(about)
        asked, asks = _demand(was), _demand(now)
        if asked == asks:
            continue
        direction = Direction.LOOSENED if asks < asked else Direction.TIGHTENED
        what = f"{about}: {_text(was)} -> {_text(now)}"
        yield PolicyChange(direction, "claims", what, was and was.place, now and now.place)


def _about(claim: Claim) -> str:
    conditions = ", ".join(f"{name} {value}" for name, value in sorted(claim.conditions.items()))
    return f"{claim.metric} of {claim.source} ({conditions})"


def _demand(claim: Claim | None) -> float:
    """How much must be reached, more being better; minus infinity for nothing."""
    if claim is None or claim.at_least is None:
        return float("-inf")
    lower = claim.metric in LOWER
    return -claim.value / claim.at_least if lower else claim.value * claim.at_least


def _text(claim: Claim | None) -> str:
    if claim is None:
        return "none"
    part = "decides nothing" if claim.at_least is None else f"{claim.at_least:.6g} of it must be reached"
    return f"{claim.value:g} {METRICS[claim.metric]}, {part}"


def rollback(old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """The artefact to fall back to, which must be there."""
    was, now = old.rollback, new.rollback
    if was is None and now is not None:
        what = f"{_name(now)} must be there"
        yield PolicyChange(Direction.TIGHTENED, "rollback", what, new=now.place)
    elif was is not None and now is None:
        what = f"{_name(was)} need not be there any more"
        yield PolicyChange(Direction.LOOSENED, "rollback", what, old=was.place)
    elif was is not None and now is not None and was[:-1] != now[:-1]:
        what = f"{_name(was)} -> {_name(now)}, of {now.compiler} {now.version}"
        yield PolicyChange(Direction.CHANGED, "rollback", what, was.place, now.place)


def _name(rollback: Rollback) -> str:
    return os.path.basename(rollback.artefact)
