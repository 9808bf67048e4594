"""The annex: all launches of one kernel, by the means of their counters."""

from __future__ import annotations

from dataclasses import dataclass, field

from fallback_gate.instruments.counters.sample import Sample


@dataclass(slots=True)
class Kernel:
    """All launches of one kernel: microseconds, and per cent of the peaks, weighted by time."""

    name: str
    launches: int = 0
    us: float = 0.0
    bytes: float | None = None
    weighed: int = 0  # launches of which the bytes are known
    dram: list[float] = field(default_factory=lambda: [0.0, 0.0])
    tensor: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def add(self, sample: Sample) -> None:
        """Count one launch, or one sample of a device."""
        self.launches += 1
        self.us += sample.us
        if sample.bytes is not None:
            self.bytes = (self.bytes or 0.0) + sample.bytes
            self.weighed += 1
        for sums, value in ((self.dram, sample.dram_pct), (self.tensor, sample.tensor_pct)):
            if value is not None:
                sums[0] += value * sample.us
                sums[1] += sample.us

    @property
    def dram_pct(self) -> float | None:
        """Per cent of the memory's peak."""
        return self.dram[0] / self.dram[1] if self.dram[1] else None

    @property
    def tensor_pct(self) -> float | None:
        """Per cent of the matrix units' peak."""
        return self.tensor[0] / self.tensor[1] if self.tensor[1] else None
