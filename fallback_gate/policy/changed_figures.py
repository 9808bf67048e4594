"""Room 5: what became of the figures of a policy: limits of what is measured, claims, what to fall back to.

A limit that is taken away leaves the quantity's own; one of a baseline, which is open without one, then
asks for none any more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date
from typing import Final

from fallback_gate.model import measures
from fallback_gate.model.claims import LOWER, METRICS, Claim, Rollback
from fallback_gate.model.inputs import Direction, PolicyChange
from fallback_gate.model.measures import QUANTITIES, SETTINGS, Limit
from fallback_gate.policy.entry import Policy
from fallback_gate.policy.instruments import Bound

# Which way a setting makes its instrument see less; one that is not here can't be ranked.
_SEES_LESS: Final = {
    ("counters", "hbm_above"): "higher",
    ("counters", "tensor_below"): "lower",
    ("counters", "kernel_share"): "higher",
    ("bench", "minimum_effect"): "higher",
}


def bounds(old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """Each limit and setting that is another one now."""
    before = {(bound.instrument, bound.name): bound for bound in old.bounds}
    after = {(bound.instrument, bound.name): bound for bound in new.bounds}
    for place in dict.fromkeys((*before, *after)):
        was, now = before.get(place), after.get(place)
        direction = _ranked(place, was and was.limit, now and now.limit)
        if direction is not None:
            what = f"{place[1]} {_limit(place, was)} -> {_limit(place, now)}"
            key = f"instruments.{place[0]}"
            yield PolicyChange(direction, key, what, was and was.source, now and now.source)


def _limit(place: tuple[str, str], bound: Bound | None) -> str:
    if bound is not None:
        return bound.limit.text
    default = _default(place)
    return f"{default.text} (by default)" if default else "no limit"


def _default(place: tuple[str, str]) -> Limit | None:
    """What holds where a policy says nothing."""
    instrument, name = place
    setting = SETTINGS.get(instrument, {}).get(name)
    if setting is not None:
        return Limit(f"{setting.default:.0%}", "=", setting.default)
    quantity = QUANTITIES[instrument][name]
    read = (measures.limit(text, quantity.unit) for text in quantity.default)
    return next((one for one in read if isinstance(one, Limit)), None)


def _ranked(place: tuple[str, str], own_old: Limit | None, own_new: Limit | None) -> Direction | None:
    old, new = own_old or _default(place), own_new or _default(place)
    if place[1] in SETTINGS.get(place[0], {}):
        return _setting(place, old, new)
    found = looser(old, new)
    if bool(own_old) != bool(own_new):  # a limit of one's own asks for a baseline, a default does not
        asked = Direction.LOOSENED if own_old and own_old.of_baseline else None
        asked = Direction.TIGHTENED if own_new and own_new.of_baseline else asked
        found = asked if found is None else found if asked in (None, found) else Direction.CHANGED
    return found


def _setting(place: tuple[str, str], old: Limit | None, new: Limit | None) -> Direction | None:
    if old is None or new is None or old.number == new.number:
        return None
    worse = _SEES_LESS.get(place)
    if worse is None:
        return Direction.CHANGED
    return Direction.LOOSENED if (new.number > old.number) == (worse == "higher") else Direction.TIGHTENED


def looser(old: Limit | None, new: Limit | None) -> Direction | None:
    """What a new limit does to the verdicts of an old one; None where both are the same."""
    if old is None or new is None:
        return None if old is new else Direction.LOOSENED if new is None else Direction.TIGHTENED
    if (old.sign, old.number, old.of_baseline) == (new.sign, new.number, new.of_baseline):
        return None
    if old.of_baseline != new.of_baseline or old.sign[0] != new.sign[0]:
        return Direction.CHANGED
    if old.number == new.number:
        return Direction.LOOSENED if new.sign.endswith("=") else Direction.TIGHTENED
    return Direction.LOOSENED if (new.number > old.number) == (new.sign[0] == "<") else Direction.TIGHTENED


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
        what = f"{about}: {_claimed(was)} -> {_claimed(now)}"
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


def _claimed(claim: Claim | None) -> str:
    if claim is None:
        return "none"
    part = "decides nothing" if claim.at_least is None else f"{claim.at_least:.6g} of it must be reached"
    return f"{claim.value:g} {METRICS[claim.metric]}, {part}"


def rollback(old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """The artefact to fall back to, which must be there."""
    was, now = old.rollback, new.rollback
    if was is None and now is not None:
        what = f"{_file(now)} must be there"
        yield PolicyChange(Direction.TIGHTENED, "rollback", what, new=now.place)
    elif was is not None and now is None:
        what = f"{_file(was)} need not be there any more"
        yield PolicyChange(Direction.LOOSENED, "rollback", what, old=was.place)
    elif was is not None and now is not None and was[:-1] != now[:-1]:
        what = f"{_file(was)} -> {_file(now)}, of {now.compiler} {now.version}"
        yield PolicyChange(Direction.CHANGED, "rollback", what, was.place, now.place)


def _file(rollback: Rollback) -> str:
    return os.path.basename(rollback.artefact)
