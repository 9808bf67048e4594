"""The annex: what DCGM counts of a device, or of a part of one: use of its memory and of its matrix units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from fallback_gate.instruments import dcgm
from fallback_gate.instruments.counters.sample import Sample, number
from fallback_gate.instruments.devices import Roof

_WANTED: Final = re.compile(r"DCGM_FI_PROF_(?:PIPE_TENSOR\w*|DRAM|GR_ENGINE)_ACTIVE")


def counts(line: str) -> bool:
    """Whether a line is a metric of these."""
    found = dcgm.METRIC.match(line)
    return found is not None and _WANTED.fullmatch(found[1]) is not None


def dmon(source: Iterator[str], device: Roof | None) -> Iterator[Sample]:
    """The samples of `dcgmi dmon`."""
    for name, row in dcgm.rows(source):
        dram, tensor, busy = (number(row.get(column, "")) for column in ("DRAMA", "TENSO", "GRACT"))
        if sample := _sample(name, dram, tensor, busy):
            yield sample


def prometheus(source: Iterator[str], device: Roof | None) -> Iterator[Sample]:
    """The samples of the exporter's text, one for each look."""
    for name, metrics in dcgm.looks(source, _named, _WANTED):
        told = {metric: value for metric, text in metrics.items() if (value := number(text)) is not None}
        tensor = max((value for metric, value in told.items() if "PIPE_TENSOR" in metric), default=None)
        dram, busy = (told.get(f"DCGM_FI_PROF_{part}_ACTIVE") for part in ("DRAM", "GR_ENGINE"))
        if sample := _sample(name, dram, tensor, busy):
            yield sample


def _named(labels: Mapping[str, str]) -> str:
    part = f" MIG {labels['GPU_I_ID']}" if "GPU_I_ID" in labels else ""
    return f"GPU {labels.get('gpu', labels.get('UUID', '?'))}{part}"


def _sample(name: str, dram: float | None, tensor: float | None, busy: float | None) -> Sample | None:
    """A reading of a device in fractions; None while it does nothing."""
    most = max((value for value in (dram, tensor, busy) if value is not None), default=None)
    if most is None or most < 0.05:
        return None
    return Sample(name, 1.0, *(None if value is None else 100 * value for value in (dram, tensor)))
