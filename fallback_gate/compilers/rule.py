"""Room 3: the shape of what a compiler prints, declared once and read by everyone.

A `Rule` recognises a fallback; a `Marker` recognises a line that says something about the evidence
(the compiler ran, this level was on, the compile phase ended). Both are found by a literal `anchor`
in one pass over the raw bytes; only then their `pattern` runs, on the one line that was hit, with its
envelope (timestamps, rank prefixes, colours) taken off. Both carry lines that they must and must not
match: those run as tests, and for a user's own rules at load.

An anchor holds no character that an envelope changes: no double quote, backslash, tab or non-ASCII character;
`{n}` in it stands for a number. A pattern never names a source line of the compiler, since these move with each release.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from re import Match
from typing import NamedTuple, cast

from fallback_gate.model import Kind, Proof, Report, Scope
from fallback_gate.scan.record import Record

USER_PATTERN_SECONDS = 0.2
MOST_FACTS = 100_000  # of one marker, kept of one process


@dataclass(frozen=True, slots=True)
class Rule:
    """One message that reports a fallback.

    `anchor`: literals of which one stands in each line of the message that opens it. `pattern`: a regular
    expression searched on that line; its named groups `op`, `reason`, `file`, `line`, `function` and
    `layer` fill the report. `read` takes over where the message has more lines or more than one event.
    `at_least`: the compiler prints it once for many. `limit`: seconds of CPU time a record, for patterns that
    we do not trust; those are tried on so many `lines` of the same writer. `shared_anchor`: other lines have
    the anchor, too; without it, one that the pattern does not match is worth a note.
    """

    id: str
    compiler: str
    anchor: tuple[str, ...]
    pattern: str
    kind: Kind
    scope: Scope
    meaning: str
    help: str
    seen_in: str
    matches: tuple[str, ...]
    ignores: tuple[str, ...] = ()
    at_least: bool = False
    limit: float | None = None
    lines: int = 1
    shared_anchor: bool = False
    read: Callable[[Rule, Record, Match[str]], Iterable[Report]] | None = None


class Sighting(NamedTuple):
    """One reading of a marker: facts that `Reader.prove` weighs, told by the process that printed it."""

    marker: str
    position: int
    facts: tuple[str, ...] = ()
    pid: int | None = None
    rank: int | None = None  # where the record itself tells it, not its envelope
    when: float | None = None  # seconds, comparable within a year; for telling processes apart
    since: float | None = None  # where it tells of a time before it: the start of that time


@dataclass(frozen=True, slots=True)
class Marker:
    """One message that says something about the evidence.

    `shows` is the sentence that the docs print. `read` turns a record into facts; without it the named
    groups of the pattern are the facts, in their order. A user's marker states what it `proves`, whether it
    `ends` the compile phase, and whether it `starts` it: then it says only that the compiler was at work.
    `setting` is how to record a log that holds it.
    """

    id: str
    compiler: str
    anchor: tuple[str, ...]
    pattern: str
    shows: str
    seen_in: str
    matches: tuple[str, ...]
    ignores: tuple[str, ...] = ()
    proves: frozenset[Kind] = frozenset()
    ends: bool = False
    starts: bool = False
    setting: str | None = None
    limit: float | None = None
    read: Callable[[Marker, Record, Match[str]], Iterable[Sighting]] | None = None


@dataclass(slots=True)
class Evidence:
    """All that one process said about one compiler: its sightings by marker, and the kinds it reported.

    Bounded: of each marker the distinct facts are kept with the position of the first, how often each came
    again, where the marker was last seen, and the count of all. Where there are more than are kept, nothing is
    proven. `back` is how far the clock ever ran back.
    """

    facts: dict[str, dict[tuple[str, ...], int]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    again: dict[str, dict[tuple[str, ...], int]] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    reported: set[Kind] = field(default_factory=set)
    rules: dict[str, int] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)  # why this log as a whole can't be trusted
    markers: dict[str, Marker] = field(default_factory=dict)  # the user's own, by id
    span: tuple[float, float] | None = None  # when the first and the last record were written
    first_time: float | None = None  # when the first record that was read was written
    now: float | None = None  # and the latest
    back: float = 0.0  # seconds
    settings: Mapping[str, str] | None = None  # in force, where a whole seal shows a run that succeeded
    sealed: bool = False  # whether the closing records of this log are the recorder's own

    def add(self, sighting: Sighting) -> None:
        """Keep a sighting."""
        seen = self.facts.setdefault(sighting.marker, {})
        if sighting.facts in seen:
            again = self.again.setdefault(sighting.marker, {})
            again[sighting.facts] = again.get(sighting.facts, 0) + 1
        elif len(seen) < MOST_FACTS:
            seen[sighting.facts] = sighting.position
        elif (
            why := f"{sighting.marker} tells more than {MOST_FACTS} things, not all are kept"
        ) not in self.trouble:
            self.trouble.append(why)
        last = self.last.get(sighting.marker, sighting.position)
        self.last[sighting.marker] = max(sighting.position, last)
        self.counts[sighting.marker] = self.counts.get(sighting.marker, 0) + 1
        self._saw(sighting.when)
        if sighting.since is not None and self.span is not None:
            self.span = (min(sighting.since, self.span[0]), self.span[1])

    def count(self, report: Report) -> None:
        """Keep that this was reported."""
        self.reported.add(report.kind)
        self.rules[report.id] = self.rules.get(report.id, 0) + 1
        self._saw(report.when)

    def _saw(self, when: float | None) -> None:
        if when is None or when == self.now:
            return
        first, last = self.span or (when, when)
        self.span = (min(first, when), max(last, when))
        if self.now is not None:
            self.back = max(self.back, self.now - when)
        else:
            self.first_time = when
        self.now = when

    def merge(self, other: Evidence) -> None:
        """Pool what lines of the same process in the same log say."""
        for marker, facts in other.facts.items():
            mine = self.facts.setdefault(marker, {})
            for fact, position in facts.items():
                times = other.times(marker, fact) - (fact not in mine)
                if times:
                    again = self.again.setdefault(marker, {})
                    again[fact] = again.get(fact, 0) + times
                mine.setdefault(fact, position)
        for marker, count in other.counts.items():
            self.counts[marker] = self.counts.get(marker, 0) + count
        for marker, position in other.last.items():
            self.last[marker] = max(position, self.last.get(marker, position))
        self.reported |= other.reported
        for rule, count in other.rules.items():
            self.rules[rule] = self.rules.get(rule, 0) + count
        self.trouble += other.trouble
        self.markers = self.markers or other.markers
        self.settings = self.settings or other.settings
        self.sealed = self.sealed and other.sealed
        if other.span:
            first, last = self.span or other.span
            self.span = (min(first, other.span[0]), max(last, other.span[1]))
        self.back = max(self.back, other.back)

    def follow(self, other: Evidence) -> None:
        """Add what the same process says behind all this."""
        if self.now is None:
            self.first_time = other.first_time
        elif other.first_time is not None:
            self.back = max(self.back, self.now - other.first_time)
        self.now = self.now if other.now is None else other.now
        self.merge(other)

    def first(self, marker: str) -> int | None:
        """Where the marker was first seen, or None."""
        seen = self.facts.get(marker)
        return min(seen.values()) if seen else None

    def times(self, marker: str, fact: tuple[str, ...]) -> int:
        """How often the marker told this fact."""
        return int(fact in self.facts.get(marker, ())) + self.again.get(marker, {}).get(fact, 0)

    def of(self, marker: str) -> set[tuple[str, ...]]:
        """The distinct facts that the marker told."""
        return set(self.facts.get(marker, ()))


class StrictMode(NamedTuple):
    """A variable with which a stack fails rather than falls back, as its vendor says.

    A sealed run that succeeded with it in force proves `kinds` for each process in which the compiler was
    seen. `but`: what the vendor says that it does not cover, which the report repeats.
    """

    variables: Mapping[str, str]
    kinds: frozenset[Kind]
    but: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """All that the gate knows of one compiler or runtime.

    `manual`: its module's docstring. `silent`: whether a fallback goes unsaid at the compiler's default level:
    `yes`, `no` or `partly`, then what. `seen_in`: the versions whose wording was seen, and how.
    `required`: the kinds that must be proven by default. `prove` weighs the evidence of one process; a
    kind that it leaves out is one that no log of this compiler can show: reported, and never decides.
    Positions in the proofs' `line` are turned into line numbers by the gate.
    """

    name: str
    rules: tuple[Rule, ...]
    markers: tuple[Marker, ...]
    required: frozenset[Kind]
    prove: Callable[[Evidence], Mapping[Kind, Proof]]
    conclude: Callable[[Evidence], Iterable[Report]] = lambda evidence: ()  # what only the whole log tells
    joins: Callable[[Evidence, Evidence], bool] = lambda text, trace: False  # both are of one program
    setting: str = ""  # how to record a log that proves something
    manual: str = ""
    silent: str = ""
    seen_in: str = ""
    version: Callable[[Evidence], str | None] = lambda evidence: None
    strict: tuple[StrictMode, ...] = ()
    inside: frozenset[str] = frozenset()  # compilers that, when they are in the same process, owe the proof

    @property
    def entries(self) -> tuple[Rule | Marker, ...]:
        """All that it declares: its rules, then its markers."""
        return self.rules + self.markers


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A shipped pattern, compiled when it is first hit."""
    return re.compile(pattern)


@lru_cache(maxsize=32)
def searched(pattern: str, text: str) -> Match[str] | None:
    """The first match of a shipped pattern on a line. Where there is none, that is asked for twice."""
    return compiled(pattern).search(text)


@cache
def compiled_with_limit(pattern: str) -> Callable[..., Iterator[Match[str]]]:
    """The search of a pattern that we do not trust: `regex` can be given a `timeout` in seconds.

    Of several lines, `$` is the end of any, since nobody knows which is the last.
    """
    import regex

    return cast("Callable[..., Iterator[Match[str]]]", regex.compile(pattern, regex.MULTILINE).finditer)
