"""The annex, kernel traces: what each operator and each function of the user costs, for the events of a log.

An operator costs its eager and library kernels: what a compiler fused is no fallback. A function costs the
eager kernels that were launched under it: its compiled parts run as they would without the fallback, so that
a graph break by a logger costs nearly nothing, and a function that runs eager all of it. The share of the
step is that of kernel time or that of kernels, whichever is larger: a step that waits for the host pays for
each kernel, however short.
"""

from __future__ import annotations

from fallback_gate.instruments.trace import kernels
from fallback_gate.instruments.trace.links import function
from fallback_gate.instruments.trace.summary import Operator, Summary
from fallback_gate.measures import Cost


def costs(summary: Summary) -> dict[tuple[str, str], Cost]:
    """Costs by what they are of (`op` or `function`) and its name."""
    if not summary.steps or not summary.kernels:
        return {}
    found: dict[tuple[str, str], Operator] = {}
    for one in summary.operators.values():
        if one.origin in (kernels.EAGER, kernels.LIBRARY):
            _add(found, "op", one.name, one)
    for frame, one in summary.functions.items():
        nothing = Operator(one.name, kernels.EAGER)
        _add(found, "function", function(frame), summary.eager_functions.get(frame, nothing))
    return {key: _cost(one, summary, f"{key[0]} {key[1]}") for key, one in found.items()}


def _add(found: dict[tuple[str, str], Operator], key: str, name: str, one: Operator) -> None:
    total = found.setdefault((key, name), Operator(name, one.origin))
    total.kernels += one.kernels
    total.microseconds += one.microseconds


def _cost(one: Operator, summary: Summary, by: str) -> Cost:
    of_time = one.microseconds / summary.microseconds if summary.microseconds else 0.0
    share = min(1.0, max(of_time, one.kernels / summary.kernels))
    return Cost(one.kernels / summary.steps, one.microseconds / summary.steps, share, by)
