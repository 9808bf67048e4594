"""The front door: `fallback-gate policy init|lint|test|show|diff|schema`, for policies that don't rot."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date, timedelta
from importlib.resources import files as resources
from pathlib import Path

import click

from fallback_gate import policy as policies
from fallback_gate.cli.options import FORCE, NEW_FILE, RULES, TODAY, day, form
from fallback_gate.cli.output import logs_of, must_be_new, to_new_file, to_stdout
from fallback_gate.cli.policy_diff import policy_diff_command
from fallback_gate.errors import EXIT_USAGE, InputError, PolicyError
from fallback_gate.model import Verdict
from fallback_gate.policy import Policy, shipped
from fallback_gate.policy.find import NAMES, not_read, overlooked
from fallback_gate.reports import safe
from fallback_gate.reports.dump import dump

_NAME = click.option("--name", metavar="NAME", help="The policy's name [default: the file's].")
_POLICY = click.option("-p", "--policy", multiple=True, hidden=True)  # said as to the commands that judge
_LINT = "read each line, then `fallback-gate policy lint {}`"


@click.group(name="policy")
def policy_command() -> None:
    """Write, check, try, compare and show policies."""


policy_command.add_command(policy_diff_command)


@policy_command.command(name="init")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@NEW_FILE
@_NAME
@RULES
@FORCE
@TODAY
def init_command(
    logs: tuple[str, ...],
    output: str | None,
    name: str | None,
    rules: tuple[str, ...],
    force: bool,
    today: date | None,
) -> int:
    """Write a first policy from what fell back in LOG, which is as for `check`.

    It is safe as it stands: what the log names of your own code is hot, and each cold entry is commented out
    until you give it a reason, an owner and a date.

    \b
    Example:
      fallback-gate policy init compile.log -o fallback-gate.yaml
    """
    from fallback_gate.policy.draft import draft

    must_be_new(output, force)
    verdict = _judged(logs, "builtin:strict", rules, today)
    text = draft(verdict, name or _name(output), safe.inline)
    to_new_file(output, text, _LINT.format(output), keep=logs_of(verdict))
    return 0


def _name(output: str | None) -> str:
    """The policy's name by its file, or by the folder where the file has the usual name."""
    if output is None:
        return "my-model"
    path = Path(output)
    usual = path.name in {Path(name).name for name in NAMES}
    return (path.resolve().parent.name if usual else path.stem) or "my-model"


def _judged(logs: Sequence[str], policy: str, rules: Sequence[str], today: date | None) -> Verdict:
    from fallback_gate.gate import check

    verdict = check(logs, policy, today=today, rules=rules)
    if verdict.errors:
        raise InputError("\n".join(verdict.errors))
    return verdict


@policy_command.command(name="hot")
@click.argument("trace")
@NEW_FILE
@_NAME
@FORCE
@TODAY
def hot_command(trace: str, output: str | None, name: str | None, force: bool, today: date | None) -> int:
    """Write a first policy from a kernel trace: hot is what ran in every step.

    TRACE is a file as `trace` reads it. That of an uncompiled run, with stacks (torch.profiler,
    with_stack=True), tells most.

    \b
    Example:
      fallback-gate policy hot eager.json.gz -o fallback-gate.yaml
    """
    from fallback_gate.instruments.trace import kernels, ran, read
    from fallback_gate.policy.draft_from_trace import hot_policy

    must_be_new(output, force)
    summary = read(trace)
    if not summary.steps:
        raise InputError(f"{trace}: {summary.problem or 'no steps were found in it'}")
    compiled = summary.by_origin[kernels.GENERATED] > 0
    called = name or _name(output)
    text = hot_policy(ran(summary), trace, called, day(today), safe.inline, compiled=compiled)
    to_new_file(output, text, _LINT.format(output), keep=[trace])
    return 0


@policy_command.command(name="lint")
@click.argument("files", nargs=-1, metavar="[FILE|builtin:NAME]...")
@_POLICY
@click.option(
    "--logs",
    metavar="LOG",
    multiple=True,
    help="Also name entries that match nothing in these logs, and the nearest name.",
)
@click.option("--within", metavar="DAYS", type=click.IntRange(0, 3650), default=14, show_default=True,
              help="Name entries that expire within so many days.")  # fmt: skip
