"""The annex: DCGM: the output of `dcgmi dmon`, and the exporter's metrics in Prometheus text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from fallback_gate.instruments.counters.sample import Sample, number
from fallback_gate.instruments.devices import Roof


def dmon(source: Iterator[str], device: Roof | None) -> Iterator[Sample]:
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


METRIC: Final = re.compile(r"(DCGM_FI_PROF_(?:PIPE_TENSOR\w*|DRAM|GR_ENGINE)_ACTIVE)\{([^}]*)\}\s+(\S+)")
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def prometheus(source: Iterator[str], device: Roof | None) -> Iterator[Sample]:
    """A scrape has each metric of each device once; one that comes again begins the next scrape."""
    seen: dict[str, dict[str, float]] = {}
    for line in source:
        found = METRIC.match(line)
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
