"""The walk through the house, from bytes to one verdict. Read this first.

    sources    which logs, and how to read them
    scan       which of their lines matter
    compilers  what those lines report, and what they prove
    events     one event for each fallback, however often it was said
    policy     what is allowed
    verdict    proof first, then findings: one outcome

`run` holds the first three, the reading of each log. Reports dress the verdict; the caller chooses them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timezone
from pathlib import Path

from fallback_gate import policy as policies
from fallback_gate.compilers import READERS
from fallback_gate.compilers.book import Book, LogEvidence
from fallback_gate.compilers.rule import Marker, Rule
from fallback_gate.errors import EXIT_USAGE, InputError
from fallback_gate.history import Baseline
from fallback_gate.inputs import RulesFile
from fallback_gate.instruments.evidence import Evidence
from fallback_gate.model import (
    EXIT_CODES,
    Decision,
    Finding,
    LogReport,
    Outcome,
    ProcessVerdict,
    Verdict,
)
from fallback_gate.policy.entry import Policy
from fallback_gate.run import Run, read, traces
from fallback_gate.sources import Source, expand
from fallback_gate.sources.seal import key_of
from fallback_gate.sources.traces import is_trace
from fallback_gate.verdict import baseline as baselines
from fallback_gate.verdict import decide
from fallback_gate.verdict import excerpts as around
from fallback_gate.verdict.processes import Processes
from fallback_gate.verdict.processes import processes as find_processes
from fallback_gate.verdict.proof import located, process_verdict
from fallback_gate.weigh import costed, dearest_first, weigh


def check(
    logs: Sequence[str | os.PathLike[str]],
    policy: str | os.PathLike[str] | None = None,
    *,
    today: date | None = None,
    waiver_file: str | os.PathLike[str] | None = None,
    release: str | None = None,
    baseline: str | os.PathLike[str] | Baseline | None = None,
    hash_logs: bool = False,
    exit_zero: bool = False,
    strict: bool = False,
    rules: Sequence[str | os.PathLike[str]] = (),
    excerpts: bool = False,
    run_at: datetime | None = None,
    expect_ranks: int | None = None,
    sealed: bool = False,
    evidence: Sequence[Evidence] = (),
    progress: Callable[[Source, int], None] | None = None,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    _closings: Mapping[str, int] | None = None,
) -> Verdict:
    """Judge compiler logs by a policy: the one verdict that every report is made of.

    `baseline`: fallbacks that may stay, while none may be added.
    `logs`: files, folders, globs, zip archives, `-` for standard input; none means those that the policy
    names. `policy`: a file or `builtin:NAME`; None looks it up as the command does, and ends at the strict
    rule. `rules`: files with the user's own messages, beside those of the policy. `strict`: a line that
    smells of a fallback and that no rule knows leaves the verdict unproven. `expect_ranks`: ranks that must
    be in the logs, beside what the policy and the seals expect. `sealed`: a log without a seal leaves the
    verdict unproven. `evidence`: what instruments read beside the logs. `today` (UTC) decides what
    has expired. `excerpts`: keep the lines around each that proves something. `run_at` is the time that
    reports show. `progress` is called with each source and the bytes read of it so far. An input that can't
    be read is in `Verdict.errors`, with exit code 2. `_closings` is for `guard`, which writes its log itself:
    how many closing records stand in it.

    Raises `PolicyError` for an invalid policy, waiver or baseline, and `InputError` where there is nothing
    to read or a waiver comes without the release that it is for.
    """
    from fallback_gate import __version__

    today = today or datetime.now(timezone.utc).date()
    cwd, environ = cwd or Path.cwd(), os.environ if environ is None else environ
    reference = policies.find(str(policy) if policy is not None else None, environ, cwd)
    rule = policies.load(reference, today)
    if waiver_file is not None and not release:
        raise InputError("a waiver holds for one release: name it with --release NAME")
    pardon = None
    if waiver_file is not None:
        from fallback_gate.verdict import waiver

        pardon = waiver.load(os.fspath(waiver_file))
    if isinstance(baseline, (str, os.PathLike)):
        from fallback_gate.verdict.baseline_file import load as load_baseline

        baseline = load_baseline(os.fspath(baseline))
    arguments = [str(log) for log in logs] or list(rule.logs)
    if not arguments:
        raise InputError("no log was given: name files, folders or globs, or `logs` in the policy")

    sources, errors = expand(arguments, cwd)
    own: list[Rule | Marker] = []
    rules_files = []
    for file in rules:
        declared = policies.load(os.fspath(file), today)
        if not declared.rules:
            raise InputError(f"{file}: no `rules` stand in it; docs/your-compiler.md shows how to write one")
        own += declared.rules
        rules_files.append(RulesFile(os.fspath(file), declared.summary.sha256))
    book = Book(READERS, (*rule.rules, *own))
    run = Run(key=key_of(environ), closings=_closings or {})
    for source in sources:
        if not is_trace(source):
            read(source, book, run, hash_logs, progress)
    for source in traces(run, sources):
        read(source, book, run, hash_logs, progress)

    found = find_processes(run.logs, book.readers)
    events = run.fold.events(run.lines, found.alias)
    weighed = weigh(evidence, rule, today)
    judged = (policies.judge(costed(event, evidence), rule, today) for event in events)
    findings = dearest_first((*judged, *weighed.findings))
    ruling = baselines.judge(baseline, findings) if baseline else None
    findings = ruling.findings if ruling else findings
    processes = _judged(run, found, book, rule, findings)
    reports = tuple(_log_report(log, run, found, processes, book) for log in run.logs)
    unknown = _unrecognised([report for report in reports if run.sources[report.path].trace is None])
    limits = policies.limits(findings, rule)
    limits = replace(limits, exceeded=(*limits.exceeded, *weighed.exceeded))
    asked = [(expect_ranks, "--expect-ranks")] if expect_ranks is not None else []
    asked += [(seal.expect_ranks, log) for log, seal in run.seals.items() if seal.expect_ranks is not None]
    ranks = [seal.rank for log, seal in run.seals.items() if seal.rank is not None and run.speaks(log)]
    missing = [
        *weighed.open,
        *(ruling.open if ruling else ()),
        *decide.expectations(processes, rule, asked, ranks),
    ]
    missing += [f"{log}: {why}" for log, seal in run.seals.items() for why in seal.off]
    if sealed:
        missing += [f"{log}: not a sealed log" for log in run.logs if not run.is_sealed(log)]
    smells = _smells(run)
    if strict:
        missing += [*smells, *unknown]
    proven = decide.whole(processes, reports, rule, limits, missing)
    outcome = decide.outcome(findings, limits, proven)
    summary = None
    if pardon is not None:
        summary = waiver.apply(pardon, release or "", today, outcome, findings, bool(limits.exceeded))
        if summary.applied:
            outcome = Outcome.WAIVED if proven else Outcome.UNPROVEN
    exit_code = EXIT_USAGE if errors else EXIT_CODES[outcome]
    if exit_zero and exit_code == EXIT_CODES[Outcome.BLOCKED]:
        exit_code = 0
    return Verdict(
        outcome=None if errors else outcome,
        exit_code=exit_code,
        today=today,
        policy=replace(rule.summary, entries=policies.uses(rule, findings, today)),
        logs=reports,
        processes=processes,
        findings=findings,
        proven=proven,
        baseline=ruling.summary if ruling else None,
        reasons=(*limits.exceeded, *limits.open, *missing),
        notes=(
            *(() if strict else (*unknown, *smells)),
            *(f"{log}: {why}" for log, seal in run.seals.items() for why in seal.weaker),
            *policies.notes(rule, findings, today),
            *weighed.notes,
            *(baselines.notes(ruling.summary, rule.summary.sha256, proven) if ruling else ()),
        ),
        errors=tuple(errors),
        waiver=summary,
        tool_version=__version__,
        rules_files=tuple(rules_files),
        run_at=run_at,
        measurements=weighed.measured,
        excerpts=around.excerpts(findings, processes, run.sources) if excerpts else {},
    )


def _judged(
    run: Run, found: Processes, book: Book, rule: Policy, findings: Sequence[Finding]
) -> tuple[ProcessVerdict, ...]:
    """The verdict of each process, in the order of logs and ranks."""
    guilty = {p for f in findings if f.decision is Decision.BLOCKED for p in f.event.processes}
    joined = {other for others in found.also.values() for other in others}
    verdicts = [
        process_verdict(
            process,
            [(key.log, found.evidence[key]) for key in (process, *found.also.get(process, ()))],
            book.readers,
            rule,
            process in guilty,
        )
        for process in found.evidence
        if process not in joined
    ]
    order = {log: at for at, log in enumerate(run.logs)}
    verdicts.sort(key=lambda v: (order[v.log], -1 if v.rank is None else v.rank, v.pid or -1, v.host or ""))
    wanted: dict[str, set[int]] = {}
    for verdict in verdicts:
        for compiler in verdict.compilers:
            positions = (proof.line for proof in compiler.proof.values() if proof.line is not None)
            wanted.setdefault(verdict.log, set()).update(positions)
    numbers = {log: run.lines(log, positions) for log, positions in wanted.items()}
    return located(verdicts, numbers)


def _log_report(
    log: str, run: Run, found: Processes, processes: Sequence[ProcessVerdict], book: Book
) -> LogReport:
    source, said = run.sources[log], run.logs[log]
    here = found.in_log(log)
    mine = [process.outcome for process in processes if process.key in here]
    recognised = run.speaks(log)
    outcome: Outcome | None
    if Outcome.BLOCKED in mine:
        outcome = Outcome.BLOCKED
    elif said.extent.problem or Outcome.UNPROVEN in mine:
        outcome = Outcome.UNPROVEN
    elif recognised:
        outcome = Outcome.PASS
    else:
        outcome = Outcome.UNPROVEN if source.named else None
    problem = said.extent.problem
    if outcome is Outcome.UNPROVEN and not recognised and not problem:
        problem = _nothing_known(said, book)
    seal = run.seals.get(log)
    as_on_disk = seal is not None and source.size == said.extent.bytes
    return LogReport(
        path=log,
        bytes=source.size if source.size is not None else said.extent.bytes,
        lines=run.line_counts.get(log, seal.lines if seal else None),
        sha256=run.hashes.get(log, seal.sha256 if seal and as_on_disk else None),
        recognised=recognised,
        sealed=seal is not None,
        outcome=outcome,
        problem=problem,
    )


def _nothing_known(said: LogEvidence, book: Book) -> str:
    """Why a log without any known line is unproven, and how to record one that says something."""
    if not said.extent.bytes:
        return "the log is empty"
    reader = next(reader for reader in book.readers.values() if reader.setting)
    return (
        "no line of a known compiler: at its default level a compiler may fall back without a word. "
        f"Record the log with the settings that show it ({reader.name}: {reader.setting}; other compilers: "
        "fallback-gate explain NAME)"
    )


def _unrecognised(reports: Sequence[LogReport]) -> list[str]:
    """A note for each log that was found beside others and holds no known compiler."""
    return [f"{log.path}: no line of a known compiler; not judged" for log in reports if log.outcome is None]


def _smells(run: Run) -> list[str]:
    """A sentence for each wording that smells of a fallback and that no rule knew."""
    found = []
    for log, said in run.logs.items():
        lines = run.lines(log, [near.position for near in said.near.values()]) if said.near else {}
        for near in said.near.values():
            one = near.count == 1
            if near.rule:
                what = f"{'has' if one else 'have'} the anchor of {near.rule}, but its pattern does not match"
            else:
                what = f"{'smells' if one else 'smell'} of a fallback that no rule knows"
            place = f"{log}:{lines.get(near.position, '?')}"
            number = "1 line" if one else f"{near.count} lines"
            found.append(f"{number} {what}; {place}: {near.text.strip()[:160]}")
    return found
