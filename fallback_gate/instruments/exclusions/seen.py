"""The annex: what files of evidence say, in one shape whoever wrote them.

A file is a series of looks at devices, or an engine's own lines about its load. Looks are summed up as they
come, so that a day of samples takes no more room than a minute.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from fallback_gate.model.claims import Figure

BUSY: Final = 10.0  # per cent of use from which a device is at work
MOST_CLOCKS: Final = 4096  # different clocks that are kept of one device
MOST_LOADS: Final = 100_000  # lines of an engine whose time per token is kept
MOST_ERRORS: Final = 20


@dataclass(frozen=True, slots=True)
class Look:
    """One look at one device; None is what it does not say.

    `busy`: whether work ran. `slowed` are the reasons for which it was slowed at that moment, `spent` the
    time in which each reason held since the driver was loaded, in whatever unit the tool has. Clocks are in
    MHz, `top` the most there can be. `uncorrected` errors of memory are since the last reset; `repairs` what
    is wrong with the device itself.
    """

    device: str
    busy: bool | None = None
    slowed: tuple[str, ...] | None = None
    clock: float | None = None
    top: float | None = None
    memory_clock: float | None = None
    memory_top: float | None = None
    uncorrected: float | None = None
    repairs: tuple[str, ...] | None = None
    spent: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Device:
    """All looks at one device, summed up."""

    looks: int = 0
    busy: int = 0
    told: int = 0  # busy looks that say whether it was slowed
    slowed: Counter[str] = field(default_factory=Counter)  # busy looks by reason
    slowed_looks: int = 0
    clocks: Counter[float] = field(default_factory=Counter)  # of busy looks
    memory_clocks: Counter[float] = field(default_factory=Counter)
    top: float | None = None
    memory_top: float | None = None
    uncorrected: float | None = None
    repairs: set[str] = field(default_factory=set)
    repairs_told: bool = False
    spent_first: dict[str, float] = field(default_factory=dict)
    spent_last: dict[str, float] = field(default_factory=dict)
    counted: int = 0  # looks that tell these counters

    def add(self, look: Look) -> None:
        """Take in one look."""
        self.looks += 1
        self.top = look.top or self.top
        self.memory_top = look.memory_top or self.memory_top
        if look.uncorrected is not None:
            self.uncorrected = max(look.uncorrected, self.uncorrected or 0.0)
        if look.repairs is not None:
            self.repairs_told = True
            self.repairs.update(look.repairs)
        self.counted += bool(look.spent)
        for reason, time in look.spent.items():
            self.spent_first.setdefault(reason, time)
            self.spent_last[reason] = time
        if not look.busy:
            return
        self.busy += 1
        if look.slowed is not None:
            self.told += 1
            self.slowed.update(look.slowed)
            self.slowed_looks += bool(look.slowed)
        for clock, into in ((look.clock, self.clocks), (look.memory_clock, self.memory_clocks)):
            if clock is not None and (clock in into or len(into) < MOST_CLOCKS):
                into[clock] += 1


@dataclass(slots=True)
class Load:
    """What an engine says of its own load, over the lines in which it was at work."""

    lines: int = 0
    running: float = 0.0
    waiting: float = 0.0
    queued: int = 0  # lines that tell the queue
    per_token: list[float] = field(default_factory=list)  # ms of one sequence, by line

    def add(self, running: float, waiting: float | None, tokens_per_second: float | None) -> None:
        """Take in one line; one without a running request says nothing of a batch."""
        if running <= 0:
            return
        self.lines += 1
        self.running += running
        if waiting is not None:
            self.waiting += waiting
            self.queued += 1
        if tokens_per_second and len(self.per_token) < MOST_LOADS:
            self.per_token.append(1e3 * running / tokens_per_second)

    @property
    def batch(self) -> float | None:
        """Mean of the running requests."""
        return self.running / self.lines if self.lines else None

    @property
    def queue(self) -> float | None:
        """Mean of the waiting requests."""
        return self.waiting / self.queued if self.queued else None

    @property
    def tpot(self) -> float | None:
        """Median milliseconds for a token of one sequence: running requests over tokens a second."""
        return statistics.median(self.per_token) if self.per_token else None


@dataclass(slots=True)
class Seen:
    """What some files say, taken together."""

    files: list[str] = field(default_factory=list)
    devices: dict[str, Device] = field(default_factory=dict)
    loads: Load = field(default_factory=Load)
    errors: list[str] = field(default_factory=list)  # of the driver: Xid lines
    kernel_log: bool = False
    engine_lines: int = 0  # of engines and the kernel
    names: dict[str, str] = field(default_factory=dict)  # what devices are called
    drivers: dict[str, str] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def look(self, one: Look) -> None:
        """Take in a look at a device."""
        self.devices.setdefault(one.device, Device()).add(one)

    def top(self, name: str, of: str = "top") -> float | None:
        """The most that a device's clock reaches: what it says, else what all that say it agree on."""
        own: float | None = getattr(self.devices[name], of)
        told = {getattr(device, of) for device in self.devices.values()} - {None}
        return own or (told.pop() if len(told) == 1 else None)
