"""The front door: what the commands of instruments share: evidence in, a verdict and its report out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from datetime import date, datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from fallback_gate.cli.options import POLICY, TODAY
from fallback_gate.cli.output import dressed, for_terminal, to_stdout, wants_color
from fallback_gate.reports import FORMATS

if TYPE_CHECKING:
    from fallback_gate.instruments.evidence import Evidence


class Asked(NamedTuple):
    """What the options that such commands share say."""

    policy: str | None
    today: date | None
    format: str
    exit_zero: bool
    color: str
    quiet: bool
    verbose: int


def judging_evidence(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that judges evidence alone."""
    for option in (
        click.option("-v", "--verbose", count=True, help="Leave out and shorten nothing."),
        click.option("-q", "--quiet", is_flag=True, help="Only the verdict."),
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            show_default=True,
            help="Colour the text report.",
        ),  # fmt: skip
        click.option(
            "--exit-zero", is_flag=True, help="End with 0 where the verdict is blocked; the verdict stays."
        ),  # fmt: skip
        click.option(
            "-f",
            "--format",
            type=click.Choice(list(FORMATS)),
            default="text",
            show_default=True,
            help="What to print on standard output.",
        ),  # fmt: skip
        TODAY,
        POLICY,
    ):
        command = option(command)
    return command


def settings(
    instrument: str, policy: str | None, today: date | None, policy_ref: str | None = None
) -> dict[str, float]:
    """How the policy that will judge wants an instrument to look, as fractions."""
    from fallback_gate import policy as policies
    from fallback_gate.policy.instruments import settings as set_by

    day = today or datetime.now(timezone.utc).date()
    if policy_ref is not None:
        from fallback_gate.judging.files import Names, read_at

        rule = read_at(policy_ref, Names(policy), os.environ, Path.cwd(), day)[0].policy
    else:
        rule = policies.load(policies.find(policy, os.environ, Path.cwd()), day)
    return set_by(rule.bounds, instrument)


def answer(said: Evidence, asked: Asked, sheet: Iterable[str]) -> int:
    """Judge, print the report (`sheet`: the instrument's own lines below the text), return the exit code."""
    from fallback_gate.judging.weigh import judge
    from fallback_gate.reports import instrument_json, safe

    verdict = judge([said], asked.policy, today=asked.today, exit_zero=asked.exit_zero)
    if asked.format == "text":
        in_color = wants_color(asked.color, os.environ, sys.stdout.isatty())
        report = for_terminal(verdict, color=in_color, verbose=asked.verbose, quiet=asked.quiet)
        below = [] if asked.quiet else ["", *(safe.inline(line) for line in sheet)]
        to_stdout("\n".join([report.rstrip("\n"), *below]))
    elif asked.format in ("json", "json-v1"):
        details = {"format": said.format, **said.details}
        to_stdout(instrument_json.render(verdict, said.instrument, details))
    else:
        to_stdout(dressed(verdict, [asked.format])[asked.format])
    return verdict.exit_code
