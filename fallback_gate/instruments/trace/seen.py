"""The annex, kernel traces: a summary as the gate judges it: measurements, and the operators that ran eager.

An eager operator is a fallback where a hot entry names it, where the baseline did not run it eager (or not
so often), or where the share of eager kernels is over its limit; else the compiler left it to the framework.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fallback_gate.instruments.evidence import Evidence
from fallback_gate.instruments.trace import kernels
from fallback_gate.instruments.trace.costs import costs
from fallback_gate.instruments.trace.links import function, location
from fallback_gate.instruments.trace.summary import Operator, Summary
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.model.measures import Measurement

COMPILER = "trace"
EAGER_OPERATOR = "trace/eager-operator"
MORE = 1.1  # times the baseline's kernels: more of the same is a fallback too
MOST_STACKS = 20  # of one operator
MOST_REPORTS = 10_000  # of one operator at one place: one for each kernel in a step
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
    problem = summary.problem
    suspects = _more_than(summary, baseline) if before and baseline else frozenset()
    if baseline is not None and not before:
        problem = problem or f"the baseline says nothing: {baseline.problem or 'no steps were found in it'}"
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
        suspects=suspects,
        blame=frozenset() if suspects else _BLAME,
        problem=problem,
        notes=tuple(summary.notes),
        details=_details(summary),
        costs=costs(summary),
        process=summary.process,
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


def _details(summary: Summary) -> dict[str, Any]:
    """The keys of the JSON report: medians for a step, shares as fractions, operators by time."""
    steps = max(summary.steps, 1)
    ranked = sorted(summary.operators.values(), key=lambda one: (-one.microseconds, one.name))
    return {
        "format": summary.format,
        "steps": summary.steps,
        "steps_from": summary.steps_from,
        "kernels": summary.kernels,
        "kernels_per_step": summary.kernels_per_step,
        "small_kernel_share": summary.small / summary.kernels if summary.kernels else 0.0,
        "graph_launches_per_step": summary.graphs_per_step,
        "kernel_us_per_step": summary.kernel_us_per_step,
        "step_us": summary.step_us,
        **{f"{origin}_kernel_share": summary.share(origin) for origin in kernels.ORIGINS},
        **{f"{origin}_time_share": summary.time_share(origin) for origin in kernels.ORIGINS},
        "operators": [
            {
                "name": one.name,
                "origin": one.origin,
                "kernels": one.kernels,
                "microseconds": round(one.microseconds, 3),
                "kernels_per_step": round(one.kernels / steps, 3),
                "share": round(one.microseconds / summary.microseconds, 6) if summary.microseconds else 0.0,
                "steps": one.steps,
                "kernel_names": [name for name, _ in one.kernel_names.most_common(5)],
                "stacks": [list(stack) for stack, _ in one.stacks.most_common(3)],
            }
            for one in ranked
        ],
    }


def eager(summary: Summary) -> list[Operator]:
    """The operators that ran eager, those that took most time first."""
    found = (one for one in summary.operators.values() if one.origin == kernels.EAGER)
    return sorted(found, key=lambda one: (-one.microseconds, one.name))


def _more_than(summary: Summary, baseline: Summary) -> frozenset[str]:
    """The operators that run more eager kernels in a step than they did in the baseline.

    By their own name, and by what their kernels compute: inside a CUDA graph only kernels have names, and one
    operator may run kernels of several (`aten::topk` sorts).
    """
    named = _grown(*(_rates(one, by_kernel=False) for one in (baseline, summary)))
    computed = _grown(*(_rates(one, by_kernel=True) for one in (baseline, summary)))
    return frozenset(
        one.name
        for one in eager(summary)
        if one.name in named and any(_computes(kernel) in computed for kernel in one.kernel_names)
    )


def _rates(summary: Summary, *, by_kernel: bool) -> dict[str, float]:
    """Eager kernels in a step, by operator or by what each kernel computes."""
    found: dict[str, float] = {}
    for one in eager(summary):
        for kernel, count in one.kernel_names.items():
            name = _computes(kernel) if by_kernel else one.name
            found[name] = found.get(name, 0.0) + count / max(summary.steps, 1)
    return found


def _grown(before: Mapping[str, float], now: Mapping[str, float]) -> set[str]:
    return {
        name
        for name, rate in now.items()
        if rate > MORE * before.get(name, 0.0) and rate - before.get(name, 0.0) >= 0.99
    }


def _computes(kernel: str) -> str:
    return kernels.operator(kernel) or kernels.short(kernel)


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
            seen = report._replace(
                stack=tuple(dict.fromkeys(map(function, stack))),
                files=tuple(dict.fromkeys(place.file for place in places if place.file)),
                location=places[0] if places else None,
            )
            for _ in range(
                min(MOST_REPORTS, max(1, round(operator.stacks.get(stack, operator.kernels) / steps)))
            ):
                yield seen
