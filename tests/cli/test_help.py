"""The help of every command: it says what each option and argument is, and its examples are ones that work."""

from __future__ import annotations

import inspect
import re
import shlex
from collections import defaultdict
from collections.abc import Iterator

import click
import pytest

from fallback_gate.cli.check import check_command
from fallback_gate.cli.coverage import diff_command as coverage_diff
from fallback_gate.cli.main import cli
from fallback_gate.cli.record import record_command
from fallback_gate.cli.roofline import roofline_command


def _walk(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    yield context.command_path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None, name
            yield from _walk(inner, click.Context(inner, parent=context, info_name=name))


COMMANDS = dict(_walk(cli, click.Context(cli, info_name="fallback-gate")))
COMMANDS["fallback-gate coverage diff"] = coverage_diff  # the only one that stands behind a command
WORKING = {name: one for name, one in COMMANDS.items() if not isinstance(one, click.Group)}
OPTIONS = [
    (path, option)
    for path, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, click.Option) and not option.hidden
]
_CALL = re.compile(r"fallback-gate [^|&>]*")
OWN_MEANING = {  # words that two instruments share with everybody else: (option, command)
    ("--peak", "fallback-gate bench"),  # a file of `peak`; an amount in roofline
    ("--baseline", "fallback-gate bench"),  # several runs
    ("--output", "fallback-gate policy init"),  # the file that the command makes
    ("--output", "fallback-gate policy hot"),
    ("--output", "fallback-gate waiver new"),
    ("--output", "fallback-gate baseline create"),
    ("--counters", "fallback-gate roofline"),  # one file, to draw
    ("--check", "fallback-gate baseline update"),
}


def test_all_commands_are_walked() -> None:
    assert len(WORKING) > 25
    assert {"fallback-gate check", "fallback-gate policy lint", "fallback-gate rules test"} <= WORKING.keys()


@pytest.mark.parametrize("path", COMMANDS)
def test_each_option_and_argument_is_told(path: str) -> None:
    command = COMMANDS[path]
    assert command.help, path
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.hidden or (parameter.help or "").endswith((".", "].", ")")), parameter.opts
        else:
            words = re.findall(r"[A-Z]{2,}", parameter.make_metavar(click.Context(command)))
            assert words, parameter.name
            for word in words:
                assert word in command.help, f"{path}: what {word} is"


def _examples(text: str) -> list[str]:
    """The lines under `Example:`, with what they go on in."""
    _, _, said = inspect.cleandoc(text).partition("\b\nExample")
    lines = said.partition(":\n")[2].replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip()]


def _meant(call: str) -> str:
    """The command that a line calls, which takes all that stands behind it."""
    words = shlex.split(call.replace("$!", "4711"))[1:]
    context, command = click.Context(cli, info_name="fallback-gate"), cli
    while isinstance(command, click.Group):
        name, command, words = command.resolve_command(context, words)
        around, context = context, click.Context(command, parent=context, info_name=name)
    return command.make_context(context.info_name, words, parent=around).command_path


@pytest.mark.parametrize("path", WORKING)
def test_each_example_is_a_command_of_ours(path: str) -> None:
    calls = [call for line in _examples(WORKING[path].help or "") for call in _CALL.findall(line)]
    assert path in map(_meant, calls), calls


def test_an_option_is_the_same_in_every_command() -> None:
    kinds = defaultdict(set)
    for path, option in OPTIONS:
        for name in option.opts:
            if (option.opts[-1], path) not in OWN_MEANING:
                takes = "nothing" if option.is_flag or option.count else type(option.type).__name__
                kinds[name].add((takes, option.metavar, option.opts[-1]))
    differing = {name: found for name, found in kinds.items() if len(found) > 1}
    assert not differing
    for shared in ("--policy", "--rules", "--today", "--exit-zero", "--force", "--expect-ranks", "--color"):
        said = {option.help for path, option in OPTIONS if shared in option.opts}
        about_messages = {"Also your own messages.", "Also the messages of this policy."}
        assert len(said - about_messages) <= 2, (shared, said)


@pytest.mark.parametrize(("path", "option"), OPTIONS, ids=lambda one: str(getattr(one, "name", one)))
def test_an_option_has_the_variable_of_its_name(path: str, option: click.Option) -> None:
    """FALLBACK_GATE_COMMAND_OPTION: click makes it of the parameter's name, which is the option's."""
    assert option.opts[-1] == "--" + (option.name or "").replace("_", "-")


@pytest.mark.parametrize(
    "command", [check_command, record_command, roofline_command], ids=lambda one: one.name
)
def test_each_option_stands_once_under_a_heading(command: click.Command) -> None:
    context = click.Context(command, info_name=command.name, terminal_width=100)
    text = command.get_help(context)
    headings = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert len(headings) == len(set(headings)) > 2
    if command is check_command:
        assert headings == ["Judging:", "Beside the logs:", "Reading:", "Reports:"]
    said = [line for line in text.splitlines() if line.startswith("  -")]
    options = [option for option in command.params if isinstance(option, click.Option)]
    for option in options:
        rows = [line for line in text.splitlines() if option.opts[-1] in line.replace(",", " ").split()[:2]]
        assert len(rows) == 1, option.name
    assert len(said) == len(options) + 1  # and --help
