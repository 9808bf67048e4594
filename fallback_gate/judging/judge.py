"""The second half of the walk: from what the logs of a run say to one verdict, by given terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set

from fallback_gate import __version__
from fallback_gate import policy as policies
from fallback_gate.compilers.book import Book
from fallback_gate.compilers.log import LogEvidence
from fallback_gate.errors import EXIT_USAGE
from fallback_gate.judging.surroundings import environment, surroundings
from fallback_gate.judging.terms import Terms
from fallback_gate.judging.weigh import costed, dearest_first, weigh
from fallback_gate.model import Decision, Event, Finding, LogReport, Outcome, ProcessVerdict, Verdict
from fallback_gate.policy.find import not_read
from fallback_gate.reading.run import Run
from fallback_gate.sources.hints import ours
from fallback_gate.verdict import baseline as baselines
from fallback_gate.verdict import decide
from fallback_gate.verdict import excerpts as lines_around
from fallback_gate.verdict.processes import Processes
from fallback_gate.verdict.processes import processes as find_processes
from fallback_gate.verdict.proof import located, process_verdict


def judge(run: Run, terms: Terms, errors: Sequence[str] = ()) -> Verdict:
    """The verdict of a run that was read; `errors` are inputs that could not be."""
    policy, options = terms.files.policy, terms.options
    found = find_processes(run.logs, terms.book.readers)
    weighed = weigh(options.evidence, policy, options.today)
    findings, ruling = judged(run.fold.events(run.lines, found.alias), terms, weighed.findings)
    processes = _process_verdicts(run, found, terms, findings)
    logs = _log_reports(run, found, processes, terms.book)
    machine = environment(options.environment, run.seals, processes, options.outside)
    around = surroundings(policy, options.environment, machine, options.outside, options.evidence, findings)
    limits = policies.limits(findings, policy)
    exceeded = (*limits.exceeded, *weighed.exceeded, *around.exceeded)
    smells, unknown = _smells(run), _unrecognised(run, logs)
    missing = [
        *limits.open,
        *weighed.open,
        *(ruling.open if ruling else ()),
        *(_missing(run, terms, processes) if run.logs else ()),
        *((*smells, *unknown) if options.strict else ()),
    ]
    proven = decide.proven(processes, logs, policy, missing)
    # An artefact to fall back to says nothing of fallbacks, and must be there.
    fit = proven and not around.open
    outcome, waiver = decide.outcome(findings, exceeded, fit), None
    if terms.files.waiver is not None:
        from fallback_gate.verdict import waiver as waivers

        waiver = waivers.apply(
            terms.files.waiver, options.release, options.today, outcome, findings, bool(exceeded)
        )
        if waiver.applied:
            outcome = Outcome.WAIVED if fit else Outcome.UNPROVEN
    return Verdict(
        outcome=None if errors else outcome,
        exit_code=EXIT_USAGE if errors else decide.exit_code(outcome, options.exit_zero),
        today=options.today,
        policy=policy.summary._replace(entries=policies.uses(policy, findings, options.today)),
        logs=logs,
        processes=processes,
        findings=findings,
        proven=proven,
        baseline=ruling.summary if ruling else None,
        reasons=(*exceeded, *missing, *around.open),
        notes=(
            *_notes(run, terms, logs, (*unknown, *smells)),
            *policies.notes(policy, findings, options.today, ran=bool(processes or findings)),
            *_from_commit(terms),
            *weighed.notes,
            *around.notes,
            *(baselines.notes(ruling.summary, policy.summary.sha256, proven) if ruling else ()),
        ),
        errors=tuple(errors),
        waiver=waiver,
        tool_version=__version__,
        rules_files=terms.files.rules_files,
        run_at=options.run_at,
        measurements=weighed.measured,
        environment=around.environment,
        exclusions=around.exclusions,
        claims=around.claims,
        rollback=around.rollback,
        excerpts=lines_around.excerpts(findings, processes, run.sources) if options.excerpts else {},
    )


def _notes(run: Run, terms: Terms, logs: Iterable[LogReport], doubts: Iterable[str]) -> Iterator[str]:
    """What the reader should know of the inputs; `doubts` decide where the run is judged strictly."""
    if terms.files.overlooked:
        yield not_read(terms.files.overlooked)
    if not terms.options.strict:
        yield from doubts
    yield from (
        f"{log.path}: a report of fallback-gate, not read" for log in logs if log.path not in run.logs
    )
    yield from (f"{log}: {why}" for log, seal in run.seals.items() for why in seal.weaker)


def judged(
    events: Iterable[Event], terms: Terms, seen: Sequence[Finding] = ()
) -> tuple[tuple[Finding, ...], baselines.Ruling | None]:
    """The events under policy and baseline, with what instruments have seen, and what the baseline says."""
    files, options = terms.files, terms.options
    dear = (costed(event, options.evidence) if options.evidence else event for event in events)
    told = (policies.judge(event, files.policy, options.today) for event in dear)
    findings = dearest_first((*told, *seen))
    ruling = baselines.judge(files.baseline, findings) if files.baseline else None
    return (ruling.findings if ruling else findings), ruling


def _process_verdicts(
    run: Run, found: Processes, terms: Terms, findings: Sequence[Finding]
) -> tuple[ProcessVerdict, ...]:
    """The verdict of each process, in the order of logs and ranks."""
    guilty = {p for f in findings if f.decision is Decision.BLOCKED for p in f.event.processes}
    joined = {other for others in found.also.values() for other in others}
    verdicts = [
        process_verdict(
            process,
            [(key.log, found.evidence[key]) for key in (process, *found.also.get(process, ()))],
            terms.book.readers,
            terms.files.policy,
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


def _missing(run: Run, terms: Terms, processes: Sequence[ProcessVerdict]) -> Iterator[str]:
    """What was asked for and the logs do not show: compilers, ranks, whole seals."""
    options, seals = terms.options, run.seals.items()
    asked = [(options.expect_ranks, "--expect-ranks")] if options.expect_ranks is not None else []
    asked += [(seal.expect_ranks, log) for log, seal in seals if seal.expect_ranks is not None]
    ranks = [seal.rank for log, seal in seals if seal.rank is not None and run.speaks(log)]
    yield from (f"{log}: {why}" for log, seal in seals for why in seal.off)
    known = terms.book.readers
    yield from decide.expectations(processes, terms.files.policy, asked, ranks, known=known)
    if options.sealed:
        yield from (f"{log}: not a sealed log" for log in run.logs if not run.is_sealed(log))


def _log_reports(
    run: Run, found: Processes, processes: Sequence[ProcessVerdict], book: Book
) -> tuple[LogReport, ...]:
    """What is told of each log."""
    outcomes, told_in = {process.key: process.outcome for process in processes}, found.by_log()
    read = (
        _log_report(log, run, {outcomes[key] for key in told_in.get(log, ()) if key in outcomes}, book)
        for log in run.logs
    )
    reports = (LogReport(path, source.size) for path, source in run.reports.items() if path not in run.logs)
    return (*read, *reports)


def _log_report(log: str, run: Run, mine: Set[Outcome], book: Book) -> LogReport:
    """What is told of one log; `mine` are the outcomes of its processes."""
    source, said, seal = run.sources[log], run.logs[log], run.seals.get(log)
    recognised = run.speaks(log)
    outcome: Outcome | None
    if Outcome.BLOCKED in mine:
        outcome = Outcome.BLOCKED
    elif said.extent.problem or Outcome.UNPROVEN in mine:
        outcome = Outcome.UNPROVEN
    elif recognised:
        outcome = Outcome.PASS
    else:
        alone = len(run.logs) == 1  # a folder of one file is that file
        outcome = Outcome.UNPROVEN if source.named or (alone and source.trace is None) else None
    problem = said.extent.problem
    if outcome is Outcome.UNPROVEN and not recognised and not problem:
        problem = ours(source) or _nothing_known(said, book, is_recorded=seal is not None)
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


def _nothing_known(said: LogEvidence, book: Book, *, is_recorded: bool) -> str:
    """Why a log without any known line is unproven, and how to record one that says something."""
    if not said.extent.bytes:
        return "the log is empty"
    if is_recorded:
        return (
            "the recorded command ran to its end, and no known compiler spoke: is it the script that "
            "compiles, and does a flag switch compiling on? docs/record-settings.md names compilers that no "
            "variable makes speak"
        )
    reader = next(reader for reader in book.readers.values() if reader.setting)
    return (
        "no line of a known compiler: at its default level a compiler may fall back without a word. "
        f"Record the log with the settings that show it ({reader.name}: {reader.setting}; other compilers: "
        "fallback-gate explain NAME)"
    )


def _from_commit(terms: Terms) -> list[str]:
    """What the working tree makes of the files that judge, where those of a commit do."""
    summary = terms.files.policy.summary
    if summary.revision is None:
        return []
    name = summary.revision.name
    notes = [f"{file} is not at {name}: judged as if it were not there" for file in terms.files.absent]
    for change in summary.changes:
        if change.may_loosen:
            spot = change.new or change.old
            what = f"{change.key}: {change.what}{f' ({spot})' if spot else ''}"
            notes.append(f"judged by {name}; the working tree has {change.direction.value} {what}")
    return notes


def _unrecognised(run: Run, logs: Iterable[LogReport]) -> list[str]:
    """A sentence for each log that was found beside others and holds no known compiler."""
    return [
        f"{log.path}: no line of a known compiler; not judged"
        for log in logs
        if log.outcome is None and log.path in run.logs and run.sources[log.path].trace is None
    ]


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
