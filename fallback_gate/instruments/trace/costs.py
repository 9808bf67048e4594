"""The annex, kernel traces: what each operator and each function of the user costs, for the events of a log.

An operator costs its eager and library kernels: what a compiler fused is no fallback. A function costs the
eager kernels that were launched under it: its compiled parts run as they would without the fallback, so that
a graph break by a logger costs nearly nothing, and a function that runs eager all of it. A compile (`1/0`)
costs the eager kernels and the host's time around its compiled graphs, which is what they broke for; an
operator that has no name in the trace, as inside a CUDA graph, costs at most all that is eager in the graphs
of its compile.

The share of the step is that of kernel time, that of kernels or that of the host's time, whichever is
largest: a step that waits for the host pays for each kernel, however short, and a profiled host is never
faster than it is.
"""

from __future__ import annotations

from fallback_gate.instruments.trace import kernels
from fallback_gate.instruments.trace.links import function
from fallback_gate.instruments.trace.regions import Part
from fallback_gate.instruments.trace.summary import Operator, Summary
from fallback_gate.model.measures import Cost


def costs(summary: Summary) -> dict[tuple[str, str], Cost]:
    """Costs by what they are of (`op`, `function`, `around` or `in` a compile's graphs) and its name."""
    if not summary.steps or not summary.kernels:
        return {}
    found: dict[tuple[str, str], Operator] = {}
    for one in summary.operators.values():
        if one.origin in (kernels.EAGER, kernels.LIBRARY):
            _add(found, "op", one.name, one)
    for frame, one in summary.functions.items():
        nothing = Operator(one.name, kernels.EAGER)
        _add(found, "function", function(frame), summary.eager_functions.get(frame, nothing))
    told = {key: _cost(one, summary, f"{key[0]} {key[1]}") for key, one in found.items()}
    return told | _of_compiles(summary)


def _of_compiles(summary: Summary) -> dict[tuple[str, str], Cost]:
    found = {}
    for part, one in summary.parts.items():
        if part.in_graph:
            by = f"compile {part.compile_id}, at most: all that is eager in its graphs"
            found["in", part.compile_id] = _cost(one, summary, by)
    for number, host in summary.host_time.items():
        one = summary.parts.get(Part(number, False), Operator(number, kernels.EAGER))
        by = f"compile {number}, around its graphs"
        found["around", number] = _cost(one, summary, by, host)
    return found


def _add(found: dict[tuple[str, str], Operator], key: str, name: str, one: Operator) -> None:
    total = found.setdefault((key, name), Operator(name, one.origin))
    total.kernels += one.kernels
    total.microseconds += one.microseconds


def _cost(one: Operator, summary: Summary, by: str, host: float = 0.0) -> Cost:
    of_time = one.microseconds / summary.microseconds if summary.microseconds else 0.0
    of_host = host / summary.time if summary.time else 0.0
    share = min(1.0, max(of_time, of_host, one.kernels / summary.kernels))
    steps = summary.steps
    return Cost(one.kernels / steps, one.microseconds / steps, share, by, host / steps)
