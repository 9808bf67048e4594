"""Choose the pieces of anchors that the scan looks for, by measurement on `sample_logs/` (`make pieces`).

A set of literals is fast in hyperscan when it is small, when its pairs of letters are rare in the text, and
when few of them stand in the text: each that does is a call into Python. So piece after piece is taken that
covers most of the anchors left for what it costs. The weights were found by timing sets on debug logs; the
figures for a log are `benchmarks/run.py`'s.
"""

from __future__ import annotations

import gzip
import heapq
from collections import Counter, defaultdict
from pathlib import Path

import hyperscan

from fallback_gate.compilers import READERS
from fallback_gate.compilers.book import Book
from fallback_gate.scan.anchors import LENGTH, expression

ROOT = Path(__file__).resolve().parents[1]
PIECES = ROOT / "fallback_gate/scan/pieces.py"
MOST_BYTES = 4 << 20  # of one log
PAIRS = 5.0  # what the pairs of a piece cost if all were all of a text; one piece costs 1
HITS = 1.0  # what a hit costs in each MB of all logs
ANCHOR = 0.2  # and each anchor that is compared there
DENSE = 0.025  # what a hit costs in each MB of the log that has most of them

_HEADER = '''"""Room 2: pieces of anchors that are rare in logs. Written by `make pieces`.

An anchor without any of them is found all the same: `anchors.py` says how.
"""

PIECES = frozenset(
    (
'''


def logs() -> list[bytes]:
    """The text of each sample log."""
    found = []
    for path in sorted((ROOT / "sample_logs").rglob("*")):
        if path.suffix in (".log", ".txt", ".json") and path.is_file():
            found.append(path.read_bytes()[:MOST_BYTES])
        elif path.name.endswith(".log.gz"):
            found.append(gzip.decompress(path.read_bytes())[:MOST_BYTES])
    return [text for text in found if text]


def hits(pieces: list[str], texts: list[bytes]) -> dict[str, float]:
    """What the hits of each piece cost, without the anchors that are compared."""
    cost = dict.fromkeys(pieces, 0.0)
    size = sum(map(len, texts)) / 1e6
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[expression(piece.encode()) for piece in pieces],
        ids=list(range(len(pieces))),
        elements=len(pieces),
        flags=[0] * len(pieces),
    )
    most: Counter[int] = Counter()
    for text in texts:
        here: Counter[int] = Counter()

        def found(place: int, *_: object, here: Counter[int] = here) -> None:
            here[place] += 1

        database.scan(text, match_event_handler=found)
        for place, count in here.items():
            cost[pieces[place]] += HITS * count / size
            most[place] = max(most[place], count / max(len(text) / 1e6, 0.5))
    for place, count in most.items():
        cost[pieces[place]] += DENSE * count
    return cost


def pairs(texts: list[bytes]) -> dict[bytes, float]:
    """The share of each pair of letters in all text."""
    counted: Counter[tuple[int, int]] = Counter()
    for text in texts:
        counted.update(zip(text, text[1:], strict=False))
    return {bytes(pair): count / counted.total() for pair, count in counted.items()}


def chosen(anchors: list[str], texts: list[bytes]) -> list[str]:
    """A small and cheap set of pieces of which each anchor holds one."""
    holders: dict[str, set[int]] = defaultdict(set)
    for place, anchor in enumerate(anchors):
        for end in range(LENGTH, len(anchor) + 1):
            holders[anchor[end - LENGTH : end]].add(place)
        holders[anchor].add(place)  # its pieces may all be frequent
    counted, shares = hits(sorted(holders), texts), pairs(texts)
    cost = {}
    for piece, places in holders.items():
        last = piece[-LENGTH:].encode()
        of_pairs = sum(shares.get(last[at : at + 2], 0.0) for at in range(LENGTH - 1))
        cost[piece] = 1 + PAIRS * of_pairs + counted[piece] * (1 + ANCHOR * len(places))
    missing = set(range(len(anchors)))
    queue = [(-len(places) / cost[piece], piece) for piece, places in holders.items()]
    heapq.heapify(queue)
    taken = []
    while missing:
        _, piece = heapq.heappop(queue)
        worth = -len(holders[piece] & missing) / cost[piece]
        if queue and worth > queue[0][0]:
            heapq.heappush(queue, (worth, piece))
        elif worth:
            taken.append(piece)
            missing -= holders[piece]
    return sorted(taken)


def main() -> None:
    """Choose, and write the module."""
    literals = Book(READERS).anchors.literals
    anchors = [anchor for anchor in literals if "{n}" not in anchor and len(anchor) >= LENGTH]
    pieces = chosen(anchors, logs())
    rows = "".join(f"        {_quoted(piece)},\n" for piece in pieces)
    PIECES.write_text(_HEADER + rows + "    )\n)\n", encoding="utf-8")
    print(f"{len(pieces)} pieces for {len(anchors)} anchors")


def _quoted(piece: str) -> str:
    return '"' + piece.replace("\\", "\\\\").replace('"', '\\"') + '"'


if __name__ == "__main__":
    main()
