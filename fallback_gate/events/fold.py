"""Room 4: many reports, one event each: folded as they come, with honest counts, in bounded memory.

The same fallback is said several times and in several wordings. One event is one compiler, kind, operator
and location. A report without a location joins the event that has one, if there is just one; a report
whose operator is unknown joins the event at its location; a hint, which only implies a fallback, counts
for nothing where its process reported that kind outright. Beyond `MOST_EVENTS` they are not kept apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product

from fallback_gate.events.gathered import BEYOND, Gathered
from fallback_gate.events.variants import Room
from fallback_gate.model import Event, Kind, ProcessKey, Report, Scope
from fallback_gate.model.names import spellings

MOST_EVENTS = 10_000  # of a run

Key = tuple[str, Kind, str, str | None, int | None]


def key_of(report: Report) -> Key:
    """What makes two reports one event: compiler, kind, comparable operator, place."""
    op = spellings(report.op)[-1].casefold()
    place = report.location
    return (report.compiler, report.kind, op, place.file if place else None, place.line if place else None)


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
            gathered = table[key] = Gathered.of(report, process.log, self._room)
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
            first = first._replace(reason=BEYOND, location=None, layer=None)
            gathered = self._beyond[key] = Gathered.of(first, process.log, self._room)
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
        return [gathered.event(numbers[gathered.log]) for gathered in ranked]

    def _standing_hints(self) -> Iterator[tuple[Key, Gathered]]:
        """Hints that nothing of their kind, which their process reported outright, accounts for.

        A hint that names no operator is accounted for by any; another one by an event that has its
        function in its stack or among its names.
        """
        told: dict[tuple[ProcessKey, str, Kind], set[str]] = {}
        for key, gathered in self._gathered.items():
            for process, kind in product(gathered.processes, (key[1], *gathered.also)):
                names = told.setdefault((process, key[0], kind), {"*"})
                names.update((gathered.op, *gathered.facts.names(), *gathered.stack))
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
            names = (gathered.op, *gathered.facts.names())
            for name in {spelling.casefold() for one in names for spelling in spellings(one)}:
                placed.setdefault((key[0], key[1], name), []).append(gathered)
    kept: dict[Key, Gathered] = {}
    for key, gathered in table.items():
        homes = placed.get((key[0], key[1], key[2]), []) if not key[3] and key[2] != "*" else []
        if len(homes) == 1:
            homes[0].absorb(gathered, as_named=key[2] == spellings(homes[0].op)[-1].casefold())
        else:
            kept[key] = gathered
    return kept
