"""The first half of the walk: a run, and the reading of its logs through sources, scan and compilers.

A sealed log brings its structured traces along; they are read after it, by the names and hashes of its seal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from fallback_gate.compilers.book import Book
from fallback_gate.compilers.log import LogEvidence, conclude, gather, read_log
from fallback_gate.compilers.matching import BUDGET_SECONDS, Budget
from fallback_gate.errors import Unreadable
from fallback_gate.events.fold import Fold
from fallback_gate.model import ProcessKey, Report
from fallback_gate.scan.view import ALLOWANCE_BYTES, FIRST_ALLOWANCE, Overlap
from fallback_gate.scan.window import Scan
from fallback_gate.sources import Source, parts
from fallback_gate.sources.parts import Part
from fallback_gate.sources.reader import Told
from fallback_gate.sources.seal import Seal
from fallback_gate.sources.traces import beside, is_trace

_INNER = (
    "a sealed log stands within this one, where its seal can't be verified: give the file that `record` wrote"
)


@dataclass(slots=True)
class Run:
    """What the logs of one run say, as it is gathered."""

    fold: Fold = field(default_factory=Fold)
    sources: dict[str, Source] = field(default_factory=dict)
    logs: dict[str, LogEvidence] = field(default_factory=dict)
    counted: dict[str, bool] = field(default_factory=dict)  # positions are line numbers already
    as_stored: dict[str, bool] = field(default_factory=dict)
    numbers: dict[str, Mapping[int, int]] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    line_counts: dict[str, int | None] = field(default_factory=dict)
    seals: dict[str, Seal] = field(default_factory=dict)
    key: bytes | None = None  # of the seals
    closings: Mapping[str, int] = field(default_factory=dict)  # by log: records that are known to be genuine
    reports: dict[str, Source] = field(default_factory=dict)  # of our own, which are not read

    def leave_out_reports(self, sources: Iterable[Source]) -> list[Source]:
        """The sources that are to be read; reports of our own are only remembered."""
        sources = list(sources)
        self.reports |= {source.path: source for source in sources if source.is_report}
        return [source for source in sources if not source.is_report]

    def take(self, source: Source, reading: Reading) -> None:
        """Keep what a log says, by its seal."""
        log, said, seal = source.path, reading.said, reading.seal
        written = seal.closings if seal else self.closings.get(log)
        if written is not None:
            said.attest(written)
        self.sources[log] = source
        self.logs[log] = said
        self.counted[log] = reading.counted
        self.as_stored[log] = reading.as_stored
        self.numbers[log] = reading.numbers
        if seal:
            self.seals[log] = seal
            if said.extent.problem is None:
                for evidence in said.all():
                    evidence.settings = seal.settings
        elif said.inner:
            said.distrust(_INNER)
        if reading.sha256:
            self.hashes[log] = reading.sha256
            self.line_counts[log] = reading.lines

    def is_sealed(self, log: str) -> bool:
        """The log has a whole seal, or is a trace that a seal covers."""
        return log in self.seals or self.sources[log].trace is not None

    def speaks(self, log: str) -> bool:
        """A known compiler speaks in the log."""
        return any(self.logs[log].processes.values())

    def lines(self, log: str, positions: Iterable[int]) -> Mapping[int, int]:
        """Line numbers of positions in a log."""
        if self.counted[log]:
            return {position: position for position in positions}
        wanted, known = set(positions), self.numbers.get(log, {})
        if not wanted <= known.keys():
            said = self.logs[log]
            all_of_it = wanted.union(known, said.likely())  # another reading for these would cost as much
            try:
                known = self.sources[log].lines_at(all_of_it, as_stored=self.as_stored[log])
            except Unreadable as problem:
                said.extent.problem = str(problem)
                return {}
            self.numbers[log] = known
        return {position: known[position] for position in wanted}


@dataclass(slots=True)
class Reading:
    """What one log says, its reports aside: those went to whoever folds them.

    `numbers` are line numbers that are known already, by position.
    """

    said: LogEvidence
    counted: bool
    as_stored: bool
    seal: Seal | None = None
    sha256: str | None = None
    lines: int | None = None
    numbers: Mapping[int, int] = field(default_factory=dict)

    def hash(self, source: Source) -> None:
        """Find the SHA-256 and the count of lines, which reads the log again."""
        try:
            self.sha256 = source.sha256()
        except Unreadable as problem:
            self.said.extent.problem = self.said.extent.problem or str(problem)
        else:
            if self.sha256:
                self.lines = source.count_lines()

    def number(self, source: Source, positions: Iterable[int]) -> None:
        """Find the line numbers of these positions, and of those that a proof or a note is likely to name."""
        wanted = chain(positions, self.said.likely())
        with suppress(Unreadable):  # whoever needs a number tries again, and says why there is none
            self.numbers = source.lines_at(wanted, as_stored=self.as_stored)


def read(
    source: Source,
    book: Book,
    tell: Callable[[Report, ProcessKey], None],
    *,
    key: bytes | None = None,
    hash_logs: bool = False,
    progress: Callable[[Source, int], None] | None = None,
) -> Reading:
    """Read one log: `tell` gets each report and who printed it."""
    count_lines = not source.rereadable
    with source.open(key=key, looks=True) as stream:
        scan = Scan(
            book.anchors,
            Told(stream, partial(progress, source)) if progress else stream,
            count_lines=count_lines,
            look=stream.look,
        )
        said = read_log(source.path, scan, book, tell)
    reading = Reading(said, count_lines, stream.as_stored, stream.seal)
    if hash_logs:
        reading.hash(source)
    return reading


def traces(run: Run, sources: Sequence[Source]) -> list[Source]:
    """The structured traces of the run: those that were given, and those that seals name."""
    found = {source.key: source for source in sources if is_trace(source)}
    given = list(found.values())
    for log, seal in run.seals.items():
        for trace in seal.traces:
            source = beside(run.sources[log], trace, given)
            if isinstance(source, str):
                run.logs[log].distrust(f"the seal is broken: {source}")
            else:
                found[source.key] = source
    return list(found.values())


@dataclass(slots=True)
class PartReading:
    """What one part of a log says. `overlap`: as if only its own lines were read; `seconds`: CPU time of the
    user's patterns."""

    said: LogEvidence
    overlap: Overlap
    seconds: float


