"""Room 7: putting text on a terminal: columns as a terminal counts them, wrapping, tables, colour.

Everything here takes text that `safe` has been over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

_CODES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_COMMAND: Final = re.compile(r"^(?P<start>(?:\s|\x1b\[[0-9;]*m)*)(?=::)")
_BREAKS_AFTER: Final = "/\\,:=.-"
MOST_CHARACTERS: Final = 8  # in one column: a letter and its accents


def plain(text: str, style: str) -> str:
    """The text without colour."""
    return text


def ansi(text: str, style: str) -> str:
    """The text in a style such as `bold red`, as a terminal's escape codes."""
    return f"\x1b[{';'.join(_CODES[name] for name in style.split())}m{text}\x1b[0m" if text else text


def columns(text: str) -> int:
    """How many columns a terminal gives the text: two for East Asian wide characters and emoji."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth

    return max(wcswidth(text), 0)


def _head(text: str, width: int) -> int:
    """How many characters from the start fit into the width; at least one, so that cutting ends.

    What adds nothing to the width, such as accents, stays with its letter, within reason.
    """
    most = min(len(text), MOST_CHARACTERS * max(width, 1))
    if text.isascii():
        return max(min(most, width), 1)
    end = 0
    while end < most and columns(text[: end + 1]) <= width:
        end += 1
    return max(end, 1)


def cut(text: str, width: int) -> str:
    """The text in at most `width` columns; three dots say that it was cut."""
    if columns(text) <= width:
        return text
    if width <= 4:
        return text[: _head(text, width)]
    return text[: _head(text, width - 3)].removesuffix("[") + "..."  # as `safe.shorten`


def pad(text: str, width: int) -> str:
    """The text, filled up with blanks to the width."""
    return text + " " * (width - columns(text))


def _pieces(text: str, width: int) -> Iterator[tuple[str, bool]]:
    """Words, and whether each goes on from the one before: a word wider than a line comes in parts.

    It is cut after a separator where there is one in the second half of the line.
    """
    for word in text.split():
        goes_on = False
        while columns(word) > width:
            end = _head(word, width)
            after = max(word.rfind(mark, 0, end) for mark in _BREAKS_AFTER) + 1
            end = after if after > end // 2 else end
            yield word[:end], goes_on
            word, goes_on = word[end:], True
        yield word, goes_on


def wrap(text: str, width: int, most: int | None = None) -> list[str]:
    """The text in lines of at most `width` columns, runs of blanks as one; cut after `most` lines."""
    lines: list[str] = []
    for piece, goes_on in _pieces(text, max(width, 1)):
        if lines and not goes_on and columns(lines[-1]) + 1 + columns(piece) <= width:
            lines[-1] += f" {piece}"
            continue
        if most and len(lines) == most:
            return [*lines[:-1], cut(f"{lines[-1]} {piece}", width)]
        lines.append(piece)
    return lines or [""]


def table(rows: Sequence[Sequence[str]], width: int, least: int = 6) -> list[list[str]]:
    """The cells of each row padded to columns and cut so that a row, two blanks between cells, fits."""
    widths = [max(columns(cell) for cell in column) for column in zip(*rows, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > width and max(widths) > least:
        widest = widths.index(max(widths))
        over = sum(widths) + 2 * (len(widths) - 1) - width
        second = max([size for size in widths if size < widths[widest]], default=least)
        widths[widest] -= min(over, max(widths[widest] - max(second, least), 1))
    return [[pad(cut(cell, size), size) for cell, size in zip(row, widths, strict=True)] for row in rows]


def finish(lines: Sequence[str]) -> str:
    """The lines as one text: no blank at an end, and none that a CI runner takes for its command."""
    return "".join(_COMMAND.sub(r"\g<start>|", line.rstrip()) + "\n" for line in lines)
