"""Beside the vocabulary: amounts as people and data sheets write them: `437MB`, `3.35TB/s`, `990 TFLOPS`.

Prefixes are decimal (1 MB is 1,000,000 bytes) unless they have an i (1 MiB is 1,048,576). Case does not
matter, so a `b` is a byte: bits are nobody's unit here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

_DECIMAL: Final = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15, "e": 1e18}
_BINARY: Final = {f"{letter}i": 1024.0**power for power, letter in enumerate("kmgtpe", 1)}

_EITHER: Final = {**_DECIMAL, **_BINARY}
_BYTE: Final = ("b", "byte", "bytes")
_OPERATION: Final = ("flop", "flops", "op", "ops")
_RATES: Final = ("flops", "flop/s", "flops/s", "ops", "op/s", "ops/s")


def _units(prefixes: Mapping[str, float], names: tuple[str, ...]) -> dict[str, float]:
    return {f"{prefix}{name}": size for prefix, size in prefixes.items() for name in names} | {"": 1.0}


BYTES: Final[Mapping[str, float]] = _units(_EITHER, _BYTE)
BANDWIDTH: Final[Mapping[str, float]] = _units(_EITHER, tuple(f"{name}/s" for name in _BYTE))
FLOPS: Final[Mapping[str, float]] = _units(_DECIMAL, (*_OPERATION, ""))
RATE: Final[Mapping[str, float]] = _units(_DECIMAL, _RATES)

_WRITTEN: Final = re.compile(
    r"\s*([0-9][0-9_,]*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)\s*([a-z/]*)\s*", re.IGNORECASE
)
_GAIN: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([x%]?)\s*", re.ASCII)


def amount(text: str, units: Mapping[str, float]) -> float:
    """The amount in the base unit of `units` (bytes, bytes a second, FLOP, FLOP a second).

    Raises `ValueError` with what was wrong where it is none, or negative, or endless.
    """
    match = _WRITTEN.fullmatch(text)
    if not match or len(text) > 64:
        raise ValueError(f"{text[:64]!r} is no amount: write a number and a unit, such as {_example(units)}")
    unit = match[2].lower()
    if unit not in units:
        raise ValueError(f"{text!r} has an unknown unit {match[2]!r}: write it like {_example(units)}")
    value = float(match[1].replace(",", "").replace("_", "")) * units[unit]
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is too large")
    return value


def gain(text: str) -> float:
    """The factor of a gain: `2`, `2x` and `100%` are the same. Raises `ValueError` where it is none."""
    found = _GAIN.fullmatch(text) if len(text) <= 64 else None
    if not found or float(found[1]) == 0:
        raise ValueError(f"{text[:64]!r} is no gain: write it as 1.15x or 15%")
    return 1 + float(found[1]) / 100 if found[2] == "%" else float(found[1])


def kernel(text: str) -> tuple[float, float]:
    """FLOP and bytes of `FLOP:BYTES`. Raises `ValueError` where it is none."""
    flops, colon, moved = text.partition(":")
    if not colon:
        raise ValueError(f"{text[:64]!r} is not FLOP:BYTES, such as 0:1.07GB")
    return amount(flops, FLOPS), amount(moved, BYTES)


def _example(units: Mapping[str, float]) -> str:
    return {id(BYTES): "437MB", id(BANDWIDTH): "3.35TB/s", id(FLOPS): "137GFLOP"}.get(id(units), "990TFLOPS")


def shown(value: float, unit: str) -> str:
    """An amount with a decimal prefix and three digits that count: `3.35 TB/s`."""
    for prefix, size in (("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{digits(value / size)} {prefix}{unit}"
    return f"{digits(value)} {unit}"


def digits(value: float) -> str:
    """A number with three or four digits that count, and no exponent from a thousandth to a million."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    whole = abs(value)
    if whole >= 100:
        return f"{value:,.1f}" if whole < 10_000 else f"{value:,.0f}"
    return f"{value:.2f}" if whole >= 1 else f"{value:.3g}"
