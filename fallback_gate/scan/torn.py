"""Room 2: whether somebody cut or broke the lines of a text at one width, as `cut -c1-200` and `fold` do.

What stood behind that column is lost, or on a line of its own. The rows of a table may be as long as the
longest line; many lines that end in different words, where none is longer, are cut.
"""

from __future__ import annotations

from itertools import pairwise

ENDS = 6  # different ends of the longest lines
_LETTERS = 5  # of such an end
DOTTED = 4  # lines that are as long as the longest and end, or begin, in dots
_DOTS = ("...", "…")
WRAPPED = 6  # lines that end in a blank, most of them before a word that no longer fitted
_SHARE = 0.6  # of those that end in a blank


def told(text: str) -> str | None:
    """Why the lines are not whole; None where they may be."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    width = max(map(len, lines), default=0)
    longest = {line for line in lines if len(line) == width}
    ends = {line[-_LETTERS:] for line in longest if line[-1:].isalnum() or line.endswith(("_", "\\", *_DOTS))}
    dotted = sum(_is_dotted(line) for line in longest)
    if len(ends) >= ENDS or dotted >= DOTTED or _is_wrapped(lines, width):
        return f"its lines are cut or broken at {width} characters: give the log as it was written"
    return None


def _is_dotted(line: str) -> bool:
    return line.endswith(_DOTS) or (line.startswith(_DOTS) and not line.startswith("...."))


def _is_wrapped(lines: list[str], width: int) -> bool:
    """Whether lines that end in one blank do so since the next word would not fit."""
    blank = [(line, after) for line, after in pairwise(lines) if line[-1:] == " " != line[-2:-1]]
    full = sum(len(line) + len(after.partition(" ")[0]) > width for line, after in blank)
    return len({line for line, _ in blank}) >= WRAPPED and full > _SHARE * len(blank)
