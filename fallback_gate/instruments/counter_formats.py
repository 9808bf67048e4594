"""The annex: files of hardware counters, each turned into samples of one shape.

Nsight Compute   `ncu --csv --page raw` (a row for each kernel, its second row the units) and plain `--csv`
                 (a row for each metric). Memory: `dram__throughput...pct_of_peak...` or "DRAM Throughput";
                 matrix units: `sm__pipe_tensor*_cycles_active...`, the busiest of them, else
                 `sm__inst_executed_pipe_tensor*`. Seen: 2025.3. The program's own output may stand before.
DCGM             `dcgmi dmon -e 1001,1004,1005` (columns GRACT, TENSO, DRAMA: fractions) and the exporter's
                 Prometheus text (`DCGM_FI_PROF_PIPE_TENSOR_ACTIVE`, `DCGM_FI_PROF_DRAM_ACTIVE`). Samples of
                 a device that does nothing are left out. It knows no kernels.
rocprof          rocprofv3's `*_counter_collection.csv` (a row for each counter) and rocprof's `results.csv`
                 (a column for each). Matrix units: `MfmaUtil`; memory: `FETCH_SIZE` and `WRITE_SIZE`, KiB,
                 held against the bandwidth of the device that is named.
msprof           `op_summary_*.csv` of CANN, `--aic-metrics=PipeUtilization`: `aic_mac_ratio` is the cube
                 unit; `aic_mte2_ratio` (or `aiv_mte2_ratio`), the time in which data come in from memory,
                 stands for the memory. With `main_mem_read_bw(GB/s)` and a device named, that is taken.

Sources: the Nsight Compute CLI documentation ("CSV output", "Metrics structure"), DCGM's field identifiers
(dcgm_fields.h) and user guide ("Profiling"), the rocprofv3 manual and derived_counters.xml, CANN's profiling
manual ("op_summary").
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

from fallback_gate.errors import InputError, Unreadable
from fallback_gate.instruments import text
from fallback_gate.instruments.devices import Roof

MOST_HEAD: Final = 20_000  # lines of other output before the table


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


NCU: Final = Format("ncu", "a table of Nsight Compute", "kernel", advice="collect with --csv --page raw")
DMON: Final = Format(
    "dcgmi dmon",
    "output of dcgmi dmon",
    "sample of a busy device",
    names_kernels=False,
    timed=False,
    advice="DCGM sees no kernels: profile a step with Nsight Compute to name them",
)
PROMETHEUS: Final = Format("dcgm prometheus", "metrics of DCGM", DMON.unit, False, False, DMON.advice)
ROCPROF: Final = Format(
    "rocprof", "counters of rocprof", "kernel", advice="collect MfmaUtil FETCH_SIZE WRITE_SIZE"
)
MSPROF: Final = Format(
    "msprof",
    "an op_summary of msprof",
    "operator",
    advice="collect with --aic-metrics=PipeUtilization",
    notes=("mte2_ratio, the time in which data come in from memory, stands for the memory's use",),
)


def recognise(path: str, device: Roof | None) -> tuple[Format, Iterator[Sample]]:
    """What the file is, and its samples, read as they are asked for.

    Raises `InputError` for a file of no known kind; the samples raise `Unreadable` where it ends early.
    """
    stream = text.lines(path)
    head: list[str] = []
    try:
        for line in stream:
            for looks, form, reader in _KINDS:
                if looks(line):
                    return form, reader(chain([line], stream), device)
            head.append(line[:200])
            if len(head) > MOST_HEAD:
                break
    except Unreadable as cut:
        raise InputError(f"{path}: {cut}") from None
    if any(re.match(r"#\s*gpu\s+.*\bsm\b.*\bmem\b", line) for line in head):
        raise InputError(
            f"{path}: nvidia-smi dmon counts no matrix units, and its mem is no bandwidth: record "
            "`dcgmi dmon -e 1001,1004,1005`"
        )
    raise InputError(
        f"{path}: no counters of Nsight Compute (CSV), dcgmi dmon, DCGM's Prometheus text, rocprof or msprof"
    )


def number(written: str) -> float | None:
    """A number with or without thousands commas; None for what is none, such as N/A."""
    try:
        value = float(written.replace(",", "").strip().rstrip("%"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


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


def _ncu(source: Iterator[str], device: Roof | None) -> Iterator[Sample]:
    table = text.rows(source)
    header = next(table)
    if "Metric Name" in header:
        yield from _ncu_long(header, table)
        return
    units = next(table, [])
    name = header.index("Kernel Name")
    wanted = [at for at, column in enumerate(header) if _is_wanted(column)]
    for row in table:
        if len(row) != len(header):
            if row:
                raise Unreadable(f"a row of {len(row)} columns in a table of {len(header)}")
            continue
        values = {header[at]: _scaled(row[at], units[at] if at < len(units) else "") for at in wanted}
        yield _ncu_sample(row[name], values)


def _ncu_long(header: list[str], table: Iterator[list[str]]) -> Iterator[Sample]:
    """A row for each metric: those of one launch follow each other."""
    launch, name, metric, unit, value = (
        header.index(column) for column in ("ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value")
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
            yield _ncu_sample(current[1], values)
            values = {}
        current = key
        if _is_wanted(row[metric]):
            values[row[metric]] = _scaled(row[value], row[unit])
    if current is not None:
        yield _ncu_sample(current[1], values)


def _is_wanted(column: str) -> bool:
    return column in (*_TIME, _MOVED, *_PARTS) or any(p.fullmatch(column) for p in (_DRAM, _CYCLES, _ISSUED))


def _scaled(written: str, unit: str) -> float | None:
    value, scale = number(written), _SCALE.get(unit.strip().lower())
    return None if value is None or scale is None else value * scale


def _ncu_sample(name: str, values: Mapping[str, float | None]) -> Sample:
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


def _dmon(source: Iterator[str], device: Roof | None) -> Iterator[Sample]:
    columns: list[str] = []
    for line in source:
        if line.lstrip().startswith("#"):
            columns = line.replace("#", " ").split()[1:]
            continue
        found = re.match(r"\s*(GPU(?:-[A-Z]+)?\s+\S+)\s+(.*)", line)
        if found is None:
            continue
        values = dict(zip(columns, map(number, found[2].split()), strict=False))
        sample = _device(found[1], values.get("DRAMA"), values.get("TENSO"), values.get("GRACT"))
        if sample:
            yield sample


def _device(name: str, dram: float | None, tensor: float | None, busy: float | None = None) -> Sample | None:
    """A reading of a device in fractions; None while it does nothing."""
    most = max((value for value in (dram, tensor, busy) if value is not None), default=None)
    if most is None or most < 0.05:
        return None
    per_cent = [None if value is None else 100 * value for value in (dram, tensor)]
    return Sample(" ".join(name.split()), 1.0, *per_cent)


_METRIC: Final = re.compile(r"(DCGM_FI_PROF_(?:PIPE_TENSOR\w*|DRAM|GR_ENGINE)_ACTIVE)\{([^}]*)\}\s+(\S+)")
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def _prometheus(source: Iterator[str], device: Roof | None) -> Iterator[Sample]:
    """A scrape has each metric of each device once; one that comes again begins the next scrape."""
    seen: dict[str, dict[str, float]] = {}
    for line in source:
        found = _METRIC.match(line)
        value = number(found[3]) if found else None
        if found is None or value is None:
            continue
        labels = dict(_LABEL.findall(found[2]))
        name = f"GPU {labels.get('gpu', labels.get('UUID', '?'))}"
        if "GPU_I_ID" in labels:
            name += f" MIG {labels['GPU_I_ID']}"
        metrics = seen.setdefault(name, {})
        if found[1] in metrics:
            sample = _scraped(name, metrics)
            metrics.clear()
            if sample:
                yield sample
        metrics[found[1]] = value
    for name, metrics in seen.items():
        sample = _scraped(name, metrics)
        if sample:
            yield sample


def _scraped(name: str, metrics: Mapping[str, float]) -> Sample | None:
    tensor = max((v for metric, v in metrics.items() if "PIPE_TENSOR" in metric), default=None)
    busy = metrics.get("DCGM_FI_PROF_GR_ENGINE_ACTIVE")
    return _device(name, metrics.get("DCGM_FI_PROF_DRAM_ACTIVE"), tensor, busy)


def _rocprof(source: Iterator[str], device: Roof | None) -> Iterator[Sample]:
    table = text.rows(source)
    header = next(table)
    if "Counter_Name" not in header:
        for row in _records(header, table):
            yield _rocprof_sample(
                row.get("KernelName", ""), row, row.get("BeginNs"), row.get("EndNs"), device
            )
        return
    dispatches: dict[str, tuple[dict[str, str], dict[str, str]]] = {}
    for row in _records(header, table):
        key = f"{row.get('Process_Id')}/{row.get('Agent_Id')}/{row.get('Dispatch_Id')}"
        dispatches.setdefault(key, (row, {}))[1][row["Counter_Name"]] = row.get("Counter_Value", "")
    for row, values in dispatches.values():
        ends = row.get("Start_Timestamp"), row.get("End_Timestamp")
        yield _rocprof_sample(row.get("Kernel_Name", ""), values, *ends, device)


def _rocprof_sample(
    name: str, values: Mapping[str, str], begin: str | None, end: str | None, device: Roof | None
) -> Sample:
    known = {counter.lower(): number(value) for counter, value in values.items()}
    start, stop = number(begin or ""), number(end or "")
    us = (stop - start) / 1e3 if start is not None and stop is not None and stop > start else None
    kibibytes = [
        known.get("fetch_size", known.get("fetchsize")),
        known.get("write_size", known.get("writesize")),
    ]
    moved = None if None in kibibytes else 1024 * sum(value for value in kibibytes if value is not None)
    dram = 100 * moved / (us * 1e-6) / device.bandwidth if moved is not None and us and device else None
    return Sample(name, us or 1.0, dram, known.get("mfmautil"), moved)


def _msprof(source: Iterator[str], device: Roof | None) -> Iterator[Sample]:
    table = text.rows(source)
    for row in _records(next(table), table):
        us = number(row.get("Task Duration(us)", ""))
        if us is None or row.get("Task Type", "").upper() in ("HCCL", "COMMUNICATION"):
            continue
        rates = [
            number(row.get(f"{core}main_mem_{way}_bw(GB/s)", ""))
            for core in ("", "aic_", "aiv_")
            for way in ("read", "write")
        ]
        there = [rate for rate in rates if rate is not None]
        dram = 100 * sum(there) * 1e9 / device.bandwidth if there and device else _ratio(row, "mte2_ratio")
        name = row.get("OP Type") or row.get("Op Name") or row.get("Name") or "?"
        moved = sum(there) * 1e9 * us * 1e-6 if there else None
        cube = _ratio(row, "mac_ratio", ("", "aic_"))
        if cube is None and row.get("Task Type", "").upper().replace(" ", "_") == "AI_VECTOR_CORE":
            cube = 0.0  # a vector core has no cube unit
        yield Sample(name, us, dram, cube, moved)


def _ratio(row: Mapping[str, str], name: str, cores: Sequence[str] = ("", "aic_", "aiv_")) -> float | None:
    values = [number(row.get(f"{core}{name}", "")) for core in cores]
    return max((100 * value for value in values if value is not None), default=None)


def _records(header: list[str], table: Iterator[list[str]]) -> Iterator[dict[str, str]]:
    names = [name.strip() for name in header]
    for row in table:
        if not row:
            continue
        if len(row) < len(names):
            raise Unreadable(f"a row of {len(row)} columns in a table of {len(names)}")
        yield dict(zip(names, row, strict=False))


def _columns(line: str, *wanted: str) -> bool:
    return "," in line and all(column in line for column in wanted)


_KINDS: Final[tuple[tuple[Callable[[str], bool], Format, Callable[..., Iterator[Sample]]], ...]] = (
    (lambda line: _columns(line, '"ID"', '"Kernel Name"'), NCU, _ncu),
    (lambda line: re.match(r"\s*#\s*Entity\b", line) is not None, DMON, _dmon),
    (lambda line: _METRIC.match(line) is not None, PROMETHEUS, _prometheus),
    (lambda line: _columns(line, "Kernel_Name", "Counter_Name"), ROCPROF, _rocprof),
    (lambda line: _columns(line, "KernelName", "gpu-id"), ROCPROF, _rocprof),
    (lambda line: _columns(line, "Task Duration(us)"), MSPROF, _msprof),
)
