"""The annex: the roofline: what a kernel can reach at most, and what a fusion can gain at most.

A kernel takes at least the time of its arithmetic at the peak, and at least the time of its bytes at the
bandwidth of the memory; the longer one bounds it. Its arithmetic intensity (FLOP for each byte moved) below
the machine's balance (peak over bandwidth) means that bytes bound it. A fusion of kernels that bytes bound
saves the bytes that no longer travel and nothing else: its gain is bytes before over bytes after. So a
fusion that promises 2x and moves 13% fewer bytes gains 1.14x.

Source: Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for multicore
architectures", Communications of the ACM 52(4), 2009.

What is left out, so that the bound stays a bound for kernels at their roof: launch gaps between kernels
(a fusion of kernels of a few microseconds may gain more by them), caches that keep what one kernel wrote
for the next, and kernels far from their roof before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from fallback_gate.instruments.devices import Device, Roof

SCHEMA: Final = "fallback-gate/roofline-1"
BYTES_OF: Final = {
    "fp64": 8.0,
    "fp32": 4.0,
    "tf32": 4.0,
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "fp4": 0.5,
}


@dataclass(frozen=True, slots=True)
class Work:
    """What one kernel does: floating-point operations, and bytes that travel to and from the memory."""

    flops: float
    bytes: float
    name: str = ""

    @property
    def intensity(self) -> float:
        """FLOP for each byte; endless where no byte travels."""
        return self.flops / self.bytes if self.bytes else float("inf")


@dataclass(frozen=True, slots=True)
class Fusion:
    """What a fusion saves. `max_speedup` is the most it can gain over kernels at their roof, as a factor."""

    before: tuple[Work, ...]
    after: Work
    max_speedup: float
    why: str


def bound(work: Work, roof: Roof) -> str:
    """What the kernel waits for: `memory` below the balance, else `compute`."""
    return "memory" if work.intensity < roof.balance else "compute"


def seconds(work: Work, roof: Roof) -> float:
    """The least time that the work takes."""
    return max(work.flops / roof.peak, work.bytes / roof.bandwidth)


def attainable(work: Work, roof: Roof) -> float:
    """The most FLOP a second that a kernel of this intensity reaches."""
    return min(roof.peak, work.intensity * roof.bandwidth)


def fusion(before: Sequence[Work], after: Work, roof: Roof | None) -> Fusion:
    """The most that one kernel in place of `before` can gain.

    Without a roof, bytes are taken to bound all of them. The arithmetic of `after` is that of the kernels
    before, unless it has its own.

    Raises `ValueError` where no byte is left to divide by.
    """
    flops = after.flops or sum(work.flops for work in before)
    after = Work(flops, after.bytes, after.name or "fused")
    if after.bytes <= 0 or sum(work.bytes for work in before) <= 0:
        raise ValueError("bytes before and after a fusion are above zero")
    if roof is None:
        gain = sum(work.bytes for work in before) / after.bytes
        return Fusion(tuple(before), after, gain, "bytes before over bytes after")
    gain = sum(seconds(work, roof) for work in before) / seconds(after, roof)
    memory = all(bound(work, roof) == "memory" for work in (*before, after))
    why = "bytes before over bytes after" if memory else "time at the roof before over time at the roof after"
    return Fusion(tuple(before), after, gain, why)


def unsplit(flops: float, moved: float, roof: Roof | None) -> tuple[Work, ...]:
    """Kernels of which only the sums are known, as those that take longest: arithmetic and bytes apart.

    No other split takes longer, so that a gain above the bound is one that can't be.
    """
    if not flops or roof is None:
        return (Work(0.0, moved, "before"),)
    return (Work(0.0, moved, "before: bytes"), Work(flops, 0.0, "before: arithmetic"))


def matmul(m: int, n: int, k: int, dtype: str) -> tuple[Work, Work]:
    """A matrix product, ideal (each operand and the result travel once) and naive (no reuse at all).

    Naive: each multiply-add reads both of its factors from the memory.
    """
    size = BYTES_OF[dtype]
    flops = 2.0 * m * n * k
    ideal = Work(flops, size * (m * k + k * n + m * n), f"matmul {m}x{n}x{k}, ideal")
    return ideal, Work(flops, size * 2.0 * m * n * k, f"matmul {m}x{n}x{k}, naive")


def decode(rows: int, weights: float, cache: float, dtype: str) -> Work:
    """A decode step of `rows` sequences: each weight is read once and used for each row, the KV cache once.

    `weights` and `cache` in bytes, as stored; `dtype` of the weights tells their number. The arithmetic of
    the attention on the cache and the activations' bytes are left out: both are small beside the weights.
    """
    return Work(2.0 * rows * weights / BYTES_OF[dtype], weights + cache, f"decode, {rows} rows")


@dataclass(frozen=True, slots=True)
class Reading:
    """What was asked of the roofline; None where it was not."""

    roof: Roof | None
    work: Work | None = None
    naive: Work | None = None
    fusion: Fusion | None = None
    claim: float | None = None

    @property
    def bound(self) -> str | None:
        """`memory` or `compute`; without arithmetic or a device, bytes bound what has bytes only."""
        if self.work is None:
            return None
        if self.roof is None:
            return None if self.work.flops else "memory"
        return bound(self.work, self.roof)

    @property
    def attainable(self) -> float | None:
        """FLOP a second, at most."""
        return attainable(self.work, self.roof) if self.work and self.roof else None

    @property
    def seconds(self) -> float | None:
        """The least time that the work takes."""
        return seconds(self.work, self.roof) if self.work and self.roof else None

    @property
    def claim_over_bound(self) -> float | None:
        """The claimed gain over the most that there can be: above 1 it can't be."""
        if self.claim is None or self.fusion is None:
            return None
        return self.claim / self.fusion.max_speedup


def data(reading: Reading) -> dict[str, Any]:
    """The JSON form: keys are there always, and null is what was not asked for."""
    roof, work, saved = reading.roof, reading.work, reading.fusion
    return {
        "schema": SCHEMA,
        "device": roof.device if roof else None,
        "dtype": roof.dtype if roof else None,
        "sparse": roof.sparse if roof else None,
        "source": roof.source if roof else None,
        "peak_flops": roof.peak if roof else None,
        "bandwidth": roof.bandwidth if roof else None,
        "balance": roof.balance if roof else None,
        "work": (work.name or None) if work else None,
        "flops": work.flops if work else None,
        "bytes": work.bytes if work else None,
        "intensity": _finite(work.intensity) if work else None,
        "naive_intensity": _finite(reading.naive.intensity) if reading.naive else None,
        "bound": reading.bound,
        "attainable_flops": _finite(reading.attainable),
        "seconds_at_least": _finite(reading.seconds),
        "max_speedup": saved.max_speedup if saved else None,
        "bytes_before": sum(work.bytes for work in saved.before) if saved else None,
        "bytes_after": saved.after.bytes if saved else None,
        "why": saved.why if saved else None,
        "claim": reading.claim,
        "claim_over_bound": reading.claim_over_bound,
    }


def _finite(value: float | None) -> float | None:
    """A number that JSON has."""
    return value if value is not None and math.isfinite(value) else None


def device_data(table: Sequence[Device]) -> list[dict[str, Any]]:
    """The device table as plain values, in FLOP and bytes a second."""
    return [
        {
            "name": one.name,
            "aliases": list(one.aliases),
            "bandwidth": one.bandwidth,
            "basis": one.basis,
            "source": one.source,
            "peaks": {dtype: asdict(peak) for dtype, peak in one.peaks.items()},
        }
        for one in table
    ]
