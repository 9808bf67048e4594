"""The front door: what the commands of instruments share: evidence in, a verdict and its report out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from fallback_gate.cli.options import COLOR, EXIT_ZERO, POLICY, TODAY, day, form, together
from fallback_gate.cli.output import dressed, for_terminal, in_color, to_stdout
from fallback_gate.reports import FORMATS

if TYPE_CHECKING:
    from fallback_gate.instruments.evidence import Evidence
    from fallback_gate.policy import Policy


class Asked(NamedTuple):
    """What the options of `judging_evidence` say."""

    policy: str | None
    today: date | None
    format: str
    exit_zero: bool
    color: str
    quiet: bool
    verbose: int

    def rule(self) -> Policy:
        """The policy that judges. Raises `PolicyError`."""
        return rule(self.policy, self.today)


judging_evidence = together(
    POLICY, TODAY, form(*FORMATS), EXIT_ZERO, COLOR,
    click.option("-q", "--quiet", is_flag=True, help="Only the verdict and what blocks."),
    click.option("-v", "--verbose", count=True, help="Leave out and shorten nothing."),
)  # fmt: skip
"""The options of a command that judges evidence alone: `Asked` takes what they say."""


def rule(policy: str | None, today: date | None, policy_ref: str | None = None) -> Policy:
    """The policy of that name, else the nearest; with `policy_ref` as that commit has it."""
    from fallback_gate import policy as policies

    if policy_ref is None:
        return policies.load(policies.find(policy, os.environ, Path.cwd()), day(today))
    from fallback_gate.judging.files import Names, read_at

    return read_at(policy_ref, Names(policy), os.environ, Path.cwd(), day(today))[0].policy


def answer(said: Evidence, asked: Asked, rule: Policy, sheet: Iterable[str] = ()) -> int:
    """Judge, print the report (`sheet`: the instrument's own lines below the text), return the exit code."""
    from fallback_gate.judging.weigh import judge
    from fallback_gate.reports import instrument_json, safe

    verdict = judge([said], rule, today=asked.today, exit_zero=asked.exit_zero)
    if asked.format == "text":
        color = in_color(asked.color)
        report = for_terminal(verdict, color=color, verbose=asked.verbose, quiet=asked.quiet)
        below = [] if asked.quiet else ["", *(safe.inline(line) for line in sheet)]
        to_stdout("\n".join([report.rstrip("\n"), *below]))
    elif asked.format in ("json", "json-v1"):
        details = {"format": said.format, **said.details}
        to_stdout(instrument_json.render(verdict, said.instrument, details))
    else:
        to_stdout(dressed(verdict, [asked.format])[asked.format])
    return verdict.exit_code
