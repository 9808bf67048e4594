"""Room 6: what became of a baseline and of a waiver: what they excuse more, and what less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fallback_gate.model.history import Baseline, Held
from fallback_gate.model.inputs import Direction, PolicyChange

if TYPE_CHECKING:
    from fallback_gate.verdict.waiver import Waiver


def baselines(old: Baseline | None, new: Baseline | None) -> Iterator[PolicyChange]:
    """Entries that hold more sites than they did, and fewer. Nothing where one is missing."""
    if old is None or new is None:
        return
    before, after = ({_key(entry): entry for entry in one.entries} for one in (old, new))
    for key in dict.fromkeys((*before, *after)):
        was, now = before.get(key), after.get(key)
        sites = [one.sites if one else 0 for one in (was, now)]
        if sites[0] != sites[1]:
            direction = Direction.LOOSENED if sites[1] > sites[0] else Direction.TIGHTENED
            shown = was or now
            assert shown is not None
            what = f"{shown.op} ({shown.kind}, {_where(shown)}): {sites[0]} -> {sites[1]} sites"
            yield PolicyChange(direction, "baseline", what, was and old.path, now and new.path)


def _key(entry: Held) -> tuple[str, str]:
    return entry.fingerprint, entry.held_as


def _where(entry: Held) -> str:
    return " in ".join(filter(None, (entry.file, entry.function))) or entry.compiler


def waivers(old: Waiver | None, new: Waiver | None) -> Iterator[PolicyChange]:
    """A waiver that is there now, or gone, or covers more or less."""
    if old is None:
        if new is not None:
            yield PolicyChange(Direction.LOOSENED, "waiver", f"{_waiver(new)} added", None, new.path)
        return
    if new is None:
        yield PolicyChange(Direction.TIGHTENED, "waiver", f"{_waiver(old)} removed", old.path)
        return
    at = (old.path, new.path)
    if old.release != new.release:
        yield PolicyChange(Direction.LOOSENED, "waiver", f"for release {old.release} -> {new.release}", *at)
    until = f"until {old.expires} -> {new.expires}"
    if new.expires > old.expires:
        yield PolicyChange(Direction.LOOSENED, "waiver", until, *at)
    if new.expires < old.expires:
        yield PolicyChange(Direction.TIGHTENED, "waiver", until, *at)
    if old.events != new.events:
        what = f"{_events(old.events)} -> {_events(new.events)}"
        if new.events is None or (old.events is not None and new.events - old.events):
            yield PolicyChange(Direction.LOOSENED, "waiver", f"covers more: {what}", *at)
        if old.events is None or (new.events is not None and old.events - new.events):
            yield PolicyChange(Direction.TIGHTENED, "waiver", f"covers less: {what}", *at)
    for word in ("who", "why"):
        if getattr(old, word) != getattr(new, word):
            what = f"{word} {getattr(old, word)!r} -> {getattr(new, word)!r}"
            yield PolicyChange(Direction.NEUTRAL, "waiver", what, *at)


def _waiver(one: Waiver) -> str:
    return f"for release {one.release} until {one.expires}, of {_events(one.events)},"


def _events(events: frozenset[str] | None) -> str:
    return "all events" if events is None else f"{len(events)} event{'' if len(events) == 1 else 's'}"
