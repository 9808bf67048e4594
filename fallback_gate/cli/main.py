"""The front door: the command `fallback-gate`, and what becomes of every error."""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
import traceback
from typing import Final

import click

from fallback_gate import __version__
from fallback_gate.errors import EXIT_BUG, EXIT_USAGE, GateError

_CONTEXT = {
    "help_option_names": ["-h", "--help"],
    "auto_envvar_prefix": "FALLBACK_GATE",
    "max_content_width": 100,
}
_FULL: Final = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EIO)  # no bug of ours

_COMMANDS: Final = {
    "check": "fallback_gate.cli.check:check_command",
    "watch": "fallback_gate.cli.watch:watch_command",
    "record": "fallback_gate.cli.record:record_command",
    "explain": "fallback_gate.cli.rules:explain_command",
    "rules": "fallback_gate.cli.rules:rules_command",
    "policy": "fallback_gate.cli.policy:policy_command",
    "baseline": "fallback_gate.cli.baseline:baseline_command",
    "diff": "fallback_gate.cli.diff:diff_command",
    "trace": "fallback_gate.cli.trace:trace_command",
    "coverage": "fallback_gate.cli.coverage:coverage_command",
    "roofline": "fallback_gate.cli.roofline:roofline_command",
    "counters": "fallback_gate.cli.counters:counters_command",
    "bench": "fallback_gate.cli.bench:bench_command",
    "peak": "fallback_gate.cli.peak:peak_command",
    "numerics": "fallback_gate.cli.numerics:numerics_command",
    "waiver": "fallback_gate.cli.waiver:waiver_command",
}


class _Commands(click.Group):
    """The commands, each imported when it is first asked for: the others would cost each run their time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the help."""
        return list(_COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant. A log in its place is a common slip: say what was wanted."""
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-"):
            import shlex
            from difflib import get_close_matches

            near = get_close_matches(name, _COMMANDS, 1)
            if near and not os.path.exists(name):
                ctx.fail(f"no command has the name {name!r}; did you mean `fallback-gate {near[0]}`?")
            if os.path.exists(name) or any(mark in name for mark in "/\\.*"):
                wanted = shlex.join(["fallback-gate", "check", *args])
                ctx.fail(f"no command has the name {name!r}; did you mean `{wanted}`?")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, or None."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command


@click.group(cls=_Commands, context_settings=_CONTEXT)
@click.version_option(__version__, "-V", "--version", prog_name="fallback-gate")
def cli() -> None:
    """Find each operator that silently fell back to a slow path, and block the release.

    Exit codes: 0 pass or waived, 1 blocked, 2 usage or an input that could not be read, 3 unproven,
    70 a bug in fallback-gate.
    """


def _complain(wrong: click.ClickException) -> None:
    """What click says of a mistake, on which the command line has a say: made safe line by line."""
    from fallback_gate.cli.output import to_stderr
    from fallback_gate.reports import safe

    if isinstance(wrong, click.NoSuchOption) and wrong.ctx is not None:
        from fallback_gate.cli.options import Output

        name = wrong.option_name.lstrip("-")
        taken = [one.type.formats for one in wrong.ctx.command.params if isinstance(one.type, Output)]
        if any(name in formats for formats in taken):
            wrong = click.NoSuchOption(wrong.option_name, possibilities=[f"-o {name}=PATH"], ctx=wrong.ctx)
    said = io.StringIO()
    wrong.show(said)
    for line in said.getvalue().splitlines():
        to_stderr(safe.inline(line))


def _say(text: str) -> None:
    from fallback_gate.cli.output import say

    say(text)


def main() -> None:
    """Run the command. Every error ends with one clear text and the contract's exit code."""
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (closed by who called)
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a code page can't show becomes visible
    try:
        code = cli.main(standalone_mode=False)
    except click.exceptions.Exit as ended:
        code = ended.exit_code
    except click.ClickException as wrong:
        _complain(wrong)
        code = 2
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted; no verdict was reached")
        code = 130
    except GateError as wrong:
        for line in str(wrong).splitlines():
            _say(line)
        code = wrong.exit_code
    except SystemExit as ended:  # click ends with 1 where a pipe is closed, which would read as "blocked"
        code = EXIT_USAGE if ended.code == 1 else ended.code
    except Exception as wrong:
        if isinstance(wrong, OSError) and wrong.errno in _FULL:
            _say(f"standard output can't be written: {wrong.strerror}")
            sys.exit(EXIT_USAGE)
        from fallback_gate.cli.output import to_stderr
        from fallback_gate.reports import safe

        for line in traceback.format_exc().splitlines():
            to_stderr(safe.log_line(line))
        to_stderr(
            f"fallback-gate {__version__}: this is a bug in fallback-gate, not a verdict "
            f"(exit code {EXIT_BUG}). Please report the lines above with the command."
        )
        code = EXIT_BUG
    sys.exit(code if isinstance(code, int) else 0)
