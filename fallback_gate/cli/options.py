"""The front door: options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    Typed = click.ParamType
else:

    class Typed(click.ParamType):
        """A type of option: before click 8.4 it can't say what it makes."""

        def __class_getitem__(cls, made: object) -> type:
            return cls


class Day(Typed[date]):
    """A date as YYYY-MM-DD, and nothing else."""

    name = "date"

    def convert(self, value: str | date, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """Read the date."""
        if isinstance(value, date):
            return value
        try:
            day = date.fromisoformat(value)
        except ValueError:
            day = None
        if day is None or day.isoformat() != value:
            self.fail(f"{value!r} is no date: write it as 2027-03-31", param, ctx)
        return day


class InSections(click.Command):
    """A command of many options, whose help shows them under headings; `sections` names those of each by
    parameter, and the rest stand under the last heading."""

    def __init__(self, *arguments: Any, sections: Mapping[str, Sequence[str]], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each option under its heading."""
        heading = {name: title for title, names in self._sections.items() for name in names}
        last = list(self._sections)[-1]
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in self._sections}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record:
                rows[heading.get(parameter.name or "", last)].append(record)
        for title, said in rows.items():
            with formatter.section(title):
                formatter.write_dl(said)


TODAY = click.option(
    "--today", type=Day(), metavar="YYYY-MM-DD", help="Judge as of this day (UTC) [default: today]."
)
POLICY = click.option(
    "-p", "--policy", metavar="FILE|builtin:NAME", help="The policy that judges (default: looked up)."
)


def judging(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options by which logs are judged: policy, day, own messages."""
    for option in (
        click.option(
            "--rules", metavar="FILE", multiple=True, help="Your own messages, beside the policy's."
        ),
        TODAY,
        POLICY,
    ):
        command = option(command)
    return command


def form(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--format`, the first name by default."""
    return click.option(
        "-f", "--format", "form", type=click.Choice(names), default=names[0], show_default=True,
        help="What to print on standard output.",
    )  # fmt: skip
