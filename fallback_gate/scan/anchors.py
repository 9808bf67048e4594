"""Room 2: the literals that all rules wait for, in one hyperscan database.

hyperscan reports where a match ends, and reports every match of every expression in one pass. Its time grows
with how often pairs of letters of its literals stand in the text. So it looks for a few hundred pieces of
eight letters, `pieces.PIECES`: each stands in one anchor or in many, and they are rare in logs;
`benchmarks/choose_pieces.py` chose them by measurement. At a hit the anchors that hold the piece are
compared. An anchor without any of them, as a user's own may be, is looked for as a whole: that costs a
little time, and no hit.

Below some fifty literals hyperscan picks an engine that looks at the last letters of few literals at once,
and is three times slower where these end in common letters, as words do: so a small set is filled up with
literals that no text holds. Above, it looks at every fourth place of a text, or at every second where some
literal is of three letters, and then hardly anything needs a closer look: twice as fast. The signs of another
form are such literals; more than a dozen of them, or one of two letters, would cost what they gain.

Building a database takes milliseconds, so it is kept for the next log; its scratch space serves one scan at
a time, so each thread has its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from threading import get_ident

import hyperscan

from fallback_gate.scan.pieces import PIECES
from fallback_gate.sources.later import SIGNS

MOST_RANKS = 1024
ANY_RANK = (rb"\[rank\d", rb"\[default\d")  # whoever numbers its lines
SEEN_ONCE = (*ANY_RANK, *SIGNS)  # reported once a pass over some bytes
FEWEST = 80  # expressions in one database
LENGTH = 8  # letters of a piece: of a longer literal hyperscan looks at the last eight first
_FILLER = [b"\\xff%c%c\\xfe\\xfd%c%c\\xff" % (a, b, b, a) for a in b"QZXJKVW" for b in b"qzxjkvwQZXJK"]


class Anchors:
    """Literals to look for at once, each known by its place in the list. `{n}` stands for a number.

    `literals` is the list, `expressions` what hyperscan looks for. `behind` holds for each expression the
    anchors that may stand where it ends: how many bytes before that end the anchor starts, its bytes, and
    its place in the list.
    """

    def __init__(self, anchors: Sequence[str]) -> None:
        self.literals = tuple(anchors)
        found: dict[bytes, list[tuple[int, bytes, int]]] = {}
        for place, anchor in enumerate(anchors):
            if "{n}" in anchor:
                found.setdefault(expression(anchor), []).append((0, b"", place))
                continue
            start, end = _piece(anchor)
            before = len(anchor[:end].encode())
            found.setdefault(expression(anchor[start:end]), []).append((before, anchor.encode(), place))
        self.expressions = tuple(found)
        self.behind = tuple(tuple(some) for some in found.values())


def _piece(anchor: str) -> tuple[int, int]:
    """Start and end of the piece that the scan looks for in an anchor."""
    if anchor not in PIECES:
        for start in range(len(anchor) - LENGTH + 1):
            if anchor[start : start + LENGTH] in PIECES:
                return start, start + LENGTH
    return 0, len(anchor)


def expression(anchor: str) -> bytes:
    """The expression for a literal, in which `{n}` stands for a number of up to six digits."""
    return rb"\d{1,6}".join(re.escape(part.encode()).replace(b"'", rb"\x27") for part in anchor.split("{n}"))


def database(expressions: Iterable[bytes], *, once: bool = False) -> Callable[..., None]:
    """Compile the expressions; call the result with a buffer and `match_event_handler`.

    The handler gets the index of the expression, and the end of the match in the buffer. With `once`,
    each expression is reported once per scan.
    """
    return _built(tuple(expressions), once, get_ident())


@lru_cache(maxsize=8)
def _built(expressions: tuple[bytes, ...], once: bool, _thread: int) -> Callable[..., None]:
    listed = [*expressions, *_FILLER[: max(0, FEWEST - len(expressions))]]
    single = hyperscan.HS_FLAG_SINGLEMATCH
    flags = [single if once or one in SEEN_ONCE else 0 for one in listed]
    compiled = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    compiled.compile(
        expressions=listed,
        ids=list(range(len(listed))),
        elements=len(listed),
        flags=flags,
    )
    return partial(compiled.scan)


def rank_expressions() -> list[bytes]:
    """One expression a rank: first torch.distributed's (`[rank7]:`), then torchrun's (`[default7]:`)."""
    return [rb"\[%s%d\]:" % (name, rank) for name in (b"rank", b"default") for rank in range(MOST_RANKS)]
