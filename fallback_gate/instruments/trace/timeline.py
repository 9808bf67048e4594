"""The annex, kernel traces: what any trace says, in columns, so that a gigabyte of it fits in memory.

A reader of a format fills a `Timeline`; `steps`, `links` and `summary` read it. Times are microseconds on the
trace's own clock, which the host and the device share. Every name is kept once and known by its number.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

from fallback_gate.errors import Unreadable

MOST_NAMES = 500_000
LONGEST_NAME = 4_000  # characters of a name that are kept; templates can be endless
UNKNOWN = -1


class Span(NamedTuple):
    """A named stretch of time: an annotation of the user, or a step that the format itself names."""

    name: str
    start: float
    end: float


class Launch(NamedTuple):
    """A call on the host that started kernels: when, in which thread, in which operator (External id)."""

    start: float
    thread: int
    operator: int
    is_graph: bool


class Total(NamedTuple):
    """Kernels of one name, where a format has sums only."""

    name: str
    calls: int
    microseconds: float


@dataclass(slots=True)
class Timeline:
    """One trace. `kernels` are columns of the same length, `launches` are found by correlation."""

    format: str = ""
    names: list[str] = field(default_factory=list)
    kernel_names: array[int] = field(default_factory=lambda: array("l"))
    kernel_starts: array[float] = field(default_factory=lambda: array("d"))
    kernel_times: array[float] = field(default_factory=lambda: array("d"))
    correlations: array[int] = field(default_factory=lambda: array("q"))
    operators: array[int] = field(default_factory=lambda: array("q"))
    launches: dict[int, Launch] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)
    device_spans: list[Span] = field(default_factory=list)
    operator_names: dict[int, int] = field(default_factory=dict)
    frames: Frames = field(default_factory=lambda: Frames())
    origins: dict[str, str] = field(default_factory=dict)  # of kernels whose format tells it, by name
    named_operators: dict[str, str] = field(default_factory=dict)  # the same for their operators
    totals: list[Total] = field(default_factory=list)
    problem: str | None = None
    notes: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """The number of a name. Raises `Unreadable` where there are more names than any program has."""
        known = self._numbers.get(name)
        if known is None:
            if len(self.names) >= MOST_NAMES:
                raise Unreadable(f"more than {MOST_NAMES:,} different names: no trace of a program")
            known = self._numbers[name] = len(self.names)
            self.names.append(name[:LONGEST_NAME])
        return known

    def kernel(
        self, name: str, start: float, time: float, correlation: int = UNKNOWN, operator: int = UNKNOWN
    ) -> None:
        """Take one kernel that ran on the device."""
        self.kernel_names.append(self.number(name))
        self.kernel_starts.append(start)
        self.kernel_times.append(time)
        self.correlations.append(correlation)
        self.operators.append(operator)

    def launch_of(self, kernel: int) -> Launch | None:
        """The call that started a kernel."""
        return self.launches.get(self.correlations[kernel])


@dataclass(slots=True)
class Frames:
    """The user's Python functions and the modules of the model as they ran on the host, by thread."""

    names: dict[int, array[int]] = field(default_factory=dict)
    starts: dict[int, array[float]] = field(default_factory=dict)
    ends: dict[int, array[float]] = field(default_factory=dict)
    _ready: bool = False

    def add(self, thread: int, name: int, start: float, end: float) -> None:
        """Take one call of a function."""
        if thread not in self.names:
            self.names[thread] = array("l")
            self.starts[thread], self.ends[thread] = array("d"), array("d")
        self.names[thread].append(name)
        self.starts[thread].append(start)
        self.ends[thread].append(end)

    def around(self, thread: int, when: float, most: int = 8) -> tuple[int, ...]:
        """The names of the calls that were running at a time, innermost first."""
        if not self._ready:
            self._sort()
        starts, ends = self.starts.get(thread), self.ends.get(thread)
        if starts is None or ends is None:
            return ()
        found: list[int] = []
        at = bisect_right(starts, when) - 1
        for index in range(at, max(-1, at - 20_000), -1):
            if ends[index] >= when:
                found.append(self.names[thread][index])
                if len(found) == most:
                    break
        return tuple(found)

    def _sort(self) -> None:
        for thread, starts in self.starts.items():
            ends = self.ends[thread]
            order = sorted(range(len(starts)), key=lambda i, s=starts, e=ends: (s[i], -e[i]))  # type: ignore[misc]
            self.names[thread] = array("l", (self.names[thread][i] for i in order))
            self.starts[thread] = array("d", (starts[i] for i in order))
            self.ends[thread] = array("d", (ends[i] for i in order))
        self._ready = True
