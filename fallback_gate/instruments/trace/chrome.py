"""The annex, kernel traces: Chrome traces of the PyTorch profiler, and of XLA and JAX.

PyTorch (Kineto): `ph: X`, times in us. `cat: kernel` is a kernel, `args.correlation` leads to the launch call
(`cuda_runtime`, `cuda_driver`), `args["External id"]` to the operator (`cpu_op`) that made the call. All
kernels of a CUDA graph share the correlation of one `cudaGraphLaunch`. `user_annotation` holds
`ProfilerStep#N` and `record_function`; `python_function` the stack, where `with_stack=True` was set; with
`record_shapes=True` a `cpu_op` has `Input Dims` and `Input type`. What torch.compile runs is named among the
operators (see `regions`).

XLA and JAX (`*.trace.json.gz`, `perfetto_trace.json.gz`): no categories. `process_name` says the device
(`/device:GPU:0`), `thread_name` the line: `Stream #...` holds kernels with `args.hlo_op`, `XLA Ops` the
operations of a TPU, `Steps` the steps. On the host `args.step_num` marks a StepTraceAnnotation. Where there
is no device, the threads of XLA's CPU client hold the operations, with `args.hlo_op`; what an operation
contains is within its time.

Sources: libkineto/src/output_json.cpp in pytorch/kineto; tensorflow/core/profiler (xplane to trace events).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from fallback_gate.errors import Unreadable
from fallback_gate.instruments.trace.kernels import GENERATED, LIBRARY, OTHER, origin
from fallback_gate.instruments.trace.regions import COMPILED
from fallback_gate.instruments.trace.timeline import UNKNOWN, Launch, Span, Timeline

PYTORCH, XLA = "pytorch-profiler", "xla"
_CALLS = {"cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "runtime", "privateuse1_runtime"}
_GRAPH = re.compile(r"(cuda|hip|cu)GraphLaunch")
_LAUNCH = re.compile(r"Launch|Enqueue")
_NOT_THE_USERS = re.compile(
    r"^<|<built-in|(^|/)(torch|site-packages|dist-packages)/|^(threading|contextlib|runpy|functools|queue)\.py|"
    r"importlib|/lib/python3|torchinductor_|(^|/)c[a-z2-7]{30,}\.py|: torch_dynamo_resume_in_|^nn\.Module: "
)
_CPU_CLIENT = re.compile(r"tf_XLA\w*Cpu|tf_XLAEigen")
_CPU_LIBRARY = re.compile(r"ynn_|onednn|custom-call|dot\b")
MOST_INPUTS = 8
_DEVICE = re.compile(r"/device:(?!CPU)")


_Key = str | int | float | None


def _key(event: dict[str, Any], name: str) -> _Key:
    """What an event says to this name, where it can tell one from another; a list, say, can't."""
    value = event.get(name)
    return value if isinstance(value, (str, int, float)) else None


class _Lines:
    """Which process is a device and which thread is which line, in a trace without categories."""

    def __init__(self) -> None:
        self.processes: dict[_Key, str] = {}
        self.threads: dict[tuple[_Key, _Key], str] = {}

    def name(self, event: dict[str, Any]) -> None:
        """Take a metadata event."""
        named = event.get("args")
        text = str(named.get("name", "")) if isinstance(named, dict) else ""
        if event.get("name") == "process_name":
            self.processes[_key(event, "pid")] = text
        elif event.get("name") == "thread_name":
            self.threads[_key(event, "pid"), _key(event, "tid")] = text

    def of(self, event: dict[str, Any]) -> str | None:
        """The line of an event on a device; None on a host."""
        if not _DEVICE.search(self.processes.get(_key(event, "pid"), "")):
            return None
        return self.threads.get((_key(event, "pid"), _key(event, "tid")), "")

    def of_cpu_client(self, event: dict[str, Any]) -> bool:
        """Whether the event is on a thread of XLA's CPU client."""
        return bool(_CPU_CLIENT.match(self.threads.get((_key(event, "pid"), _key(event, "tid")), "")))


def fill(timeline: Timeline, events: Iterable[dict[str, Any]]) -> None:
    """Take all events of a trace; where they end too early, what was there stands and `problem` says so."""
    lines, timeline.format = _Lines(), PYTORCH
    tpu: list[tuple[str, float, float]] = []
    cpu: list[tuple[object, float, float, str]] = []
    try:
        for event in events:
            phase = event.get("ph")
            if phase == "M":
                lines.name(event)
            elif phase == "X":
                if event.get("cat") is None:
                    _xla(timeline, event, lines, tpu, cpu)
                else:
                    _kineto(timeline, event, _key(event, "cat"))
    except Unreadable as problem:
        timeline.problem = str(problem)
    if tpu and not timeline.kernel_names:
        for name, start, time in tpu:
            timeline.kernel(name, start, time)
    elif cpu and not timeline.kernel_names:
        _on_cpu(timeline, cpu)


