"""The annex, kernel traces: from a timeline to numbers, and to the operators that ran eager."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TypeVar

from fallback_gate.instruments.trace import kernels, steps
from fallback_gate.instruments.trace.links import Link, Links
from fallback_gate.instruments.trace.regions import Part, Regions
from fallback_gate.instruments.trace.timeline import Timeline

Key = TypeVar("Key")

MOST_UNKNOWN = 0.5  # of the kernels, for the share of eager ones to mean something
SMALL = 10.0  # us; a kernel under it does not hide its launch


@dataclass(slots=True)
class Operator:
    """One operator of the steps: kernels and time of all steps together, and in how many steps it ran."""

    name: str
    origin: str
    kernels: int = 0
    microseconds: float = 0.0
    steps: int = 0
    stacks: Counter[tuple[str, ...]] = field(default_factory=Counter)
    kernel_names: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Summary:
    """What a trace says. Counts and times are of all `steps` together; `per_step` are medians."""

    format: str
    steps: int
    steps_from: str
    kernels: int = 0
    microseconds: float = 0.0
    small: int = 0
    by_origin: Counter[str] = field(default_factory=Counter)
    time_by_origin: dict[str, float] = field(default_factory=lambda: dict.fromkeys(kernels.ORIGINS, 0.0))
    kernels_per_step: float = 0.0
    graphs_per_step: float = 0.0
    kernel_us_per_step: float = 0.0
    step_us: float = 0.0
    operators: dict[tuple[str, str], Operator] = field(default_factory=dict)
    functions: dict[str, Operator] = field(default_factory=dict)  # the user's, by frame, with what they call
    eager_functions: dict[str, Operator] = field(default_factory=dict)  # the same of eager kernels alone
    calls: Counter[str] = field(default_factory=Counter)  # of the user's functions, by frame
    parts: dict[Part, Operator] = field(default_factory=dict)  # eager kernels of what torch.compile runs
    host_time: dict[str, float] = field(default_factory=dict)  # us around the graphs of each compile
    time: float = 0.0  # us of all steps, from start to end
    process: int | None = None
    outside: Counter[tuple[str, str]] = field(default_factory=Counter)  # operators out of every step
    problem: str | None = None
    notes: list[str] = field(default_factory=list)

    def share(self, origin: str) -> float:
        """Kernels of an origin, of all."""
        return self.by_origin[origin] / self.kernels if self.kernels else 0.0

    def time_share(self, origin: str) -> float:
        """Time in kernels of an origin, of all kernel time."""
        return self.time_by_origin[origin] / self.microseconds if self.microseconds else 0.0


def summarise(timeline: Timeline, walked: tuple[list[steps.Step], str] | None = None) -> Summary:
    """Find the steps and count. Where there are none, the whole trace is counted and `problem` says so.

    `walked` are the steps, where they were found already.
    """
    if timeline.totals:
        return _of_totals(timeline)
    found, how = walked or steps.find(timeline)
    whole = Summary(timeline.format, len(found), how, problem=timeline.problem, notes=list(timeline.notes))
    if not timeline.kernel_names:
        whole.problem = whole.problem or "the trace holds no GPU kernel: profile with CUDA activities on"
        return whole
    if not found:
        whole.problem = whole.problem or (
            "no steps were found, by annotations, CUDA graphs or periodicity: profile several steps, and "
            "mark them (torch: profiler.step(); Nsight: an NVTX range around each)"
        )
        found = [steps.Step(0.0, 0.0, list(range(len(timeline.kernel_names))))]
    links, regions = Links(timeline), Regions(timeline)
    whole.host_time, whole.process = regions.host_time(found), timeline.process
    whole.calls = _calls(timeline, found)
    whole.time = sum(step.end - step.start for step in found)
    busy = [_count_step(whole, timeline, step, links, regions) for step in found]
    counted = {kernel for step in found for kernel in step.kernels}
    for kernel in range(len(timeline.kernel_names)):
        if kernel not in counted:
            link = links.of(kernel)
            whole.outside[link.operator, link.origin] += 1
    if whole.share(kernels.OTHER) > MOST_UNKNOWN:
        whole.problem = whole.problem or (
            f"{whole.share(kernels.OTHER):.0%} of the kernels have names of no known origin: eager ones may "
            "be among them"
        )
    whole.kernels_per_step = float(median(len(step.kernels) for step in found))
    whole.graphs_per_step = float(median(step.graphs for step in found))
    whole.kernel_us_per_step = median(busy)
    whole.step_us = median(step.end - step.start for step in found)
    return whole


def _count_step(
    whole: Summary, timeline: Timeline, step: steps.Step, links: Links, regions: Regions
) -> float:
    """Add the kernels of one step to the whole; the microseconds that they took."""
    seen: set[tuple[str, str]] = set()
    called: set[str] = set()
    before = whole.microseconds
    for kernel in step.kernels:
        link = links.of(kernel)
        name, time = timeline.names[timeline.kernel_names[kernel]], timeline.kernel_times[kernel]
        _count(whole, link, name, time)
        if link.origin == kernels.EAGER and (part := regions.of(kernel)) is not None:
            _add(whole.parts, part, link.origin, time)
        seen.add((link.operator, link.origin))
        called.update(link.stack)
    for key in seen:
        whole.operators[key].steps += 1
    for frame in called:
        whole.functions[frame].steps += 1
    return whole.microseconds - before


def _calls(timeline: Timeline, found: Sequence[steps.Step]) -> Counter[str]:
    """How often each of the user's functions was called in the steps."""
    starts = [step.start for step in found]
    calls: Counter[str] = Counter()
    for name, start, _ in timeline.frames.own():
        at = bisect_right(starts, start) - 1
        if at >= 0 and start <= found[at].end:
            calls[timeline.names[name]] += 1
    return calls


