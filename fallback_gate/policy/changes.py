"""Room 5: what a policy makes of another one: what it loosens, what it tightens, what nobody can rank.

Both are compared as they judge, with all that they extend, so that moving an entry to another file changes
nothing, and a shipped policy that is no longer extended loosens by each entry that it gave. Where a section
differs in no way that its comparison knows, that is still said. `SECTIONS` has every field of a policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from functools import partial
from typing import Any, Final

from fallback_gate.model.inputs import Direction, PolicyChange
from fallback_gate.policy import changed_entries, changed_figures, changed_values
from fallback_gate.policy.entry import Policy

Section = Callable[[Policy, Policy, date], Iterable[PolicyChange]]

SECTIONS: Final[Mapping[str, tuple[str, Section | None]]] = {
    # field of a policy: its key in the file, and who compares it
    "hot": ("hot", changed_entries.hot),
    "unhot": ("unhot", changed_entries.unhot),
    "cold": ("cold", changed_entries.cold),
    "unlisted": ("unlisted", changed_values.unlisted),
    "unlisted_share": ("unlisted", None),  # told with `unlisted`
    "budgets": ("budgets", changed_values.budgets),
    "required": ("proof.required", changed_values.required),
    "accept_unobservable": ("proof.accept_unobservable", changed_values.accepted),
    "expect_compilers": ("expect.compilers", partial(changed_values.expected, "compilers")),
    "expect_ranks": ("expect.ranks", changed_values.ranks),
    "expect_instruments": ("expect.instruments", partial(changed_values.expected, "instruments")),
    "bounds": ("instruments", changed_figures.bounds),
    "claims": ("claims", changed_figures.claims),
    "rollback": ("rollback", changed_figures.rollback),
    "rules": ("rules", changed_values.rules),
    "logs": ("logs", changed_values.logs),
    "extends": ("extends", changed_values.extends),
    "name": ("name", changed_values.name),
    "tests": ("tests", changed_values.tests),
}
_ORDER: Final = list(Direction)
_PLACES: Final = frozenset({"rule", "source", "seen_in", "used"})  # where a thing stands, not what it says


def compare(old: Policy, new: Policy, today: date) -> tuple[PolicyChange, ...]:
    """All that `new` changes, what may let more pass first. `today` (UTC) decides what has expired."""
    found: list[PolicyChange] = []
    for field, (key, section) in SECTIONS.items():
        if section is None:
            continue
        here = list(section(old, new, today))
        before, after = getattr(old, field), getattr(new, field)
        if not here and section is not changed_values.rules and _said(before) != _said(after):
            here = [PolicyChange(Direction.NEUTRAL, key, "written in another way, to the same effect")]
        found += here
    return tuple(sorted(dict.fromkeys(found), key=lambda change: _ORDER.index(change.direction)))


def _said(value: Any) -> Any:
    """The value without the places at which its parts stand."""
    if is_dataclass(value) and not isinstance(value, type):
        return tuple(_said(getattr(value, one.name)) for one in fields(value) if one.name not in _PLACES)
    if isinstance(value, tuple):
        named = getattr(value, "_fields", None)
        parts: Iterator[Any] = (
            part for at, part in enumerate(value) if named is None or named[at] not in _PLACES
        )
        return tuple(map(_said, parts))
    return value
