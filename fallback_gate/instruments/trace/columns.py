"""The annex, kernel traces: columns of numbers: rows found by a key, and calls found by the time they ran."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

MOST_FRAMES = 8


@dataclass(slots=True)
class Index:
    """Keys in the order of their rows; a key that comes again stands for its last row."""

    keys: array[int] = field(default_factory=lambda: array("q"))
    _sorted: array[int] | None = None
    _rows: array[int] | None = None

    def row(self, key: int) -> int | None:
        """The row of a key."""
        if self._sorted is None:
            self._sort()
        keys = self._sorted if self._sorted is not None else self.keys
        at = bisect_right(keys, key) - 1
        if at < 0 or keys[at] != key:
            return None
        return self._rows[at] if self._rows is not None else at

    def _sort(self) -> None:
        keys = self.keys
        if all(keys[at] <= keys[at + 1] for at in range(len(keys) - 1)):
            self._sorted = keys
            return
        rows = array("l", sorted(range(len(keys)), key=keys.__getitem__))
        self._rows, self._sorted = rows, array("q", (keys[row] for row in rows))


@dataclass(slots=True)
class Frames:
    """The user's Python functions as they ran on the host, by thread; calls nest."""

    names: dict[int, array[int]] = field(default_factory=dict)
    starts: dict[int, array[float]] = field(default_factory=dict)
    ends: dict[int, array[float]] = field(default_factory=dict)
    _callers: dict[int, array[int]] | None = None

    def add(self, thread: int, name: int, start: float, end: float) -> None:
        """Take one call of a function."""
        if thread not in self.names:
            self.names[thread] = array("l")
            self.starts[thread], self.ends[thread] = array("d"), array("d")
        self.names[thread].append(name)
        self.starts[thread].append(start)
        self.ends[thread].append(end)

    def around(self, thread: int, when: float) -> tuple[int, ...]:
        """The names of the calls that were running at a time, innermost first."""
        callers = self._nested().get(thread)
        if callers is None:
            return ()
        found: list[int] = []
        at = bisect_right(self.starts[thread], when) - 1
        while at >= 0 and len(found) < MOST_FRAMES:
            if self.ends[thread][at] >= when:
                found.append(self.names[thread][at])
            at = callers[at]
        return tuple(found)

    def own(self) -> Iterator[tuple[int, float, float]]:
        """Each call: its name, its start, and its time without that of the calls in it."""
        for thread, callers in self._nested().items():
            starts, ends = self.starts[thread], self.ends[thread]
            times = [end - start for start, end in zip(starts, ends, strict=True)]
            for row, caller in enumerate(callers):
                if caller >= 0:
                    times[caller] -= ends[row] - starts[row]
            yield from zip(self.names[thread], starts, times, strict=True)

    def _nested(self) -> dict[int, array[int]]:
        if self._callers is None:
            self._callers = {thread: self._nest(thread) for thread in self.names}
        return self._callers

    def _nest(self, thread: int) -> array[int]:
        """Sort the calls of a thread by their start; the row of the call around each, -1 for none."""
        starts, ends, names = self.starts[thread], self.ends[thread], self.names[thread]
        order = sorted(range(len(starts)), key=lambda at: (starts[at], -ends[at]))
        self.names[thread] = array("l", (names[at] for at in order))
        self.starts[thread] = array("d", (starts[at] for at in order))
        self.ends[thread] = sorted_ends = array("d", (ends[at] for at in order))
        callers: array[int] = array("l")
        open_calls: list[int] = []
        for row, at in enumerate(order):
            while open_calls and sorted_ends[open_calls[-1]] <= starts[at]:
                open_calls.pop()
            callers.append(open_calls[-1] if open_calls else -1)
            open_calls.append(row)
        return callers
