"""Choose the pieces of anchors that the scan looks for, by measurement on `sample_logs/` (`make pieces`).

hyperscan's engine for some hundreds of literals (FDR) looks at every fourth place of a text: at the pair of
letters there and at the pair four letters before. Each literal lies in one of eight buckets, sorted by its
last letters, and a place is looked at more closely where both pairs stand somewhere in the literals of one
bucket, at the same distance from their ends. That closer look costs some nanoseconds, a reported hit some
hundred. So the set is good whose buckets hold few pairs that are frequent in logs: it is found by replacing
piece after piece with the ones that cost least beside all others.

The counts are of the sample logs, so the figure for another log differs: `benchmarks/run.py` measures.
"""

from __future__ import annotations

import bisect
import gzip
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import hyperscan
import numpy as np

from fallback_gate.compilers import READERS
from fallback_gate.compilers.book import Book
from fallback_gate.scan.anchors import LENGTH

ROOT = Path(__file__).resolve().parents[1]
PIECES = ROOT / "fallback_gate/scan/pieces.py"
MOST_BYTES = 4 << 20  # of one log
BUCKETS, POSITIONS, STRIDE = 8, 8, 4
DOMAIN = 1 << 13  # a letter, and five bits of the next
HIT = 34.0  # what a reported hit costs, in closer looks
PIECE = 3e-5  # what one piece more costs, in closer looks a byte
PASSES = 4

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
    return found


def hits(pieces: list[str], texts: list[bytes]) -> Counter[str]:
    """How often each piece stands in a byte of log, in closer looks."""
    cost: Counter[str] = Counter()
    size = sum(map(len, texts))
    for first in range(0, len(pieces), 4000):
        some = pieces[first : first + 4000]
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=[re.escape(piece.encode()) for piece in some],
            ids=list(range(len(some))),
            elements=len(some),
            flags=[0] * len(some),
        )

        def found(place: int, *_: object, some: list[str] = some) -> None:
            cost[some[place]] += 1

        for text in texts:
            if text:
                database.scan(text, match_event_handler=found)
    return Counter({piece: count * HIT / size for piece, count in cost.items()})


class Buckets:
    """The pairs of letters in each bucket, and what they cost: closer looks a byte."""

    def __init__(self, pieces: Iterable[str], texts: list[bytes]) -> None:
        data = np.frombuffer(b"\n".join(texts), dtype=np.uint8)
        pairs = ((data[:-1].astype(np.uint16) | (data[1:].astype(np.uint16) << 8)) & (DOMAIN - 1))[::STRIDE]
        both, times = np.unique((pairs[:-1].astype(np.uint32) << 13) | pairs[1:], return_counts=True)
        self._before, self._here = (both >> 13).astype(np.int32), (both & (DOMAIN - 1)).astype(np.int32)
        self._weight = times / len(data)
        self._pairs: dict[str, list[np.ndarray]] = {}
        self.sort(pieces)

    def sort(self, pieces: Iterable[str]) -> None:
        """Fill the buckets anew."""
        turned = sorted(piece[::-1] for piece in pieces)
        self._firsts = [turned[at * len(turned) // BUCKETS] for at in range(BUCKETS)]
        self._counts = [[np.zeros(DOMAIN, np.int32) for _ in range(POSITIONS)] for _ in range(BUCKETS)]
        self._costs: dict[int, float] = {}
        for piece in turned:
            self.add(piece[::-1], 1)

    def add(self, piece: str, times: int) -> None:
        """Put a piece in, or with -1 take it out."""
        bucket = self._bucket(piece)
        self._costs.pop(bucket, None)
        for counts, pairs in zip(self._counts[bucket], self._pairs_of(piece), strict=True):
            counts[pairs] += times

    def cost(self, piece: str) -> float:
        """What the piece would cost beside the others."""
        bucket = self._bucket(piece)
        if bucket not in self._costs:
            self._costs[bucket] = self._of(bucket)
        without = self._costs[bucket]
        self.add(piece, 1)
        cost = self._of(bucket) - without
        self.add(piece, -1)
        self._costs[bucket] = without
        return cost

    def total(self) -> float:
        """Closer looks a byte."""
        return sum(map(self._of, range(BUCKETS)))

    def _of(self, bucket: int) -> float:
        there = [counts > 0 for counts in self._counts[bucket]]
        return float(
            sum(
                self._weight @ (there[at][self._here] & there[at + STRIDE][self._before])
                for at in range(STRIDE)
            )
        )

    def _bucket(self, piece: str) -> int:
        return max(0, bisect.bisect_right(self._firsts, piece[::-1]) - 1)

    def _pairs_of(self, piece: str) -> list[np.ndarray]:
        """The pairs at each distance from the end. The last letter pairs with whatever follows it."""
        if piece not in self._pairs:
            letters = piece.encode()
            pairs = [letters[-1] | (np.arange(DOMAIN >> 8) << 8)]
            for at in range(1, POSITIONS):
                if at < len(letters):
                    pairs.append(np.array([(letters[-1 - at] | (letters[-at] << 8)) & (DOMAIN - 1)]))
                else:
                    pairs.append(np.arange(DOMAIN))
            self._pairs[piece] = pairs
        return self._pairs[piece]


def chosen(anchors: list[str], texts: list[bytes]) -> list[str]:
    """A set of pieces of which each anchor holds one."""
    holders: dict[str, set[int]] = defaultdict(set)
    for place, anchor in enumerate(anchors):
        for end in range(LENGTH, len(anchor) + 1):
            holders[anchor[end - LENGTH : end]].add(place)
    pieces_of: dict[int, list[str]] = defaultdict(list)
    for piece, places in holders.items():
        for place in places:
            pieces_of[place].append(piece)
    own = hits(list(holders), texts)
    # A first set: the pieces that cover most anchors for what they cost alone.
    alone = Buckets([next(iter(holders))] * BUCKETS, texts)
    price = {piece: PIECE + own[piece] + alone.cost(piece) for piece in holders}
    missing, current = set(pieces_of), set[str]()
    for piece in sorted(holders, key=lambda piece: price[piece] / len(holders[piece])):
        if holders[piece] & missing:
            current.add(piece)
            missing -= holders[piece]

    order = random.Random(1)
    for _ in range(PASSES):
        buckets = Buckets(current, texts)
        times = Counter(place for piece in current for place in holders[piece])
        todo = sorted(current)
        order.shuffle(todo)
        for piece in todo:
            current.discard(piece)
            buckets.add(piece, -1)
            times.subtract(holders[piece])
            missing = {place for place in holders[piece] if not times[place]}
            while missing:
                best = min(
                    sorted({other for place in missing for other in pieces_of[place]}),
                    key=lambda other: (
                        (PIECE + own[other] + buckets.cost(other)) / len(holders[other] & missing)
                    ),
                )
                current.add(best)
                buckets.add(best, 1)
                times.update(holders[best])
                missing -= holders[best]
        print(f"{len(current)} pieces, {Buckets(current, texts).total():.4f} closer looks a byte", flush=True)
    return sorted(current)


def main() -> None:
    """Choose, and write the module."""
    literals = Book(READERS).anchors.literals
    anchors = [anchor for anchor in literals if "{n}" not in anchor and len(anchor) >= LENGTH]
    rows = "".join(f"        {_quoted(piece)},\n" for piece in chosen(anchors, logs()))
    PIECES.write_text(_HEADER + rows + "    )\n)\n", encoding="utf-8")


def _quoted(piece: str) -> str:
    return '"' + piece.replace("\\", "\\\\").replace('"', '\\"') + '"'


if __name__ == "__main__":
    main()
