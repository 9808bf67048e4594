"""Room 2: the literals that all rules wait for, in one hyperscan database.

hyperscan reports where a match ends, and reports every match of every expression in one pass. Scratch
space belongs to one scan at a time: a database is built for each scan, which takes milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial

import hyperscan

MOST_RANKS = 1024


def expression(anchor: str, after: str = "") -> bytes:
    """The expression for a literal; with `after`, it counts only behind that literal on one line.

    Between the two no `#` may stand: there begins a comment of generated code.
    """
    literal = re.escape(anchor.encode()).replace(b"'", rb"\x27")
    return re.escape(after.encode()) + rb"[^\n#]*" + literal if after else literal


def database(expressions: Iterable[bytes], *, once: bool = False) -> Callable[..., None]:
    """Compile the expressions; call the result with a buffer and `match_event_handler`.

    The handler gets the index of the expression, and the end of the match in the buffer. With `once`,
    each expression is reported once per scan.
    """
    listed = list(expressions)
    flag = hyperscan.HS_FLAG_SINGLEMATCH if once else 0
    compiled = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    compiled.compile(
        expressions=listed, ids=list(range(len(listed))), elements=len(listed), flags=[flag] * len(listed)
    )
    return partial(compiled.scan)


def rank_expressions() -> list[bytes]:
    """One expression a rank: first torch.distributed's (`[rank7]:`), then torchrun's (`[default7]:`)."""
    return [rb"\[%s%d\]:" % (name, rank) for name in (b"rank", b"default") for rank in range(MOST_RANKS)]
