"""Room 4: the reports of one fallback, gathered into one event with an honest count.

It shows the most telling of what they say, and keeps the rest as its `Variants`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from fallback_gate.events.fingerprint import fingerprint
from fallback_gate.events.variants import FIELDS, Facts, Room
from fallback_gate.model import Event, Kind, Location, ProcessKey, Report, Scope

MOST_LINES = 20
MOST_SITES = 100_000
MOST_NAMES = 100  # shown; the variants keep more
MOST_COMPILES = 100  # compile ids of one event; beyond it none is named
BEYOND = "one of more different fallbacks than are kept apart"
_WIDTH = {Scope.UNKNOWN: 0, Scope.OPERATOR: 1, Scope.SITE: 2, Scope.REGION: 3, Scope.PROGRAM: 4}


def _same(one: Report, other: Report) -> bool:
    """Whether two reports of one event say the same."""
    return (
        one.op == other.op
        and one.names == other.names
        and one.reason == other.reason
        and one.layer == other.layer
        and one.stack == other.stack
        and one.files == other.files
        and one.location == other.location
        and one.scope is other.scope
        and one.id == other.id
        and one.also == other.also
    )


def _fuller(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """The longer one; of two that are as long, not the one that happened to come first."""
    if len(one) != len(other):
        return max(one, other, key=len)
    return min(one, other)


def _vague(place: Location) -> tuple[bool, bool, str]:
    """Orders places that differ in their function alone, so that it does not matter which was told first."""
    name = place.function or ""
    return not name, name.startswith("<"), name


@dataclass(slots=True)
class Gathered:
    """The reports of one event so far; `positions` of the first log only, at most `MOST_LINES`."""

    first: Report
    log: str
    last: Report
    facts: Facts
    positions: list[int] = field(default_factory=list)
    count: int = 0
    sites: set[str] | None = None
    at_least: bool = True
    processes: dict[ProcessKey, None] = field(default_factory=dict)
    stack: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    reason: str | None = None
    location: Location | None = None
    scope: Scope = Scope.UNKNOWN
    op: str = "*"
    compiles: dict[str, None] = field(default_factory=dict)
    also: tuple[Kind, ...] = ()

    @classmethod
    def of(cls, report: Report, log: str, room: Room) -> Gathered:
        """None yet, of the event that this report is the first of."""
        return cls(report, log, report, Facts(report, room))

    def add(self, report: Report, process: ProcessKey, times: int = 1) -> None:
        """Take one more report of this event, which was said so many times."""
        self._count(report, process, times)
        if self.count == times:
            self._describe(report)
        elif not _same(report, self.last):
            self.last = report
            self._describe(report)
            self.facts.add(report)

    def add_beyond(self, report: Report, process: ProcessKey, times: int) -> None:
        """Take one more report of those that are not kept apart."""
        self._count(report, process, times)
        self.at_least = True
        self.facts.overflowed = frozenset({"all", *FIELDS})
        self.reason = BEYOND

    def _count(self, report: Report, process: ProcessKey, times: int) -> None:
        self.count += times
        if (
            process.log == self.log
            and len(self.positions) < MOST_LINES
            and report.position not in self.positions
        ):
            self.positions.append(report.position)
        self.at_least = self.at_least and report.at_least
        self.processes.setdefault(process)
        if report.compile_id and len(self.compiles) <= MOST_COMPILES:
            self.compiles.setdefault(report.compile_id)
        if report.site:
            if self.sites is None:
                self.sites = {report.site}
            elif len(self.sites) < MOST_SITES:
                self.sites.add(report.site)

    def _describe(self, report: Report) -> None:
        if report.stack != self.stack:
            self.stack = _fuller(self.stack, report.stack)
        if report.files != self.files:
            self.files = _fuller(self.files, report.files)
        if report.reason and len(report.reason) > len(self.reason or ""):
            self.reason = report.reason
        there = report.location
        if (
            there
            and there != self.location
            and (self.location is None or _vague(there) < _vague(self.location))
        ):
            self.location = there
        if self.op == "*" or (self.op < report.op and self.op.casefold() == report.op.casefold()):
            self.op = report.op  # of two that differ in case alone, the same one in whatever order they come
        self.scope = max(self.scope, report.scope, key=_WIDTH.__getitem__)
        if report.also != self.also:
            self.also = tuple(dict.fromkeys((*self.also, *report.also)))

    def absorb(self, other: Gathered, as_named: bool = False) -> None:
        """Take all reports of another event, which turned out to be this one.

        `as_named`: they name the same operator, and are not merely another wording.
        """
        self.facts.absorb(other.facts, as_named)
        self.count += other.count
        if other.log == self.log:
            self.positions = sorted({*self.positions, *other.positions})[:MOST_LINES]
        self.at_least = self.at_least and other.at_least
        self.processes |= other.processes
        self.compiles |= other.compiles
        if other.sites:
            self.sites = {*(self.sites or ()), *other.sites}
        if other.log == self.log and other.first.position < self.first.position:
            self.first = other.first
        self._describe(
            other.first._replace(
                op=other.op,
                stack=other.stack,
                files=other.files,
                reason=other.reason,
                location=other.location,
                scope=other.scope,
                also=other.also,
            )
        )

    def place_as(self, beside: Gathered) -> None:
        """Take the stack of an event at the same place, where this one has none."""
        self.facts.place_as(beside.facts)
        self.stack, self.files = beside.stack, beside.files
        if self.op == "*" and beside.location and beside.location.function:
            self.op, self.location = beside.location.function, beside.location
            self.facts.rename(self.op)

    def copy(self, room: Room) -> Gathered:
        """The same, to be folded on its own."""
        return replace(
            self,
            facts=self.facts.copy(room),
            positions=[*self.positions],
            sites=None if self.sites is None else set(self.sites),
            processes=dict(self.processes),
            compiles=dict(self.compiles),
        )

    def event(self, numbers: Mapping[int, int]) -> Event:
        """The event; `numbers` turns positions into line numbers."""
        first, op, location = self.first, self.op, self.location
        lines = sorted({numbers[p] for p in self.positions if p in numbers})
        known_as = BEYOND if self.reason is BEYOND else op
        return Event(
            id=first.id,
            compiler=first.compiler,
            kind=first.kind,
            scope=self.scope,
            op=op,
            names=tuple(islice(self.facts.names(), MOST_NAMES)),
            stack=self.stack,
            files=self.files,
            reason=self.reason,
            log=self.log,
            line=lines[0] if lines else None,
            lines=tuple(lines),
            count=self.count,
            sites=max(1, len(self.sites or ())),
            count_is_lower_bound=self.at_least,
            ranks=tuple(sorted({p.rank for p in self.processes if p.rank is not None})),
            location=location,
            layer=first.layer,
            text=first.text,
            fingerprint=fingerprint(first.compiler, first.kind, known_as, location),
            help=first.help,
            processes=tuple(self.processes),
            variants=self.facts.variants(placed=location is not None and location.file is not None),
            compile_ids=tuple(self.compiles) if len(self.compiles) <= MOST_COMPILES else (),
        )
