"""Room 3: graphs that Inductor took from a cache, and whether it was this run that had put them there.

A graph from a cache is not lowered, so no fallback kernel of it is scheduled at DEBUG: that of another run hides what
it holds, and one that this run lowered before, for a frame that is alike, was seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.rule import Evidence, Marker, Sighting
from fallback_gate.compilers.torch.log import NAME, opened
from fallback_gate.scan.record import Record

_KEY = "f6zi73dgfsu67vxtfy5ktyztodd3kphqdej76avxndob3q46gimk"
_I = "I1130 00:35:14.025000 7839 torch/_inductor/codecache.py:1671] [0/0] "


def _keyed(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """The compile id, and the key."""
    log = opened(record.text, match, None)
    if log and log.prefix:
        yield Sighting(marker.id, record.position, (log.compile_id, match["key"]), log.pid, None, log.when)


def _marker(word: str, shows: str) -> Marker:
    return Marker(
        id=f"torch/cache-{word}",
        compiler=NAME,
        anchor=(f"cache {word} for key",),
        pattern=rf"(?:fx graph|AOTAutograd) cache {word} for key (?P<key>\S+)",
        shows=shows,
        seen_in="2.7 to 2.14, INFO of inductor",
        matches=(f"{_I}fx graph cache {word} for key {_KEY}",),
        read=_keyed,
    )


MARKERS = (
    _marker("hit", "The graph came from a cache: it was not lowered for this frame."),
    _marker("miss", "The graph is put into the cache: a later hit for this key is a graph of this run."),
)


def hits(evidence: Evidence) -> set[str]:
    """The frames whose graph came from a cache."""
    return {cid for cid, *_ in evidence.of("torch/cache-hit")}


def filled_by_others(evidence: Evidence, lowered: set[str]) -> set[str]:
    """Of those, the ones whose graph none of the frames that were `lowered` in this log has put there."""
    own = {key for cid, *keys in evidence.of("torch/cache-miss") if cid in lowered for key in keys}
    return {cid for cid, *keys in evidence.of("torch/cache-hit") if not keys or not own.issuperset(keys)}
