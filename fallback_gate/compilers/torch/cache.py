"""Room 3: graphs that Inductor took from a cache, and whether it was this run that had put them there.

A graph from a cache is not lowered, so no fallback kernel of it is scheduled at DEBUG: that of another run hides what
it holds, and one that this run lowered before, for a frame that is alike, was seen.
"""

from __future__ import annotations

from fallback_gate.compilers.rule import Evidence
from fallback_gate.compilers.torch.markers import marker

_KEY = "f6zi73dgfsu67vxtfy5ktyztodd3kphqdej76avxndob3q46gimk"
_I = "I1130 00:35:14.025000 7839 torch/_inductor/codecache.py:1671] [0/0] "


MARKERS = tuple(
    marker(
        f"torch/cache-{word}",
        f"cache {word} for key",
        rf"(?:fx graph|AOTAutograd) cache {word} for key (?P<key>\S+)",
        shows,
        f"{_I}fx graph cache {word} for key {_KEY}",
        seen_in="2.7 to 2.14, INFO of inductor",
    )
    for word, shows in (
        ("hit", "The graph came from a cache: it was not lowered for this frame."),
        ("miss", "The graph is put into the cache: a later hit for this key is a graph of this run."),
    )
)


def hits(evidence: Evidence) -> set[str]:
    """The frames whose graph came from a cache."""
    return {cid for cid, *_ in evidence.of("torch/cache-hit")}


def filled_by_others(evidence: Evidence, lowered: set[str]) -> set[str]:
    """Of those, the ones whose graph none of the frames that were `lowered` in this log has put there."""
    own = {key for cid, *keys in evidence.of("torch/cache-miss") if cid in lowered for key in keys}
    return {cid for cid, *keys in evidence.of("torch/cache-hit") if not keys or not own.issuperset(keys)}
