"""The front door: `fallback-gate baseline create|update|show`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

import click

from fallback_gate.cli.options import FORCE, JUDGING, form
from fallback_gate.cli.output import logs_of, say, to_files, to_stdout, width
from fallback_gate.cli.progress import progress
from fallback_gate.errors import InputError
from fallback_gate.model import EXIT_CODES, Decision, Outcome, Verdict
from fallback_gate.model.history import Baseline
from fallback_gate.reports import baseline_file, safe
from fallback_gate.reports.gaps import gaps, next_settings

if TYPE_CHECKING:
    from fallback_gate.model.history import Held

SHOWN = 20


@click.group(name="baseline")
def baseline_command() -> None:
    """Let what fell back stay, and none be added."""


@baseline_command.command(name="create")
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@click.option("-o", "--output", metavar="FILE", required=True, help="Where to write it.")
@JUDGING
@FORCE
def create_command(
    logs: tuple[str, ...],
    output: str,
    policy: str | None,
    today: date | None,
    rules: tuple[str, ...],
    force: bool,
) -> int:
    """Write a baseline: all that fell back in LOG (as for `check`), except what is hot or names nothing.

    Nothing is written where the logs could not have shown every fallback. Exit code 1 says that the file was
    written and that something remains which no baseline excuses.

    \b
    Example:
      fallback-gate baseline create compile.log -o baseline.json
    """
    if os.path.lexists(output) and not force:
        raise InputError(f"{output} is there: `baseline update` tightens it, --force replaces it")
    verdict = _judged(logs, policy, today, rules, Baseline(output, growing=True))
    if verdict.outcome is None or not verdict.proven:
        return _refused(output, verdict)
    after = _made(output, verdict)
    to_files([(output, baseline_file.render(after))], keep=logs_of(verdict))
    to_stdout(safe.inline(f"wrote {output}: {_many(len(after.entries))}"))
    for reason in _left(verdict):
        to_stdout(safe.inline(f"  not excused: {reason}"))
    return verdict.exit_code


@baseline_command.command(name="update")
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@click.option("-b", "--baseline", metavar="FILE", required=True, help="The baseline.")
@JUDGING
@click.option("--add", is_flag=True, help="Take in what is new; without this, the list only gets shorter.")
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 where an entry would change.")
def update_command(
    logs: tuple[str, ...],
    baseline: str,
    policy: str | None,
    today: date | None,
    rules: tuple[str, ...],
    add: bool,
    check: bool,
) -> int:
    """Take what is gone from LOG (as for `check`) out of a baseline. It is frozen while the gate is red.

    Red is a run that the baseline does not let pass, or that is not proven: then nothing is written, and the
    exit code is that of the run.

    \b
    Example:
      fallback-gate baseline update compile.log -b baseline.json
    """
    from fallback_gate.verdict.baseline import refusal, silent
    from fallback_gate.verdict.baseline_file import load

    before = load(baseline)
    verdict = _judged(logs, policy, today, rules, before._replace(growing=add))
    if refusal(verdict):
        return _refused(baseline, verdict)
    kept = silent(before, verdict)
    after = _made(baseline, verdict, kept)
    if kept:
        names = ", ".join(sorted({entry.compiler for entry in kept}))
        to_stdout(safe.inline(f"kept {_many(len(kept))} of {names}, which this run does not show at work"))
    with open(baseline, encoding="utf-8") as there:
        is_same = there.read() == baseline_file.render(after)
    gone, added = _only(before.entries, after.entries), _only(after.entries, before.entries)
    said = f"{_many(len(after.entries))}, {gone} gone or fewer" + (f", {added} new or more" if add else "")
    if is_same or (check and before.entries == after.entries):
        to_stdout(safe.inline(f"{baseline} is up to date: {_many(len(after.entries))}"))
        return 0
    if check:
        to_stdout(safe.inline(f"{baseline} would change: {said}"))
        return EXIT_CODES[Outcome.BLOCKED]
    to_files([(baseline, baseline_file.render(after))], keep=logs_of(verdict))
    to_stdout(safe.inline(f"wrote {baseline}: {said}"))
    return 0


@baseline_command.command(name="show")
@click.argument("file", metavar="FILE")
@form("text", "json")
def show_command(file: str, format: str) -> None:
    """Show what a baseline holds: FILE is one that `baseline create` wrote.

    \b
    Example:
      fallback-gate baseline show baseline.json
    """
    from fallback_gate.verdict.baseline_file import load

    found = load(file)
    if format == "json":
        to_stdout(baseline_file.render(found))
    else:
        to_stdout(baseline_file.table(found, width(160)))


def _judged(
    logs: Sequence[str], policy: str | None, today: date | None, rules: Sequence[str], baseline: Baseline
) -> Verdict:
    from fallback_gate.gate import check

    with progress() as moved:
        return check(
            logs, policy, today=today, rules=rules, baseline=baseline, environment="off", progress=moved
        )


def _made(file: str, verdict: Verdict, kept: Sequence[Held] = ()) -> Baseline:
    from fallback_gate.verdict.baseline import held

    entries = tuple(sorted((*held(verdict.findings), *kept)))
    return Baseline(file, entries, verdict.tool_version, verdict.policy)


def _only(these: Sequence[Held], those: Sequence[Held]) -> int:
    """How many entries are not among those, or have more sites here."""
    known = {(entry.fingerprint, entry.held_as): entry.sites for entry in those}
    return sum(entry.sites > known.get((entry.fingerprint, entry.held_as), 0) for entry in these)


def _left(verdict: Verdict) -> list[str]:
    """What blocks or leaves open, a sentence each."""
    blocked = verdict.decided(Decision.BLOCKED)
    named = list(dict.fromkeys(f"{f.event.op}: {f.why or f.event_class.value}" for f in blocked))
    more = [f"and {len(named) - SHOWN:,} more"] if len(named) > SHOWN else []
    return [*verdict.errors, *verdict.reasons, *named[:SHOWN], *more]


def _refused(file: str, verdict: Verdict) -> int:
    """Say why nothing was written, and give the exit code of the run."""
    from fallback_gate.verdict.baseline import refusal

    logs = [f"{log.path}: {log.problem}" for log in verdict.logs if log.problem]
    open_ = [f"{', '.join(kind.value for kind in gap.kinds)}: {gap.why}" for gap in gaps(verdict.processes)]
    settings = [f"record the log with {setting}" for setting in next_settings(gaps(verdict.processes))]
    if verdict.proven:
        open_, settings = [], []
    head = f"{file} was not written: {refusal(verdict)}"
    for reason in (head, *logs, *open_[:SHOWN], *settings, *_left(verdict)):
        say(reason)
    say("`fallback-gate check` with the same logs shows the whole report")
    red = verdict.outcome in (None, Outcome.BLOCKED)
    return verdict.exit_code if red else EXIT_CODES[Outcome.UNPROVEN]


def _many(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"
