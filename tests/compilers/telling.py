"""What the readers make of a log, whole and as plain data: each report, each fact, each proof.

Fields that are empty are left out; so are `compiler`, `kind`, `scope` and `help` where they are the rule's own,
`text` where it is the line, `names` where they are the operator, the process where the report names it, and the
proof where it is that of a log that says nothing. Of proofs, the kinds that say the same stand together. What one
process says on lines that don't all tell who wrote them is joined, as the verdict does it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from fallback_gate.compilers import READERS
from fallback_gate.compilers.book import Book
from fallback_gate.compilers.log import LogEvidence, read_log
from fallback_gate.compilers.rule import Evidence, Reader, Rule
from fallback_gate.model import Kind, ProcessKey, Proof, Report
from fallback_gate.reading.run import Run, read, traces
from fallback_gate.scan.window import Scan
from fallback_gate.sources import expand
from fallback_gate.verdict.processes import processes

BOOK = Book(READERS)
Told = dict[str, Any]
_LEFT_OUT = ("id", "compiler", "kind", "scope", "position", "text", "help")
_rules: dict[tuple[str, str], Rule] = {}


def of_lines(lines: Sequence[str]) -> Told:
    """What is made of a log of these lines."""
    text = "".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape")
    reports: list[tuple[Report, ProcessKey]] = []
    scan = Scan(BOOK.anchors, BytesIO(text), count_lines=True)
    said = read_log("", scan, BOOK, lambda *one: reports.append(one))
    shown = dict(enumerate("\n".join(lines).split("\n"), 1))
    told: Told = {"reports": [_report(report, whose, shown) for report, whose in reports]}
    told["processes"] = _processes(said, lambda position: position, facts=True)
    return _whole(told | {"near misses": [near.text[:200] for near in said.near.values()]})


def of_nothing(reader: Reader) -> Told:
    """What a log proves in which the compiler is seen and nothing is said about it."""
    return {"proof": _proofs(reader.prove(Evidence()), reader.setting, lambda position: position)}


def of_file(path: Path) -> Told:
    """What is made of a file, and of the traces that its seal names: equal reports stand together."""
    run = Run()
    (source,), _ = expand([str(path)], Path.cwd())
    told: Told = {}
    sources = [source]
    for source in sources:
        reports: list[tuple[Report, ProcessKey]] = []
        run.take(source, read(source, BOOK, lambda *one, to=reports: to.append(one)))  # type: ignore[misc]
        if len(sources) == 1:
            sources += traces(run, [source])
        said = run.logs[source.path]
        positions = {report.position for report, _ in reports}
        for evidence in said.all():
            positions |= {at for facts in evidence.facts.values() for at in facts.values()}
        lines = run.lines(source.path, positions)
        shown = [
            _report(report._replace(position=lines[report.position]), whose, None)
            for report, whose in reports
        ]
        of = {"reports": _together(shown), "processes": _processes(said, lines.get, facts=False)}
        near = [near.text[:200] for near in said.near.values()]
        told[os.path.basename(source.path)] = _whole(of | {"near misses": near})
    return told


def _whole(told: Mapping[str, Any]) -> Told:
    return {key: value for key, value in told.items() if value or value == 0 and value is not False}


def _report(report: Report, whose: ProcessKey, lines: Mapping[int, str] | None) -> Told:
    rule = _rule(report)
    fields = {name: value for name, value in report._asdict().items() if name not in _LEFT_OUT}
    told: Told = {"rule": f"{report.id} {report.kind.value} {report.scope.value}", "line": report.position}
    told |= {
        name: getattr(report, name)
        for name in ("compiler", "help")
        if getattr(report, name) != getattr(rule, name, None)
    }
    told |= fields
    own = [report.op] if report.op != "*" else []
    told["names"] = [] if list(report.names) == own else list(report.names) or "none"
    told["stack"], told["files"] = list(report.stack), list(report.files)
    if report.location:
        told["location"] = _whole(report.location._asdict())
    told["also"] = [kind.value for kind in report.also]
    if lines is not None and report.text != lines.get(report.position):
        told["text"] = report.text
    rank = None if whose.rank == report.rank else whose.rank
    told["process"] = _process(whose._replace(rank=rank, pid=None if whose.pid == report.pid else whose.pid))
    return _whole(told)


def _rule(report: Report) -> Rule | None:
    if not _rules:
        for reader in READERS.values():
            for rule in reader.rules:
                _rules.setdefault((reader.name, rule.id), rule)
    return _rules.get((report.compiler, report.id))


def _together(reports: Iterable[Told]) -> list[Told]:
    """The reports, those that differ in nothing but their line and time as one."""
    found: dict[str, Told] = {}
    for report in reports:
        line, when = report.pop("line"), report.pop("when", None)
        one = found.setdefault(repr(report), report)
        one.setdefault("lines", []).append(line)
        if when is not None:
            one["timed"] = one.get("timed", 0) + 1
    return list(map(_whole, found.values()))


def _process(key: ProcessKey) -> Told:
    return _whole({"rank": key.rank, "pid": key.pid, "host": key.host})


def _processes(said: LogEvidence, line: Callable[[int], int | None], *, facts: bool) -> list[Told]:
    told = []
    for key, compilers in processes({"": said}, READERS).evidence.items():
        for name, evidence in compilers.items():
            told.append({"compiler": name} | _process(key) | _evidence(name, evidence, line, facts=facts))
    return told


def _evidence(name: str, evidence: Evidence, line: Callable[[int], int | None], *, facts: bool) -> Told:
    reader = READERS[name]
    found: Told = {"version": reader.version(evidence)}
    for marker, seen in evidence.facts.items():
        rows = _facts(evidence, marker, line) if facts else f"{len(seen)} of {evidence.counts[marker]}"
        found.setdefault("facts", {})[marker] = rows
    found["trouble"] = evidence.trouble
    found["proof"] = _proofs(reader.prove(evidence), reader.setting, line)
    if found["proof"] == of_nothing(reader)["proof"]:
        del found["proof"]
    return _whole(found)


def _facts(evidence: Evidence, marker: str, line: Callable[[int], int | None]) -> list[list[Any]]:
    """The facts of a marker: the line of the first, what it tells, and how often."""
    rows: list[list[Any]] = []
    for fact, at in evidence.facts[marker].items():
        times = evidence.times(marker, fact)
        rows.append([line(at), *fact, *([f"x{times}"] if times > 1 else [])])
    return rows


def _proofs(proofs: Mapping[Kind, Proof], setting: str, line: Callable[[int], int | None]) -> list[Told]:
    """The proofs, those that say the same together, each of its own kind."""
    kinds: dict[Proof, list[str]] = {}
    for kind, proof in proofs.items():
        kinds.setdefault(replace(proof, why=proof.why.replace(kind.value, "KIND")), []).append(kind.value)
    told = []
    for proof, of in kinds.items():
        one: Told = {proof.state.value: sorted(of), "why": proof.why, "final": proof.final}
        one["line"] = None if proof.line is None else line(proof.line)
        one["setting"] = "the reader's" if proof.setting == setting else proof.setting
        told.append(_whole(one))
    return sorted(told, key=lambda one: sorted(one.items(), key=str).__repr__())
