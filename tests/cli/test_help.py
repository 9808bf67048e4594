"""The help of a command with many options: each stands once, under a heading."""

from __future__ import annotations

import click

from fallback_gate.cli.check import check_command


def test_each_option_of_check_stands_once_under_a_heading() -> None:
    context = click.Context(check_command, info_name="check", terminal_width=100)
    text = check_command.get_help(context)
    headings = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Judging:", "Beside the logs:", "Reading:", "Reports:"]
    said = [line for line in text.splitlines() if line.startswith("  -")]
    options = [option for option in check_command.params if isinstance(option, click.Option)]
    for option in options:
        rows = [line for line in text.splitlines() if option.opts[-1] in line.replace(",", " ").split()[:2]]
        assert len(rows) == 1, option.name
    assert len(said) == len(options) + 1  # and --help
