"""The annex: what DCGM says of a device: `dcgmi dmon`, and the exporter's metrics in Prometheus text.

dcgmi dmon       `#Entity` and columns of the fields asked for: SMCLK (100), MMCLK (101), DVCCTR or CLEVT
                 (112, the reasons as bits), GPUTL (203), XIDER (230, the last Xid), GRACT (1001, a fraction).
                 Not seen as a real file.
DCGM exporter    DCGM_FI_DEV_SM_CLOCK, DCGM_FI_DEV_MEM_CLOCK, DCGM_FI_DEV_GPU_UTIL,
                 DCGM_FI_DEV_CLOCK_THROTTLE_REASONS (now DCGM_FI_DEV_CLOCKS_EVENT_REASONS),
                 DCGM_FI_DEV_XID_ERRORS (the last one), DCGM_FI_DEV_ROW_REMAP_FAILURE. Not seen as a real
                 file.

Sources: dcgm_fields.h (fields and bits of the reasons), DCGM's user guide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from fallback_gate.instruments import dcgm
from fallback_gate.instruments.exclusions.seen import BUSY, Look, Seen
from fallback_gate.instruments.exclusions.tree import number

_BITS: Final = {  # idle (1), settings of clocks (2) and of the display (256) are no throttling
    0x4: "sw power cap",
    0x8: "hw slowdown",
    0x10: "sync boost",
    0x20: "sw thermal slowdown",
    0x40: "hw thermal slowdown",
    0x80: "hw power brake slowdown",
}
_BLANK: Final = 0x7FFFFFF0  # from here on a number means that there is none


def reasons(text: str | None) -> tuple[str, ...] | None:
    """The reasons that a number has as bits; None for no number."""
    try:
        bits = int(text or "", 0)
    except ValueError:
        try:
            bits = int(float(text or ""))
        except (ValueError, OverflowError):
            return None
    if not 0 <= bits < _BLANK:
        return None
    return tuple(name for bit, name in _BITS.items() if bits & bit)


def dmon(lines: Iterable[str], seen: Seen) -> None:
    """`dcgmi dmon`."""
    for name, row in dcgm.rows(lines):
        if not re.fullmatch(r"GPU \d+", name):
            continue
        part, use = number(row.get("GRACT")), number(row.get("GPUTL"))
        use = 100 * part if use is None and part is not None else use
        xid = number(row.get("XIDER"))
        seen.look(
            Look(
                name,
                busy=None if use is None else use >= BUSY,
                slowed=reasons(row.get("DVCCTR", row.get("CLEVT"))),
                clock=number(row.get("SMCLK")),
                memory_clock=number(row.get("MMCLK")),
                repairs=None if xid is None else _wrong(None, xid),
            )
        )


def _wrong(failed: float | None, xid: float | None) -> tuple[str, ...]:
    return (
        *(("a row of memory could not be remapped",) if failed else ()),
        *((f"Xid {xid:.0f}",) if xid else ()),
    )


def prometheus(lines: Iterable[str], seen: Seen) -> None:
    """The exporter's text."""

    def named(labels: Mapping[str, str]) -> str:
        name = f"GPU {labels.get('gpu', labels.get('UUID', '?'))}"[:60]
        if labels.get("modelName"):
            seen.names[name] = labels["modelName"][:100]
        return name

    for name, metrics in dcgm.looks(lines, named):
        _scraped(name, metrics, seen)


def _scraped(name: str, metrics: dict[str, str], seen: Seen) -> None:
    def value(*fields: str) -> str | None:
        return next((metrics[f"DCGM_FI_{field}"] for field in fields if f"DCGM_FI_{field}" in metrics), None)

    use = number(value("DEV_GPU_UTIL"))
    part = number(value("PROF_GR_ENGINE_ACTIVE"))
    use = 100 * part if use is None and part is not None else use
    failed, xid = number(value("DEV_ROW_REMAP_FAILURE")), number(value("DEV_XID_ERRORS"))
    seen.look(
        Look(
            name,
            busy=None if use is None else use >= BUSY,
            slowed=reasons(value("DEV_CLOCKS_EVENT_REASONS", "DEV_CLOCK_THROTTLE_REASONS")),
            clock=number(value("DEV_SM_CLOCK")),
            memory_clock=number(value("DEV_MEM_CLOCK")),
            repairs=None if failed is None and xid is None else _wrong(failed, xid),
        )
    )
