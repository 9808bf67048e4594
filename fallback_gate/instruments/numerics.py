"""The annex: numbers against a reference: a fallback that is fixed at the price of wrong numbers is no fix.

Of each tensor, over the places where both are finite:

max_abs       the largest |out - ref|
max_relative  the largest |out - ref| / |ref| where |ref| is above epsilon times the tensor's largest: next to
              zero a quotient says nothing, and the absolute error holds there
relative_l2   the norm of out - ref over the norm of ref: robust against single places
max_ulp       the most representable numbers between ref, rounded to the type of out, and out
cosine        of the angle between both; 1 for two tensors of zeros
nonfinite     places where out is NaN or infinite and ref is not the same

Limits go by the type of out, since an error of 1% is much for fp32 and little for fp8. A tensor that out has
not, or in another shape, is a mismatch. Errors are taken in double precision, a piece at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from fallback_gate.errors import InputError
from fallback_gate.instruments.evidence import Evidence
from fallback_gate.instruments.tensors import SUFFIXES, numpy, tensors
from fallback_gate.model.measures import QUANTITIES, Measurement

INSTRUMENT: Final = "numerics"
_PIECE: Final = 1 << 21  # elements in memory at once
TYPES: Final = {
    "float64": ("fp64", 2.0**-52),
    "float32": ("fp32", 2.0**-23),
    "float16": ("fp16", 2.0**-10),
    "bfloat16": ("bf16", 2.0**-7),
    "float8_e4m3fn": ("fp8", 2.0**-3),
    "float8_e5m2": ("fp8", 2.0**-2),
}
"""NumPy's name: the short name that policies use, and epsilon."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One tensor against its reference. Errors are None where no place is finite in both."""

    name: str
    dtype: str
    reference_dtype: str
    shape: tuple[int, ...]
    elements: int
    compared: int
    max_abs: float | None
    max_relative: float | None
    relative_l2: float | None
    max_ulp: int | None
    cosine: float | None
    nan: int
    inf: int
    reference_nan: int
    reference_inf: int
    nonfinite: int
    worst_index: tuple[int, ...] | None


def read(reference: str, output: str) -> Evidence:
    """What the tensors of two files or folders differ by, matched by name.

    Raises `InputError` for files that can't be read, and `MissingExtra` for a package that is missing.
    """
    ref, out = tensors(reference), tensors(output)
    if list(ref) != list(out) and len(ref) == len(out) == 1:
        out = dict(zip(ref, out.values(), strict=True))  # one tensor each: names of files may differ
    found: list[Compared] = []
    wrong: list[str] = []
    problems: list[str] = []
    for name, mine in ref.items():
        if name not in out:
            wrong.append(f"{name or reference}: not in {output}")
        elif mine.shape != out[name].shape:
            wrong.append(f"{name or reference}: shape {out[name].shape}, and {mine.shape} in the reference")
        else:
            found.append(compare(name or output, mine, out[name]))
    if not ref:
        raise InputError(f"{reference}: no tensor in it")
    silent = [one.name for one in found if one.elements and not one.compared]
    if silent:
        problems.append(f"no place is finite in both of {', '.join(silent[:5])}")
    if not any(one.compared for one in found) and not wrong:
        problems.append("nothing was compared")
    extra = [name for name in out if name not in ref]
    return Evidence(
        INSTRUMENT,
        output,
        "tensors",
        measurements=tuple(_measured(output, found, len(wrong))),
        problem="; ".join(problems) or None,
        foreign=_foreign({one.dtype for one in found}),
        notes=(
            *wrong[:20],
            *_other_types(found),
            *([f"{len(extra)} tensors have no reference, such as {extra[0]}"] if extra else ()),
        ),
        details={"tensors": [_row(one) for one in found], "mismatched": wrong},
    )


def _other_types(found: list[Compared]) -> list[str]:
    """What the output holds in another precision than the reference: the output's limits hold."""
    pairs = dict.fromkeys((one.reference_dtype, one.dtype) for one in found if one.dtype != "int")
    return [f"the reference is {ref} and the output {out}" for ref, out in pairs if ref != out]