def _on_cpu(timeline: Timeline, operations: list[tuple[object, float, float, str]]) -> None:
    """The operations of XLA's CPU client, without those that another one contains."""
    timeline.format = XLA
    timeline.notes.append("the trace has no device: the operations of XLA's CPU client are counted")
    ends: dict[object, float] = {}
    for thread, start, time, name in sorted(operations, key=lambda one: (one[1], -one[2])):
        if start >= ends.get(thread, float("-inf")):
            ends[thread] = start + time
            timeline.origins.setdefault(name, LIBRARY if _CPU_LIBRARY.match(name) else GENERATED)
            timeline.kernel(name, start, time)


def _number(value: object, otherwise: int = UNKNOWN) -> int:
    return value if isinstance(value, int) and -(1 << 62) < value < 1 << 62 else otherwise


def _times(event: dict[str, Any]) -> tuple[float, float] | None:
    try:
        start, time = float(event["ts"]), float(event.get("dur", 0.0))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return (start, time) if abs(start) < 1e300 and 0 <= time < 1e300 else None


def _kineto(timeline: Timeline, event: dict[str, Any], category: _Key) -> None:
    name, times, args = str(event.get("name", "")), _times(event), event.get("args")
    if times is None or not isinstance(args, dict):
        return
    start, time = times
    if category == "kernel":
        correlation, operator = _number(args.get("correlation")), _number(args.get("External id"))
        timeline.kernel(name, start, time, correlation, operator)
    elif category in _CALLS:
        if _LAUNCH.search(name):
            is_graph = _GRAPH.match(name) is not None
            thread, operator = _thread(event), _number(args.get("External id"))
            timeline.launch(_number(args.get("correlation")), Launch(start, thread, operator, is_graph))
    elif category == "cpu_op":
        operator = _number(args.get("External id"))
        if operator != UNKNOWN:
            timeline.operator(operator, name, _inputs(args))
        if name.startswith(COMPILED):
            timeline.regions.add(_thread(event), timeline.number(name), start, start + time)
            timeline.host(event.get("pid"))
    elif category == "user_annotation":
        timeline.spans.append(Span(name, start, start + time))
    elif category == "gpu_user_annotation":
        timeline.device_spans.append(Span(name, start, start + time))
    elif category == "python_function" and not _NOT_THE_USERS.search(name):
        timeline.frames.add(_thread(event), timeline.number(name), start, start + time)


def _inputs(args: dict[str, Any]) -> str:
    """The inputs that `record_shapes=True` recorded, those that are tensors: `24x2048 bfloat16, ...`."""
    dims, types = args.get("Input Dims"), args.get("Input type")
    if not isinstance(dims, list) or not isinstance(types, list):
        return ""
    tensors = [
        f"{'x'.join(map(str, dim))} {kind.removeprefix('c10::')}"
        for dim, kind in zip(dims, types, strict=False)
        if isinstance(dim, list) and dim and all(isinstance(n, int) for n in dim) and isinstance(kind, str)
    ]
    return ", ".join(tensors[:MOST_INPUTS])


def _thread(event: dict[str, Any]) -> int:
    return hash((_key(event, "pid"), _key(event, "tid")))


def _xla(
    timeline: Timeline,
    event: dict[str, Any],
    lines: _Lines,
    tpu: list[tuple[str, float, float]],
    cpu: list[tuple[object, float, float, str]],
) -> None:
    line, times = lines.of(event), _times(event)
    if times is None:
        return
    name, args = str(event.get("name", "")), event.get("args")
    start, time = times
    if line is None:
        if isinstance(args, dict) and "step_num" in args:
            timeline.spans.append(Span(f"{name}#{args['step_num']}", start, start + time))
        elif isinstance(args, dict) and "hlo_op" in args and lines.of_cpu_client(event):
            cpu.append((event.get("tid"), start, time, str(args["hlo_op"])))
        return
    timeline.format = XLA
    operation = str(args.get("hlo_op", "")) if isinstance(args, dict) else ""
    if line.startswith("Stream"):
        if name.startswith(("Memcpy", "Memset", "MemcpyD", "MemcpyH")):
            return
        timeline.kernel(name, start, time)
        if operation and origin(name) == OTHER:
            timeline.origins[name] = GENERATED
        if operation:
            timeline.named_operators.setdefault(name, operation)
    elif line == "XLA Ops":
        tpu.append((name, start, time))
        timeline.origins.setdefault(name, GENERATED)
    elif line == "Steps":
        timeline.device_spans.append(Span(f"Steps#{name}", start, start + time))
