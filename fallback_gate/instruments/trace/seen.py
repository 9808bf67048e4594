"""The annex, kernel traces: a summary as the gate judges it: measurements, and the operators that ran eager.

An eager operator is a fallback where a hot entry names it, where the baseline did not run it eager (or not
so often), or where the share of eager kernels is over its limit; else the compiler left it to the framework.
"""

from __future__ import annotations

from collections.abc import Iterator

from fallback_gate.instruments.evidence import Evidence
from fallback_gate.instruments.trace import kernels
from fallback_gate.instruments.trace.links import function, location
from fallback_gate.instruments.trace.summary import Operator, Summary
from fallback_gate.measures import Measurement
from fallback_gate.model import Kind, Report, Scope

COMPILER = "trace"
EAGER_OPERATOR = "trace/eager-operator"
MORE = 1.1  # times the baseline's kernels: more of the same is a fallback too
MOST_STACKS = 20  # of one operator
_BLAME = frozenset({"eager_kernel_share", "eager_time_share"})
_HELP = (
    "The framework computes this operator kernel by kernel where the compiler would have fused it. Look for "
    "a graph break, torch.compiler.disable, an opaque custom operator or a backend that does not compile: "
    "record a log (fallback-gate record) or profile with with_stack=True to see who calls it."
)


def evidence(
    path: str, summary: Summary, baseline: Summary | None = None, size: int | None = None
) -> Evidence:
    """What a trace says, beside what the trace of a good run says."""
    before = dict(_numbers(baseline)) if baseline and baseline.steps else {}
    notes = list(summary.notes)
    if baseline is not None and not before:
        notes.append(f"the baseline says nothing: {baseline.problem or 'no steps were found in it'}")
    return Evidence(
        instrument="trace",
        path=path,
        format=summary.format,
        size=size,
        measurements=tuple(
            Measurement("trace", name, value, path, baseline=before.get(name))
            for name, value in _numbers(summary)
        ),
        reports=tuple(_reports(summary)),
        suspects=_more_than(summary, baseline) if before and baseline else frozenset(),
        blame=_BLAME,
        problem=summary.problem,
        notes=tuple(notes),
    )


def _numbers(summary: Summary) -> Iterator[tuple[str, float]]:
    if not summary.kernels:
        return
    if summary.steps:
        yield "steps", summary.steps
        yield "kernels_per_step", summary.kernels_per_step
        yield "graph_launches_per_step", summary.graphs_per_step
        yield "kernel_us_per_step", summary.kernel_us_per_step
        yield "step_us", summary.step_us
    yield "small_kernel_share", summary.small / summary.kernels
    for origin in (kernels.EAGER, kernels.GENERATED, kernels.LIBRARY):
        yield f"{origin}_kernel_share", summary.share(origin)
        yield f"{origin}_time_share", summary.time_share(origin)


def eager(summary: Summary) -> list[Operator]:
    """The operators that ran eager, those that took most time first."""
    found = (one for one in summary.operators.values() if one.origin == kernels.EAGER)
    return sorted(found, key=lambda one: (-one.microseconds, one.name))


def _more_than(summary: Summary, baseline: Summary) -> frozenset[str]:
    """The operators that run more eager kernels in a step than they did in the baseline."""
    before = {one.name: one.kernels / baseline.steps for one in eager(baseline)}
    steps = max(summary.steps, 1)
    return frozenset(
        one.name
        for one in eager(summary)
        if one.kernels / steps > MORE * before.get(one.name, 0.0)
        and one.kernels / steps - before.get(one.name, 0.0) >= 1
    )


def _reports(summary: Summary) -> Iterator[Report]:
    for at, operator in enumerate(eager(summary)):
        steps = max(summary.steps, 1)
        share = operator.microseconds / summary.microseconds if summary.microseconds else 0.0
        text = (
            f"{operator.kernels / steps:,.4g} eager kernels in a step, "
            f"{operator.microseconds / steps:,.4g} us, {share:.1%} of kernel time"
        )
        report = Report(
            id=EAGER_OPERATOR,
            compiler=COMPILER,
            kind=Kind.OP_FALLBACK,
            scope=Scope.OPERATOR,
            op=operator.name,
            position=at,
            text=text,
            names=tuple(
                dict.fromkeys(kernels.short(name) for name, _ in operator.kernel_names.most_common(3))
            ),
            reason=f"ran eager in {operator.steps} of {steps} steps",
            help=_HELP,
        )
        stacks = [stack for stack, _ in operator.stacks.most_common(MOST_STACKS)]
        for stack in stacks or [()]:
            places = [place for frame in stack if (place := location(frame)) is not None]
            yield report._replace(
                stack=tuple(dict.fromkeys(map(function, stack))),
                files=tuple(dict.fromkeys(place.file for place in places if place.file)),
                location=places[0] if places else None,
            )
