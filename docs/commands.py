"""The page of all commands: what `--help` says of each, from the commands themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from fallback_gate.cli.coverage import diff_command
from fallback_gate.cli.main import cli

HEAD = """\
# All commands

Written by `make docs` from what each command's `--help` says. Every option can also be set by a variable
named after command and option, `FALLBACK_GATE_CHECK_POLICY` for `check --policy`.

"""


def page() -> str:
    """The page as Markdown."""
    sections = [_section(path, command, context) for path, command, context in _walk(cli, _context(cli))]
    sections.append(_section("fallback-gate coverage diff", diff_command, _context(diff_command)))
    return HEAD + "\n".join(sections)


def _context(command: click.Command) -> click.Context:
    return click.Context(command, info_name="fallback-gate")


def _walk(
    command: click.Command, context: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    if not isinstance(command, click.Group):
        yield context.command_path, command, context
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        if inner and not inner.hidden:
            yield from _walk(inner, click.Context(inner, parent=context, info_name=name))


def _section(path: str, command: click.Command, context: click.Context) -> str:
    said, _, examples = inspect.cleandoc(command.help or "").partition("\b\n")
    lines = [f"## {path.removeprefix('fallback-gate ')}", ""]
    lines += [f"`{path} {' '.join(command.collect_usage_pieces(context))}`", "", said.strip(), ""]
    if examples:
        lines += ["```sh", *(line.strip() for line in examples.splitlines()[1:] if line.strip()), "```", ""]
    records = [one.get_help_record(context) for one in command.params if isinstance(one, click.Option)]
    rows = [(names, _cell(meaning)) for names, meaning in filter(None, records)]
    if rows:
        lines += [
            "| option | |",
            "| --- | --- |",
            *(f"| `{_cell(names)}` | {meaning} |" for names, meaning in rows),
        ]
    return "\n".join(lines).rstrip() + "\n"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().replace("|", "\\|")