@click.option(
    "--strict", is_flag=True, help="Exit code 1 also where an entry is about to expire or misses a near name."
)
@TODAY
@form("text", "json")
def lint_command(
    files: tuple[str, ...],
    policy: tuple[str, ...],
    logs: tuple[str, ...],
    within: int,
    strict: bool,
    today: date | None,
    format: str,
) -> int:
    """Find what is wrong with policies: contradictions, entries that are too wide, unused or about to expire.

    A policy is a FILE or builtin:NAME [default: the nearest policy].

    Exit codes: 0 nothing, or only what may be right (dates that come nearer, hot entries that LOG does not
    show), 1 something to change, 2 a policy that is not valid.

    \b
    Examples:
      fallback-gate policy lint
      fallback-gate policy lint policies/*.yaml --logs "build/*.log" --within 30
    """
    from fallback_gate.compilers import READERS
    from fallback_gate.policy.advice import advise
    from fallback_gate.policy.compilers import by_known_names

    as_of, found = day(today), []
    valid, problems = _loaded((*files, *policy), as_of)
    for file, loaded in valid:
        findings = _judged(logs, file, (), as_of).findings if logs else None
        known = {*READERS, *(rule.compiler for rule in loaded.rules)}
        loaded = by_known_names(loaded, known)
        found += advise(loaded, as_of, timedelta(days=within), known, findings)
    if format == "json":
        data = [{"code": a.code, "source": a.source, "text": a.text, "warning": a.is_warning} for a in found]
        to_stdout(dump(data))
    else:
        for one in found:
            click.echo(safe.inline(f"{one.source}: {one.text} [{one.code}]"))
    if problems:
        raise PolicyError(problems)
    return 1 if any(not one.is_warning or (strict and not one.is_fine) for one in found) else 0


@policy_command.command(name="test")
@click.argument("files", nargs=-1, metavar="[FILE|builtin:NAME]...")
@_POLICY
@TODAY
@click.option("-v", "--verbose", is_flag=True, help="Also the cases that are right.")
def test_command(files: tuple[str, ...], policy: tuple[str, ...], today: date | None, verbose: bool) -> int:
    """Try policies on the cases that stand in them under `tests`: this log, this verdict.

    A policy is a FILE or builtin:NAME [default: the nearest policy].

    Exit codes: 0 all are right, or there is none, 1 one is not, 2 a policy that is not valid, or a log that
    could not be read.

    \b
    Example:
      fallback-gate policy test -v
    """
    from fallback_gate.walks.trial import trial

    as_of, tried, wrong, untried = day(today), 0, 0, 0
    valid, problems = _loaded((*files, *policy), as_of)
    for file, loaded in valid:
        if not loaded.tests:
            click.echo(safe.inline(f"{file}: no case stands in it under `tests`; docs/policy.md shows one"))
        elif file.startswith(shipped.PREFIX) and not shipped.has_samples():
            click.echo(safe.inline(f"{file}: not tried, its cases need sample_logs; run this in a clone"))
        else:
            for case in loaded.tests:
                result = trial(case, file, as_of)
                tried, wrong = tried + 1, wrong + bool(result.wrong)
                untried += result.untried
                if result.wrong or verbose:
                    state = "FAILED" if result.wrong else "ok"
                    click.echo(safe.inline(f"{state}  {case.source} {case.name}"))
                for text in result.wrong:
                    click.echo(safe.inline(f"        {text}"))
    if tried:
        cases = "1 case" if tried == 1 else f"{tried} cases"
        click.echo(f"{cases}: {'all right' if not wrong else f'{wrong} wrong'}")
    if problems:
        raise PolicyError(problems)
    return EXIT_USAGE if untried else 1 if wrong else 0


@policy_command.command(name="show")
@click.argument("file", required=False, metavar="[FILE|builtin:NAME]")
@_POLICY
@TODAY
@form("text", "json")
def show_command(file: str | None, policy: tuple[str, ...], today: date | None, format: str) -> None:
    """Show the policy as it judges: with all that it extends, and where each entry stands.

    It is a FILE or builtin:NAME [default: the nearest policy].

    \b
    Examples:
      fallback-gate policy show
      fallback-gate policy show builtin:llm-decode
    """
    from fallback_gate.policy.show import as_data
    from fallback_gate.reports import policy_report

    named = file or next(iter(policy), None)
    said = as_data(policies.load(policies.find(named, os.environ, Path.cwd()), day(today)), day(today))
    to_stdout(policy_report.as_json(said) if format == "json" else policy_report.text(said))


@policy_command.command(name="schema")
def schema_command() -> None:
    """Print the JSON Schema of policies, for editors and for `check-jsonschema`.

    \b
    Example:
      fallback-gate policy schema > fallback-gate.schema.json
    """
    to_stdout(resources("fallback_gate.policy").joinpath("schema.json").read_text(encoding="utf-8"))


def _loaded(files: Sequence[str], today: date) -> tuple[list[tuple[str, Policy]], list[str]]:
    """The valid policies with their names, and what is wrong with the others; unnamed, the nearest."""
    valid: list[tuple[str, Policy]] = []
    problems: list[str] = []
    for file in dict.fromkeys(files or (_nearest(),)):
        try:
            valid.append((file, policies.load(file, today)))
        except PolicyError as error:
            problems += error.problems
    return valid, list(dict.fromkeys(problems))


def _nearest() -> str:
    found = policies.find(None, os.environ, Path.cwd())
    if found is None:
        other = overlooked(None, os.environ, Path.cwd())
        hint = not_read(other) if other else "name a FILE or builtin:NAME"
        raise InputError(f"no policy was named and none is found here; {hint}")
    return found
