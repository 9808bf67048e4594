"""The front door: `fallback-gate baseline create|update|show`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

import click

from fallback_gate.cli.options import form, judging
from fallback_gate.cli.output import to_files, to_stdout
from fallback_gate.cli.progress import progress
from fallback_gate.errors import InputError
from fallback_gate.model import EXIT_CODES, Decision, Outcome, Verdict
from fallback_gate.model.history import Baseline
from fallback_gate.reports import baseline_file, safe
from fallback_gate.reports.gaps import gaps, next_settings

if TYPE_CHECKING:
    from fallback_gate.model.history import Held

SHOWN = 20
_FILE = click.option("-b", "--baseline", "file", metavar="FILE", required=True, help="The baseline.")


@click.group(name="baseline")
def baseline_command() -> None:
    """Let what fell back stay, and none be added."""


@baseline_command.command(name="create")
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@_FILE
@judging
@click.option("--force", is_flag=True, help="Take the place of a file that is there.")
def create_command(
    logs: tuple[str, ...],
    file: str,
    policy: str | None,
    today: date | None,
    rules: tuple[str, ...],
    force: bool,
) -> int:
    """Write a baseline: all that fell back in these logs, except what is hot or names nothing.

    Nothing is written where the logs could not have shown every fallback. Exit code 1 says that the file was
    written and that something remains which no baseline excuses.

    \b
    Example:
      fallback-gate baseline create compile.log -b baseline.json
    """
    if os.path.lexists(file) and not force:
        raise InputError(f"{file} is there: `fallback-gate baseline update` tightens it, --force replaces it")
    verdict = _judged(logs, policy, today, rules, Baseline(file, growing=True))
    if verdict.outcome is None or not verdict.proven:
        return _refused(file, verdict)
    after = _made(file, verdict)
    to_files([(file, baseline_file.render(after))], keep=_read(verdict))
    click.echo(safe.inline(f"wrote {file}: {_many(len(after.entries))}"))
    for reason in _left(verdict):
        click.echo(safe.inline(f"  not excused: {reason}"))
    return verdict.exit_code


@baseline_command.command(name="update")
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@_FILE
@judging
@click.option("--add", is_flag=True, help="Take in what is new; without this, the list only gets shorter.")
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 where an entry would change.")
def update_command(
    logs: tuple[str, ...],
    file: str,
    policy: str | None,
    today: date | None,
    rules: tuple[str, ...],
    add: bool,
    check: bool,
) -> int:
    """Take what is gone out of a baseline. It is frozen while the gate is red.

    Red is a run that the baseline does not let pass, or that is not proven: then nothing is written, and the
    exit code is that of the run.

    \b
    Example:
      fallback-gate baseline update compile.log -b baseline.json
    """
    from fallback_gate.verdict.baseline import refusal, silent
    from fallback_gate.verdict.baseline_file import load

    before = load(file)
    verdict = _judged(logs, policy, today, rules, before._replace(growing=add))
    if refusal(verdict):
        return _refused(file, verdict)
    kept = silent(before, verdict)
    after = _made(file, verdict, kept)
    if kept:
        names = ", ".join(sorted({entry.compiler for entry in kept}))
        click.echo(safe.inline(f"kept {_many(len(kept))} of {names}, which this run does not show at work"))
    with open(file, encoding="utf-8") as there:
        is_same = there.read() == baseline_file.render(after)
    gone, added = _only(before.entries, after.entries), _only(after.entries, before.entries)
    said = f"{_many(len(after.entries))}, {gone} gone or fewer" + (f", {added} new or more" if add else "")
    if is_same or (check and before.entries == after.entries):
        click.echo(safe.inline(f"{file} is up to date: {_many(len(after.entries))}"))
        return 0
    if check:
        click.echo(safe.inline(f"{file} would change: {said}"))
        return EXIT_CODES[Outcome.BLOCKED]
    to_files([(file, baseline_file.render(after))], keep=_read(verdict))
    click.echo(safe.inline(f"wrote {file}: {said}"))
    return 0


@baseline_command.command(name="show")
@click.argument("file", metavar="FILE")
@form("text", "json")
def show_command(file: str, form: str) -> None:
    """Show what a baseline holds."""
    from fallback_gate.verdict.baseline_file import load

    found = load(file)
    if form == "json":
        to_stdout(baseline_file.render(found))
    else:
        to_stdout(baseline_file.table(found, min(shutil.get_terminal_size((100, 24)).columns, 160)))


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


def _read(verdict: Verdict) -> list[str]:
    """The logs' own files, which no baseline may take the place of."""
    return [log.path.partition("!/")[0] for log in verdict.logs]


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
        click.echo(f"fallback-gate: {safe.inline(reason)}", err=True)
    click.echo("fallback-gate: `fallback-gate check` with the same logs shows the whole report", err=True)
    red = verdict.outcome in (None, Outcome.BLOCKED)
    return verdict.exit_code if red else EXIT_CODES[Outcome.UNPROVEN]


def _many(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"
