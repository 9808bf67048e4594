"""The annex, kernel traces: which operator and whose function started a kernel.

The launch call carries the number of the operator (External id). Inside a CUDA graph there is none: there the
kernel's own name tells. The user's function is the innermost Python call around the launch, where the trace
has stacks.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from fallback_gate.instruments.trace import kernels
from fallback_gate.instruments.trace.timeline import UNKNOWN, Timeline
from fallback_gate.model import Location

_FRAME = re.compile(r"(?P<file>.+?)\((?P<line>\d+)\): (?P<function>.+)")
_REGION = re.compile(
    r"^(##|Torch-Compiled Region|TorchDynamo|Pregraph|AOTDispatcher|CompiledFunction|triton_)"
)


class Link(NamedTuple):
    """Where a kernel comes from: its origin, the operator, and the user's stack, innermost first.

    `inputs` are the shapes and types of the operator's inputs, where the profiler recorded them.
    """

    origin: str
    operator: str
    stack: tuple[str, ...] = ()
    inputs: str = ""


class Links:
    """Finds the link of each kernel of a trace; what is alike is found once."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._known: dict[tuple[int, str, tuple[str, ...], str], Link] = {}

    def of(self, kernel: int) -> Link:
        """The link of one kernel."""
        timeline = self._timeline
        name = timeline.kernel_names[kernel]
        launch = timeline.launch_of(kernel)
        in_graph = launch is not None and launch.is_graph
        operator = inputs = ""
        stack: tuple[str, ...] = ()
        if not in_graph:
            started = timeline.kernel_operators[kernel]
            if started == UNKNOWN and launch is not None:
                started = launch.operator
            operator = timeline.name_of_operator(started) or ""
            inputs = timeline.inputs_of_operator(started)
        if launch is not None and timeline.frames.names:
            stack = tuple(timeline.names[n] for n in timeline.frames.around(launch.thread, launch.start))
        key = (name, operator, stack, inputs)
        link = self._known.get(key)
        if link is None:
            link = self._known[key] = self._find(*key)
        return link

    def _find(self, name: int, called: str, stack: tuple[str, ...], inputs: str) -> Link:
        kernel = self._timeline.names[name]
        origin = self._timeline.origins.get(kernel) or kernels.origin_of_call(called, kernel)
        if not called or _REGION.match(called):
            called = self._timeline.named_operators.get(kernel, "")
            if origin == kernels.EAGER:
                called = called or kernels.operator(kernel) or kernels.short(kernel)
        return Link(origin, called or kernels.short(kernel), stack, inputs)


def location(frame: str) -> Location | None:
    """The place that a frame of the profiler names: `model.py(97): gate_attn`."""
    found = _FRAME.fullmatch(frame)
    return Location(found["file"], int(found["line"]), found["function"]) if found else None


def function(frame: str) -> str:
    """The function that a frame names."""
    found = _FRAME.fullmatch(frame)
    return found["function"] if found else frame
