"""The front door: `fallback-gate record -- COMMAND`, and the verdict at its end."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fallback_gate import __version__
from fallback_gate.capture.print_env import FORMS as ENV_FORMS
from fallback_gate.capture.print_env import rendered as rendered_env
from fallback_gate.cli.options import (
    BASELINE,
    JUDGING,
    RELEASE,
    WAIVER,
    InSections,
    day,
    reports,
    together,
)
from fallback_gate.cli.output import (
    for_terminal,
    must_be_writable,
    publish,
    run_at,
    say,
    to_stderr,
    to_stdout,
    wants_color,
)
from fallback_gate.errors import GateError, InputError
from fallback_gate.model import Recorded, Verdict
from fallback_gate.reports import FORMATS, WITH_EXCERPTS, safe

if TYPE_CHECKING:
    from fallback_gate.capture.process import Ended


_JUDGED = ("policy", "rules", "baseline", "waiver", "release", "today")  # as by `check`
_SECTIONS = {
    "Recording": ("log", "compilers", "strict_modes", "expect_ranks"),
    "At its end, with --check": ("check", *_JUDGED, "output"),
    "Instead": ("print_env", "print_environment"),
}


@click.command(
    "record", cls=InSections, sections=_SECTIONS, context_settings={"allow_interspersed_args": False}
)
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
@click.option("--check", is_flag=True, help="Judge the log when the command has ended.")
@together(JUDGING, BASELINE, WAIVER, RELEASE, reports(*FORMATS))
def record_command(
    command: tuple[str, ...],
    log: str,
    compilers: str | None,
    strict_modes: bool,
    expect_ranks: int | None,
    print_env: str | None,
    print_environment: bool,
    check: bool,
    output: tuple[tuple[str, str], ...],
    **by: Any,
) -> int:
    """Run COMMAND so that its log proves something.

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
    given = [f"--{name}" for name, value in {**by, "output": output}.items() if value]
    if given and not check:
        verb = "needs" if len(given) == 1 else "need"
        raise click.UsageError(
            f"{' and '.join(given)} {verb} --check; or judge later: fallback-gate check LOG"
        )
    if check:
        _load(by)
        must_be_writable(output, keep=[log, *_files(by)])
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
        tell=say,
    )
    for note in done.notes:
        say(note)
    if done.problem:
        say(f"{log} is not sealed: {done.problem}")
    if check:
        return _judged(log, by, output, done.ended)
    if done.ended.exit_status:
        say(f"recorded {log}; the command {_how(done.ended)}, and no such recording passes: mend it first")
    elif not done.problem:
        say(f"recorded {log}; judge it with: fallback-gate check {log}")
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
    say("settings alone: the seal and the in-process hook come with a recording only")


def _print_environment(command: tuple[str, ...]) -> None:
    """Print the record of this machine, and of the command's Python, or the one on the path."""
    from fallback_gate.capture import found, machine
    from fallback_gate.model import environment
    from fallback_gate.reports.dump import dump

    python, installed = found.installed(command or ("python3",), os.environ, machine.asked())
    record = environment.as_data(machine.environment(os.environ, python, installed))
    to_stdout(dump({"schema": environment.SCHEMA, **record}))


def _load(by: Mapping[str, Any]) -> None:
    """Load what judges once before a long run, so that a mistake in it is told at once."""
    from fallback_gate.judging.files import Names
    from fallback_gate.judging.terms import Options, terms

    names = Names(by["policy"], by["rules"], by["baseline"], by["waiver"])
    terms(names, Options(day(by["today"]), by["release"] or ""), Path.cwd(), os.environ)


def _files(by: Mapping[str, Any]) -> list[str]:
    """The files that judge, which no report may take the place of."""
    return [by["policy"] or "", by["baseline"] or "", by["waiver"] or "", *by["rules"]]


def _judged(log: str, by: Mapping[str, Any], output: tuple[tuple[str, str], ...], ended: Ended) -> int:
    """Judge the log, report, and say whose exit code it is."""
    from fallback_gate.gate import check

    try:
        verdict = check(
            [log],
            by["policy"],
            today=by["today"],
            rules=by["rules"],
            baseline=by["baseline"],
            waiver_file=by["waiver"],
            release=by["release"],
            excerpts=not WITH_EXCERPTS.isdisjoint(name for name, _ in output),
            run_at=None if by["today"] else run_at(os.environ),
            sealed=True,
        )
    except GateError as wrong:
        if not ended.exit_status:
            raise
        say(str(wrong))
        return _said(ended, None)
    failed = ended.exit_status != 0
    recorded = Recorded(
        exit_status=ended.exit_status,
        signal=ended.signal,
        exit_code=ended.exit_status if failed else verdict.exit_code,
        exit_code_of="command" if failed else "gate",
    )
    verdict = replace(verdict, recorded=recorded)
    publish(verdict, output, format=None, keep=_files(by))
    in_color = wants_color("auto", os.environ, sys.stderr.isatty())
    to_stderr(for_terminal(verdict, color=in_color))
    return _said(ended, verdict)


def _said(ended: Ended, verdict: Verdict | None) -> int:
    """Say in the last line whose exit code it is."""
    outcome = verdict.outcome.value if verdict and verdict.outcome else "without a verdict"
    if ended.exit_status:
        how = _how(ended)
        say(f"exit code {ended.exit_status} is the command's own, which {how}; the gate says {outcome}")
        return ended.exit_status
    code = verdict.exit_code if verdict else InputError.exit_code
    say(f"exit code {code} is the gate's: {outcome}; the command itself succeeded")
    return code


def _how(ended: Ended) -> str:
    return f"was ended by {ended.signal}" if ended.signal else "failed"
