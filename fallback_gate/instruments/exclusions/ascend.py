"""The annex: what `npu-smi` says of a device.

npu-smi info            the table: Name, Health, AICore(%), and the tool's version, which is the driver's.
npu-smi info -t common  `Aicore Freq(MHZ)` is the rated clock, `Aicore curFreq(MHZ)` the clock now, `Aicore
                        Usage Rate(%)` whether it is at work. An idle 910B stands at 800 of 1800 MHz.
npu-smi info -t ecc     `HBM Double Bit Error Count`, which nothing corrects.
npu-smi info -t health  `Health Status` (or `Health`): OK, Warning, Alarm, Critical.

It tells no reasons of throttling: only the clock under load does. Not seen as real files of ours. Sources:
the npu-smi command reference (Atlas A2), the source of npu-smi's printing (DCMI), output that others
published.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from fallback_gate.instruments.exclusions.seen import BUSY, Look, Seen
from fallback_gate.instruments.exclusions.tree import MOST_FACTS, Facts, number, plain, split

HEAD: Final = re.compile(r"\| npu-smi (?P<version>\S+)\s+Version: \S+|\s*NPU ID\s+: \d+\s*$")
_NAMED: Final = re.compile(
    r"\| (\d+)\s+(\S+)\s*\| (OK|Warning|Alarm|Critical|UNKNOWN|Offline)\s*\|", re.IGNORECASE
)
_CHIP: Final = re.compile(r"\| (\d+)\s+(?:\d+\s+)?\| [0-9A-F:.]+\s*\| (\d+)\s", re.IGNORECASE)


def smi(lines: Iterable[str], seen: Seen) -> None:
    """All that `npu-smi info` prints, in any order."""
    device, npu = "", ""
    facts: Facts = {}
    for line in lines:
        head = HEAD.match(line)
        if head and head["version"]:
            seen.drivers["ascend"] = head["version"][:60]
        named = _NAMED.match(line)
        if named:
            npu = named[1]
            seen.names[f"NPU {npu}"] = named[2][:100]
            bad = named[3].casefold() != "ok"
            seen.look(Look(f"NPU {npu}", repairs=(f"health is {named[3]}",) if bad else ()))
            continue
        chip = _CHIP.match(line)
        if chip and npu:
            seen.look(Look(f"NPU {npu}", busy=float(chip[2]) >= BUSY))
            continue
        name, value = split(line)
        key = plain(name)
        if not value or len(facts) >= MOST_FACTS:
            continue
        if key == "npu id":
            _take(device, facts, seen)
            device = value
        facts.setdefault((key,), value)
    _take(device, facts, seen)


def _take(device: str, facts: Facts, seen: Seen) -> None:
    if device and facts:
        use = number(facts.get(("aicore usage rate(%)",)))
        health = facts.get(("health status",), facts.get(("health",)))
        bad = health is not None and health.casefold() != "ok"
        seen.look(
            Look(
                f"NPU {device}"[:60],
                busy=None if use is None else use >= BUSY,
                clock=number(facts.get(("aicore curfreq(mhz)",))),
                top=number(facts.get(("aicore freq(mhz)",))),
                uncorrected=number(facts.get(("hbm double bit error count",))),
                repairs=None if health is None else ((f"health is {health[:40]}",) if bad else ()),
            )
        )
    facts.clear()
