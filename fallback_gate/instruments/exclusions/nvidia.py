"""The annex: what NVIDIA's tools say of a device: `nvidia-smi -q`, as text or XML, and `nvidia-smi dmon`.

nvidia-smi -q    a tree for each device, also of several runs in one file (`-l 5`). "Clocks Event Reasons" was
                 "Clocks Throttle Reasons" before driver 535; "Idle" and settings of the application are no
                 throttling. "Clocks Event Reasons Counters" add up since the driver was loaded. Seen: driver
                 580 (a real file); XML (`-x`), ECC and remapped rows as in nvsmi_device_v12.dtd and in files
                 of drivers 470 to 570 that others published.
nvidia-smi dmon  `# gpu pwr ... sm ... mclk pclk`, with `-s v` also pviol (per cent of the time) and tviol,
                 with `-s e` dbecc. Seen: driver 580, `-s pucm` (real files); the others as published.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from fallback_gate.errors import Unreadable
from fallback_gate.instruments.exclusions.seen import BUSY, Look, Seen
from fallback_gate.instruments.exclusions.tree import MOST_FACTS, Facts, leaves, number, plain, total

HEAD: Final = "=NVSMI LOG="
DEVICE: Final = re.compile(r"gpu [0-9a-f]{8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")
DMON: Final = re.compile(r"#(?:Date\s+)?(?:\s*Time\s+)?\s*gpu\s", re.IGNORECASE)
_NO_THROTTLING: Final = frozenset(
    {"idle", "gpu idle", "applications clocks setting", "display clock setting", "display clocks setting"}
)
_REASONS: Final = re.compile(r"clocks? (?:event|throttle) reasons?")
_BROKEN: Final = {  # path's end: what is wrong where it says yes
    "pending": "a row of memory waits to be remapped",
    "remapped row pending": "a row of memory waits to be remapped",
    "remapping failure occurred": "a row of memory could not be remapped",
    "remapped row failure": "a row of memory could not be remapped",
    "sram threshold exceeded": "errors of the SRAM are above their threshold",
    "pending page blacklist": "a page of memory waits to be retired",
}


def query(lines: Iterator[str], seen: Seen) -> None:
    """`nvidia-smi -q` as text."""
    facts: Facts = {}
    at = -1
    for blanks, path, value in leaves(lines):
        if HEAD in path[-1].upper():
            _look(facts, at, seen)
            at = -1
        elif not blanks and DEVICE.fullmatch(path[0]) and value is None:
            _look(facts, at, seen)
            at += 1
        elif not blanks and value and path == ("driver version",):
            seen.drivers["nvidia"] = value[:60]
        elif not blanks and value and path == ("cuda version",):
            seen.drivers["cuda"] = value[:60]
        elif at >= 0 and value and len(path) > 1 and len(facts) < MOST_FACTS:
            facts[path[1:]] = value
    _look(facts, at, seen)


def xml(document: str, seen: Seen) -> None:
    """`nvidia-smi -q -x`. Raises `Unreadable` for what is no such document."""
    from xml.etree import ElementTree

    if "<!ENTITY" in document:
        raise Unreadable("an XML document that defines entities, which nvidia-smi never does")
    try:
        root = ElementTree.fromstring(document)
    except (ElementTree.ParseError, RecursionError) as wrong:
        raise Unreadable(f"no whole XML document of nvidia-smi: {wrong}") from None
    for tag, name in (("driver_version", "nvidia"), ("cuda_version", "cuda")):
        said = (root.findtext(tag) or "").strip()
        if said:
            seen.drivers[name] = said[:60]
    for at, device in enumerate(root.iter("gpu")):
        facts: Facts = {}
        todo: list[tuple[tuple[str, ...], ElementTree.Element]] = [((), device)]
        while todo:
            path, element = todo.pop()
            for inner in element:
                key = (*path, plain(inner.tag))
                text = (inner.text or "").strip()
                if len(inner):
                    todo.append((key, inner))
                elif text and len(facts) < MOST_FACTS:
                    facts[key] = text
        _look(facts, at, seen)


def _look(facts: Facts, at: int, seen: Seen) -> None:
    """Hand over what one device said, and forget it."""
    if facts and at >= 0:
        look = _read(facts, at)
        seen.look(look)
        if name := facts.get(("product name",)):
            seen.names[look.device] = name[:100]
    facts.clear()


def _read(facts: Facts, at: int) -> Look:
    minor = facts.get(("minor number",), "")
    active = {_reason(path): value for path, value in facts.items() if _is_reason(path)}
    known = {
        reason: value.casefold() == "active"
        for reason, value in active.items()
        if value.casefold() in ("active", "not active")
    }
    idle = known.get("idle", False) or known.get("gpu idle", False)
    use = number(_first(facts, ("utilization", "gpu"), ("utilization", "gpu util")))
    slowed = tuple(reason for reason, on in known.items() if on and reason not in _NO_THROTTLING)
    return Look(
        f"GPU {minor if minor.isdecimal() else at}",
        busy=None if use is None and not known else not idle and (use is None or use >= BUSY),
        slowed=slowed if known else None,
        clock=number(_first(facts, ("clocks", "sm"), ("clocks", "sm clock"))),
        top=number(_first(facts, ("max clocks", "sm"), ("max clocks", "sm clock"))),
        memory_clock=number(_first(facts, ("clocks", "memory"), ("clocks", "mem clock"))),
        memory_top=number(_first(facts, ("max clocks", "memory"), ("max clocks", "mem clock"))),
        uncorrected=total(facts, _is_uncorrected),
        repairs=_repairs(facts),
        spent={
            _reason(path): time
            for path, value in facts.items()
            if _is_counter(path) and (time := number(value)) is not None
        },
    )


def _first(facts: Facts, *paths: tuple[str, ...]) -> str | None:
    return next((facts[path] for path in paths if path in facts), None)


def _is_reason(path: tuple[str, ...]) -> bool:
    return len(path) > 1 and _REASONS.fullmatch(path[0]) is not None


def _is_counter(path: tuple[str, ...]) -> bool:
    return len(path) > 1 and path[0].endswith("reasons counters")


def _reason(path: tuple[str, ...]) -> str:
    """The last key without what XML puts in front of it."""
    return re.sub(r"^clocks? (?:event|throttle) reasons? (?:counters )?", "", path[-1])


def _is_uncorrected(path: tuple[str, ...]) -> bool:
    """A count of errors that ECC could not correct, since the last reset."""
    if path[:2] != ("ecc errors", "volatile"):
        return False
    return "uncorrectable" in path[-1] or path[2:] == ("double bit", "total")


def _repairs(facts: Facts) -> tuple[str, ...] | None:
    told = {
        path[-1]: value
        for path, value in facts.items()
        if path[-1] in _BROKEN and path[0] in ("remapped rows", "retired pages", "ecc errors")
    }
    told = {key: value for key, value in told.items() if value.casefold() in ("yes", "no")}
    broken = (_BROKEN[key] for key, value in told.items() if value.casefold() == "yes")
    return tuple(dict.fromkeys(broken)) if told else None


def dmon(lines: Iterable[str], seen: Seen) -> None:
    """`nvidia-smi dmon`."""
    columns: list[str] = []
    for line in lines:
        if line.lstrip().startswith("#"):
            words = line.replace("#", " ").split()
            columns = words if "gpu" in words else columns
            continue
        row = dict(zip(columns, line.split(), strict=False))
        if not row.get("gpu", "").isdecimal():
            continue
        power, heat = number(row.get("pviol")), number(row.get("tviol"))
        told = [(power, "power violation"), (heat, "thermal violation")]
        use = number(row.get("sm"))
        seen.look(
            Look(
                f"GPU {row['gpu']}",
                busy=None if use is None else use >= BUSY,
                slowed=tuple(reason for value, reason in told if value)
                if power is not None or heat is not None
                else None,
                clock=number(row.get("pclk")),
                memory_clock=number(row.get("mclk")),
                uncorrected=number(row.get("dbecc")),
            )
        )