def _foreign(kinds: set[str]) -> frozenset[str]:
    """Quantities of precisions in which no tensor is."""
    others = {short for short, _ in TYPES.values()} | {"int"}
    return frozenset(name for name in QUANTITIES[INSTRUMENT] if name.rpartition("_")[2] in others - kinds)


def _row(one: Compared) -> dict[str, Any]:
    """Plain values that JSON has."""
    row = asdict(one) | {"shape": list(one.shape)}
    return {key: _finite(value) for key, value in row.items()}


def _finite(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _measured(path: str, found: list[Compared], wrong: int) -> Iterator[Measurement]:
    """The worst tensor of each type, for each quantity."""
    yield Measurement(INSTRUMENT, "mismatched", float(wrong), path)
    total = sum(one.nonfinite for one in found)
    worst = max(found, key=lambda one: one.nonfinite, default=None)
    subject = worst.name if worst is not None and worst.nonfinite else None
    yield Measurement(INSTRUMENT, "nonfinite", float(total), path, subject)
    kinds: dict[str, list[Compared]] = {}
    for one in found:
        if one.compared:
            kinds.setdefault(one.dtype, []).append(one)
    for kind, tensors_of in kinds.items():
        for quantity in ("max_abs", "max_relative", "relative_l2", "max_ulp", "cosine"):
            known = [
                (getattr(one, quantity), one.name) for one in tensors_of if getattr(one, quantity) is not None
            ]
            if known and (kind != "int" or quantity == "max_abs"):
                value, name = min(known) if quantity == "cosine" else max(known)
                yield Measurement(INSTRUMENT, f"{quantity}_{kind}", float(value), path, name)


def compare(name: str, ref: Any, out: Any) -> Compared:
    """One tensor against its reference, both NumPy arrays of one shape."""
    np = numpy()
    if ref.dtype.kind == "c" or out.dtype.kind == "c":
        ref, out = (_parts(np, array) for array in (ref, out))
    kind, epsilon = TYPES.get(out.dtype.name, ("int", 0.0))
    flat, mine = ref.reshape(-1), out.reshape(-1)
    largest = _largest(np, flat)
    floor = largest * max(epsilon, TYPES.get(ref.dtype.name, ("", 0.0))[1])
    sums = _Sums(scale=max(largest, _largest(np, mine)) or 1.0)
    for start in range(0, flat.size, _PIECE):
        sums.add(np, flat[start : start + _PIECE], mine[start : start + _PIECE], start, floor, kind != "int")
    index = None
    if sums.worst is not None:
        index = tuple(int(at) for at in np.unravel_index(sums.worst, ref.shape))
    return Compared(
        name, kind, TYPES.get(ref.dtype.name, (ref.dtype.name,))[0], tuple(ref.shape), int(flat.size),
        sums.compared, *sums.errors(), sums.nan, sums.inf, sums.reference_nan, sums.reference_inf,
        sums.nonfinite, index,
    )  # fmt: skip


def _parts(np: Any, array: Any) -> Any:
    """A complex array as its real and imaginary parts."""
    if array.dtype.kind != "c":
        array = array.astype(np.complex128)
    return np.stack((array.real, array.imag), axis=-1)


def _largest(np: Any, flat: Any) -> float:
    largest = 0.0
    for start in range(0, flat.size, _PIECE):
        piece = np.abs(flat[start : start + _PIECE].astype(np.float64))
        largest = max(largest, float(np.max(piece, initial=0.0, where=np.isfinite(piece))))
    return largest


@dataclass(slots=True)
class _Sums:
    """What is known of a tensor, piece after piece."""

    scale: float  # the largest of both, by which squares can't overflow
    compared: int = 0
    nan: int = 0
    inf: int = 0
    reference_nan: int = 0
    reference_inf: int = 0
    nonfinite: int = 0
    max_abs: float = 0.0
    worst: int | None = None
    max_relative: float = 0.0
    max_ulp: int | None = None
    difference: float = 0.0
    norm: float = 0.0
    own: float = 0.0
    product: float = 0.0

    def add(self, np: Any, ref: Any, out: Any, start: int, floor: float, floating: bool) -> None:
        a, b = ref.astype(np.float64), out.astype(np.float64)
        nan_a, nan_b, inf_a, inf_b = np.isnan(a), np.isnan(b), np.isinf(a), np.isinf(b)
        self.reference_nan += int(nan_a.sum())
        self.nan += int(nan_b.sum())
        self.reference_inf += int(inf_a.sum())
        self.inf += int(inf_b.sum())
        self.nonfinite += int(((nan_b & ~nan_a) | (inf_b & ~(inf_a & (a == b)))).sum())
        both = np.isfinite(a) & np.isfinite(b)
        if not both.any():
            return
        places = np.flatnonzero(both)
        a, b = a[both], b[both]
        self.compared += int(a.size)
        with np.errstate(over="ignore"):
            error = np.abs(b - a)
        if not floating:  # whole numbers above 2^53 are no longer told apart in double precision
            error = np.where(ref[both] == out[both], error, np.maximum(error, 1.0))
        at = int(error.argmax())
        if self.worst is None or error[at] > self.max_abs:
            self.max_abs, self.worst = float(error[at]), start + int(places[at])
        size = np.abs(a)
        telling = size > floor
        if telling.any():
            with np.errstate(over="ignore"):
                self.max_relative = max(self.max_relative, float((error[telling] / size[telling]).max()))
        a, b = a / self.scale, b / self.scale
        self.difference += float((b - a) @ (b - a))
        self.norm += float(a @ a)
        self.own += float(b @ b)
        self.product += float(a @ b)
        if floating:
            with np.errstate(over="ignore"):
                rounded = ref[both].astype(out.dtype)
            ulp = _ulp(np, rounded, out[both])
            self.max_ulp = max(self.max_ulp or 0, ulp)

    def errors(self) -> tuple[float | None, float | None, float | None, int | None, float | None]:
        """max_abs, max_relative, relative_l2, max_ulp, cosine."""
        if not self.compared:
            return None, None, None, None, None
        if self.norm:
            relative = math.sqrt(self.difference / self.norm)
        else:
            relative = 0.0 if not self.difference else math.inf
        both = math.sqrt(self.norm) * math.sqrt(self.own)
        cosine = self.product / both if both else float(self.norm == self.own)
        return self.max_abs, self.max_relative, relative, self.max_ulp, max(-1.0, min(1.0, cosine))


def _ulp(np: Any, a: Any, b: Any) -> int:
    """The most representable numbers between two arrays of one type."""
    bits = a.dtype.itemsize * 8
    middle = np.uint64(1 << (bits - 1))

    def ordinal(array: Any) -> Any:
        raw = np.ascontiguousarray(array).view(f"uint{bits}").astype(np.uint64)
        size = raw & (middle - np.uint64(1))
        return np.where(raw & middle, middle - size, middle + size)

    x, y = ordinal(a), ordinal(b)
    return int((np.maximum(x, y) - np.minimum(x, y)).max())


def folder(path: str) -> tuple[str, str]:
    """Reference and output in a folder: `reference` and `output`, as folders or as files of tensors.

    Raises `InputError` where they are not there.
    """
    found = []
    for name in ("reference", "output"):
        there = [Path(path) / f"{name}{suffix}" for suffix in ("", *SUFFIXES)]
        place = next((file for file in there if file.exists()), None)
        if place is None:
            raise InputError(f"{path}: no {name} in it: it holds reference and output, as folders or files")
        found.append(str(place))
    return found[0], found[1]


def rows(details: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tensors, the worst first."""
    return sorted(details["tensors"], key=lambda row: (-row["nonfinite"], _float(row["cosine"])))


def _float(value: Any) -> float:
    return float(value) if value is not None else -2.0
