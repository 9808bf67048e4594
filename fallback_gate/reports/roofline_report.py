"""Room 7: a roofline, for a person and for programs. Keys of the JSON form are there always."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, Final

from fallback_gate.instruments.devices import Device, described
from fallback_gate.instruments.quantity import digits, shown
from fallback_gate.instruments.roofline import Reading
from fallback_gate.reports import layout, safe
from fallback_gate.reports.sheet import Sheet

SCHEMA: Final = "fallback-gate/roofline-1"
_BOUND: Final = {
    "memory": "memory: bytes bound it, more arithmetic units would not help",
    "compute": "compute: arithmetic bounds it, fewer bytes would not help",
}


def data(reading: Reading) -> dict[str, Any]:
    """The JSON form as plain values; what was not asked for is null."""
    roof, work, saved = reading.roof, reading.work, reading.fusion
    return {
        "schema": SCHEMA,
        "device": roof.device if roof else None,
        "dtype": roof.dtype if roof else None,
        "sparse": roof.sparse if roof else None,
        "source": roof.source if roof else None,
        "peak_flops": roof.peak if roof else None,
        "bandwidth": roof.bandwidth if roof else None,
        "balance": roof.balance if roof else None,
        "flops": work.flops if work else None,
        "bytes": work.bytes if work else None,
        "intensity": _number(work.intensity) if work else None,
        "naive_intensity": _number(reading.naive.intensity) if reading.naive else None,
        "bound": reading.bound,
        "attainable_flops": _number(reading.attainable),
        "seconds_at_least": _number(reading.seconds),
        "max_speedup": saved.max_speedup if saved else None,
        "bytes_before": sum(work.bytes for work in saved.before) if saved else None,
        "bytes_after": saved.after.bytes if saved else None,
        "why": saved.why if saved else None,
        "claim": reading.claim,
        "claim_over_bound": reading.claim_over_bound,
    }


def as_json(reading: Reading, outcome: dict[str, Any]) -> str:
    """The reading, and what became of a claim."""
    return json.dumps({**data(reading), **outcome}, indent=2, ensure_ascii=False)


def text(reading: Reading, told: str | None, *, color: bool = False, width: int = 100) -> str:
    """The reading for a terminal; `told` says what became of a claim."""
    sheet = Sheet(color=color, width=width, everything=True)
    return layout.finish(list(_lines(sheet, reading, told)))


def _lines(sheet: Sheet, reading: Reading, told: str | None) -> Iterator[str]:
    if told:
        yield from layout.wrap(safe.inline(told), sheet.width)
    if reading.roof:
        yield from sheet.row("device", safe.inline(described(reading.roof)))
        yield from sheet.row("", safe.inline(reading.roof.source))
        yield from sheet.row("balance", f"{digits(reading.roof.balance)} FLOP/byte (peak over bandwidth)")
    if reading.work and (reading.work.flops or not reading.fusion):
        yield from sheet.row("work", safe.inline(_work(reading)))
    if reading.naive:
        yield from sheet.row("", f"without any reuse: {digits(reading.naive.intensity)} FLOP/byte")
    if reading.bound and not (reading.fusion and not reading.roof):
        yield from sheet.row("bound", _BOUND[reading.bound])
    if reading.attainable is not None and math.isfinite(reading.attainable) and reading.work:
        if reading.work.flops:
            yield from sheet.row("most", f"{shown(reading.attainable, 'FLOPS')} of useful arithmetic")
        yield from sheet.row("least", f"{digits((reading.seconds or 0) * 1e6)} us")
    if reading.fusion:
        saved = reading.fusion
        before = sum(work.bytes for work in saved.before)
        kinds = f"{shown(before, 'B')} before, {shown(saved.after.bytes, 'B')} after"
        yield from sheet.row("fusion", f"at most {saved.max_speedup:.2f}x: {saved.why} ({kinds})")


def _work(reading: Reading) -> str:
    work = reading.work
    assert work is not None
    name = f"{work.name}: " if work.name else ""
    return f"{name}{shown(work.flops, 'FLOP')}, {shown(work.bytes, 'B')}: {digits(work.intensity)} FLOP/byte"


def devices(table: tuple[Device, ...]) -> str:
    """The device table for a terminal: dense peak (sparse in brackets) and balance by precision."""
    lines = []
    for device in table:
        lines.append(f"{device.name}: {shown(device.bandwidth, 'B/s')} ({device.basis}: {device.source})")
        for dtype, peak in device.peaks.items():
            sparse = f" ({shown(peak.sparse, 'FLOPS')} with 2:4 sparsity)" if peak.sparse else ""
            vector = ", vector units" if peak.vector else ""
            balance = f"{peak.dense / device.bandwidth:.0f} FLOP/byte"
            lines.append(
                f"  {dtype:<5} {shown(peak.dense, 'FLOPS')} dense{sparse}{vector}; balance {balance}"
            )
    return "\n".join(lines)


def devices_json(table: tuple[Device, ...]) -> str:
    """The device table for programs, in FLOP and bytes a second."""
    rows = [
        {
            "name": device.name,
            "aliases": list(device.aliases),
            "bandwidth": device.bandwidth,
            "basis": device.basis,
            "source": device.source,
            "peaks": {
                dtype: {"dense": peak.dense, "sparse": peak.sparse, "vector": peak.vector}
                for dtype, peak in device.peaks.items()
            },
        }
        for device in table
    ]
    return json.dumps({"schema": "fallback-gate/devices-1", "devices": rows}, indent=2, ensure_ascii=False)


def _number(value: float | None) -> float | None:
    """A number that JSON has."""
    return value if value is not None and math.isfinite(value) else None
