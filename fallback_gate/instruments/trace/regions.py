"""The annex, kernel traces: which compile started a kernel, in its compiled graph or around it.

torch.compile runs each frame that it compiled inside `Torch-Compiled Region: 1/0`, named by its compile id as
the logs name it, and in it each of the frame's compiled graphs inside `## Call CompiledFxGraph KEY ##`. What
a region starts outside of its graphs is what the graph broke for. The function that goes on after a break has
a region of its own, inside the first one; so has a function that is called and was compiled by itself.

An older version may write no id; nothing is joined by a region without one.
Source: the names in the traces of sample_traces; torch/_dynamo and torch/_inductor/output_code.py in
pytorch/pytorch.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from fallback_gate.instruments.trace.steps import Step
from fallback_gate.instruments.trace.timeline import Timeline

COMPILED = ("Torch-Compiled Region: ", "## Call CompiledFxGraph ")
_REGION = re.compile(r"Torch-Compiled Region: (?P<id>\S+)")


class Part(NamedTuple):
    """A part of what one compile runs: its compiled graphs, or what runs around them."""

    compile_id: str
    in_graph: bool


class Regions:
    """Finds the part that started each kernel of a trace."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._known: dict[tuple[int, ...], Part | None] = {}

    def of(self, kernel: int) -> Part | None:
        """The part that started a kernel; None where no compile did, or where that is not known."""
        if not self._timeline.regions.names or (launch := self._timeline.launch_of(kernel)) is None:
            return None
        around = self._timeline.regions.around(launch.thread, launch.start)
        if around not in self._known:
            self._known[around] = self._find(around)
        return self._known[around]

    def host_time(self, steps: Sequence[Step]) -> dict[str, float]:
        """Microseconds of the host in each region of all steps, without its graphs and inner regions."""
        found: dict[str, float] = {}
        starts = [step.start for step in steps]
        for name, start, time in self._timeline.regions.own():
            region = _REGION.fullmatch(self._timeline.names[name])
            at = bisect_right(starts, start) - 1
            if region and at >= 0 and start <= steps[at].end:
                found[region["id"]] = found.get(region["id"], 0.0) + time
        return found

    def _find(self, around: Sequence[int]) -> Part | None:
        names = [self._timeline.names[number] for number in around]
        region = next((found for name in names if (found := _REGION.fullmatch(name))), None)
        return Part(region["id"], not names[0].startswith(COMPILED[0])) if region else None
