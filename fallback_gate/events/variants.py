"""Room 4: what the reports of one event say differently, so that none of them is judged by another's.

One event may be said with several overloads, layers, stacks or messages. All is bounded: what is beyond a
bound is marked, and no cold entry can allow it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from fallback_gate.model import Place, Report, Variants
from fallback_gate.model.event import operator_names, place_of

MOST_VARIANTS = 5_000  # of one field of one event
MOST_BORROWED = 20  # stacks of another event at the same place
MOST_BYTES = 24 << 20  # about what all events and variants of a run may hold
FIELDS = ("ops", "names", "layers", "places")

Fact = tuple[str, object]
"""A field of `Variants`, and what a report says there."""


@dataclass(slots=True)
class Room:
    """How much more the events of a run may keep, in bytes."""

    left: int = MOST_BYTES

    def take(self, *values: object) -> bool:
        """Take what these values need; False where there is no room left."""
        if self.left <= 0:
            return False
        self.left -= sum(map(_bytes, values))
        return True


def _bytes(value: object) -> int:
    if isinstance(value, str):
        return 50 + len(value)
    return 60 + sum(map(_bytes, value)) if isinstance(value, tuple) else 16


def _facts(report: Report) -> Iterator[Fact]:
    """What an entry of a policy can ask of a report."""
    yield "ops", operator_names(report)
    yield "layers", report.layer
    yield "places", place_of(report)
    for name in report.names:
        yield "names", name


def _untold(fact: Fact) -> bool:
    return fact[1] is None or fact[1] == Place()


@dataclass(slots=True)
class Facts:
    """What the reports of one event say: `first` is the first of them, `said` is None while all say the same.

    `overflowed` are the fields of which not all is kept.
    """

    first: Report
    room: Room
    said: dict[Fact, None] | None = None
    counts: dict[str, int] | None = None
    overflowed: frozenset[str] = frozenset()

    def all(self) -> dict[Fact, None]:
        """What they say, whether differently or not."""
        return dict.fromkeys(_facts(self.first)) if self.said is None else self.said

    def add(self, report: Report) -> None:
        """Keep what one more report says."""
        known = self.said or ()
        for fact in _facts(report):
            if fact not in known:
                self._keep(fact)

    def absorb(self, other: Facts, as_named: bool) -> None:
        """Keep what the reports of another event say; of its operator only where they name the same one."""
        self.said, theirs = self.all(), other.all()
        for fact in theirs:
            if not _untold(fact) and (as_named or fact[0] != "ops"):
                self._keep(fact)
        self.overflowed |= other.overflowed

    def _keep(self, fact: Fact) -> None:
        """Keep a fact, or mark that it could not be kept."""
        if self.said is None:
            self.said = self.all()
        if fact in self.said:
            return
        if self.counts is None:
            self.counts = {}
        kept = self.counts.get(fact[0], 1)
        if kept < MOST_VARIANTS and self.room.take(fact):
            self.said[fact] = None
            self.counts[fact[0]] = kept + 1
        else:
            self.overflowed |= {fact[0]}

    def place_as(self, beside: Facts) -> None:
        """Take the places of an event at the same line, where these tell none."""
        places = [fact for fact in beside.all() if fact[0] == "places" and not _untold(fact)]
        if len(places) > MOST_BORROWED:
            del places[MOST_BORROWED:]
            self.overflowed |= {"places"}
        rest = [fact for fact in self.all() if fact[0] != "places" or not _untold(fact)]
        self.said = dict.fromkeys((*rest, *places))
        self.overflowed |= beside.overflowed & {"places"}

    def rename(self, op: str) -> None:
        """Put one operator in the place of all that were said."""
        self.said = {fact: None for fact in self.all() if fact[0] != "ops"}
        self.said["ops", (op,)] = None

    def copy(self, room: Room) -> Facts:
        """The same, to go on on its own."""
        return replace(
            self,
            room=room,
            said=None if self.said is None else dict(self.said),
            counts=None if self.counts is None else dict(self.counts),
        )

    def names(self) -> Iterator[str]:
        """All further names, in the order in which they were said."""
        if self.said is None:
            return iter(dict.fromkeys(self.first.names))
        return (str(value) for kind, value in self.said if kind == "names")

    def variants(self, *, placed: bool) -> Variants | None:
        """What the reports say differently. `placed`: the event has a known place, where what one report
        leaves out is not another thing."""
        if self.said is None and not self.overflowed:
            return None
        said: dict[str, list[object]] = {field: [] for field in FIELDS}
        for kind, value in self.all():
            said[kind].append(value)
        for kind in ("layers", "places") if placed else ():
            told = [value for value in said[kind] if not _untold((kind, value))]
            said[kind] = told or said[kind]
        return Variants(**{k: tuple(v) for k, v in said.items()}, overflowed=self.overflowed)  # type: ignore[arg-type]
