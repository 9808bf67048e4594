"""The annex, kernel traces: CSV tables, one kernel a row, or one kernel name with its sums.

    nsys stats --report cuda_gpu_trace      Start (ns), Duration (ns), CorrId, ..., Name
    nsys stats --report cuda_gpu_kern_sum   Total Time (ns), Instances, ..., Name
    rocprof                                 KernelName, BeginNs, EndNs, DurationNs
    rocprof --stats, rocprofv3 --stats      Name, Calls, TotalDurationNs
    rocprofv3 --kernel-trace                Kernel_Name, Start_Timestamp, End_Timestamp (ns)
    msprof op_summary                       Op Name, OP Type, Task Type, Task Start Time(us), ...
    torch_npu kernel_details                Name, Type, Accelerator Core, Start Time(us), Duration(us), ...
    msprof op_statistic                     OP Type, Core Type, Count, Total Time(us)

A row is known by its column names, whatever stands between them. On Ascend a task of type AI_CPU is an
operator that left the AI cores, and `aclnn...` is a call of one operator, as torch_npu makes them where no
graph was compiled: both count as eager, the `aclnn` calls of fused and matrix operators aside.

Sources: docs.nvidia.com/nsight-systems/UserGuide ("CLI stats report"); source/lib/output/generateCSV.cpp of
ROCm/rocprofiler-sdk at 00f9d2c, whose runtime copies and fills by kernels named `__amd_rocclr_...`;
hiascend.com ("msprof: op_summary", "kernel_details").
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fallback_gate.errors import Unreadable
from fallback_gate.instruments.text import Bytes
from fallback_gate.instruments.trace.kernels import EAGER, LIBRARY, OTHER, origin
from fallback_gate.instruments.trace.timeline import Span, Timeline, Total
from fallback_gate.sources.reader import Reader

_LINES_BEFORE = 200  # lines that may stand before the names of the columns
_COPIES = ("[CUDA memcpy", "[CUDA memset", "CopyDeviceTo", "CopyHostTo", "FillBuffer", "__amd_rocclr_")
_LIBRARY = re.compile(r"(?i)matmul|gemm|attention|conv|grouped|moe|rms_?norm|rope|swiglu|quant|hcom|hccl")
_AI_CPU = ("AI_CPU", "AICPU")


class Table(NamedTuple):
    """One kind of table: its format, the columns that make it known, and how many us their unit is."""

    format: str
    name: str
    start: str = ""
    end: str = ""
    time: str = ""
    calls: str = ""
    unit: float = 1e-3
    operator: str = ""
    core: str = ""
    step: str = ""

    @property
    def columns(self) -> set[str]:
        """The columns that must be there."""
        return {one for one in (self.name, self.start, self.end, self.time, self.calls, self.core) if one}


TABLES = (
    Table("nsys-csv", "Name", "Start (ns)", time="Duration (ns)"),
    Table("nsys-csv", "Name", time="Total Time (ns)", calls="Instances"),
    Table("rocprofv3-csv", "Kernel_Name", "Start_Timestamp", end="End_Timestamp"),
    Table("rocprof-csv", "KernelName", "BeginNs", end="EndNs"),
    Table("rocprof-csv", "Name", time="TotalDurationNs", calls="Calls"),
    Table(
        *("msprof-csv", "Op Name", "Task Start Time(us)"),
        time="Task Duration(us)", unit=1.0, operator="OP Type", core="Task Type",
    ),
    Table(
        *("msprof-csv", "Name", "Start Time(us)"),
        time="Duration(us)", unit=1.0, operator="Type", core="Accelerator Core", step="Step Id",
    ),
    Table("msprof-csv", "OP Type", time="Total Time(us)", calls="Count", unit=1.0, core="Core Type"),
)  # fmt: skip


def fill(timeline: Timeline, text: Reader) -> None:
    """Take the rows of a table; where it ends too early, what was there stands and `problem` says so."""
    lines = io.TextIOWrapper(io.BufferedReader(Bytes(text)), "utf-8-sig", "replace", newline="")
    steps: dict[str, list[float]] = {}
    try:
        rows = csv.reader(lines)
        found = _header(rows)
        if found is None:
            return
        table, names = found
        timeline.format = table.format
        for row in rows:
            if len(row) == len(names):
                _row(timeline, table, dict(zip(names, row, strict=True)), steps)
            elif row:
                timeline.problem = f"line {rows.line_num} has {len(row)} columns, and {len(names)} have names"
    except (csv.Error, ValueError) as error:
        timeline.problem = f"line {rows.line_num} can't be read: {error}"
    except Unreadable as problem:
        timeline.problem = str(problem)
    timeline.device_spans += [
        Span(f"Steps#{name}", times[0], times[1]) for name, times in steps.items() if len(steps) > 1
    ]


def _header(rows: Iterator[list[str]]) -> tuple[Table, list[str]] | None:
    """The table whose columns a line names."""
    for _, row in zip(range(_LINES_BEFORE), rows, strict=False):
        names = [name.strip() for name in row]
        table = next((table for table in TABLES if table.columns <= set(names)), None)
        if table is not None:
            return table, names
    return None


def _float(text: str) -> float:
    return float(text.strip().replace(",", "") or "nan")


def _row(timeline: Timeline, table: Table, row: Mapping[str, str], steps: dict[str, list[float]]) -> None:
    name = row[table.name]
    if name.startswith(_COPIES):
        return
    operator = row.get(table.operator, "") if table.operator else ""
    core = row[table.core] if table.core else ""
    if core:
        timeline.origins[name] = _ascend(name, core)
        timeline.named_operators[name] = operator or name
    if table.calls:
        timeline.totals.append(
            Total(name, int(_float(row[table.calls])), _float(row[table.time]) * table.unit)
        )
        return
    start = _float(row[table.start]) * table.unit
    time = _float(row[table.end]) * table.unit - start if table.end else _float(row[table.time]) * table.unit
    if start != start or time != time:
        return
    timeline.kernel(name, start, time, int(_float(row.get("CorrId") or "-1")))
    if table.step and (step := row.get(table.step, "").strip()):
        known = steps.setdefault(step, [start, start])
        known[0], known[1] = min(known[0], start), max(known[1], start)


def _ascend(name: str, core: str) -> str:
    """The origin of an Ascend task: the vendor's operator library, a compiler's kernel, or the CPU."""
    if core.strip().upper() in _AI_CPU or (name.startswith("aclnn") and not _LIBRARY.search(name)):
        return EAGER
    known = origin(name)
    return LIBRARY if known == OTHER else known
