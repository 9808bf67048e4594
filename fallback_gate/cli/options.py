"""The front door: options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Any

import click

from fallback_gate.reports import FORMATS

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
            self.fail(f"{value!r} is no date: write it as YYYY-MM-DD, such as 2027-03-31", param, ctx)
        return day


class Output(Typed[tuple[str, str]]):
    """FORMAT=PATH."""

    name = "format=path"

    def __init__(self, formats: Iterable[str] = FORMATS) -> None:
        self.formats = tuple(formats)

    def convert(
        self, value: str | tuple[str, str], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Split at the first equals sign."""
        if isinstance(value, tuple):
            return value
        name, equals, path = value.partition("=")
        if not equals or not path or name not in self.formats:
            known = ", ".join(self.formats)
            self.fail(
                f"{value!r} is not FORMAT=PATH with a format of {known}; for example json=report.json",
                param,
                ctx,
            )
        return name, path


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


POLICY = click.option(
    "-p", "--policy", metavar="FILE|builtin:NAME", help="The policy that judges (default: looked up)."
)
TODAY = click.option(
    "--today", type=Day(), metavar="YYYY-MM-DD", help="Judge as of this day (UTC) [default: today]."
)
RULES = click.option("--rules", metavar="FILE", multiple=True, help="Your own messages, beside the policy's.")
BASELINE = click.option(
    "-b", "--baseline", metavar="FILE", help="Fallbacks that may stay; none may be added."
)
WAIVER = click.option("--waiver", metavar="FILE", help="A waiver for the release named by --release.")
RELEASE = click.option("--release", metavar="NAME", help="The release that is being judged.")
EXPECT_RANKS = click.option(
    "--expect-ranks", type=click.IntRange(1), metavar="N",
    help="Unproven where one of the ranks 0 to N-1 is missing.",
)  # fmt: skip
EXIT_ZERO = click.option(
    "--exit-zero", is_flag=True, help="End with 0 where the verdict is blocked; the verdict stays."
)
COLOR = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
    help="Colour the text report.",
)  # fmt: skip
NEW_FILE = click.option(
    "-o", "--output", metavar="FILE", help="Where to write it [default: standard output]."
)
FORCE = click.option("--force", is_flag=True, help="Take the place of a file that is there.")


def together(*options: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Several options as one, in their order."""

    def with_all(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return with_all


JUDGING = together(POLICY, TODAY, RULES)
"""By what logs are judged: the policy, the day, own messages."""


def form(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--format`, the first name by default."""
    return click.option(
        "-f", "--format", type=click.Choice(names), default=names[0], show_default=True,
        help="What to print on standard output.",
    )  # fmt: skip


def reports(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--output`, in these formats."""
    return click.option(
        "-o", "--output", type=Output(names), multiple=True, metavar="FORMAT=PATH",
        help="Also write this report to a file; may be given several times.",
    )  # fmt: skip


def day(today: date | None) -> date:
    """The day of `--today`, or today's in UTC."""
    return today or datetime.now(timezone.utc).date()
