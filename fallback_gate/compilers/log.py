"""Room 3: what one log says, read with the rules of a book.

It is kept by process: the reports go to whoever folds them, the sightings and the kinds that were reported
become the `Evidence` of each compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from fallback_gate.compilers import closing, ending, lost, near_miss
from fallback_gate.compilers.book import Book
from fallback_gate.compilers.matching import Budget, OutOfTime, read_marker, read_rule, says_anchor
from fallback_gate.compilers.rule import MOST_FACTS, Evidence, Marker, Rule, Sighting, searched
from fallback_gate.model import ProcessKey, Report
from fallback_gate.scan import hidden
from fallback_gate.scan.record import Record
from fallback_gate.scan.view import Exhausted
from fallback_gate.scan.window import Extent, Scan
from fallback_gate.sources import seal
from fallback_gate.sources.envelope import Envelope

MOST_PROCESSES = 8_192  # of one log that are told apart


@dataclass(slots=True)
class LogEvidence:
    """What one log says: the evidence by process and compiler, and how much of it was read."""

    processes: dict[ProcessKey, dict[str, Evidence]] = field(default_factory=dict)
    extent: Extent = field(default_factory=Extent)
    near: dict[str, near_miss.NearMiss] = field(default_factory=dict)  # by wording
    closings: int = 0  # lines that are closing records, or look like one
    inner: bool = False  # the header of a sealed log stands among its lines
    broken_off: bool = False  # reading it took too long
    failed: str | None = None  # why its program did not come to its end in order
    lost: str | None = None  # why lines of it are missing
    spoilt: str | None = None  # why words of it may hide a message
    torn: str | None = None  # why lines of it are not whole
    crowded: str | None = None  # why some of its processes are not told apart

    def admit(self, process: ProcessKey) -> ProcessKey:
        """The process; beyond `MOST_PROCESSES` one that stands for all others."""
        if process in self.processes or len(self.processes) < MOST_PROCESSES:
            return process
        self.crowded = f"more than {MOST_PROCESSES:,} processes wrote it: those beyond are not told apart"
        return ProcessKey(process.log, None, None, "others")

    def attest(self, written: int) -> None:
        """The log's seal holds, and covers so many closing records: if there are just these, they count.

        One line more is what somebody else printed, and nothing tells which.
        """
        for compilers in self.processes.values():
            for evidence in compilers.values():
                evidence.sealed = written == self.closings

    def smelt(self, record: Record, waiting: Rule | None = None) -> None:
        """Keep a line that smells of a fallback and that no rule knew, or that one waits for in vain."""
        wording = near_miss.wording(record, waiting)
        if wording is None:
            return
        if wording in self.near:
            self.near[wording].count += 1
        elif len(self.near) < near_miss.MOST:
            self.near[wording] = near_miss.NearMiss(
                record.text, record.position, waiting.id if waiting else None
            )

    def miss(self, log: str, record: Record, waiting: Rule) -> None:
        """Keep that a record of several lines is not all there: what it reports, nobody knows."""
        if near_miss.wording(record, waiting) is None:
            return
        who = self.admit(ProcessKey(log, record.rank, None, _where(record.envelope)))
        trouble = self.of(who, waiting.compiler).trouble
        why = f"a line has the anchor of {waiting.id}, and the rest of its record is missing or says it otherwise"
        if why not in trouble:
            trouble.append(why)

    def follow(self, other: LogEvidence) -> bool:
        """Add what the log says in its next part; whether that is all that one reading would have kept."""
        for process, compilers in other.processes.items():
            for compiler, evidence in compilers.items():
                self.of(self.admit(process), compiler).follow(evidence)
        self.extent.bytes = other.extent.bytes
        self.extent.ranks |= other.extent.ranks
        self.failed = other.failed
        self.lost = self.lost or other.lost
        self.spoilt = self.spoilt or other.spoilt
        self.torn = self.torn or other.torn
        self.crowded = self.crowded or other.crowded
        self.extent.local_ranks |= other.extent.local_ranks
        self.closings += other.closings
        self.inner |= other.inner
        whole = max(len(self.near), len(other.near)) < near_miss.MOST
        for wording, near in other.near.items():
            if wording in self.near:
                self.near[wording].count += near.count
            else:
                self.near[wording] = near
        facts = (seen for evidence in self.all() for seen in evidence.facts.values())
        return whole and len(self.near) <= near_miss.MOST and all(len(seen) < MOST_FACTS for seen in facts)

    def distrust(self, why: str) -> None:
        """Keep what makes the log as a whole no proof."""
        self.extent.problem = self.extent.problem or why
        for evidence in self.all():
            evidence.trouble.append(why)

    def likely(self) -> Iterator[int]:
        """The positions that a proof or a note is likely to name."""
        yield from (near.position for near in self.near.values())
        yield from (min(facts.values()) for seen in self.all() for facts in seen.facts.values() if facts)

    def all(self) -> Iterator[Evidence]:
        """The evidence of each compiler in each process."""
        return (evidence for compilers in self.processes.values() for evidence in compilers.values())

    def of(self, process: ProcessKey, compiler: str) -> Evidence:
        """The evidence of one compiler in one process, made when first asked for."""
        compilers = self.processes.get(process)
        if compilers is None:
            compilers = self.processes[process] = {}
        evidence = compilers.get(compiler)
        if evidence is None:
            evidence = compilers[compiler] = Evidence()
        return evidence


def read_log(
    name: str,
    scan: Scan,
    book: Book,
    tell: Callable[[Report, ProcessKey], None],
    budget: Budget | None = None,
) -> LogEvidence:
    """Read one log: `tell` gets each report and who printed it."""
    said = gather(name, scan, book, tell, budget or Budget())
    conclude(said, book, tell)
    return said


def gather(
    name: str, scan: Scan, book: Book, tell: Callable[[Report, ProcessKey], None], budget: Budget
) -> LogEvidence:
    """As `read_log`, without what only the whole of a log tells."""
    said = LogEvidence(extent=scan.extent)
    try:
        for hit in scan:
            record, known, reported = hit.record, False, False
            said.closings += record.text.startswith(closing.LINE)
            smells = book.smells(hit)
            if smells and book.tells_of_loss(hit):
                if record.text.startswith(seal.OPENING):
                    said.inner = known = True
                said.lost = said.lost or lost.told(record.text)
            for rule in (rules := book.of(hit)):
                if isinstance(rule, Rule):
                    for made in read_rule(rule, record, budget):
                        known, reported, report = True, True, book.advised(made, rule)
                        process = said.admit(_who(name, record, report))
                        said.of(process, report.compiler).count(report)
                        tell(report, process)
                else:
                    for sighting in read_marker(rule, record, budget):
                        known = True
                        said.of(said.admit(_who(name, record, sighting)), rule.compiler).add(sighting)
            if not reported:
                if record.view.marks and not said.spoilt and _is_spoilt(rules, record):
                    said.spoilt = hidden.WHY
                waiting = _waits_in_vain(rules, record)
                if (waiting and near_miss.opens(record, waiting)) or (not known and (waiting or smells)):
                    said.smelt(record, waiting)
                if waiting and waiting.lines > 1 and says_anchor(waiting, record.text):
                    said.miss(name, record, waiting)
        said.spoilt = said.spoilt or scan.spoilt
        said.torn = scan.torn
        said.failed = next(filter(None, map(ending.failed, scan.last_lines())), None)
    except (OutOfTime, Exhausted) as problem:
        scan.extent.problem = str(problem)
        said.broken_off = True
    return said


def _is_spoilt(entries: Iterable[Rule | Marker], record: Record) -> bool:
    """Whether nobody knows if a line with a rule's anchor reports: it has a mask, or colour codes that hide it."""
    rules = [rule for rule in entries if isinstance(rule, Rule) and rule.limit is None]
    view, start, end = record.view, record.start, record.end
    marks = view.marks_in(start, end) if rules else []
    if not marks:
        return False
    around = (one.text.decode("utf-8", "replace") for one in hidden.excerpts(marks, view.buffer, start, end))
    bares = (bare.decode("utf-8", "replace") for bare in hidden.without_codes(record.text.encode()))
    masked = any(map(hidden.has_mask, around))
    return masked or any(searched(rule.pattern, bare) for bare in bares for rule in rules)


