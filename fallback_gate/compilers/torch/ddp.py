"""Room 3: a graph under DistributedDataParallel, which its optimiser cuts into buckets before the back end gets them.

Dynamo then names the optimiser's `compile_fn` as the back end. That each bucket went to Inductor is told by as many
wrappers as there are buckets, or twice as many where they are trained.
"""

from __future__ import annotations

from fallback_gate.compilers.rule import Evidence
from fallback_gate.compilers.torch.markers import marker

BACKEND = "compile_fn"
MARKER = marker(
    "torch/ddp-buckets",
    "DDPOptimizer used bucket cap",
    r"DDPOptimizer used bucket cap \d{1,18} and created (\d{1,9}) buckets\.",
    "The graph was cut into so many buckets, each of which goes to the back end.",
    "I1130 00:35:14.025000 7839 torch/_dynamo/backends/distributed.py:104] [0/0] DDPOptimizer used bucket cap "
    "26214400 and created 2 buckets. Enable debug logs for detailed bucket info.",
    seen_in="2.11 (run), 2.7 to 2.14 (source)",
)


def by_inductor(evidence: Evidence) -> set[str]:
    """The compile ids of graphs whose buckets all have a wrapper of Inductor's in the log."""
    trained = {frame for frame, which in evidence.of("torch/graph-written") if which == "forward"}
    some_trained = {"torch/backward-begun", "torch/backward-timed"} & evidence.facts.keys()
    found = set()
    for compile_id, buckets in evidence.of(MARKER.id):
        frame = compile_id.split("_")[0]
        graphs = int(buckets) * (2 if some_trained or frame in trained else 1)
        ways = (("torch/output-code", "torch/output-code-ended"), ("torch/lowered",))
        if any(all(_times(evidence, one, frame) >= graphs for one in way) for way in ways):
            found.add(compile_id)
    return found


def _times(evidence: Evidence, marker: str, frame: str) -> int:
    """How often the marker was seen for a frame."""
    facts = [fact for fact in evidence.of(marker) if fact[0].split("_")[0] == frame]
    return sum(evidence.times(marker, fact) for fact in facts)
