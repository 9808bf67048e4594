"""The annex, the coverage matrix: a grouped matrix product that is computed as a gather and small products.

A mixture of experts without a grouped kernel copies the weights of each token's experts together and hands
them to batched products: one kernel gathers, the next multiplies what it wrote, and the copy costs as much as
the product or more. No compiler reports it, since each of the two is well compiled. `Pairs` finds them by
time in a trace, `of_code` by the buffers in a wrapper. A gather of a paged cache before its product looks the
same: that is a reference implementation too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from fallback_gate.coverage.kernel_names import GROUPED, MATMUL, family
from fallback_gate.coverage.output_code import Operand, OutputCode
from fallback_gate.instruments.trace import kernels as names
from fallback_gate.instruments.trace.fused import fused
from fallback_gate.model import Kind
from fallback_gate.model.matrix import Cell, Column

OPERATOR = "gather + matmul"
NAMES = (GROUPED, "grouped_mm", "grouped_gemm", "moe")
LEAST_SHARE = 0.10  # of the kernel time, for both together
LEAST_RATIO = 0.5  # of the product's time, for the gather
MOST_BETWEEN = 2  # kernels with which a library prepares a product
_NO_KERNEL = "no grouped kernel (experts) or paged one (a cache) covers it"
_BATCHED = re.compile(r"::(?:bmm|baddbmm)$")
_GATHERS = {"aten::index", "aten::index_select", "aten::gather", "aten::take"}


@dataclass(slots=True)
class Pairs:
    """Gathers that a product follows at once, in all steps: how many, and the time of each side."""

    count: int = 0
    gather: float = 0.0
    product: float = 0.0
    alone: bool = False  # in some step no grouped kernel ran
    gathers: dict[str, None] = field(default_factory=dict)
    products: dict[str, None] = field(default_factory=dict)

    def take(self, kernels: Sequence[str], times: Sequence[float]) -> None:
        """Take the kernels of a step, in the order in which they ran, with their times in microseconds."""
        before = self.count
        for at, kernel in enumerate(kernels):
            after = at + 1
            while after < len(kernels) and after <= at + MOST_BETWEEN and _helps(kernels[after]):
                after += 1
            if after < len(kernels) and is_gather(kernel) and family(kernels[after]) == MATMUL:
                self.count += 1
                self.gather += times[at]
                self.product += times[after]
                self.gathers.setdefault(names.short(kernel))
                self.products.setdefault(names.short(kernels[after]))
        if self.count > before:
            self.alone = self.alone or not any(
                family(kernel) in (GROUPED, "grouped_mm") for kernel in kernels
            )

    def cell(self, steps: int, kernel_time: float, backend: str) -> Cell | None:
        """The cell of the grouped product, where these pairs are one."""
        both = self.gather + self.product
        if not self.count or both < LEAST_SHARE * kernel_time or self.gather < LEAST_RATIO * self.product:
            return None
        count = self.count / max(steps, 1)
        reason = (
            f"{count:,.4g} gathers in a step, each followed by the product of what it copied: "
            f"{both / kernel_time:.0%} of kernel time, {self.gather / both:.0%} of it copies; {_NO_KERNEL}"
        )
        by = (*list(self.gathers)[:4], *list(self.products)[:4])
        return _cell(backend, by, reason, both / max(steps, 1), alone=self.alone)


def of_code(code: OutputCode, backend: str) -> Cell | None:
    """The cell of a grouped product in output code: a batched one whose larger operand was gathered."""
    buffers: dict[str, str] = {}  # that a gather wrote, and its kernel
    pairs: dict[tuple[str, str], int] = {}
    for start in code.starts:
        if start.part is not None and _BATCHED.search(start.part.op):
            largest = max(start.reads, key=_elements, default=None)
            if largest is not None and largest.buffer in buffers:
                pair = (buffers[largest.buffer], start.name)
                pairs[pair] = pairs.get(pair, 0) + 1
        buffers.pop(start.writes, None)
        parts = code.kernels.get(start.name, ())
        if start.is_generated and parts and {part.op for part in parts} <= _GATHERS:
            buffers[start.writes] = start.name
    if not pairs:
        return None
    grouped = any(start.part is not None and start.part.op == GROUPED for start in code.starts)
    count = sum(pairs.values())
    products = f"{count:,} product{'' if count == 1 else 's'} in the output code"
    reason = f"{products} with a larger operand that was gathered before; {_NO_KERNEL}"
    by = tuple(dict.fromkeys(name for pair in pairs for name in pair))[:8]
    return _cell(backend, by, reason, None, alone=not grouped)


def _elements(operand: Operand) -> int:
    sizes = operand.shape.split("x")
    return prod(map(int, sizes)) if all(size.isdigit() for size in sizes) else 0


def _cell(backend: str, by: tuple[str, ...], reason: str, time: float | None, *, alone: bool) -> Cell:
    return Cell(
        op=OPERATOR,
        backend=backend,
        column=Column.FALLBACK,
        by=by,
        microseconds=time,
        shared=time is not None,
        names=NAMES if alone else (),
        kind=Kind.REFERENCE_KERNEL,
        reason=reason,
    )


def _helps(kernel: str) -> bool:
    """Whether a kernel is neither generated nor eager nor a product: what a library runs ahead of one."""
    return names.origin(kernel) in (names.OTHER, names.LIBRARY) and family(kernel) is None


def is_gather(kernel: str) -> bool:
    """Whether a kernel does nothing but gather."""
    inside = fused(kernel)
    if inside:
        return set(inside) <= _GATHERS
    return names.origin(kernel) == names.EAGER and names.operator(kernel) in _GATHERS