def _waits_in_vain(rules: Iterable[Rule | Marker], record: Record) -> Rule | None:
    """Of those whose anchor the line has, the rule that waits for it, where none matches and no other line
    should have that anchor."""
    waiting = [rule for rule in rules if isinstance(rule, Rule)]
    if any(rule.shared_anchor for rule in waiting):
        waiting = [rule for rule in waiting if near_miss.opens(record, rule)]
    own = next((rule for rule in waiting if rule.limit is not None), None)
    if own or not waiting or any(searched(rule.pattern, record.text) for rule in waiting):
        return own
    return waiting[0]


def conclude(said: LogEvidence, book: Book, tell: Callable[[Report, ProcessKey], None]) -> None:
    """Tell the reports that follow from all that was gathered, and settle what counts as evidence."""
    for process, compilers in said.processes.items():
        for compiler, evidence in compilers.items():
            for report in () if said.broken_off else book.readers[compiler].conclude(evidence):
                evidence.count(report)
                tell(book.advised(report), process)
            evidence.markers = book.own_markers.get(compiler, {})
            why = (said.extent.problem, said.failed, said.lost, said.spoilt, said.torn, said.crowded)
            evidence.trouble += filter(None, why)


def read_waiting(name: str, scan: Scan, book: Book, *, settled: bool) -> list[tuple[Report, ProcessKey]]:
    """What the hits that still wait in a scan report by now. Nothing of it is kept: they come again.

    `settled`: nothing more is likely to come soon; else a record that may go on is left out.
    """
    told: list[tuple[Report, ProcessKey]] = []
    budget = Budget()
    try:
        for hit in scan.waiting():
            hit.record.view.ran_out = False
            for marker in book.of(hit):
                if isinstance(marker, Marker):  # it may keep what a rule needs further down
                    list(read_marker(marker, hit.record, budget))
            here = [
                (book.advised(report, rule), _who(name, hit.record, report))
                for rule in book.of(hit)
                if isinstance(rule, Rule)
                for report in read_rule(rule, hit.record, budget)
            ]
            if settled or not hit.record.view.ran_out:
                told += here
    except (OutOfTime, Exhausted):
        pass  # told by the reading itself
    return told


def _who(log: str, record: Record, told: Report | Sighting) -> ProcessKey:
    """Whose record it is: by what it tells itself, then by its envelope."""
    rank = told.rank if told.rank is not None else record.rank
    return ProcessKey(log, rank, told.pid, _where(record.envelope))


def _where(envelope: Envelope) -> str | None:
    """What tells two processes with the same id apart: the host or Ray's address of it, and the branch."""
    if not envelope.stream:
        return None
    host = envelope.host
    if host is None:
        host = next((who.partition(", ip=")[2] for who in envelope.stream if ", ip=" in who), None)
    return " ".join(part for part in (host, envelope.branch) if part) or None
