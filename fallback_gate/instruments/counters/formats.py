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

Sources: the Nsight Compute CLI documentation ("CSV output", "Metrics structure") and files of 2025.3; DCGM's
field identifiers (dcgm_fields.h), user guide ("Profiling") and output of dcgmi dmon 3.3.9, whose first sample
is `N/A`; source/lib/output/generateCSV.cpp of ROCm/rocprofiler-sdk at 00f9d2c and derived_counters.xml;
CANN's profiling manual ("op_summary").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

from fallback_gate.errors import InputError, Unreadable
from fallback_gate.instruments import text
from fallback_gate.instruments.counters import dcgm, ncu, tables
from fallback_gate.instruments.counters.sample import Format, Sample
from fallback_gate.instruments.dcgm import ENTITY
from fallback_gate.instruments.devices import Roof

MOST_HEAD: Final = 20_000  # lines of other output before the table

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


def _columns(line: str, *wanted: str) -> bool:
    return "," in line and all(column in line for column in wanted)


_KINDS: Final[tuple[tuple[Callable[[str], bool], Format, Callable[..., Iterator[Sample]]], ...]] = (
    (lambda line: _columns(line, '"ID"', '"Kernel Name"'), NCU, ncu.samples),
    (lambda line: ENTITY.match(line) is not None, DMON, dcgm.dmon),
    (dcgm.counts, PROMETHEUS, dcgm.prometheus),
    (lambda line: _columns(line, "Kernel_Name", "Counter_Name"), ROCPROF, tables.rocprof),
    (lambda line: _columns(line, "KernelName", "gpu-id"), ROCPROF, tables.rocprof),
    (lambda line: _columns(line, "Task Duration(us)"), MSPROF, tables.msprof),
)
