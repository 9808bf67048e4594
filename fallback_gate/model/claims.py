"""Beside the vocabulary: figures that somebody claims, the artefact to fall back to, and what came of both.

A claimed figure is worth something beside a measurement under the same conditions and nothing beside another:
a number for batch 256 in FP8 says nothing of batch 24 in BF16. So a claim is compared only where all that
either side states is the same, and what is not comparable says which condition it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from enum import Enum
from typing import Final, NamedTuple

CONDITIONS: Final = ("device", "dtype", "model", "shape", "batch", "concurrency")
"""What a claim and a measurement may state about how the figure came about."""

HIGHER: Final[Mapping[str, str]] = {
    "prefill_tokens_per_second": "tok/s",
    "decode_tokens_per_second": "tok/s",
    "output_tokens_per_second": "tok/s",
    "gemm_flops": "FLOPS",
    "attention_flops": "FLOPS",
    "copy_bandwidth": "B/s",
}
LOWER: Final[Mapping[str, str]] = {"ttft_ms": "ms", "tpot_ms": "ms"}
METRICS: Final[Mapping[str, str]] = {**HIGHER, **LOWER}
"""What can be claimed, with its unit: more is better for the first, less for the others."""
OF_A_KERNEL: Final = ("gemm_flops", "attention_flops", "copy_bandwidth")  # which have no batch of requests
NEEDED: Final = ("device", "dtype", "shape")
"""Conditions that both sides must tell; of serving also how many requests ran at a time."""


def tells_load(conditions: Mapping[str, str]) -> bool:
    """Whether they say how many requests ran at a time."""
    return "batch" in conditions or "concurrency" in conditions


class Figure(NamedTuple):
    """One number that a file measured, in its metric's unit, and the conditions that the file states."""

    metric: str
    value: float
    path: str
    conditions: Mapping[str, str]


class Claim(NamedTuple):
    """A figure that `source` claims. `at_least`: the part of it that must be reached, a fraction; None
    decides nothing. `place` is where the policy says so."""

    metric: str
    value: float
    conditions: Mapping[str, str]
    source: str
    at_least: float | None
    place: str

    @property
    def lacks(self) -> list[str]:
        """The conditions without which nothing can be compared with it."""
        missing = [name for name in NEEDED if name not in self.conditions]
        if self.metric not in OF_A_KERNEL and not tells_load(self.conditions):
            missing.append("batch or concurrency")
        return missing


class ClaimState(str, Enum):
    """What became of a claim."""

    REACHED = "reached"
    MISSED = "missed"
    COMPARED = "compared"  # without a part of it that must be reached
    NOT_COMPARABLE = "not_comparable"
    NOT_MEASURED = "not_measured"


class HeldClaim(NamedTuple):
    """A claim beside the measurement that comes nearest to its conditions. `share` is what was reached of it,
    a fraction that is above 1 where the measurement is better; `why` says what is not comparable."""

    claim: Claim
    state: ClaimState
    figure: Figure | None = None
    share: float | None = None
    why: str | None = None


class Rollback(NamedTuple):
    """The artefact to fall back to: its path as seen from here, which version of which package built it, and,
    where given, its SHA-256 and the day on which it was built. `place` is where the policy says so."""

    artefact: str
    compiler: str
    version: str
    sha256: str | None
    built: date | None
    place: str


class HeldRollback(NamedTuple):
    """What the gate found of it: `problem` says why it can't be fallen back to, None where it can."""

    rollback: Rollback
    problem: str | None
    facts: tuple[str, ...] = ()
