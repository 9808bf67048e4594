"""Room 5: what became of the limits of what instruments measure.

A limit that is taken away leaves the quantity's own; one of a baseline, which is open without one, then
asks for none any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Final

from fallback_gate.model import measures
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
            what = f"{place[1]} {_text(place, was)} -> {_text(place, now)}"
            key = f"instruments.{place[0]}"
            yield PolicyChange(direction, key, what, was and was.source, now and now.source)


def _text(place: tuple[str, str], bound: Bound | None) -> str:
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
