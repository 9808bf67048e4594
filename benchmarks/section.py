"""What a part of the benchmark found: a table, a sentence about it, and the bars that it is held to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

BARS = ("what", "bar", "measured", "verdict")  # the columns of `Bar.row`


class Bar(NamedTuple):
    """A limit that we set ourselves, and what was measured."""

    what: str
    measured: float
    limit: float
    unit: str = "x"
    at_least: bool = False

    @property
    def holds(self) -> bool:
        """The limit is kept."""
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def row(self) -> tuple[str, str, str, str]:
        """What, the limit, what was measured, and whether the limit holds."""
        way = "at least" if self.at_least else "at most"
        unit = "×" if self.unit == "x" else f" {self.unit}"
        return self.what, f"{way} {number(self.limit)}{unit}", f"{number(self.measured)}{unit}", self.verdict

    @property
    def verdict(self) -> str:
        """Whether it holds, in a word."""
        return "holds" if self.holds else "**missed**"


@dataclass
class Section:
    """One table with its title and a sentence on how it was measured."""

    title: str
    text: str
    head: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)

    def markdown(self) -> Iterator[str]:
        """The section, its table after its text."""
        yield from (f"### {self.title}", "", self.text, "", *table(self.head, self.rows), "")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A Markdown table, which also reads well at a terminal."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, ["-" * width for width in widths], *rows):
        yield "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"


def number(value: float) -> str:
    """Three figures of a number: `0.123`, `1.23`, `12.3`, `1,234`."""
    size = abs(value)
    return f"{value:,.0f}" if size >= 99.95 else f"{value:.1f}" if size >= 9.995 else f"{value:.2f}"


def seconds(value: float) -> str:
    """A time: `0.123 s`, `12.3 s`."""
    return f"{value:.3f} s" if value < 1 else f"{number(value)} s"


def size(count: float) -> str:
    """Bytes in a unit that fits: `512 MiB`, `4 GiB`, `12.3 kB`; whole powers of two where they are such."""
    if count >= 1 << 20 and count % (1 << 20) == 0:
        return f"{count / (1 << 30):g} GiB" if count % (1 << 30) == 0 else f"{count / (1 << 20):g} MiB"
    return f"{number(count / 1e6)} MB" if count >= 1e6 else f"{number(count / 1e3)} kB"