def read_part(
    source: Source, part: Part, book: Book, tell: Callable[[Report, ProcessKey], None]
) -> PartReading:
    """Read one part of a log. Raises `Unreadable` where the text is none that can be read in parts."""
    budget = Budget()
    with parts.reader(source, part) as stream:
        scan = Scan(book.anchors, stream, count_lines=False, look=_refuse, part=part)
        said = gather(source.path, scan, book, tell, budget)
    if said.extent.problem:
        raise Unreadable(said.extent.problem)
    others = said.extent.bytes - max(0, part.begin - parts.HISTORY)
    others -= (said.extent.bytes if part.stop is None else part.stop) - part.first
    lines, most = scan.overlap
    return PartReading(said, Overlap(lines + others // ALLOWANCE_BYTES, most), BUDGET_SECONDS - budget.left)


def _refuse(_data: bytes, _known: int) -> int:
    raise Unreadable("a part of it may be in another form")


def joined(
    readings: Sequence[PartReading], book: Book, tell: Callable[[Report, ProcessKey], None]
) -> Reading | None:
    """What the parts of a log say together; None where one reading of the whole might say something else."""
    whole = readings[0].said
    for other in readings[1:]:
        if not whole.follow(other.said):
            return None
    lines = 0
    for one in readings:
        if lines + one.overlap.most > FIRST_ALLOWANCE:
            return None
        lines += one.overlap.lines
    if sum(one.seconds for one in readings) > BUDGET_SECONDS:
        return None
    conclude(whole, book, tell)
    return Reading(whole, counted=False, as_stored=True)
