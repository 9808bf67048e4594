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


_KINDS: Final = {
    # type: limits of the relative error in norm and of the cosine
    "fp64": ("<=1e-6", ">=0.9999"),
    "fp32": ("<=1e-3", ">=0.9999"),
    "fp16": ("<=0.02", ">=0.999"),
    "bf16": ("<=0.05", ">=0.999"),
    "fp8": ("<=0.2", ">=0.98"),
}


def _numerics() -> dict[str, Quantity]:
    """What is measured of tensors, by the type of the output."""
    found = {
        "mismatched": Quantity("tensors", "tensors that are missing or of another shape", ("<=0",)),
        "nonfinite": Quantity("places", "NaN or infinite where the reference is not", ("<=0",)),
        "max_abs_int": Quantity("", "largest difference of whole numbers", ("<=0",)),
    }
    for kind, (relative, cosine) in _KINDS.items():
        found |= {
            f"max_abs_{kind}": Quantity("", f"largest absolute error of {kind}"),
            f"max_relative_{kind}": Quantity("", f"largest relative error of {kind}, away from zero"),
            f"relative_l2_{kind}": Quantity("", f"relative error of {kind} in the norm", (relative,)),
            f"max_ulp_{kind}": Quantity("ulp", f"most representable numbers between, of {kind}"),
            f"cosine_{kind}": Quantity("", f"cosine of the angle to the reference, of {kind}", (cosine,)),
        }
    return found


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
        "kernel_us_per_step": Quantity(
            "us", "time in kernels in a step, the median", ("<=150% of baseline",)
        ),
        "step_us": Quantity("us", "a step from its start to its end, as it was profiled, the median"),
    },
    "counters": {
        "fingerprints": Quantity(
            "kernels", "memory busy and matrix units idle, for the whole or a kernel of weight", ("<=0",)
        ),
        "dram_share": Quantity("share", "use of the memory's bandwidth, weighted by time"),
        "tensor_share": Quantity("share", "use of the matrix units, weighted by time"),
        "dram_bytes": Quantity("bytes", "bytes to and from the memory", ("<=110% of baseline",)),
    },
    "bench": {
        "prefill_tokens_per_second": Quantity(
            "tok/s", "prompt tokens of a request over its time to first token"
        ),
        "decode_tokens_per_second": Quantity("tok/s", "tokens of one sequence after its first"),
        "output_tokens_per_second": Quantity("tok/s", "tokens of all sequences over the whole run"),
        "ttft_ms": Quantity("ms", "time to first token, the median"),
        "tpot_ms": Quantity("ms", "time per output token after the first, the median"),
        "prefill_slowdown": Quantity("share", "prefill below its baseline, beyond the noise", ("<=5%",)),
        "decode_slowdown": Quantity("share", "decode below its baseline, beyond the noise", ("<=5%",)),
        "output_slowdown": Quantity("share", "output below its baseline, beyond the noise", ("<=5%",)),
        "ttft_slowdown": Quantity(
            "share", "time to first token above its baseline, beyond the noise", ("<=10%",)
        ),
        "tpot_slowdown": Quantity("share", "time per token above its baseline, beyond the noise", ("<=5%",)),
        "decode_efficiency": Quantity("share", "output over what the measured peak allows", (">=10%",)),
    },
    "numerics": _numerics(),
    "roofline": {
        "intensity": Quantity("FLOP/byte", "arithmetic for each byte that travels"),
        "speedup": Quantity("times", "the gain by the times of counted kernels"),
        "max_speedup": Quantity("times", "the most that a fusion can gain over kernels at their roof"),
        "claim_over_bound": Quantity(
            "share", "a claimed gain as a share of the most that the bytes allow", ("<=102%",)
        ),
    },
}
"""Instrument, then the name of the quantity."""


class Setting(NamedTuple):
    """What a policy may set for how an instrument looks: a fraction, written as a percentage."""

    meaning: str
    default: float


SETTINGS: Final[Mapping[str, Mapping[str, Setting]]] = {
    "bench": {
        "minimum_effect": Setting("change that counts at least, however quiet the runs are", 0.03),
        "maximum_noise": Setting("noise of a comparison above which it tells nothing", 0.10),
    },
    "counters": {
        "hbm_above": Setting("use of the memory above which a kernel has the fingerprint", 0.70),
        "tensor_below": Setting("use of the matrix units under which it has", 0.20),
        "kernel_share": Setting("share of the time from which a kernel counts by itself", 0.10),
    },
}
"""Instrument, then the name of the setting; names differ from those of its quantities."""

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


def fraction(text: str) -> float | None:
    """The fraction that a percentage from 0% to 100% says; None for any other text."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*", text, re.ASCII)
    value = float(found[1]) / 100 if found else None
    return value if value is not None and value <= 1 else None


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

    `by` says what it was found by: `op aten::topk`, `function gate_attn`, `compile 1/0, around its graphs`.
    `host` are microseconds of the host, where they are known. `certain` is False where the trace may number
    its compiles differently than the log: it can block then, and excuses nothing.
    """

    kernels: float
    microseconds: float
    share: float
    by: str
    host: float = 0.0
    certain: bool = True


class Ran(NamedTuple):
    """An operator (`key` is `op`) or a user's function that was seen running, for a policy's first hot list.

    `per_step` are its kernels in a step, `share` the kernel time of the kernels it is in, of all; it ran in
    `steps` of `of` steps, 0 where it ran only outside of them. `is_eager`: as the framework's own kernels.
    `calls` are those of a function in a step, as one for each layer; 0 where they are not known.
    """

    key: str
    name: str
    per_step: float
    share: float
    steps: int
    of: int
    is_eager: bool
    calls: float = 0.0


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
