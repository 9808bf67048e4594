"""The front door: what the commands of instruments share: evidence in, a verdict and its report out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fallback_gate.cli.options import Day, form
from fallback_gate.cli.output import for_terminal, to_stdout, wants_color

if TYPE_CHECKING:
    from fallback_gate.instruments.evidence import Evidence
    from fallback_gate.policy.entry import Policy


def measuring(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that judges evidence alone."""
    for option in (
        click.option("-v", "--verbose", count=True, help="Leave out and shorten nothing."),
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            show_default=True,
            help="Colour the text report.",
        ),  # fmt: skip
        click.option("--exit-zero", is_flag=True, help="End with 0 where the verdict is blocked."),
        form("text", "json"),
        click.option(
            "--today", type=Day(), metavar="YYYY-MM-DD", help="Judge as of this day (UTC) [default: today]."
        ),  # fmt: skip
        click.option(
            "-p", "--policy", metavar="FILE|builtin:NAME", help="The policy that judges (default: looked up)."
        ),  # fmt: skip
    ):
        command = option(command)
    return command


def policy_of(reference: str | None, today: date | None) -> Policy:
    """The policy that will judge, read before the evidence: it says how instruments look."""
    from fallback_gate import policy as policies

    day = today or datetime.now(timezone.utc).date()
    return policies.load(policies.find(reference, os.environ, Path.cwd()), day)


def answer(
    evidence: Sequence[Evidence],
    policy: str | None,
    today: date | None,
    *,
    form: str,
    exit_zero: bool,
    color: str,
    verbose: int,
    sheet: Iterable[str],
) -> int:
    """Judge, print the report (`sheet`: the instrument's own lines below it), and return the exit code.

    The JSON form is that of `check`, with the instrument's details beside.
    """
    from fallback_gate.reports import safe
    from fallback_gate.reports.json_report import document
    from fallback_gate.weigh import judge

    verdict = judge(evidence, policy, today=today, exit_zero=exit_zero)
    if form == "json":
        details: dict[str, Any] = {}
        for said in evidence:
            details.update(said.details, format=said.format)
        whole = {**details, **document(verdict), "reasons": list(verdict.reasons)}
        to_stdout(safe.json_text(json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)))
    else:
        in_color = wants_color(color, os.environ, sys.stdout.isatty())
        to_stdout(for_terminal(verdict, color=in_color, verbose=verbose, quiet=False))
        to_stdout("\n".join(("", *(safe.inline(line) for line in sheet))))
    return verdict.exit_code
