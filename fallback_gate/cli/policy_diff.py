"""The front door: `fallback-gate policy diff`, what a policy loosens, for whoever reviews a change."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import click

from fallback_gate import policy as policies
from fallback_gate.cli.options import TODAY, day, form, reports
from fallback_gate.cli.output import deliver
from fallback_gate.model import PolicySummary
from fallback_gate.reports import policy_changes


@click.command(name="diff")
@click.argument("policies_", nargs=-1, metavar="OLD NEW | --ref REF [POLICY]")
@click.option("--ref", metavar="REF", help="Compare with the files as this git commit has them.")
@click.option("--rules", metavar="FILE", multiple=True, help="With --ref: also your own messages.")
@click.option("-b", "--baseline", metavar="FILE", help="With --ref: also this baseline.")
@click.option("--waiver", metavar="FILE", help="With --ref: also this waiver.")
@TODAY
@form(*policy_changes.FORMATS)
@reports(*policy_changes.FORMATS)
def policy_diff_command(
    policies_: tuple[str, ...],
    ref: str | None,
    rules: tuple[str, ...],
    baseline: str | None,
    waiver: str | None,
    today: date | None,
    format: str,
    output: tuple[tuple[str, str], ...],
) -> int:
    """Say what a policy loosens and what it tightens, key by key, with all that it extends.

    OLD and NEW are a FILE or builtin:NAME; with --ref REF, OLD is how the files of POLICY stand at that
    commit [default: the nearest policy].

    Exit codes: 0 nothing is looser, 1 something is, or changed in a way that nobody can rank, 2 usage, or a
    policy that is not valid.

    \b
    Examples:
      fallback-gate policy diff old.yaml fallback-gate.yaml
      fallback-gate policy diff --ref origin/main
    """
    as_of = day(today)
    if ref is None:
        if len(policies_) != 2:
            raise click.UsageError("give OLD and NEW, or --ref REF and at most one policy")
        if rules or baseline or waiver:
            raise click.UsageError("--rules, --baseline and --waiver are compared with --ref alone")
        from fallback_gate.policy.changes import compare

        before, after = (policies.load(name, as_of) for name in policies_)
        old, new, changes = before.summary, after.summary, compare(before, after, as_of)
    else:
        if len(policies_) > 1:
            raise click.UsageError("with --ref, give at most one policy")
        old, new = _at(ref, (*policies_, None)[0], rules, baseline, waiver, as_of)
        changes = old.changes
    told = policy_changes.Told(old, new, changes)
    inputs = [*policies_, *rules, baseline or "", waiver or ""]
    report = {name: render(told) for name, render in policy_changes.FORMATS.items()}
    deliver(output, report.__getitem__, shown=report[format], keep=inputs)
    return told.exit_code


def _at(
    ref: str,
    policy: str | None,
    rules: tuple[str, ...],
    baseline: str | None,
    waiver: str | None,
    today: date,
) -> tuple[PolicySummary, PolicySummary]:
    from fallback_gate.judging.files import Names, read_at

    names = Names(policy, rules, baseline, waiver)
    then, now = read_at(ref, names, os.environ, Path.cwd(), today)
    return then.policy.summary, now.policy.summary
