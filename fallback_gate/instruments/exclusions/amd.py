"""The annex: what AMD's tools say of a device: `amd-smi metric`, as text or JSON, and `rocm-smi`.

amd-smi metric   a tree for each `GPU: N`: USAGE GFX_ACTIVITY, CLOCK GFX_0 CLK and MAX_CLK, THROTTLE
                 *_VIOLATION_STATUS (or _ACTIVE), ECC TOTAL_UNCORRECTABLE_COUNT. Each field is N/A where the
                 device has none: then nothing is ruled out.
rocm-smi         the table (SCLK, MCLK, GPU%), or lines `GPU[0] : sclk clock level: 8: (2100Mhz)`. It tells no
                 reasons, and the most that a clock reaches only with `-s`.

Not seen as real files of ours. Sources: AMD SMI's change log (which prints the output of each release), and
output that others published, of ROCm 4 to 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from fallback_gate.instruments.exclusions.seen import BUSY, Look, Seen
from fallback_gate.instruments.exclusions.tree import MOST_FACTS, Facts, flat, leaves, number, total

DEVICE: Final = re.compile(r"GPU: \d+\s*$")
ROCM: Final = re.compile(r"= ROCm System Management Interface =|GPU\[\d{1,4}\]\s{0,20}: ")
LONGEST: Final = 400  # characters of a row of rocm-smi's table
_STATUS: Final = re.compile(r"(?P<reason>.+?)(?: violation)? (?:violation status|violation active)")
_TABLE: Final = re.compile(r"\s*(\d+)\s.*?(\d+)Mhz\s+(\d+)Mhz\b.*?(\d+)%\s*$", re.IGNORECASE)
_LINE: Final = re.compile(r"\s*GPU\[(\d+)\]\s*:\s*(.*)")
_YES: Final = {"active": True, "true": True, "not active": False, "false": False}


def metric(lines: Iterator[str], seen: Seen) -> None:
    """`amd-smi metric` as text."""
    facts: Facts = {}
    device = ""
    for blanks, path, value in leaves(lines):
        if not blanks and path[0] == "gpu" and value:
            _take(device, facts, seen)
            device = value
        elif value and len(facts) < MOST_FACTS:
            facts[path] = value
    _take(device, facts, seen)


def documents(value: object) -> list[dict[str, Any]]:
    """The devices of `amd-smi metric --json`; none where it is another document."""
    inner = value.get("gpu_data") if isinstance(value, dict) else value
    found = inner if isinstance(inner, list) else [inner]
    return [one for one in found if isinstance(one, dict) and "gpu" in one]


def metric_json(devices: Iterable[dict[str, Any]], seen: Seen) -> None:
    """`amd-smi metric --json`."""
    for one in devices:
        facts: Facts = {}
        for path, value in flat({key: inner for key, inner in one.items() if key != "gpu"}):
            if len(facts) < MOST_FACTS:
                facts.setdefault(path, value)
        _take(str(one["gpu"]), facts, seen)


def _take(device: str, facts: Facts, seen: Seen) -> None:
    if device and facts:
        seen.look(_read(f"GPU {device}"[:60], facts))
    facts.clear()


def _read(name: str, facts: Facts) -> Look:
    told: dict[str, bool] = {}
    for path, value in facts.items():
        status = _STATUS.fullmatch(path[-1]) if path[0] == "throttle" else None
        if status and value.casefold() in _YES and not status["reason"].startswith("low utilization"):
            told[status["reason"]] = _YES[value.casefold()]
        if path == ("power", "throttle status") and value.casefold() in ("throttled", "unthrottled"):
            told["throttle status"] = value.casefold() == "throttled"
    use = number(facts.get(("usage", "gfx activity")))

    def clock(part: str, key: str) -> float | None:
        values = (
            number(text)
            for path, text in facts.items()
            if len(path) == 3 and path[0] == "clock" and path[1].split(" ")[0] == part and path[2] == key
        )
        return max((value for value in values if value is not None), default=None)

    return Look(
        name,
        busy=None if use is None else use >= BUSY,
        slowed=tuple(reason for reason, on in told.items() if on) if told else None,
        clock=clock("gfx", "clk"),
        top=clock("gfx", "max clk"),
        memory_clock=clock("mem", "clk"),
        memory_top=clock("mem", "max clk"),
        uncorrected=total(facts, lambda path: path == ("ecc", "total uncorrectable count")),
    )


def rocm(lines: Iterable[str], seen: Seen) -> None:
    """`rocm-smi`: the table, or lines for each device."""
    told: dict[str, dict[str, float]] = {}
    listing = ""
    for line in lines:
        row = _TABLE.match(line[:LONGEST])
        if row:
            use = float(row[4])
            seen.look(Look(f"GPU {row[1]}", use >= BUSY, clock=float(row[2]), memory_clock=float(row[3])))
            continue
        found = _LINE.match(line)
        if found is None:
            continue
        facts, text = told.setdefault(found[1], {}), found[2].casefold()
        listing = text if "supported" in text else listing
        level = re.fullmatch(r"(\d+): (\d+)mhz(?: \*)?", text.strip())
        if level and "supported sclk" in listing:
            facts["top"] = max(float(level[2]), facts.get("top", 0.0))
        for key, pattern in (
            ("clock", r"sclk clock (?:level|speed).*?\((\d+)mhz\)"),
            ("memory", r"mclk clock (?:level|speed).*?\((\d+)mhz\)"),
            ("use", r"gpu use \(%\): (\d+)"),
        ):
            value = re.match(pattern, text)
            if value:
                facts[key] = float(value[1])
    for device, facts in told.items():
        busy = facts["use"] >= BUSY if "use" in facts else None
        seen.look(
            Look(
                f"GPU {device}"[:60],
                busy,
                clock=facts.get("clock"),
                top=facts.get("top"),
                memory_clock=facts.get("memory"),
            )
        )
