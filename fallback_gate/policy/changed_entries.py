"""Room 5: what became of the entries of a policy: hot ones, and those that let something go.

An entry that another one covers, whatever a log may hold, changes nothing. A hot entry is covered by a
wider one, an excuse by one that is as wide, holds as long, and counts no less. What only looks covered is
told: a wide hot entry misses what the log does not name, and where a whole function runs eager only an
excuse that names it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import TypeVar

from fallback_gate.model.inputs import Direction, PolicyChange
from fallback_gate.model.measures import Limit
from fallback_gate.policy import globs
from fallback_gate.policy.changed_figures import looser
from fallback_gate.policy.changed_values import number
from fallback_gate.policy.cover import covers
from fallback_gate.policy.entry import ColdEntry, Entry, HotEntry, Policy, UnhotEntry

_ALWAYS_TOLD = ("compiler", "kinds")  # no log leaves these open
_BY_NAME = ("op", "function", "layer")
_WORDS = ("why", "reason", "owner", "ticket")
X = TypeVar("X", ColdEntry, UnhotEntry)


def hot(old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """Hot entries that are gone or narrower, and those that are new or wider."""
    for entry in old.hot:
        if any(_hot_covers(other, entry) for other in new.hot):
            yield from _reworded("hot", entry, new.hot)
            continue
        partly = next((other for other in new.hot if _asks_less(other, entry)), None)
        narrower = next((other for other in new.hot if _asks_less(entry, other)), None)
        if partly is not None:
            what = f"{_text(entry)} became {_text(partly)}, which misses what the log does not name"
            yield PolicyChange(Direction.CHANGED, "hot", what, entry.rule.source, partly.rule.source)
        elif narrower is not None:
            what = f"{_text(entry)} narrowed to {_text(narrower)}"
            yield PolicyChange(Direction.LOOSENED, "hot", what, entry.rule.source, narrower.rule.source)
        else:
            yield PolicyChange(Direction.LOOSENED, "hot", f"{_text(entry)} removed", entry.rule.source)
    if old.hot and not new.hot:
        what = "nothing is hot any more: a function that runs eager as a whole no longer counts as hot"
        yield PolicyChange(Direction.LOOSENED, "hot", what)
    for entry in new.hot:
        if not any(_hot_covers(other, entry) for other in old.hot):
            wider = next((other for other in old.hot if _asks_less(entry, other)), None)
            what = f"{_text(entry)} added" if wider is None else f"{_text(wider)} widened to {_text(entry)}"
            at = wider.rule.source if wider else None
            yield PolicyChange(Direction.TIGHTENED, "hot", what, at, entry.rule.source)


def _asks_less(wide: HotEntry, narrow: HotEntry) -> bool:
    """Whether the wide entry takes in all that the narrow one names."""
    if not covers(wide.asks(), narrow.asks(), hot=True):
        return False
    if wide.share_of_step is None:
        return bool(wide.asks())
    if not wide.asks() and narrow.asks():
        return False
    return narrow.share_of_step is not None and _share_within(narrow.share_of_step, wide.share_of_step)


def _share_within(narrow: Limit, wide: Limit) -> bool:
    """Whether each share that the narrow limit takes in is one that the wide one takes in."""
    return looser(narrow, wide) in (None, Direction.LOOSENED)


def _hot_covers(wide: HotEntry, narrow: HotEntry) -> bool:
    """As `_asks_less`, also where the log does not tell a fact by which only the narrow one asks."""
    if not _asks_less(wide, narrow):
        return False
    told = any(key in wide.asks() for key in _ALWAYS_TOLD)
    same = (wide.share_of_step is None) == (narrow.share_of_step is None)
    return told or (same and wide.asks().keys() == narrow.asks().keys())


def cold(old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """Cold entries that let more go, or less, than those of the other policy."""
    by_name = bool(new.hot)
    before, after = _living(old.cold, today), _living(new.cold, today)
    # What an entry with a max_count counted blocks when it is gone, unless a warning or another takes it.
    warns = new.unlisted != "block" or new.unlisted_share is not None
    counts = warns or any(entry.max_count is not None for entry in after)
    yield from _excuses("cold", before, after, old.cold, today, by_name, counts)
    counted = [[_key(entry) for entry in many if entry.max_count is not None] for many in (before, after)]
    stayed = [[key for key in many if key in counted[0] and key in counted[1]] for many in counted]
    if stayed[0] != stayed[1]:
        what = "entries with max_count stand in another order: an event counts against the first that matches"
        yield PolicyChange(Direction.CHANGED, "cold", what)


def unhot(old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """Entries that take more, or less, off the hot list; what is left of it is told under `hot`."""
    before, after = _living(old.unhot, today), _living(new.unhot, today)
    yield from _excuses("unhot", before, after, old.unhot, today)


def _living(entries: Sequence[X], today: date) -> list[X]:
    return [entry for entry in entries if not entry.expired(today)]


def _excuses(
    key: str,
    before: Sequence[X],
    after: Sequence[X],
    all_before: Sequence[X],
    today: date,
    by_name: bool = False,
    counts: bool = False,
) -> Iterator[PolicyChange]:
    """`by_name`: an event may have to be named; `counts`: what an entry counted may be taken elsewhere."""
    for entry in _beyond(after, before, by_name):
        what, other = _more(entry, before, all_before, today)
        at = other.rule.source if other else None
        yield PolicyChange(Direction.LOOSENED, key, what, at, entry.rule.source)
    for entry in _beyond(before, after, False):
        what, other = _less(entry, after)
        direction = Direction.TIGHTENED
        if counts and _count(entry) is not None and (other is None or other.asks() != entry.asks()):
            direction, what = Direction.CHANGED, f"{what}; its max_count no longer stops what it counted"
        at = other.rule.source if other else None
        yield PolicyChange(direction, key, what, entry.rule.source, at)
    for entry in after:
        yield from _reworded(key, entry, before, reverse=True)


def _beyond(entries: Sequence[X], others: Sequence[X], by_name: bool) -> list[X]:
    """The entries that no other one covers; one with a `max_count` covers one at most."""
    free = list(others)
    left = []
    for entry in entries:  # the same entry first, so that it is not taken by another
        same = next((other for other in free if _key(other) == _key(entry)), None)
        if same is None:
            left.append(entry)
        elif _count(same) is not None:
            free.remove(same)
    beyond = []
    for entry in left:
        found = next((other for other in free if _excuse_covers(other, entry, by_name)), None)
        if found is None:
            beyond.append(entry)
        elif _count(found) is not None:
            free.remove(found)
    return beyond


def _excuse_covers(wide: X, narrow: X, by_name: bool) -> bool:
    if not covers(wide.asks(), narrow.asks(), hot=False) or (by_name and not _names(wide, narrow)):
        return False
    most, mine = _count(wide), _count(narrow)
    return _as_long(wide, narrow) and (most is None or (mine is not None and mine <= most))


def _as_long(one: X, other: X) -> bool:
    return one.expires is None or (other.expires is not None and one.expires >= other.expires)


def _names(wide: Entry, narrow: Entry) -> bool:
    """Whether the wide entry names what the narrow one names, and not merely by wildcards."""
    for key in _BY_NAME:
        named = tuple(glob for glob in narrow.asks().get(key, ()) if not globs.is_wild(glob))
        by = tuple(glob for glob in wide.asks().get(key, ()) if not globs.is_wild(glob))
        if named and not (by and covers({key: by}, {key: named}, hot=False)):
            return False
    return True


def _more(entry: X, before: Sequence[X], all_before: Sequence[X], today: date) -> tuple[str, X | None]:
    """What an entry lets go that none did before, and the entry that it came from."""
    text = _text(entry)
    for other in before:
        if other.asks() == entry.asks():
            return f"{text}: {_terms(other, entry) or 'stands once more, and counts apart'}", other
    lapsed = next((o for o in all_before if o.asks() == entry.asks() and o.expired(today)), None)
    if lapsed is not None:
        return f"{text} had expired, and holds {_until(entry)}", lapsed
    for other in before:
        if covers(other.asks(), entry.asks(), hot=False):
            if _excuse_covers(other, entry, False) and _count(other) is None:
                return f"{text} added: by name, it also holds where a whole function runs eager", other
            return (
                f"{text} added: {_terms(other, entry) or 'counts apart from the entry that covers it'}",
                other,
            )
    for other in before:
        if covers(entry.asks(), other.asks(), hot=False):
            return f"{_text(other)} widened to {text}{_also(_terms(other, entry))}", other
    return f"{text} added, {_until(entry)}", None


def _less(entry: X, after: Sequence[X]) -> tuple[str, X | None]:
    """What an entry let go that none does now, and what became of it."""
    text = _text(entry)
    for other in after:
        if other.asks() == entry.asks():
            return f"{text}: {_terms(entry, other)}", other
    for other in after:
        if covers(entry.asks(), other.asks(), hot=False):
            return f"{text} narrowed to {_text(other)}{_also(_terms(entry, other))}", other
    return f"{text} removed", None


def _terms(old: X, new: X) -> str:
    """How date and number differ."""
    parts = []
    if old.expires != new.expires:
        parts.append(f"{_until(old)} -> {_until(new)}")
    if _count(old) != _count(new):
        parts.append(f"max_count {number(_count(old))} -> {number(_count(new))}")
    return ", ".join(parts)


def _also(terms: str) -> str:
    return f" ({terms})" if terms else ""


def _until(entry: X) -> str:
    return f"until {entry.expires}" if entry.expires else "without an end"


def _count(entry: Entry) -> int | None:
    return entry.max_count if isinstance(entry, ColdEntry) else None


def _key(entry: X) -> tuple[object, ...]:
    return (*entry.asks().items(), entry.expires, _count(entry))


def _text(entry: Entry) -> str:
    parts = [f"{key} {' | '.join(asked)}" for key, asked in entry.asks().items()]
    if isinstance(entry, HotEntry) and entry.share_of_step is not None:
        parts.append(f"share_of_step {entry.share_of_step.text}")
    return ", ".join(parts)


def _reworded(key: str, one: Entry, others: Sequence[Entry], reverse: bool = False) -> Iterator[PolicyChange]:
    """Other words about the same: whose, why, which ticket."""
    same = next((other for other in others if other.asks() == one.asks()), None)
    if same is None:
        return
    old, new = (same, one) if reverse else (one, same)
    for word in _WORDS:
        before, after = getattr(old, word, None), getattr(new, word, None)
        if before != after:
            what = f"{_text(new)}: {word} {before!r} -> {after!r}"
            yield PolicyChange(Direction.NEUTRAL, key, what, old.rule.source, new.rule.source)
