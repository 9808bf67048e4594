"""Room 1: lines that PowerShell 5 broke at the width of its console, made whole.

It does so to what a program writes to stderr, and leaves no mark. A `FILLER` line stands for each part cut
off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from fallback_gate.sources.envelope import FILLER, plain, unwrap
from fallback_gate.sources.reader import LONGEST

_NARROWEST, _WIDEST = 40, 500  # columns of a console
_USUAL = (79, 80, 119, 120)
_CHANCE, _CHANCE_MARKED = 0.1, 0.5  # share of lines that may have the console's width by chance
_SHORT = 6  # characters of an envelope (`12: `) that the rest of a torn line may begin with
_OPENING = re.compile(
    rb"(?:[\w.-]+\.exe : |\[\w+\]: ?)*(?:[VDIWEC]\d{4} \d\d:|\[\d{4}-\d\d-\d\d )|Traceback \("
)


def width_of(head: bytes) -> int | None:
    """The width in characters at which PowerShell broke the lines of a text; None where it broke none.

    No line is longer; one of just that width is torn within a word, and what follows it opens no record.
    """
    lines = [line.removesuffix("\r") for line in head.decode("utf-8", "replace").split("\n")[:-1]]
    width = max(map(len, lines), default=0)
    if not _NARROWEST <= width <= _WIDEST:
        return None
    torn = [(line, after) for line, after in pairwise(lines) if len(line) == width]
    marked = b"NativeCommandError" in head
    if sum(_opens(after.encode()) for _, after in torn) > (_CHANCE_MARKED if marked else _CHANCE) * len(torn):
        return None
    within_words = [line for line, after in torn if line[-1].isalnum() and after[:1].isalnum()]
    if marked:
        return width if within_words or len(torn) > 1 or (torn and width in _USUAL) else None
    return width if within_words and any(_OPENING.search(line.encode()) for line, _ in torn) else None


def _opens(line: bytes) -> bool:
    """Whether a line looks like a record's first, and not like the rest of the line before."""
    text = plain(line.decode("utf-8", "replace"))
    return bool(_OPENING.match(line)) or len(unwrap(text)[0]) < len(text) - _SHORT


def unbroken(blocks: Iterable[bytes], width: int) -> Iterator[bytes]:
    """Lines that the console broke, made whole."""
    whole, fillers, goes_on, end, first = b"", 0, False, b"\n", True
    for block in blocks:
        end = b"\n" if block.endswith(b"\n") else b""
        out = []
        for line in block.removesuffix(b"\n").split(b"\n"):
            text = line.removesuffix(b"\r")
            if goes_on and len(whole) < LONGEST and not _opens(text):
                whole, fillers = whole.removesuffix(b"\r") + line, fillers + 1
            else:
                if not first:
                    out += [whole, *[FILLER] * fillers]
                whole, fillers, first = line, 0, False
            goes_on = (len(text) if text.isascii() else len(text.decode("utf-8", "replace"))) == width
        if out:
            yield b"\n".join(out) + b"\n"
    if not first:
        yield b"\n".join([whole, *[FILLER] * fillers]) + end
