"""The annex: tables of rocprof and rocprofv3, and of CANN's msprof."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fallback_gate.errors import Unreadable
from fallback_gate.instruments import text
from fallback_gate.instruments.counters.sample import Sample, number
from fallback_gate.instruments.devices import Roof


def rocprof(source: Iterator[str], device: Roof | None) -> Iterator[Sample]:
    """The dispatches in a table; bytes are held against the bandwidth of the device that is named."""
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


def msprof(source: Iterator[str], device: Roof | None) -> Iterator[Sample]:
    """The tasks in an op_summary, communication aside."""
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
