"""Room 2: whether somebody cut or broke the lines of a text at one width, as `cut -c1-200` and `fold` do.

What stood behind that column is lost, or on a line of its own. The rows of a table may be as long as the
longest line, and end in numbers; many lines that end in different words, where none is longer, are cut.
"""

from __future__ import annotations

from itertools import pairwise

from fallback_gate.patterns import Pattern

ENDS = 6  # different ends of the longest lines
LENGTHS = 3  # of the words there, or of what is left of them: hashes and numbers in a row are as long
_LETTERS = 5  # of such an end
_NUMBER = Pattern(r"\d")
DOTTED = 4  # lines that are as long as the longest and end, or begin, in dots
_DOTS = ("...", "…")
WRAPPED = 6  # lines that end in a blank, most of them before a word that no longer fitted
_SHARE = 0.6  # of those that end in a blank


def told(text: str) -> str | None:
    """Why the lines are not whole; None where they may be."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    width = max(map(len, lines), default=0)
    longest = {_NUMBER.sub("0", line) for line in lines if len(line) == width}
    words = {line.rpartition(" ")[2] for line in longest if line[-1:].isalpha() or line.endswith(("_", "\\"))}
    cut = len({word[-_LETTERS:] for word in words}) >= ENDS and len(set(map(len, words))) >= LENGTHS
    dotted = sum(_is_dotted(line) for line in longest)
    if cut or dotted >= DOTTED or _is_wrapped(lines, width):
        return f"its lines are cut or broken at {width} characters: give the log as it was written"
    return None


def _is_dotted(line: str) -> bool:
    return line.endswith(_DOTS) or (line.startswith(_DOTS) and not line.startswith("...."))


def _is_wrapped(lines: list[str], width: int) -> bool:
    """Whether lines that end in one blank do so since the next word would not fit."""
    blank = [(line, after) for line, after in pairwise(lines) if line[-1:] == " " != line[-2:-1]]
    full = sum(len(line) + len(after.partition(" ")[0]) > width for line, after in blank)
    return len({line for line, _ in blank}) >= WRAPPED and full > _SHARE * len(blank)
