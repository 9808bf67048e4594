"""The walk through the house, from bytes to one verdict. Read this first.

    sources    which logs, and how to read them
    scan       which of their lines matter
    compilers  what those lines report, and what they prove
    events     one event for each fallback, however often it was said
    policy     what is allowed
    verdict    proof first, then findings: one outcome

`reading` holds the first three, for each log of a run, and `judging` the last two. Reports dress the verdict;
the caller chooses them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timezone
from functools import partial
from pathlib import Path
from typing import TypeAlias

from fallback_gate.errors import InputError
from fallback_gate.instruments.evidence import Evidence
from fallback_gate.judging.files import Names
from fallback_gate.judging.judge import judge
from fallback_gate.judging.surroundings import AUTO
from fallback_gate.judging.terms import Options, terms
from fallback_gate.model import Verdict
from fallback_gate.model.environment import Environment
from fallback_gate.model.exclusions import Outside
from fallback_gate.model.history import Baseline
from fallback_gate.reading.engines import reader_of
from fallback_gate.reading.run import Run, traces
from fallback_gate.sources import Source, expand
from fallback_gate.sources.seal import key_of
from fallback_gate.sources.traces import is_trace

FileName: TypeAlias = str | os.PathLike[str]


def check(
    logs: FileName | Sequence[FileName],
    policy: FileName | None = None,
    *,
    policy_ref: str | None = None,
    today: date | None = None,
    waiver_file: FileName | None = None,
    release: str | None = None,
    baseline: FileName | Baseline | None = None,
    hash_logs: bool = False,
    exit_zero: bool = False,
    strict: bool = False,
    rules: FileName | Sequence[FileName] = (),
    excerpts: bool = False,
    run_at: datetime | None = None,
    expect_ranks: int | None = None,
    sealed: bool = False,
    evidence: Sequence[Evidence] = (),
    outside: Outside | None = None,
    environment: Environment | str = AUTO,
    progress: Callable[[Source, int], None] | None = None,
    jobs: int = 1,
    engine: str | None = None,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    _closings: Mapping[str, int] | None = None,
) -> Verdict:
    """Judge compiler logs by a policy: the one verdict that every report is made of.

    `logs`: files, folders, globs, zip archives, `-` for standard input, or one of these; none means those
    that the policy names. `policy`: a file or `builtin:NAME`; None looks it up as the command does, and ends
    at the strict rule. `policy_ref`: a commit of the repository around here; policy, rules, baseline and
    waiver are then taken as it holds them, and `Verdict.policy` has what the working tree makes of them.
    `rules`: files with the user's own messages, beside those of the policy. `strict`: a line that smells of a
    fallback and that no rule knows leaves the verdict unproven. `expect_ranks`: ranks that must be in the
    logs, beside what the policy and the seals expect. `sealed`: a log without a seal leaves the verdict
    unproven. `evidence`: what instruments read beside the logs. `outside`: what files of evidence say of
    device and load. `environment`: the machine of the run; `auto` is what logs and files tell of it, `off`
    none. `baseline`: fallbacks that may stay, while none may be added. `today` (UTC) decides what has
    expired. `excerpts`: keep the lines around each that proves something. `run_at` is the time that reports
    show. `progress` is called with each source and the bytes read of it so far. `jobs`: how many logs are
    read at a time, each in a process of its own, where that is faster; the verdict is the same. `engine`:
    where; None is here, `dask` a local cluster with so many jobs, `dask://HOST:PORT` the one of a scheduler.
    An input that can't be read is in `Verdict.errors`, with exit code 2. `_closings` is for `guard`, which
    writes its log itself: how many closing records stand in it.

    Raises `PolicyError` for an invalid policy, waiver or baseline, and `InputError` where there is nothing
    to read or a waiver comes without the release that it is for.
    """
    environ = os.environ if environ is None else environ
    cwd = cwd or Path.cwd()
    names = Names(
        policy=None if policy is None else os.fspath(policy),
        rules=tuple(os.fspath(file) for file in _each(rules)),
        baseline=baseline if baseline is None or isinstance(baseline, Baseline) else os.fspath(baseline),
        waiver=None if waiver_file is None else os.fspath(waiver_file),
    )
    options = Options(
        today=today or datetime.now(timezone.utc).date(),
        release=release or "",
        exit_zero=exit_zero,
        strict=strict,
        excerpts=excerpts,
        run_at=run_at,
        expect_ranks=expect_ranks,
        sealed=sealed,
        evidence=tuple(evidence),
        outside=outside,
        environment=environment,
    )
    by = terms(names, options, cwd, environ, policy_ref)
    arguments = [str(log) for log in _each(logs)] or list(by.files.policy.logs)
    if not arguments:
        raise InputError("no log was given: name files, folders or globs, or `logs` in the policy")
    sources, errors = expand(arguments, cwd)
    run = Run(key=key_of(environ), closings=_closings or {})
    sources = run.leave_out_reports(sources)
    with reader_of(engine, jobs) as reader:
        how = partial(reader, run=run, book=by.book, hash_logs=hash_logs, progress=progress)
        how([source for source in sources if not is_trace(source)])
        how(traces(run, sources))
    return judge(run, by, errors)


def _each(names: FileName | Sequence[FileName]) -> Sequence[FileName]:
    """The names that were given, of which one may stand alone."""
    return [names] if isinstance(names, (str, os.PathLike)) else names
