"""The annex: the fingerprint (memory busy, matrix units idle), and what a kernel probably is by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fallback_gate.instruments.counters.kernel import Kernel
from fallback_gate.instruments.counters.sample import Format

WHOLE: Final = "whole"

_LIKELY: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), kind, says)
    for pattern, kind, says in (
        (
            r"naive|(?:^|[_:])ref(?:erence)?_|im2col",
            "reference",
            "a naive or reference kernel, by its own name",
        ),
        (r"dequant|unpack_(?:int|weight)", "dequantise", "weights dequantised to memory before the product"),
        (
            r"(?:^|[_:<])(?:index|gather|vectorized_gather|take|embedding)(?:_|$|\d|<|Kernel|\()(?!copy)",
            "gather",
            "rows gathered into a copy before they are used: the reference implementation of a grouped GEMM "
            "or of paged attention",
        ),
        (r"softmax", "softmax", "softmax as a kernel of its own: attention that is not fused"),
        (
            r"gemv|gemm|nvjet|cutlass|cublas|matmul|bmm|Cijk_",
            "product",
            "a matrix product of few rows for each matrix: bytes bound it",
        ),
        (r"copy|clone|expand|(?:^|_)cat(?:_|$)|transpose|contiguous|permute", "copy", "a copy in memory"),
        (
            r"elementwise|_poi_|pointwise",
            "pointwise",
            "a pointwise kernel that is not fused into its neighbours",
        ),
        (r"reduce|_red_|_per_|norm", "reduction", "a reduction as a kernel of its own"),
    )
)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Memory busy, matrix units idle: the whole file or one kernel, and what it looks like."""

    scope: str  # whole, kernel or device
    name: str
    dram_pct: float
    tensor_pct: float
    share: float
    kind: str | None
    likely: str


def fingerprints(
    form: Format, kernels: Sequence[Kernel], whole: Kernel, chosen: Mapping[str, float]
) -> list[Fingerprint]:
    """What has the fingerprint by the `chosen` settings: the whole first, then kernels that weigh enough."""
    total = sum(kernel.us for kernel in kernels) or 1.0
    scope = "kernel" if form.names_kernels else "device"
    least = chosen["kernel_share"] if form.names_kernels else 0.0
    found = []
    for kernel in kernels:
        if matches(kernel, chosen) and kernel.us / total >= least:
            kind, says = _likely(kernel.name) if form.names_kernels else (None, form.advice)
            found.append(_print(scope, kernel, kernel.us / total, kind, says))
    if matches(whole, chosen):
        kinds = {one.kind for one in found}
        says = form.advice if not form.names_kernels else "bytes bound the whole, and the matrix units wait"
        kind = None
        if {"gather", "product"} <= kinds:
            kind = "gathered grouped GEMM"
            says = "weights gathered for each token and small products: the reference of a grouped GEMM"
        elif {"softmax", "product"} <= kinds:
            kind = "unfused attention"
            says = "products with a softmax between them: attention that is not fused"
        found.insert(0, _print(WHOLE, whole, 1.0, kind, says))
    return found


def matches(kernel: Kernel, chosen: Mapping[str, float]) -> bool:
    """Whether the memory was busier and the matrix units idler than the settings say."""
    if kernel.dram_pct is None or kernel.tensor_pct is None:
        return False
    return kernel.dram_pct > 100 * chosen["hbm_above"] and kernel.tensor_pct < 100 * chosen["tensor_below"]


def _print(scope: str, kernel: Kernel, share: float, kind: str | None, says: str) -> Fingerprint:
    dram, tensor = kernel.dram_pct or 0.0, kernel.tensor_pct or 0.0
    return Fingerprint(scope, kernel.name, dram, tensor, share, kind, says)


def _likely(name: str) -> tuple[str | None, str]:
    """What a kernel of this name probably is."""
    for pattern, kind, says in _LIKELY:
        if pattern.search(name):
            return kind, says
    return None, "bytes bound it; its name says no more"
