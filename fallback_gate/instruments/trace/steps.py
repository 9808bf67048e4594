"""The annex, kernel traces: where one step ends and the next begins.

In this order: steps that the profiler or the user named; launches of a CUDA graph, where there is one in each
period; the period in which kernels repeat. A step is a window of time on the host, for kernels whose launch
is known, or on the device.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import eq
from statistics import median

from fallback_gate.instruments.trace.timeline import Span, Timeline

PROFILER, ANNOTATION, GRAPH, PERIOD, NONE = (
    "profiler steps",
    "annotations",
    "CUDA graph launches",
    "periodicity",
    "none",
)
_DIGITS = re.compile(r"[#\s_:.\[(-]*\d+[\])]?\s*$")
_TOLERANCE = 0.05
_COVERED = 0.3  # of the kernels, for annotations to be steps
_RARE = 20  # kernel names that are looked at for a period, those that come least often
_ACROSS = 130  # occurrences of one kernel that a step may hold
_LONGEST = 20_000  # kernels of the trace's end that are looked at
_REPEATS = 0.97  # of a sequence must repeat; where less does, the kernels of a step change
_AS_GOOD = 0.005


@dataclass(slots=True)
class Step:
    """One step: its window, the kernels in it (by index) and the graphs that were launched."""

    start: float
    end: float
    kernels: list[int] = field(default_factory=list)
    graphs: int = 0


def find(timeline: Timeline) -> tuple[list[Step], str]:
    """The whole steps of a trace, in order, and by what they were found."""
    for found, spans, on_host in (
        (PROFILER, [s for s in timeline.spans if s.name.startswith("ProfilerStep#")], True),
        (
            PROFILER,
            [s for s in timeline.device_spans if s.name.startswith(("ProfilerStep#", "Steps#"))],
            False,
        ),
        *((ANNOTATION, spans, True) for spans in _repeated(timeline.spans)),
        *((ANNOTATION, spans, False) for spans in _repeated(timeline.device_spans)),
    ):
        steps = _filled(timeline, spans, on_host) if spans else []
        held = sum(len(step.kernels) for step in steps)
        if steps and held and (found == PROFILER or held >= _COVERED * len(timeline.kernel_names)):
            return [step for step in steps if step.kernels], found
    graphs, period = _by_graph(timeline), _by_period(timeline)
    if graphs and (not period or median(step.graphs for step in period) == 1):
        return graphs, GRAPH
    return (period, PERIOD) if period else ([], NONE)


def _repeated(spans: Iterable[Span]) -> list[list[Span]]:
    """Annotations that come back and do not overlap each other: those that cover most time first."""
    groups: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        groups[_DIGITS.sub("", span.name)].append(span)
    kept = []
    for group in groups.values():
        group.sort(key=lambda span: span.start)
        if len(group) > 1 and all(one.end <= two.start for one, two in zip(group, group[1:], strict=False)):
            kept.append(group)
    return sorted(kept, key=lambda group: -sum(span.end - span.start for span in group))


def _filled(timeline: Timeline, windows: Sequence[Span], on_host: bool) -> list[Step]:
    """The windows with their kernels; on the host a kernel belongs where it was launched."""
    windows = sorted(windows, key=lambda span: span.start)
    steps = [Step(span.start, span.end) for span in windows]
    starts = [step.start for step in steps]
    times = timeline.kernel_starts

    def at(when: float) -> Step | None:
        index = bisect_right(starts, when) - 1
        return steps[index] if index >= 0 and when <= steps[index].end else None

    for kernel in range(len(times)):
        launch = timeline.launch_of(kernel) if on_host else None
        step = at(launch.start if launch is not None else times[kernel])
        if step is not None:
            step.kernels.append(kernel)
    if on_host:
        for when, _ in timeline.graph_launches():
            if (step := at(when)) is not None:
                step.graphs += 1
    return steps


def _by_graph(timeline: Timeline) -> list[Step]:
    """Each launch of a graph begins a step, where all launches run the same number of kernels."""
    launches = sorted(timeline.graph_launches())
    if len(launches) < 2:
        return []
    sizes: dict[int, int] = defaultdict(int)
    for correlation in timeline.kernel_correlations:
        sizes[correlation] += 1
    counts = {sizes[correlation] for _, correlation in launches}
    if len(counts) != 1 or counts == {0} or counts == {1}:
        return []
    starts = [start for start, _ in launches]
    spans = [Span("", start, end) for start, end in zip(starts, [*starts[1:], float("inf")], strict=True)]
    steps = _filled(timeline, spans, True)
    last = max((timeline.kernel_starts[kernel] for kernel in steps[-1].kernels), default=starts[-1])
    steps[-1].end = last
    typical = median(len(step.kernels) for step in steps[:-1])
    return steps if len(steps[-1].kernels) <= typical * (1 + _TOLERANCE) else steps[:-1]


def _by_period(timeline: Timeline) -> list[Step]:
    """The windows of the shortest period in which the sequence of kernels repeats as well as it ever does.

    Layers repeat within a step, so that a shorter period may fit nearly as well: only the best will do. Where
    steps differ too much to repeat, the kernel that comes back at the largest regular distance marks them.
    """
    times, names = timeline.kernel_starts, timeline.kernel_names
    order = sorted(range(len(times)), key=times.__getitem__)
    places: dict[int, list[int]] = defaultdict(list)
    for place, kernel in enumerate(order):
        places[names[kernel]].append(place)
    rare = sorted((found for found in places.values() if len(found) > 2), key=len)[:_RARE]
    sequence = [names[kernel] for kernel in order[-_LONGEST:]]
    fits = {
        period: _fit(sequence, period)
        for period in {
            found[at + across] - found[at]
            for found in rare
            for across in range(1, min(_ACROSS, len(found)))
            for at in (len(found) - 1 - across,)
        }
        if period <= len(sequence) / 2
    }
    best = max(fits.values(), default=0.0)
    if best >= _REPEATS:
        period = min(period for period, fit in fits.items() if fit >= best - _AS_GOOD)
    else:
        period = max((_distance(found, len(order)) for found in rare), default=0)
    if not period:
        return []
    graphs = {correlation for _, correlation in timeline.graph_launches()}
    steps = []
    for before, after in max((_windows(found, period) for found in rare), key=len):
        step = Step(times[order[before]], times[order[after]], list(order[before:after]))
        step.graphs = len(graphs & {timeline.kernel_correlations[kernel] for kernel in step.kernels})
        steps.append(step)
    return steps


def _distance(found: Sequence[int], kernels: int) -> int:
    """The distance at which a kernel comes back, where it does so regularly and all along; else 0."""
    gaps = [after - before for before, after in zip(found, found[1:], strict=False)]
    usual = int(median(gaps))
    regular = sum(abs(gap - usual) <= max(1, _TOLERANCE * usual) for gap in gaps)
    return usual if regular >= 0.8 * len(gaps) and regular * usual >= _COVERED * kernels else 0


def _fit(sequence: Sequence[int], period: int) -> float:
    """How much of a sequence stands there again a period later."""
    same = sum(map(eq, sequence, islice(sequence, period, None)))
    return float(same / (len(sequence) - period))


def _windows(found: Sequence[int], period: int) -> list[tuple[int, int]]:
    """From one place to that a period later, as long as there is one."""
    windows, slack = [], max(1, int(_TOLERANCE * period))
    at = 0
    while at < len(found):
        after = bisect_right(found, found[at] + period + slack) - 1
        if after > at and found[after] >= found[at] + period - slack:
            wanted = found[at] + period
            after = min(range(at + 1, after + 1), key=lambda n, to=wanted: abs(found[n] - to))  # type: ignore[misc]
            windows.append((found[at], found[after]))
            at = after
        else:
            at += 1
    return windows
