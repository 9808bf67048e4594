"""Room 7: a roofline for a person: what bounds a kernel, and what a fusion can gain.

It takes the plain values of the JSON form (`instruments.roofline.data`); None is what was not asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fallback_gate.model.quantity import digits, shown
from fallback_gate.reports import layout, safe
from fallback_gate.reports.sheet import Sheet

_BOUND: Final = {
    "memory": "memory: bytes bound it, more arithmetic units would not help",
    "compute": "compute: arithmetic bounds it, fewer bytes would not help",
}


def text(told: Mapping[str, Any], claim: str | None, *, color: bool = False, width: int = 100) -> str:
    """The reading for a terminal; `claim` says what became of a claim."""
    sheet = Sheet(color=color, width=width, everything=True)
    return layout.finish(list(_lines(sheet, told, claim)))


def _lines(sheet: Sheet, told: Mapping[str, Any], claim: str | None) -> Iterator[str]:
    if claim:
        yield from layout.wrap(safe.inline(claim), sheet.width)
    if told["device"] is not None:
        yield from sheet.row("device", safe.inline(_device(told)))
        yield from sheet.row("", safe.inline(told["source"]))
        yield from sheet.row("balance", f"{digits(told['balance'])} FLOP/byte (peak over bandwidth)")
    fused = told["max_speedup"] is not None
    if told["bytes"] is not None and (told["flops"] or not fused):
        name = f"{told['work']}: " if told["work"] else ""
        intensity = "no byte" if told["intensity"] is None else f"{digits(told['intensity'])} FLOP/byte"
        work = f"{name}{shown(told['flops'], 'FLOP')}, {shown(told['bytes'], 'B')}: {intensity}"
        yield from sheet.row("work", safe.inline(work))
    if told["naive_intensity"] is not None:
        yield from sheet.row("", f"without any reuse: {digits(told['naive_intensity'])} FLOP/byte")
    if told["bound"] and not (fused and told["device"] is None):
        yield from sheet.row("bound", _BOUND[told["bound"]])
    if told["flops"] and told["attainable_flops"] is not None:
        yield from sheet.row("most", f"{shown(told['attainable_flops'], 'FLOPS')} of useful arithmetic")
    if told["seconds_at_least"] is not None:
        yield from sheet.row("least", f"{digits(told['seconds_at_least'] * 1e6)} us")
    if fused:
        moved = f"{shown(told['bytes_before'], 'B')} before, {shown(told['bytes_after'], 'B')} after"
        yield from sheet.row("fusion", f"at most {told['max_speedup']:.2f}x: {told['why']} ({moved})")


def _device(told: Mapping[str, Any]) -> str:
    kind = f"{told['dtype']}, {'2:4 sparse' if told['sparse'] else 'dense'}"
    rates = f"{shown(told['peak_flops'], 'FLOPS')}, {shown(told['bandwidth'], 'B/s')}"
    return f"{told['device']} ({kind}): {rates}"


def devices(table: Sequence[Mapping[str, Any]]) -> str:
    """The device table for a terminal: peaks, sparse in brackets, and balance by precision."""
    lines = []
    for one in table:
        lines.append(f"{one['name']}: {shown(one['bandwidth'], 'B/s')} ({one['basis']}: {one['source']})")
        for dtype, peak in one["peaks"].items():
            sparse = f" ({shown(peak['sparse'], 'FLOPS')} with 2:4 sparsity)" if peak["sparse"] else ""
            vector = ", vector units" if peak["vector"] else ""
            balance = f"{peak['dense'] / one['bandwidth']:.0f} FLOP/byte"
            rate = f"{shown(peak['dense'], 'FLOPS')} dense{sparse}{vector}"
            lines.append(f"  {dtype:<5} {rate}; balance {balance}")
    return "\n".join(lines)
