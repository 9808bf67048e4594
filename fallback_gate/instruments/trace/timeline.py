"""The annex, kernel traces: what any trace says, in columns, so that a gigabyte of it fits in memory.

A reader of a format fills a `Timeline`; `steps`, `links` and `summary` read it. Times are microseconds on the
trace's own clock, which the host and the device share. Every name is kept once and known by its number.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from fallback_gate.errors import Unreadable
from fallback_gate.instruments.trace.columns import Frames, Index

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


def _integers() -> array[int]:
    return array("q")


def _times() -> array[float]:
    return array("d")


@dataclass(slots=True)
class Timeline:
    """One trace. Columns that begin alike have the same length: kernels, launches, operators.

    `origins` and `named_operators` are by the name of a kernel, for formats that tell them. `frames` are the
    user's functions, `regions` what torch.compile runs. `process` is the process id on the host,
    `UNKNOWN` where there are several.
    """

    format: str = ""
    names: list[str] = field(default_factory=list)
    kernel_names: array[int] = field(default_factory=_integers)
    kernel_starts: array[float] = field(default_factory=_times)
    kernel_times: array[float] = field(default_factory=_times)
    kernel_correlations: array[int] = field(default_factory=_integers)
    kernel_operators: array[int] = field(default_factory=_integers)
    launches: Index = field(default_factory=Index)
    launch_starts: array[float] = field(default_factory=_times)
    launch_threads: array[int] = field(default_factory=_integers)
    launch_operators: array[int] = field(default_factory=_integers)
    launch_graphs: bytearray = field(default_factory=bytearray)
    operators: Index = field(default_factory=Index)
    operator_names: array[int] = field(default_factory=_integers)
    operator_inputs: array[int] = field(default_factory=_integers)
    spans: list[Span] = field(default_factory=list)
    device_spans: list[Span] = field(default_factory=list)
    frames: Frames = field(default_factory=Frames)
    regions: Frames = field(default_factory=Frames)
    process: int | None = None
    origins: dict[str, str] = field(default_factory=dict)
    named_operators: dict[str, str] = field(default_factory=dict)
    totals: list[Total] = field(default_factory=list)
    problem: str | None = None
    notes: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """The number of a name. Raises `Unreadable` where there are more names than any program has."""
        name = name[:LONGEST_NAME]
        known = self._numbers.get(name)
        if known is None:
            if len(self.names) >= MOST_NAMES:
                raise Unreadable(f"more than {MOST_NAMES:,} different names: no trace of a program")
            known = self._numbers[name] = len(self.names)
            self.names.append(name)
        return known

    def kernel(
        self, name: str, start: float, time: float, correlation: int = UNKNOWN, operator: int = UNKNOWN
    ) -> None:
        """Take one kernel that ran on the device."""
        self.kernel_names.append(self.number(name))
        self.kernel_starts.append(start)
        self.kernel_times.append(time)
        self.kernel_correlations.append(correlation)
        self.kernel_operators.append(operator)

    def launch(self, correlation: int, launch: Launch) -> None:
        """Take one call that started kernels."""
        self.launches.keys.append(correlation)
        self.launch_starts.append(launch.start)
        self.launch_threads.append(launch.thread)
        self.launch_operators.append(launch.operator)
        self.launch_graphs.append(launch.is_graph)

    def operator(self, number: int, name: str, inputs: str = "") -> None:
        """Take one operator that ran on the host, by the number that launches name, and what it got."""
        self.operators.keys.append(number)
        self.operator_names.append(self.number(name))
        self.operator_inputs.append(self.number(inputs) if inputs else UNKNOWN)

    def host(self, process: object) -> None:
        """Take the process that called; of two none is known."""
        if isinstance(process, int) and self.process in (None, process):
            self.process = process
        else:
            self.process = UNKNOWN

    def launch_of(self, kernel: int) -> Launch | None:
        """The call that started a kernel."""
        correlation = self.kernel_correlations[kernel]
        row = None if correlation == UNKNOWN else self.launches.row(correlation)
        if row is None:
            return None
        return Launch(
            self.launch_starts[row],
            self.launch_threads[row],
            self.launch_operators[row],
            bool(self.launch_graphs[row]),
        )

    def name_of_operator(self, number: int) -> str | None:
        """The name of the operator with this number."""
        row = self.operators.row(number)
        return None if row is None else self.names[self.operator_names[row]]

    def inputs_of_operator(self, number: int) -> str:
        """The shapes and types of its inputs, where the trace has them: `24x2048 bf16, 2048x5120 bf16`."""
        row = self.operators.row(number)
        at = UNKNOWN if row is None else self.operator_inputs[row]
        return "" if at == UNKNOWN else self.names[at]

    def graph_launches(self) -> Iterator[tuple[float, int]]:
        """When each CUDA graph was launched, and its correlation."""
        for row, is_graph in enumerate(self.launch_graphs):
            if is_graph:
                yield self.launch_starts[row], self.launches.keys[row]
