"""What the tests of this room share: a log from its lines, read as the gate reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO

import pytest

from fallback_gate.compilers import READERS, index
from fallback_gate.compilers.book import Book
from fallback_gate.compilers.log import LogEvidence, read_log
from fallback_gate.compilers.rule import Reader
from fallback_gate.model import ProcessKey, Report, State
from fallback_gate.scan.window import Scan

BOOK = Book(READERS)


@dataclass(frozen=True)
class Said:
    """What one log says: its reports, those who printed them, and the evidence."""

    reports: list[Report]
    processes: list[ProcessKey]
    evidence: LogEvidence

    @property
    def markers(self) -> set[str]:
        """The markers that were seen, in any process."""
        return {m for by in self.evidence.processes.values() for e in by.values() for m in e.facts}

    @property
    def told(self) -> list[tuple[str, str, str]]:
        """Kind, operator and scope of each report."""
        return [(report.kind.value, report.op, report.scope.value) for report in self.reports]


Read = Callable[..., Said]


def family(name: str) -> list[Reader]:
    """The readers that stand in a folder of this room."""
    return [READERS[reader] for reader, (module, _) in index.PLACES.items() if module.startswith(f"{name}.")]


def _read(*lines: str, name: str = "compile.log", book: Book = BOOK) -> Said:
    """Read a log of these lines; positions are line numbers."""
    reports: list[Report] = []
    processes: list[ProcessKey] = []

    def tell(report: Report, process: ProcessKey) -> None:
        reports.append(report)
        processes.append(process)

    text = "".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape")
    evidence = read_log(name, Scan(book.anchors, BytesIO(text), count_lines=True), book, tell)
    return Said(reports, processes, evidence)


@pytest.fixture(scope="session")
def read() -> Read:
    return _read


def states(said: Said, compiler: str) -> dict[str, State]:
    """What the log proves about a compiler, in its one process."""
    (by,) = said.evidence.processes.values()
    return {kind.value: proof.state for kind, proof in READERS[compiler].prove(by[compiler]).items()}
