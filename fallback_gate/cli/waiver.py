"""The front door: `fallback-gate waiver new REPORT`."""

from __future__ import annotations

import os
from datetime import date

import click

from fallback_gate.cli.options import Day
from fallback_gate.cli.output import to_files, to_stdout
from fallback_gate.errors import InputError
from fallback_gate.model import Decision, Outcome
from fallback_gate.reports import safe, waiver_file


@click.group(name="waiver")
def waiver_command() -> None:
    """Write a waiver for one blocked release."""


@waiver_command.command(name="new")
@click.argument("report", metavar="REPORT")
@click.option("--release", required=True, metavar="NAME", help="The release, as `check --release` names it.")
@click.option("--who", required=True, metavar="NAME", help="Who decides.")
@click.option("--why", required=True, metavar="TEXT", help="Why.")
@click.option("--expires", required=True, type=Day(), metavar="YYYY-MM-DD", help="The last day (UTC).")
@click.option("--all", "everything", is_flag=True, help="Waive whatever blocks, limits too.")
@click.option("-o", "--output", metavar="FILE", help="Where to write it [default: standard output].")
@click.option("--force", is_flag=True, help="Take the place of a file that is there.")
def new_command(
    report: str,
    release: str,
    who: str,
    why: str,
    expires: date,
    everything: bool,
    output: str | None,
    force: bool,
) -> None:
    """Write a waiver for what blocks in REPORT, a JSON report of `check`.

    It names each blocked fallback by its fingerprint: any other one still blocks. A report that is not
    blocked has nothing to waive, and a waiver never helps a run that is unproven.

    \b
    Example:
      fallback-gate waiver new report.json --release 1.4.0 --who "Ada Wong" --why "INF-130" \\
        --expires 2026-12-15 -o waiver.yaml
    """
    from fallback_gate.verdict import past_report

    for option, text in (("--release", release), ("--who", who), ("--why", why)):
        if not text.strip():
            raise InputError(f"{option} is blank, and a waiver without it holds for nothing: say it")
    if output and os.path.lexists(output) and not force:
        raise InputError(f"{output} is there; name another file, or take its place with --force")
    said = past_report.read(report)
    if said.outcome not in (Outcome.BLOCKED, Outcome.WAIVED):
        is_ = said.outcome.value if said.outcome else "without a verdict"
        raise InputError(f"{report} is {is_}: a waiver is for what is blocked")
    blocked = [finding.event for finding in said.findings if finding.decision is Decision.BLOCKED]
    if not blocked and not everything:
        raise InputError(f"in {report} no fallback blocks, but a limit is exceeded; only --all waives that")
    text = waiver_file.render(
        release=release,
        who=who,
        why=why,
        expires=expires,
        events=blocked,
        everything=everything,
        source=os.path.basename(report),
    )
    if said.problem:
        click.echo("fallback-gate: the run is not proven as well: with this waiver it is unproven", err=True)
    if output is None:
        to_stdout(text)
        return
    to_files([(output, text)], keep=[report])
    how = f"fallback-gate check ... --waiver {output} --release {release}"
    click.echo(safe.inline(f"wrote {output}: {how}"))
