"""Beside the vocabulary: what instruments measure, and the limits that a policy sets for it.

An instrument (`fallback_gate/instruments`) turns one file into measurements. The policy holds each against a
`Limit`; what came of it is a `Measured`, which the verdict carries and the reports show. `QUANTITIES` names
all that can be measured: a policy may limit these and no others. Shares are fractions from 0 to 1 here and
percentages wherever a person reads or writes them.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple


class Quantity(NamedTuple):
    """Something that an instrument can measure: its unit (`share` for a fraction) and what it means.

    `default` is the limit that holds where the policy sets none; one against a baseline holds where a
    baseline was given.
    """

    unit: str
    meaning: str
    default: tuple[str, ...] = ()


QUANTITIES: Final[Mapping[str, Mapping[str, Quantity]]] = {
    "trace": {
        "steps": Quantity("steps", "whole steps that the trace holds"),
        "kernels_per_step": Quantity(
            "kernels", "GPU kernels that ran in a step, the median of the steps", ("<=110% of baseline",)
        ),
        "small_kernel_share": Quantity("share", "kernels under 10 us, of all kernels of the steps"),
        "eager_kernel_share": Quantity(
            "share", "kernels of the framework's eager operators, of all kernels of the steps", ("<=30%",)
        ),
        "generated_kernel_share": Quantity("share", "kernels that a compiler generated, of all kernels"),
        "library_kernel_share": Quantity("share", "kernels of vendor libraries, of all kernels"),
        "eager_time_share": Quantity("share", "time in kernels of eager operators, of all kernel time"),
        "generated_time_share": Quantity("share", "time in generated kernels, of all kernel time"),
        "library_time_share": Quantity("share", "time in kernels of vendor libraries, of all kernel time"),
        "graph_launches_per_step": Quantity(
            "launches", "CUDA graph launches in a step, the median", (">=1% of baseline",)
        ),
        "kernel_us_per_step": Quantity("us", "time in kernels in a step, the median"),
        "step_us": Quantity("us", "a step from its start to its end, as it was profiled, the median"),
    },
}
"""Instrument, then the name of the quantity."""

_COMPARE: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_LIMIT = re.compile(
    r"\s*(?P<sign><=|>=|<|>)\s*(?P<number>[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)\s*(?P<percent>%)?"
    r"(?P<baseline>\s+of\s+baseline)?\s*",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound on one quantity, as written: `<=30%`, `>= 900`, `<=110% of baseline`."""

    text: str
    sign: str
    number: float  # a fraction where a percentage was written
    of_baseline: bool = False

    def holds(self, value: float, baseline: float | None) -> bool | None:
        """Whether the value is within the limit; None where it needs a baseline that there is not."""
        if not self.of_baseline:
            return _COMPARE[self.sign](value, self.number)
        return None if baseline is None else _COMPARE[self.sign](value, self.number * baseline)


def limit(text: str, unit: str) -> Limit | str:
    """The limit that a text says for a quantity of this unit, or what is wrong with the text."""
    found = _LIMIT.fullmatch(text)
    if found is None:
        return "is no limit such as <=30%, >=900 or <=110% of baseline"
    percent, of_baseline = bool(found["percent"]), bool(found["baseline"])
    if percent and not of_baseline and unit != "share":
        return f"is a percentage, and the quantity is counted in {unit}"
    if unit == "share" and not percent:
        return "needs a percent sign, since the quantity is a share"
    number = float(found["number"])
    return Limit(text.strip(), found["sign"], number / 100 if percent else number, of_baseline)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One number that an instrument read from one file.

    `subject` says what it belongs to (a kernel, a tensor, a batch size); None is the file as a whole.
    `baseline` is the same number of the baseline, where one was given.
    """

    instrument: str
    name: str
    value: float
    path: str
    subject: str | None = None
    baseline: float | None = None

    @property
    def unit(self) -> str:
        """The unit of its quantity."""
        return QUANTITIES[self.instrument][self.name].unit


class Cost(NamedTuple):
    """What a fallback costs in a step, as a trace shows it: kernels, microseconds, and its share from 0 to 1.

    `by` says what it was found by: `op aten::topk`, `function gate_attn`.
    """

    kernels: float
    microseconds: float
    share: float
    by: str


class Ran(NamedTuple):
    """An operator (`key` is `op`) or a user's function that was seen running, for a policy's first hot list.

    `per_step` are its kernels in a step, `share` the kernel time of the kernels it is in, of all; it ran in
    `steps` of `of` steps, 0 where it ran only outside of them. `is_eager`: as the framework's own kernels.
    """

    key: str
    name: str
    per_step: float
    share: float
    steps: int
    of: int
    is_eager: bool


class State(str, Enum):
    """How a measurement stands to its limit."""

    MET = "met"
    EXCEEDED = "exceeded"
    OPEN = "open"  # it could not be held against it: no baseline
    UNLIMITED = "unlimited"


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement under a policy: its limit, and where the policy says so (None: by default)."""

    measurement: Measurement
    state: State
    limit: Limit | None = None
    source: str | None = None

    def __str__(self) -> str:
        measurement = self.measurement
        what = f"{measurement.name} of {measurement.subject}" if measurement.subject else measurement.name
        text = f"{measurement.path}: {what} is {amount(measurement.value, measurement.unit)}"
        if measurement.baseline is not None:
            text += f" (baseline {amount(measurement.baseline, measurement.unit)})"
        if self.limit is None:
            return text
        if self.state is State.OPEN:
            return f"{text}; the limit {self.limit.text} needs a baseline, and none was given"
        word = "exceeds" if self.state is State.EXCEEDED else "is within"
        return f"{text} and {word} the limit {self.limit.text} ({self.source or 'by default'})"


def amount(value: float, unit: str) -> str:
    """A value as a person reads it: `81.0%`, `1,526 kernels`."""
    if unit == "share":
        return f"{value:.1%}"
    number = f"{value:,.0f}" if abs(value) >= 1000 or float(value).is_integer() else f"{value:.4g}"
    return f"{number} {unit}".rstrip()
