"""Room 4: many reports, one event each: folded as they come, with honest counts, in bounded memory.

The same fallback is said several times and in several wordings. One event is one compiler, kind, operator
and location. A report without a location joins the event that has one, if there is just one; a report
whose operator is unknown joins the event at its location; a hint, which only implies a fallback, counts
for nothing where its process reported that kind outright.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from fallback_gate.events.fingerprint import fingerprint
from fallback_gate.events.names import spellings
from fallback_gate.model import Event, Kind, Location, ProcessKey, Report, Scope

MOST_LINES = 20
MOST_SITES = 100_000
_WIDTH = {Scope.UNKNOWN: 0, Scope.OPERATOR: 1, Scope.SITE: 2, Scope.REGION: 3, Scope.PROGRAM: 4}

Key = tuple[str, Kind, str, str | None, int | None]


def key_of(report: Report) -> Key:
    """What makes two reports one event: compiler, kind, comparable operator, place."""
    op = spellings(report.op)[-1].casefold()
    place = report.location
    return (report.compiler, report.kind, op, place.file if place else None, place.line if place else None)


@dataclass(slots=True)
class Gathered:
    """The reports of one event so far; `positions` of the first log only, at most `MOST_LINES`."""

    first: Report
    log: str
    positions: list[int] = field(default_factory=list)
    count: int = 0
    sites: set[str] = field(default_factory=set)
    at_least: bool = True
    processes: dict[ProcessKey, None] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    stack: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    reason: str | None = None
    location: Location | None = None
    scope: Scope = Scope.UNKNOWN
    op: str = "*"

    def add(self, report: Report, process: ProcessKey) -> None:
        """Take one more report of this event."""
        self.count += 1
        if (
            process.log == self.log
            and len(self.positions) < MOST_LINES
            and report.position not in self.positions
        ):
            self.positions.append(report.position)
        self.at_least = self.at_least and report.at_least
        self.processes.setdefault(process)
        if report.site and len(self.sites) < MOST_SITES:
            self.sites.add(report.site)
        self._describe(report)

    def absorb(self, other: Gathered) -> None:
        """Take all reports of another event, which turned out to be this one."""
        self.count += other.count
        if other.log == self.log:
            self.positions = sorted({*self.positions, *other.positions})[:MOST_LINES]
        self.at_least = self.at_least and other.at_least
        self.processes |= other.processes
        self.sites |= other.sites
        if other.log == self.log and other.first.position < self.first.position:
            self.first = other.first
        for name in other.names:
            self.names.setdefault(name)
        self._describe(other.first)

    def _describe(self, report: Report) -> None:
        for name in report.names:
            if len(self.names) < 100:
                self.names.setdefault(name)
        if len(report.stack) > len(self.stack):
            self.stack = report.stack
        if len(report.files) > len(self.files):
            self.files = report.files
        if report.reason and len(report.reason) > len(self.reason or ""):
            self.reason = report.reason
        if report.location and (
            self.location is None or (report.location.function and not self.location.function)
        ):
            self.location = report.location
        if self.op == "*":
            self.op = report.op
        self.scope = max(self.scope, report.scope, key=_WIDTH.__getitem__)


class Fold:
    """Gathers the reports of a run; `events` folds what was gathered."""

    def __init__(self) -> None:
        self._gathered: dict[Key, Gathered] = {}
        self._hints: dict[Key, Gathered] = {}

    def add(self, report: Report, process: ProcessKey) -> None:
        """Take one report, printed by this process."""
        table = self._hints if report.hint else self._gathered
        key = key_of(report)
        gathered = table.get(key)
        if gathered is None:
            gathered = table[key] = Gathered(report, process.log)
        gathered.add(report, process)

    def events(
        self,
        lines: Callable[[str, Iterable[int]], Mapping[int, int]],
        alias: Mapping[ProcessKey, ProcessKey],
    ) -> list[Event]:
        """The events, in the order in which the logs first report them.

        `lines` turns the positions of a log into line numbers; `alias` maps a process that some lines
        leave unnamed to the one that it turned out to be.
        """
        for gathered in (*self._gathered.values(), *self._hints.values()):
            gathered.processes = {alias.get(process, process): None for process in gathered.processes}
        table = dict(self._gathered)
        for key, hinted in self._standing_hints():
            if key in table:
                table[key].absorb(hinted)
            else:
                table[key] = hinted
        table = _joined_by_name(_joined_by_place(table))
        wanted: dict[str, set[int]] = {}
        for gathered in table.values():
            wanted.setdefault(gathered.log, set()).update(gathered.positions)
        numbers = {log: lines(log, positions) for log, positions in wanted.items()}
        order = {log: at for at, log in enumerate(wanted)}
        ranked = sorted(table.values(), key=lambda g: (order[g.log], g.first.position))
        return [_event(gathered, numbers[gathered.log]) for gathered in ranked]

    def _standing_hints(self) -> Iterator[tuple[Key, Gathered]]:
        """Hints that nothing of their kind, which their process reported outright, accounts for.

        A hint that names no operator is accounted for by any; another one by an event that has its
        function in its stack or among its names.
        """
        told: dict[tuple[ProcessKey, str, Kind], set[str]] = {}
        for key, gathered in self._gathered.items():
            for process in gathered.processes:
                names = told.setdefault((process, key[0], key[1]), {"*"})
                names.update((gathered.op, *gathered.names, *gathered.stack))
        for key, hinted in self._hints.items():
            accounted = (hinted.op in told.get((p, key[0], key[1]), ()) for p in hinted.processes)
            if not all(accounted):
                yield key, hinted


def _joined_by_place(table: dict[Key, Gathered]) -> dict[Key, Gathered]:
    """A report that names no operator joins the event of its kind at the same file and line."""
    named = {(k[0], k[1], k[3], k[4]): g for k, g in table.items() if k[2] != "*" and k[3]}
    stacks = {(k[0], k[3], k[4]): g for k, g in table.items() if k[2] != "*" and k[3] and g.stack}
    kept: dict[Key, Gathered] = {}
    for key, gathered in table.items():
        home = named.get((key[0], key[1], key[3], key[4])) if key[2] == "*" and key[3] else None
        if home is not None:
            home.absorb(gathered)
            continue
        beside = stacks.get((key[0], key[3], key[4])) if key[3] else None
        if beside is not None and not gathered.stack:
            gathered.stack, gathered.files = beside.stack, beside.files
            if gathered.op == "*" and beside.location and beside.location.function:
                gathered.op, gathered.location = beside.location.function, beside.location
        kept[key] = gathered
    return kept


def _joined_by_name(table: dict[Key, Gathered]) -> dict[Key, Gathered]:
    """A report without a location joins the one event of its kind that has one and shares its name."""
    placed: dict[tuple[str, Kind, str], list[Gathered]] = {}
    for key, gathered in table.items():
        if key[3]:
            for name in {
                spelling.casefold() for n in (gathered.op, *gathered.names) for spelling in spellings(n)
            }:
                placed.setdefault((key[0], key[1], name), []).append(gathered)
    kept: dict[Key, Gathered] = {}
    for key, gathered in table.items():
        homes = placed.get((key[0], key[1], key[2]), []) if not key[3] and key[2] != "*" else []
        if len(homes) == 1:
            homes[0].absorb(gathered)
        else:
            kept[key] = gathered
    return kept


def _event(gathered: Gathered, numbers: Mapping[int, int]) -> Event:
    first = gathered.first
    lines = sorted({numbers[p] for p in gathered.positions if p in numbers})
    op, location = gathered.op, gathered.location
    ranks = sorted({p.rank for p in gathered.processes if p.rank is not None})
    return Event(
        id=first.id,
        compiler=first.compiler,
        kind=first.kind,
        scope=gathered.scope,
        op=op,
        names=tuple(gathered.names),
        stack=gathered.stack,
        files=gathered.files,
        reason=gathered.reason,
        log=gathered.log,
        line=lines[0] if lines else None,
        lines=tuple(lines),
        count=gathered.count,
        sites=max(1, len(gathered.sites)),
        count_is_lower_bound=gathered.at_least,
        ranks=tuple(ranks),
        location=location,
        layer=first.layer,
        text=first.text,
        fingerprint=fingerprint(first.compiler, first.kind, op, location),
        help=first.help,
        processes=tuple(gathered.processes),
    )
