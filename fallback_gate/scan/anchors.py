"""Room 2: the literals that all rules wait for, in one hyperscan database.

hyperscan reports where a match ends, and reports every match of every expression in one pass. Building a
database takes tens of milliseconds, so it is kept for the next log; its scratch space serves one scan at a
time, so each thread has its own.

Below some fifty literals hyperscan picks an engine that looks at the last letters of few literals at once,
and is three times slower where these end in common letters, as words do. So a small set is filled up with
literals that no text holds. Above, what it costs is the last letters of the literals, where these are common
in logs: so of each anchor the scan looks for the part that ends in its rarest letters, and the rest is
compared at the hit. `benchmarks/` measures both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from threading import get_ident

import hyperscan

MOST_RANKS = 1024
ANY_RANK = (rb"\[rank\d", rb"\[default\d")  # whoever numbers its lines
FEWEST = 80  # expressions in one database
SHORTEST = 8  # characters of an anchor that the scan looks for
LAST = 5  # characters of it that should be rare
# Pairs of characters that are frequent in logs, the most frequent first: counted over `sample_logs/`.
_PAIRS = (
    "  or00to] , in0 er tonchcotercrare [11atpydelee ti:  0^^.p3013enuty:sth/amar/_ap"
    "_cmondilseed ina fnsrie_ctntlimpmeodng:3s ec32esvegr2:dual:2rtt 0:ph0]d unitynn "
)
_RANKS = {_PAIRS[at : at + 2]: rank for rank, at in enumerate(range(0, len(_PAIRS), 2))}
_FILLER = [b"\\xff%c%c\\xfe\\xfd%c%c\\xff" % (a, b, b, a) for a in b"QZXJKVW" for b in b"qzxjkvwQZXJK"]


def cut(anchor: str) -> tuple[str, str]:
    """The anchor in two: what the scan looks for, ending in its rarest letters, and what must follow it."""
    if len(anchor) <= SHORTEST or "{n}" in anchor:
        return anchor, ""
    rarity = [_RANKS.get(anchor[at : at + 2], len(_RANKS)) for at in range(len(anchor) - 1)]
    best = at = sum(rarity[SHORTEST - LAST : SHORTEST - 1])
    end = SHORTEST
    for stop in range(SHORTEST + 1, len(anchor) + 1):
        at += rarity[stop - 2] - rarity[stop - LAST - 1]
        if at >= best:
            best, end = at, stop
    return anchor[:end], anchor[end:]


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
    flags = [single if once or one in ANY_RANK else 0 for one in listed]
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
