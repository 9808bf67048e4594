"""The front door: `fallback-gate record -- COMMAND`, and the verdict at its end."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fallback_gate import __version__
from fallback_gate.capture.print_env import FORMS as ENV_FORMS
from fallback_gate.capture.print_env import rendered as rendered_env
from fallback_gate.cli.check import Output
from fallback_gate.cli.output import dressed, for_terminal, run_at, to_files, to_stdout, wants_color
from fallback_gate.errors import GateError, InputError
from fallback_gate.model import Recorded, Verdict
from fallback_gate.reports import WITH_EXCERPTS, safe

if TYPE_CHECKING:
    from fallback_gate.capture.process import Ended


@click.command("record", context_settings={"max_content_width": 100, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[--] COMMAND...")
@click.option("-l", "--log", default="compile.log", show_default=True, metavar="FILE",
              help="Where the log goes; structured traces go beside it, into FILE.traces/.")  # fmt: skip
@click.option("--compilers", metavar="NAME,NAME", help="Only the settings of these [default: all].")
@click.option("--strict-modes", is_flag=True,
              help="Also what makes a stack fail rather than fall back.")  # fmt: skip
@click.option("--expect-ranks", type=click.IntRange(1), metavar="N",
              help="How many ranks the run has; a missing one is unproven.")  # fmt: skip
@click.option("--print-env", type=click.Choice(list(ENV_FORMS)), help="Print the settings; run nothing.")
@click.option("--print-environment", is_flag=True,
              help="Print devices, drivers, versions, caches, for `check --environment`.")  # fmt: skip
@click.option("--check", "judge", is_flag=True, help="Judge the log when the command has ended.")
@click.option("-p", "--policy", metavar="FILE|builtin:NAME", help="With --check: the policy that judges.")
@click.option("-o", "--output", type=Output(), multiple=True, metavar="FORMAT=PATH",
              help="With --check: also write this report; may be given several times.")  # fmt: skip
def record_command(
    command: tuple[str, ...],
    log: str,
    compilers: str | None,
    strict_modes: bool,
    expect_ranks: int | None,
    print_env: str | None,
    print_environment: bool,
    judge: bool,
    policy: str | None,
    output: tuple[tuple[str, str], ...],
) -> int:
    """Run a command so that its log proves something.

    Sets what makes each compiler show its fallbacks, passes the command's output on as it is, and writes it
    to a log that is sealed at its end. The exit code is the command's; with --check it is the gate's,
    unless the command itself failed.

    \b
    Examples:
      fallback-gate record -- python build.py
      fallback-gate record --log logs/decode.log --check -p builtin:llm-decode -- python build.py
      fallback-gate record --expect-ranks 8 -- torchrun --nproc-per-node 8 build.py
      fallback-gate record --print-env github
    """
    names = [name.strip() for name in (compilers or "").split(",") if name.strip()]
    if print_env:
        _print_env(command, log, names, strict_modes, print_env)
        return 0
    if print_environment:
        _print_environment(command)
        return 0
    if not command:
        raise click.UsageError("no command was given: fallback-gate record -- COMMAND...")
    if not judge and (policy or output):
        raise click.UsageError("--policy and --output need --check; or judge later: fallback-gate check LOG")
    if judge:
        _load(policy)
    from fallback_gate.capture.record import record

    done = record(
        command,
        Path(log),
        os.environ,
        tool=__version__,
        compilers=names,
        strict_modes=strict_modes,
        expect_ranks=expect_ranks,
        mask=safe.redact,
        tell=_say,
    )
    for note in done.notes:
        _say(note)
    if done.problem:
        _say(f"{log} is not sealed: {done.problem}")
    if judge:
        return _judged(log, policy, output, done.ended)
    if not done.problem:
        _say(f"recorded {log}; judge it with: fallback-gate check {log}")
    return done.ended.exit_status


def _print_env(command: tuple[str, ...], log: str, names: list[str], strict: bool, form: str) -> None:
    """Print what a recording would set, whatever is set here."""
    from fallback_gate.capture import found
    from fallback_gate.capture.gather import folder_of
    from fallback_gate.capture.plan import chosen, plan
    from fallback_gate.capture.table import TABLE

    packages = [package for stack in TABLE for package in stack.packages]
    versions = found.versions(command, os.environ, packages)
    settings = plan(chosen(names, versions), {}, str(folder_of(Path(log))), versions, strict=strict)
    to_stdout(rendered_env(settings.variables, form))
    _say("settings alone: the seal and the in-process hook come with a recording only")


def _print_environment(command: tuple[str, ...]) -> None:
    """Print the record of this machine, and of the command's Python, or the one on the path."""
    import json

    from fallback_gate.capture import found, machine
    from fallback_gate.model import environment

    python, installed = found.installed(command or ("python3",), os.environ, machine.asked())
    record = environment.as_data(machine.environment(os.environ, python, installed))
    to_stdout(json.dumps({"schema": environment.SCHEMA, **record}, indent=2))


def _load(policy: str | None) -> None:
    """Load the policy once before a long run, so that a mistake in it is told at once."""
    from datetime import datetime, timezone

    from fallback_gate import policy as policies

    reference = policies.find(policy, os.environ, Path.cwd())
    policies.load(reference, datetime.now(timezone.utc).date())


def _judged(log: str, policy: str | None, output: tuple[tuple[str, str], ...], ended: Ended) -> int:
    """Judge the log, report, and say whose exit code it is."""
    from fallback_gate.gate import check

    try:
        excerpts = not WITH_EXCERPTS.isdisjoint(name for name, _ in output)
        verdict = check([log], policy, excerpts=excerpts, run_at=run_at(os.environ), sealed=True)
    except GateError as wrong:
        if not ended.exit_status:
            raise
        _say(str(wrong))
        return _said(ended, None)
    failed = ended.exit_status != 0
    recorded = Recorded(
        exit_status=ended.exit_status,
        signal=ended.signal,
        exit_code=ended.exit_status if failed else verdict.exit_code,
        exit_code_of="command" if failed else "gate",
    )
    verdict = replace(verdict, recorded=recorded)
    read = [one.path.partition("!/")[0] for one in verdict.logs] + [policy or ""]
    reports = dressed(verdict, (name for name, _ in output))
    to_files([(path, reports[name]) for name, path in output if path != "-"], keep=read)
    for name, path in output:
        if path == "-":
            to_stdout(reports[name])
    in_color = wants_color("auto", os.environ, sys.stderr.isatty())
    click.echo(for_terminal(verdict, color=in_color, verbose=0, quiet=False), err=True, nl=False)
    return _said(ended, verdict)


def _said(ended: Ended, verdict: Verdict | None) -> int:
    """Say in the last line whose exit code it is."""
    outcome = verdict.outcome.value if verdict and verdict.outcome else "without a verdict"
    if ended.exit_status:
        how = f"ended by {ended.signal}" if ended.signal else "failed"
        _say(f"exit code {ended.exit_status} is the command's own, which {how}; the gate says {outcome}")
        return ended.exit_status
    code = verdict.exit_code if verdict else InputError.exit_code
    _say(f"exit code {code} is the gate's: {outcome}; the command itself succeeded")
    return code


def _say(text: str) -> None:
    """One line on standard error, which no terminal and no CI runner obeys."""
    click.echo(f"fallback-gate: {safe.inline(text)}", err=True)
