"""The front door: `fallback-gate waiver new REPORT`."""

from __future__ import annotations

import os
from datetime import date

import click

from fallback_gate.cli.options import FORCE, NEW_FILE, Day
from fallback_gate.cli.output import must_be_new, say, to_new_file
from fallback_gate.errors import InputError
from fallback_gate.model import Decision, Outcome
from fallback_gate.reports import waiver_file


@click.group(name="waiver")
def waiver_command() -> None:
    """Write a waiver for one blocked release."""


@waiver_command.command(name="new")
@click.argument("report", metavar="REPORT")
@click.option("--release", required=True, metavar="NAME", help="The release, as `check --release` names it.")
@click.option("--who", required=True, metavar="NAME", help="Who decides.")
@click.option("--why", required=True, metavar="TEXT", help="Why.")
@click.option("--expires", required=True, type=Day(), metavar="YYYY-MM-DD", help="The last day (UTC).")
@click.option("--all", is_flag=True, help="Waive whatever blocks, limits too.")
@NEW_FILE
@FORCE
def new_command(
    report: str,
    release: str,
    who: str,
    why: str,
    expires: date,
    all: bool,
    output: str | None,
    force: bool,
) -> None:
    """Write a waiver for what blocks in REPORT, a JSON report of `check`.

    It names each blocked fallback by its fingerprint: any other one still blocks. A budget or another limit
    that is exceeded has no fingerprint, and only --all waives it. A report that is not blocked has nothing to
    waive, and a waiver never helps a run that is unproven.

    \b
    Example:
      fallback-gate waiver new report.json --release 1.4.0 --who "Ada Wong" --why "INF-130" \\
        --expires 2026-12-15 -o waiver.yaml
    """
    from fallback_gate.verdict import past_report

    for option, text in (("--release", release), ("--who", who), ("--why", why)):
        if not text.strip():
            raise InputError(f"{option} is blank, and a waiver without it holds for nothing: say it")
    must_be_new(output, force)
    said = past_report.read(report)
    if said.outcome not in (Outcome.BLOCKED, Outcome.WAIVED):
        is_ = said.outcome.value if said.outcome else "without a verdict"
        raise InputError(f"{report} is {is_}: a waiver is for what is blocked")
    blocked = [finding.event for finding in said.findings if finding.decision is Decision.BLOCKED]
    if not blocked and not all:
        raise InputError(f"in {report} no fallback blocks, but a limit is exceeded; only --all waives that")
    if said.exceeded and not all:
        raise InputError(
            f"in {report} a limit is exceeded too ({said.exceeded[0]}), and fingerprints do not cover it: "
            "only --all does"
        )
    text = waiver_file.render(
        release=release,
        who=who,
        why=why,
        expires=expires,
        events=blocked,
        everything=all,
        source=os.path.basename(report),
    )
    if said.problem:
        say("the run is not proven as well: with this waiver it is unproven")
    how = f"fallback-gate check ... --waiver {output} --release {release}"
    to_new_file(output, text, how, keep=[report])
