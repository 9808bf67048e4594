"""The annex: Nsight Compute's CSV: a row for each kernel (`--page raw`), or a row for each metric."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from fallback_gate.errors import Unreadable
from fallback_gate.instruments import text
from fallback_gate.instruments.counters.sample import Sample, number, places
from fallback_gate.instruments.devices import Roof

_SCALE: Final[Mapping[str, float]] = {
    **{
        "nsecond": 1e-3,
        "ns": 1e-3,
        "usecond": 1.0,
        "us": 1.0,
        "msecond": 1e3,
        "ms": 1e3,
        "second": 1e6,
        "s": 1e6,
    },
    **{"byte": 1.0, "kbyte": 1e3, "mbyte": 1e6, "gbyte": 1e9, "tbyte": 1e12},
    **{"": 1.0, "%": 1.0},
}
_DRAM: Final = re.compile(r"(?:gpu__)?dram__?throughput\.avg\.pct_of_peak_sustained_elapsed|DRAM Throughput")
_CYCLES: Final = re.compile(
    r"sm__pipe_tensor\w*_cycles_active\.avg\.pct_of_peak_sustained_(?:active|elapsed)"
)
_ISSUED: Final = re.compile(
    r"sm__inst_executed_pipe_tensor\w*\.avg\.pct_of_peak_sustained_(?:active|elapsed)"
)
_TIME: Final = ("gpu__time_duration.sum", "Duration")
_MOVED: Final = "dram__bytes.sum"
_PARTS: Final = ("dram__bytes_read.sum", "dram__bytes_write.sum")


def samples(source: Iterator[str], device: Roof | None) -> Iterator[Sample]:
    """The launches in a table. Raises `Unreadable` where a row is not whole."""
    table = text.rows(source)
    header = next(table)
    if "Metric Name" in header:
        yield from _long(header, table)
        return
    units = next(table, [])
    (name,) = places(header, "Kernel Name")
    wanted = [at for at, column in enumerate(header) if _is_wanted(column)]
    for row in table:
        if len(row) != len(header):
            if row:
                raise Unreadable(f"a row of {len(row)} columns in a table of {len(header)}")
            continue
        values = {header[at]: _scaled(row[at], units[at] if at < len(units) else "") for at in wanted}
        yield _sample(row[name], values)


def _long(header: list[str], table: Iterator[list[str]]) -> Iterator[Sample]:
    """A row for each metric: those of one launch follow each other."""
    launch, name, metric, unit, value = places(
        header, "ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value"
    )
    current: tuple[str, str] | None = None
    values: dict[str, float | None] = {}
    for row in table:
        if len(row) != len(header):
            if row:
                raise Unreadable(f"a row of {len(row)} columns in a table of {len(header)}")
            continue
        key = (row[launch], row[name])
        if current is not None and key != current:
            yield _sample(current[1], values)
            values = {}
        current = key
        if _is_wanted(row[metric]):
            values[row[metric]] = _scaled(row[value], row[unit])
    if current is not None:
        yield _sample(current[1], values)


def _is_wanted(column: str) -> bool:
    return column in (*_TIME, _MOVED, *_PARTS) or any(p.fullmatch(column) for p in (_DRAM, _CYCLES, _ISSUED))


def _scaled(written: str, unit: str) -> float | None:
    value, scale = number(written), _SCALE.get(unit.strip().lower())
    return None if value is None or scale is None else value * scale


def _sample(name: str, values: Mapping[str, float | None]) -> Sample:
    def most(pattern: re.Pattern[str]) -> float | None:
        there = [value for column, value in values.items() if value is not None and pattern.fullmatch(column)]
        return max(there, default=None)

    time = next((values[column] for column in _TIME if values.get(column) is not None), None)
    moved, parts = values.get(_MOVED), [values.get(part) for part in _PARTS]
    if moved is None and None not in parts:
        moved = sum(part for part in parts if part is not None)
    tensor = most(_CYCLES)
    return Sample(
        name, 1.0 if time is None else time, most(_DRAM), most(_ISSUED) if tensor is None else tensor, moved
    )
