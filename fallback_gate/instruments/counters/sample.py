"""The annex: one reading of hardware counters, whatever tool took it, and numbers as tools print them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fallback_gate.errors import Unreadable


class Sample(NamedTuple):
    """One launch of a kernel, or one reading of a device: microseconds, per cent of the peaks, bytes."""

    name: str
    us: float
    dram_pct: float | None = None
    tensor_pct: float | None = None
    bytes: float | None = None


@dataclass(frozen=True, slots=True)
class Format:
    """What kind of file it is. `timed`: samples have a duration; else each counts the same."""

    name: str
    title: str
    unit: str
    names_kernels: bool = True
    timed: bool = True
    advice: str = ""
    notes: tuple[str, ...] = ()


def number(written: str) -> float | None:
    """A number with or without thousands commas; None for what is none, such as N/A."""
    try:
        value = float(written.replace(",", "").strip().rstrip("%"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def places(header: Sequence[str], *wanted: str) -> tuple[int, ...]:
    """Where these columns stand in a table. Raises `Unreadable` for a table without one of them."""
    if missing := [column for column in wanted if column not in header]:
        raise Unreadable(f"a table without the column {', '.join(missing)}")
    return tuple(header.index(column) for column in wanted)