def _count(whole: Summary, link: Link, kernel: str, time: float) -> None:
    whole.kernels += 1
    whole.microseconds += time
    whole.small += int(time < SMALL)
    whole.by_origin[link.origin] += 1
    whole.time_by_origin[link.origin] += time
    key = (link.operator, link.origin)
    operator = whole.operators.get(key)
    if operator is None:
        operator = whole.operators[key] = Operator(*key)
    operator.kernels += 1
    operator.microseconds += time
    operator.kernel_names[kernel] += 1
    if link.stack:
        operator.stacks[link.stack] += 1
        for frame in set(link.stack):
            _add(whole.functions, frame, link.origin, time)
            if link.origin == kernels.EAGER:
                _add(whole.eager_functions, frame, link.origin, time)


def _add(found: dict[Key, Operator], key: Key, origin: str, time: float) -> None:
    one = found.setdefault(key, Operator(str(key), origin))
    one.kernels += 1
    one.microseconds += time


def _of_totals(timeline: Timeline) -> Summary:
    """A summary of sums by kernel: their greatest common number of calls is not the number of steps."""
    whole = Summary(timeline.format, 0, steps.NONE, problem=timeline.problem, notes=list(timeline.notes))
    whole.problem = whole.problem or (
        "the file holds sums by kernel, and no steps: export the trace of single kernels "
        "(nsys stats --report cuda_gpu_trace; rocprofv3 --kernel-trace; msprof op_summary)"
    )
    for total in timeline.totals:
        origin = timeline.origins.get(total.name) or kernels.origin(total.name)
        named = kernels.operator(total.name) if origin == kernels.EAGER else None
        link = Link(origin, timeline.named_operators.get(total.name) or named or kernels.short(total.name))
        mean = total.microseconds / total.calls if total.calls else 0.0
        _count(whole, link, total.name, total.microseconds)
        whole.kernels += total.calls - 1
        whole.small += (total.calls if mean < SMALL else 0) - (total.microseconds < SMALL)
        whole.by_origin[origin] += total.calls - 1
        whole.operators[link.operator, origin].kernels += total.calls - 1
    return whole
