"""Room 7: the lines of the text report: a label with a text beside it, a paragraph, a list.

A sheet knows the terminal (its width, whether it has colour) and how much the reader wants to see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from fallback_gate.model import Outcome
from fallback_gate.reports import layout, safe

Item = TypeVar("Item")

STYLES: Final[Mapping[Outcome | None, str]] = {
    Outcome.PASS: "bold green",
    Outcome.WAIVED: "bold yellow",
    Outcome.BLOCKED: "bold red",
    Outcome.UNPROVEN: "bold yellow",
    None: "bold red",
}

LABEL_COLUMNS = 8
MOST_LINES = 6  # of one sentence in which a log has a say
MOST_ROWS = 10
NARROWEST = 24  # columns; below this nothing is readable anyway
ELSEWHERE = "(see --format json)"


class Sheet:
    """A terminal `width` columns wide; `everything` leaves out and shortens nothing."""

    def __init__(self, *, color: bool, width: int, everything: bool) -> None:
        self.paint = layout.ansi if color else layout.plain
        self.width = max(width, NARROWEST)
        self.everything = everything
        self.most_lines = None if everything else MOST_LINES

    def most(self, usual: int) -> int | None:
        """How many items of a list to show: None is all of them."""
        return None if self.everything else usual

    def answer(
        self, name: str, exit_code: int, why: str, style: str, most: int | None = None
    ) -> Iterator[str]:
        """What a report says first: the verdict, in its style, and why, in at most `most` lines."""
        first, *rest = layout.wrap(f"{name} (exit {exit_code}): {why}", self.width, most)
        yield self.paint(first[: len(name)], style) + first[len(name) :]
        yield from rest

    def section(self, heading: str, lines: Iterable[str]) -> Iterator[str]:
        """A heading with its lines below; nothing without lines."""
        told = list(lines)
        if told:
            yield from ("", self.paint(heading, "bold"), *told)

    def each(
        self, items: Sequence[Item], usual: int, lines: Callable[[Item], Iterable[str]]
    ) -> Iterator[str]:
        """The lines of the first items of a list, and how many more there are."""
        shown = items[: self.most(usual)]
        for item in shown:
            yield from lines(item)
        yield from self.rest(len(items) - len(shown))

    def head(self, text: str, style: str) -> Iterator[str]:
        """What an item of a section is about, at its top."""
        for line in layout.wrap(text, self.width - 2, self.most_lines):
            yield f"  {self.paint(line, style)}"

    def row(self, label: str, text: str | None, indent: int = 2, style: str | None = None) -> Iterator[str]:
        """A label and a text beside it, which goes on under itself; nothing without a text.

        A styled text is a next step, which is of no use when it is cut.
        """
        if text is None:
            return
        start = indent + LABEL_COLUMNS
        most = None if style else self.most_lines
        for number, line in enumerate(layout.wrap(text, self.width - start, most)):
            margin = f"{'' if number else label:<{LABEL_COLUMNS}}"
            yield " " * indent + self.paint(margin, "dim") + (self.paint(line, style) if style else line)

    def paragraph(self, text: str, style: str | None = None, indent: int = 2) -> Iterator[str]:
        """A text that goes on two columns further in."""
        for number, line in enumerate(layout.wrap(text, self.width - indent - 2, self.most_lines)):
            yield " " * (indent + (2 if number else 0)) + (self.paint(line, style) if style else line)

    def bullets(self, sentences: Sequence[str], most: int | None = None) -> Iterator[str]:
        """A list, a sentence of more lines as more items; None shows all."""
        shown = sentences[:most]
        for line in (line for sentence in shown for line in sentence.split("\n")):
            yield from self.paragraph(f"- {safe.inline(line)}")
        yield from self.rest(len(sentences) - len(shown))

    def rest(self, count: int) -> Iterator[str]:
        """How many items of a list were left out; nothing where none was."""
        if count > 0:
            yield from self.paragraph(f"and {count:,} more {ELSEWHERE}")
