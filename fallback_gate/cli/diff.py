"""The front door: `fallback-gate diff OLD NEW`."""

from __future__ import annotations

import glob
import os
from datetime import date
from typing import TYPE_CHECKING

import click

from fallback_gate.cli.options import COLOR, JUDGING, form
from fallback_gate.cli.output import in_color, to_stdout, width
from fallback_gate.cli.progress import progress
from fallback_gate.errors import InputError

if TYPE_CHECKING:
    from fallback_gate.model.history import Side


@click.command("diff")
@click.argument("old")
@click.argument("new")
@JUDGING
@form("text", "json")
@COLOR
@click.option("-v", "--verbose", is_flag=True, help="Also what is unchanged.")
def diff_command(
    old: str,
    new: str,
    policy: str | None,
    today: date | None,
    rules: tuple[str, ...],
    format: str,
    color: str,
    verbose: bool,
) -> int:
    """Compare two runs, operator by operator.

    Each fallback is new, gone, moved, at more sites, at fewer, or the same.

    OLD and NEW are each a log, a JSON report of `check`, or several of them: a folder, a zip archive, a glob
    in quotes.

    Exit codes: 0 nothing is worse, 1 something is new, moved or at more sites, 3 nothing is, but one of the
    runs could not have shown it, 2 usage.

    \b
    Examples:
      fallback-gate diff torch-2.7.log torch-2.14.log
      fallback-gate diff main/report.json branch/report.json --format json
    """
    from fallback_gate.reports import diff_report
    from fallback_gate.verdict.compare import compare

    sides = [_side(name, policy, today, rules) for name in (old, new)]
    compared = compare(*sides)
    if format == "json":
        to_stdout(diff_report.as_json(compared))
    else:
        told = diff_report.text(compared, color=in_color(color), width=width(120), verbose=verbose)
        to_stdout(told)
    return compared.exit_code


def _side(name: str, policy: str | None, today: date | None, rules: tuple[str, ...]) -> Side:
    """One run: its JSON reports where it has any, else its logs."""
    from fallback_gate.verdict import compare, past_report

    there = os.path.join(glob.escape(name), "*.json") if os.path.isdir(name) else name
    files = [there] if os.path.isfile(there) else sorted(glob.glob(there, recursive=True))
    reports = [past_report.read(file) for file in files if past_report.is_report(file)]
    if reports and len(reports) < len(files) and not os.path.isdir(name):
        raise InputError(f"{name} names reports and other files: one run is told by reports or by logs")
    if reports:
        return compare.of_reports(name, reports)
    from fallback_gate.gate import check

    with progress() as moved:
        verdict = check([name], policy, today=today, rules=rules, progress=moved)
    if verdict.errors:
        raise InputError("\n".join(verdict.errors))
    return compare.of_verdict(name, verdict)
