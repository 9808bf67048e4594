"""The annex, the coverage matrix: a profile of ONNX Runtime, the kernels that ran and their providers.

`enable_profiling` writes a JSON list of events. `cat: Node` with a name that ends in `_kernel_time` is one
run of one kernel: `dur` in microseconds, and in `args` the `provider`, `op_name`, `input_type_shape` (a list
of `{"float": [2, 8, 64]}`). `model_run` is one run of the model. A time is the median of a kernel's runs.

A provider that compiles takes a part of the graph as one node and has it generated; the others call kernels
of their libraries. Where the profile has kernels of the CPU alone, nobody can tell whether the CPU was asked:
they are unknown, unless the user says which provider was.

Source: onnxruntime/core/framework/execution_frame and profiler.cc in microsoft/onnxruntime; 1.32 (run).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any, Final, NamedTuple

from fallback_gate.compilers.runtimes.onnxruntime_placement import CPU, NAME, behind
from fallback_gate.coverage import shapes
from fallback_gate.errors import Unreadable
from fallback_gate.instruments.trace.events import events
from fallback_gate.model import Kind
from fallback_gate.model.matrix import Cell, Column
from fallback_gate.sources.reader import Reader

MOST_RUNS = 1000  # of one kernel whose times are kept
MOST_KERNELS = 200_000
_END = "_kernel_time"
_COMPILING: Final = (
    "Tensorrt", "NvTensorRTRTX", "OpenVINO", "QNN", "CoreML", "MIGraphX", "VitisAI", "Nnapi", "Rknpu",
    "SNPE", "TVM", "CANN",
)  # fmt: skip
_NOT_ASKED = (
    f"only {CPU} ran, and the profile does not tell whether another provider was asked: name it with --target"
)


class Kernel(NamedTuple):
    """One kernel that ran, or one node that was placed, in which no shape is told."""

    node: str
    op: str
    provider: str
    shape: str = ""
    dtype: str = ""


class Profile(NamedTuple):
    """What a profile says, and why it may say too little."""

    cells: list[Cell]
    problem: str | None
    notes: tuple[str, ...] = ()


def cells(text: Reader, target: str | None) -> Profile:
    """The kernels of a profile. `target`: the provider that was asked for, where the user tells it."""
    times: dict[Kernel, list[float]] = defaultdict(list)
    counts: dict[Kernel, int] = defaultdict(int)
    runs, problem = 0, None
    try:
        for event in events(text):
            runs += event.get("name") == "model_run"
            kernel = _kernel(event)
            if kernel is None or kernel.op.startswith("Memcpy"):
                continue
            counts[kernel] += 1
            if len(times) > MOST_KERNELS:
                raise Unreadable(f"more than {MOST_KERNELS:,} different kernels")
            duration = event.get("dur")
            if isinstance(duration, (int, float)) and len(times[kernel]) < MOST_RUNS:
                times[kernel].append(float(duration))
    except Unreadable as cut:
        problem = str(cut)
    if not counts:
        problem = problem or "the profile holds no kernel: run the model before you end the profile"
    providers = {kernel.provider for kernel in counts}
    found = [
        cell(kernel, providers, target, _time(times[kernel], count / max(runs, 1)))
        for kernel, count in counts.items()
    ]
    unsure = target is None and providers == {CPU}
    return Profile(found, problem, (_NOT_ASKED,) if unsure else ())


def _time(durations: list[float], each_run: float) -> float | None:
    return median(durations) * each_run if durations else None


def _kernel(event: Mapping[str, Any]) -> Kernel | None:
    name, args = str(event.get("name", "")), event.get("args")
    if event.get("cat") != "Node" or not name.endswith(_END) or not isinstance(args, dict):
        return None
    op, provider = args.get("op_name"), args.get("provider")
    if not isinstance(op, str) or not isinstance(provider, str):
        return None
    tensors = list(_tensors(args.get("input_type_shape")))
    results = list(_tensors(args.get("output_type_shape")))
    types = [kind for kind, _ in (*results, *tensors) if kind]
    said = shapes.inputs([shape for _, shape in tensors])
    return Kernel(name.removesuffix(_END)[:300], op, provider, said, types[0] if types else "")


def _tensors(said: object) -> Iterator[tuple[str, str]]:
    for one in said if isinstance(said, list) else ():
        for kind, sizes in one.items() if isinstance(one, dict) else ():
            if isinstance(sizes, list):
                yield shapes.dtype(kind), shapes.dims(sizes)


def cell(kernel: Kernel, providers: set[str], target: str | None, time: float | None = None) -> Cell:
    """The cell of a kernel, beside kernels of these providers."""
    ahead = sorted(other for other in providers if behind(kernel.provider, other))
    if target is not None and target != kernel.provider and target not in ahead:
        ahead.append(target)
    column = Column.GENERATED if kernel.provider.startswith(_COMPILING) else Column.LIBRARY
    kind = reason = None
    if ahead:
        column, kind = Column.FALLBACK, Kind.DEVICE_FALLBACK
        reason = f"ran on {kernel.provider}, beside {', '.join(ahead)}"
    elif target is None and providers == {CPU}:
        column = Column.UNKNOWN
    return Cell(
        op=kernel.op, backend=NAME, column=column, shape=kernel.shape, dtype=kernel.dtype,
        by=(kernel.provider,), microseconds=time, names=(kernel.node,) if kernel.node else (), kind=kind,
        reason=reason,
    )  # fmt: skip
