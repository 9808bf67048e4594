"""The annex, kernel traces: what ran in each step, operator by operator and function by function."""

from __future__ import annotations

import re

from fallback_gate.instruments.trace import kernels
from fallback_gate.instruments.trace.fused import fused
from fallback_gate.instruments.trace.links import function, location
from fallback_gate.instruments.trace.summary import Operator, Summary
from fallback_gate.model.measures import Ran

_OPERATOR = re.compile(r"(?!at::|c10::|caffe2::|cutlass|cub::)[A-Za-z_]\w*::[A-Za-z_][\w.]*")


def ran(summary: Summary) -> list[Ran]:
    """Operators and the user's functions, those that ran in most steps and took most time first.

    A kernel that a compiler fused counts for each operator that its name tells; a kernel without a known
    operator counts for none.
    """
    found: dict[tuple[str, str], Ran] = {}
    for one in summary.operators.values():
        for name in operators(one):
            _add(found, summary, "op", name, one, one.origin == kernels.EAGER)
    for frame, one in summary.functions.items():
        if location(frame) is not None and not function(frame).startswith("<"):
            _add(found, summary, "function", function(frame), one, False, summary.calls[frame])
    for called, origin in summary.outside:
        for name in operators(Operator(called, origin)):
            outside = Ran("op", name, 0.0, 0.0, 0, summary.steps, origin == kernels.EAGER)
            found.setdefault(("op", name), outside)
    return sorted(found.values(), key=lambda one: (-one.steps, -one.share, one.name))


def operators(one: Operator) -> tuple[str, ...]:
    """The operators that kernels compute: those that a fused kernel's name tells, or the one that called."""
    if one.origin == kernels.GENERATED and (inside := fused(one.name)):
        return inside
    return (one.name,) if _OPERATOR.fullmatch(one.name) else ()


def _add(
    found: dict[tuple[str, str], Ran],
    summary: Summary,
    key: str,
    name: str,
    one: Operator,
    is_eager: bool,
    calls: int = 0,
) -> None:
    before = found.get((key, name))
    per_step = one.kernels / max(summary.steps, 1)
    share = one.microseconds / summary.microseconds if summary.microseconds else 0.0
    found[key, name] = Ran(
        key,
        name,
        per_step + (before.per_step if before else 0.0),
        min(1.0, share + (before.share if before else 0.0)),
        max(one.steps, before.steps if before else 0),
        summary.steps,
        is_eager or bool(before and before.is_eager),
        calls / max(summary.steps, 1) + (before.calls if before else 0.0),
    )
