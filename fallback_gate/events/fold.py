"""Room 4: many reports, one event each: folded as they come, with honest counts, in bounded memory.

The same fallback is said several times and in several wordings. One event is one compiler, kind, operator
and location. A report without a location joins the event that has one, if there is just one; a report
whose operator is unknown joins the event at its location; a hint, which only implies a fallback, counts
for nothing where its process reported that kind outright.

One event may be said with several overloads, layers, stacks or messages. It shows the most telling ones
and keeps the rest as `Variants`, so that none of them is judged by another's. All is bounded: what is
beyond a bound is marked, and no cold entry can allow it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from fallback_gate.events.fingerprint import fingerprint
from fallback_gate.model import Event, Kind, Location, Place, ProcessKey, Report, Scope, Variants
from fallback_gate.model.names import spelled, spellings

MOST_LINES = 20
MOST_SITES = 100_000
MOST_NAMES = 100  # shown; the variants keep more
MOST_VARIANTS = 5_000  # of one field of one event
MOST_COMPILES = 100  # compile ids of one event; beyond it none is named
MOST_BORROWED = 20  # stacks of another event at the same place
MOST_EVENTS = 10_000  # of a run
MOST_BYTES = 24 << 20  # about what all events and variants of a run may hold
_WIDTH = {Scope.UNKNOWN: 0, Scope.OPERATOR: 1, Scope.SITE: 2, Scope.REGION: 3, Scope.PROGRAM: 4}
_BEYOND = "one of more different fallbacks than are kept apart"

Key = tuple[str, Kind, str, str | None, int | None]
Fact = tuple[str, object]


def key_of(report: Report) -> Key:
    """What makes two reports one event: compiler, kind, comparable operator, place."""
    op = spellings(report.op)[-1].casefold()
    place = report.location
    return (report.compiler, report.kind, op, place.file if place else None, place.line if place else None)


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
    )


def _facts(report: Report) -> Iterator[Fact]:
    """What an entry of a policy can ask of a report, by the field of `Variants` that keeps it."""
    if report.op == "*":
        yield "ops", tuple(text for text in ("*", report.id, *report.names, report.reason) if text)
    else:
        yield "ops", spelled(report.op, report.names)
    yield "layers", report.layer
    function = report.location.function if report.location else None
    yield "places", Place(function, report.stack, report.files)
    for name in report.names:
        yield "names", name


def _untold(fact: Fact) -> bool:
    return fact[1] is None or fact[1] == Place()


@dataclass(slots=True)
class Gathered:
    """The reports of one event so far; `positions` of the first log only, at most `MOST_LINES`.

    `facts` are what the reports say differently, None while all say the same as the first.
    """

    first: Report
    log: str
    room: Room
    last: Report
    positions: list[int] = field(default_factory=list)
    count: int = 0
    sites: set[str] | None = None
    at_least: bool = True
    processes: dict[ProcessKey, None] = field(default_factory=dict)
    facts: dict[Fact, None] | None = None
    counts: dict[str, int] | None = None
    overflowed: frozenset[str] = frozenset()
    stack: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    reason: str | None = None
    location: Location | None = None
    scope: Scope = Scope.UNKNOWN
    op: str = "*"
    compiles: dict[str, None] = field(default_factory=dict)

    def add(self, report: Report, process: ProcessKey, times: int = 1) -> None:
        """Take one more report of this event, which was said so many times."""
        self._count(report, process, times)
        if self.count == times:
            self._describe(report)
        elif not _same(report, self.last):
            self.last = report
            self._describe(report)
            known = self.facts or ()
            for fact in _facts(report):
                if fact not in known:
                    self._keep(fact)

    def add_beyond(self, report: Report, process: ProcessKey, times: int) -> None:
        """Take one more report of those that are not kept apart."""
        self._count(report, process, times)
        self.at_least = True
        self.overflowed = frozenset({"all", "ops", "names", "layers", "places"})
        self.reason = _BEYOND

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

    def absorb(self, other: Gathered, as_named: bool = False) -> None:
        """Take all reports of another event, which turned out to be this one.

        `as_named`: they name the same operator, and are not merely another wording.
        """
        mine, theirs = self.all_facts(), other.all_facts()
        self.facts = mine
        for fact in theirs:
            if not _untold(fact) and (as_named or fact[0] != "ops"):
                self._keep(fact)
        self.overflowed |= other.overflowed
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
        self._describe(other.first)

    def all_facts(self) -> dict[Fact, None]:
        """What the reports say, whether differently or not."""
        return dict.fromkeys(_facts(self.first)) if self.facts is None else self.facts

    def _keep(self, fact: Fact) -> None:
        """Keep a fact, or mark that it could not be kept."""
        if self.facts is None:
            self.facts = self.all_facts()
        if fact in self.facts:
            return
        if self.counts is None:
            self.counts = {}
        kept = self.counts.get(fact[0], 1)
        if kept < MOST_VARIANTS and self.room.take(fact):
            self.facts[fact] = None
            self.counts[fact[0]] = kept + 1
        else:
            self.overflowed |= {fact[0]}

    def place_as(self, beside: Gathered) -> None:
        """Take the stack of an event at the same place, where this one has none."""
        places = [fact for fact in beside.all_facts() if fact[0] == "places" and not _untold(fact)]
        if len(places) > MOST_BORROWED:
            del places[MOST_BORROWED:]
            self.overflowed |= {"places"}
        rest = [fact for fact in self.all_facts() if fact[0] != "places" or not _untold(fact)]
        self.facts = dict.fromkeys((*rest, *places))
        self.overflowed |= beside.overflowed & {"places"}
        self.stack, self.files = beside.stack, beside.files
        if self.op == "*" and beside.location and beside.location.function:
            self.op, self.location = beside.location.function, beside.location
            self.facts = {fact: None for fact in self.facts if fact[0] != "ops"}
            self.facts["ops", (self.op,)] = None

    def copy(self, room: Room) -> Gathered:
        """The same, to be folded on its own."""
        return replace(
            self,
            room=room,
            positions=[*self.positions],
            sites=set(self.sites) if self.sites is not None else None,
            processes=dict(self.processes),
            compiles=dict(self.compiles),
            facts=dict(self.facts) if self.facts is not None else None,
            counts=dict(self.counts) if self.counts is not None else None,
        )

    def names(self) -> Iterator[str]:
        """All further names, in the order in which they were said."""
        if self.facts is None:
            return iter(dict.fromkeys(self.first.names))
        return (str(value) for kind, value in self.facts if kind == "names")

    def variants(self) -> Variants | None:
        """What the reports say differently; what one leaves out at a known place is not another thing."""
        if self.facts is None and not self.overflowed:
            return None
        said: dict[str, list[object]] = {"ops": [], "names": [], "layers": [], "places": []}
        for kind, value in self.all_facts():
            said[kind].append(value)
        if self.location is not None and self.location.file is not None:
            for kind in ("layers", "places"):
                told = [value for value in said[kind] if not _untold((kind, value))]
                said[kind] = told or said[kind]
        return Variants(**{k: tuple(v) for k, v in said.items()}, overflowed=self.overflowed)  # type: ignore[arg-type]

    def _describe(self, report: Report) -> None:
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
        self._beyond: dict[tuple[str, Kind], Gathered] = {}
        self._room = Room()

    def add(self, report: Report, process: ProcessKey, times: int = 1) -> None:
        """Take one report, printed by this process so many times."""
        table = self._hints if report.hint else self._gathered
        key = key_of(report)
        gathered = table.get(key)
        if gathered is None:
            if len(self._gathered) + len(self._hints) >= MOST_EVENTS or not self._room.take(*report):
                self._add_beyond(report, process, times)
                return
            gathered = table[key] = Gathered(report, process.log, self._room, report)
        gathered.add(report, process, times)

    def so_far(self) -> Fold:
        """A copy of what was gathered. Hints are left out: what accounts for them may be yet to come."""
        copy = self.copy()
        copy._hints.clear()
        return copy

    def copy(self) -> Fold:
        """The same, to go on on its own."""
        copy = Fold()
        copy._room = room = Room(self._room.left)
        for name in ("_gathered", "_hints", "_beyond"):
            setattr(copy, name, {key: one.copy(room) for key, one in getattr(self, name).items()})
        return copy

    def _add_beyond(self, report: Report, process: ProcessKey, times: int) -> None:
        key = (report.compiler, report.kind)
        gathered = self._beyond.get(key)
        if gathered is None:
            first = report._replace(op="*", scope=Scope.UNKNOWN, names=(), stack=(), files=())
            first = first._replace(reason=_BEYOND, location=None, layer=None)
            gathered = self._beyond[key] = Gathered(first, process.log, self._room, first)
        unplaced = report if report.site is None else report._replace(site=None)
        gathered.add_beyond(unplaced, process, times)

    def events(
        self,
        lines: Callable[[str, Iterable[int]], Mapping[int, int]],
        alias: Mapping[ProcessKey, ProcessKey],
    ) -> list[Event]:
        """The events, in the order in which the logs first report them.

        `lines` turns the positions of a log into line numbers; `alias` maps a process that some lines
        leave unnamed to the one that it turned out to be.
        """
        beyond = list(self._beyond.values())
        for gathered in (*self._gathered.values(), *self._hints.values(), *beyond):
            gathered.processes = {alias.get(process, process): None for process in gathered.processes}
        table = dict(self._gathered)
        for key, hinted in self._standing_hints():
            if key in table:
                table[key].absorb(hinted, as_named=True)
            else:
                table[key] = hinted
        folded = [*_joined_by_name(_joined_by_place(table)).values(), *beyond]
        wanted: dict[str, set[int]] = {}
        for gathered in folded:
            wanted.setdefault(gathered.log, set()).update(gathered.positions)
        numbers = {log: lines(log, positions) for log, positions in wanted.items()}
        order = {log: at for at, log in enumerate(wanted)}
        ranked = sorted(folded, key=lambda g: (order[g.log], g.first.position))
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
                names.update((gathered.op, *gathered.names(), *gathered.stack))
        for key, hinted in self._hints.items():
            accounted = (hinted.op in told.get((p, key[0], key[1]), ()) for p in hinted.processes)
            if not all(accounted):
                yield key, hinted


def _joined_by_place(table: dict[Key, Gathered]) -> dict[Key, Gathered]:
    """A report that names no operator joins the event of its kind at the same file and line; of several, the
    first by name, whatever the order of the lines."""
    placed = sorted(((k, g) for k, g in table.items() if k[2] != "*" and k[3]), key=_named, reverse=True)
    named = {(k[0], k[1], k[3], k[4]): g for k, g in placed}
    stacks = {(k[0], k[3], k[4]): g for k, g in placed if g.stack}
    kept: dict[Key, Gathered] = {}
    for key, gathered in table.items():
        home = named.get((key[0], key[1], key[3], key[4])) if key[2] == "*" and key[3] else None
        if home is not None:
            home.absorb(gathered)
            continue
        beside = stacks.get((key[0], key[3], key[4])) if key[3] else None
        if beside is not None and not gathered.stack:
            gathered.place_as(beside)
        kept[key] = gathered
    return kept


def _named(placed: tuple[Key, Gathered]) -> tuple[str, str]:
    (_, kind, op, _, _), _ = placed
    return op, kind


def _joined_by_name(table: dict[Key, Gathered]) -> dict[Key, Gathered]:
    """A report without a location joins the one event of its kind that has one and shares its name."""
    placed: dict[tuple[str, Kind, str], list[Gathered]] = {}
    for key, gathered in table.items():
        if key[3]:
            for name in {
                spelling.casefold() for n in (gathered.op, *gathered.names()) for spelling in spellings(n)
            }:
                placed.setdefault((key[0], key[1], name), []).append(gathered)
    kept: dict[Key, Gathered] = {}
    for key, gathered in table.items():
        homes = placed.get((key[0], key[1], key[2]), []) if not key[3] and key[2] != "*" else []
        if len(homes) == 1:
            homes[0].absorb(gathered, as_named=key[2] == spellings(homes[0].op)[-1].casefold())
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
        names=tuple(islice(gathered.names(), MOST_NAMES)),
        stack=gathered.stack,
        files=gathered.files,
        reason=gathered.reason,
        log=gathered.log,
        line=lines[0] if lines else None,
        lines=tuple(lines),
        count=gathered.count,
        sites=max(1, len(gathered.sites or ())),
        count_is_lower_bound=gathered.at_least,
        ranks=tuple(ranks),
        location=location,
        layer=first.layer,
        text=first.text,
        fingerprint=fingerprint(
            first.compiler, first.kind, _BEYOND if gathered.reason is _BEYOND else op, location
        ),
        help=first.help,
        processes=tuple(gathered.processes),
        variants=gathered.variants(),
        compile_ids=tuple(gathered.compiles) if len(gathered.compiles) <= MOST_COMPILES else (),
    )
