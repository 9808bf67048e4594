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
a time, so each thread has its own. A text of a few kilobytes is not worth one: `few` looks for each literal
in turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from threading import get_ident

from fallback_gate.scan.pieces import PIECES
from fallback_gate.sources.later import SIGNS

MOST_RANKS = 1024
_NUMBERED = (b"[rank", b"[default")  # how torch.distributed and torchrun number lines
ANY_RANK = tuple(name + b"{n}" for name in _NUMBERED)
SEEN_ONCE = (*ANY_RANK, *SIGNS)  # reported once a pass over some bytes
SHORT = 16 << 10  # bytes of a text that is searched without a database
FEWEST = 80  # expressions in one database
LENGTH = 8  # letters of a piece: of a longer literal hyperscan looks at the last eight first
_FILLER = [b"\xff%c%c\xfe\xfd%c%c\xff" % (a, b, b, a) for a in b"QZXJKVW" for b in b"qzxjkvwQZXJK"]
_RANK = re.compile(rb"\[(rank|default)(0|[1-9]\d{0,3})\]:")


class Anchors:
    """Literals to look for at once, each known by its place in the list. `{n}` stands for a number.

    `literals` is the list: the anchors of `messages`, then phrases that only hint at one. `pieces` is what
    the scan looks for. `behind` holds for each piece the anchors that may stand where it ends: how many bytes
    before that end the anchor starts, its bytes, and its place in the list.
    """

    def __init__(self, anchors: Sequence[str], phrases: Sequence[str] = ()) -> None:
        self.messages = tuple(anchors)
        self.literals = (*anchors, *phrases)
        found: dict[bytes, list[tuple[int, bytes, int]]] = {}
        for place, anchor in enumerate(self.literals):
            whole = anchor.encode()
            if "{n}" in anchor:
                found.setdefault(whole, []).append((0, b"", place))
                continue
            start, end = _piece(anchor)
            before = len(anchor[:end].encode())
            found.setdefault(anchor[start:end].encode(), []).append((before, whole, place))
        self.pieces = tuple(found)
        self.behind = tuple(tuple(some) for some in found.values())


def _piece(anchor: str) -> tuple[int, int]:
    """Start and end of the piece that the scan looks for in an anchor."""
    if anchor not in PIECES:
        for start in range(len(anchor) - LENGTH + 1):
            if anchor[start : start + LENGTH] in PIECES:
                return start, start + LENGTH
    return 0, len(anchor)


def expression(literal: bytes) -> bytes:
    """The expression for a literal, in which `{n}` stands for a number of up to six digits."""
    parts = literal.split(b"{n}")
    return rb"\d{1,6}".join(
        (r"\x" + part.hex(" ").replace(" ", r"\x")).encode() if part else b"" for part in parts
    )


def few(literals: Iterable[bytes]) -> Callable[..., None]:
    """As `database`, for a text of a few kilobytes: nothing is built before, and each literal takes a look
    of its own."""
    return partial(_look_for_each, tuple(literals))


def _look_for_each(
    literals: tuple[bytes, ...], text: memoryview, match_event_handler: Callable[..., None]
) -> None:
    data = bytes(text)
    for place, literal in enumerate(literals):
        for end in _ends_of(literal, data):
            match_event_handler(place, 0, end, 0, None)


def _ends_of(literal: bytes, data: bytes) -> Iterator[int]:
    if b"{n}" in literal:
        yield from (match.end() for match in re.finditer(expression(literal), data))
        return
    at = data.find(literal)
    while at >= 0:
        yield at + len(literal)
        at = data.find(literal, at + 1)


def database(literals: Iterable[bytes], *, once: bool = False) -> Callable[..., None]:
    """Build a database; call the result with a buffer and `match_event_handler`.

    The handler gets the place of the literal, and the end of the match in the buffer. With `once`, each
    literal is reported once per scan.
    """
    return _built(tuple(literals), once, get_ident())


@lru_cache(maxsize=8)
def _built(literals: tuple[bytes, ...], once: bool, _thread: int) -> Callable[..., None]:
    import hyperscan

    listed = [*literals, *_FILLER[: max(0, FEWEST - len(literals))]]
    single = hyperscan.HS_FLAG_SINGLEMATCH
    compiled = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    compiled.compile(
        expressions=[expression(one) for one in listed],
        ids=list(range(len(listed))),
        elements=len(listed),
        flags=[single if once or one in SEEN_ONCE else 0 for one in listed],
    )
    return partial(compiled.scan)


def ranks_in(text: memoryview) -> set[tuple[bool, int]]:
    """The ranks that number lines of a text: whether by torchrun, on one host, and which."""
    found: set[tuple[bool, int]] = set()
    if len(text) <= SHORT:
        for name, rank in _RANK.findall(text):
            if (number := int(rank)) < MOST_RANKS:
                found.add((name == b"default", number))
        return found

    def seen(place: int, *_: object) -> None:
        found.add((place >= MOST_RANKS, place % MOST_RANKS))

    database(_every_rank(), once=True)(text, match_event_handler=seen)
    return found


@cache
def _every_rank() -> tuple[bytes, ...]:
    """How each rank may number a line: those of a job, then those of a host."""
    return tuple(b"%s%d]:" % (name, rank) for name in _NUMBERED for rank in range(MOST_RANKS))
