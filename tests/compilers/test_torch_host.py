"""Room 3: what of an accelerator's graph the host computes, and what a dispatch mode leaves to eager.

The lines are those of runs with PyTorch 2.11 on a GPU; what truly happened is from its profiler and counters there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fallback_gate.compilers.torch.proof import prove
from fallback_gate.model import Kind, Scope, State
from tests.compilers.lines import clean, code, listed, record, traced

Read = Callable[..., Any]
ON_GPU = "layout=FixedLayout('cuda:0', torch.float32, size=[16, 32], stride=[32, 1]), data=Pointwise("
ON_CPU = "layout=FixedLayout('cpu', torch.int64, size=[], stride=[]), data=Pointwise("


def scheduled(name: str, layout: str, ranges: str, **where: Any) -> list[str]:
    """A kernel in the scheduler's dump."""
    return record(
        f"scheduling ComputedBuffer(name='{name}', {layout}", "  'cpu',", f"  ranges=[{ranges}],", **where
    )


def of_kind(read: Read, kind: Kind, lines: list[str]) -> list[Any]:
    return [report for report in read(*lines).reports if report.kind is kind]


def test_the_counter_of_a_loop_that_is_computed_on_the_cpu(read: Read) -> None:
    dump = [*scheduled("buf0", ON_GPU, "16, 32"), *scheduled("buf1", ON_CPU, "")]
    (report,) = of_kind(read, Kind.DEVICE_FALLBACK, dump)
    assert (report.id, report.scope, report.compile_id) == ("torch/cpu-kernel", Scope.OPERATOR, "0/0")


def test_whose_kernel_it_is(read: Read) -> None:
    stack = [
        "  stack_traces = {,",
        '    File "/app/scans.py", line 8, in ssm,',
        "      return scan(comb, x),",
    ]
    kernel = [*scheduled("buf1", ON_CPU, ""), *record(*stack)]
    (report,) = of_kind(read, Kind.DEVICE_FALLBACK, [*scheduled("buf0", ON_GPU, "16, 32"), *kernel])
    assert (report.op, report.stack, report.files) == ("ssm", ("ssm",), ("/app/scans.py",))
    assert (report.location.file, report.location.line) == ("/app/scans.py", None)


@pytest.mark.parametrize(
    "dump",
    [
        [*scheduled("buf0", ON_CPU, "16"), *scheduled("buf1", ON_CPU, "")],  # a model for the CPU
        [*scheduled("buf0", ON_GPU, "16"), *scheduled("buf1", ON_CPU, "", cid="1/0")],  # another graph
        [*scheduled("buf0", ON_GPU, "16"), *scheduled("buf1", ON_CPU, "0")],  # an empty one: no kernel
        [*scheduled("buf0", ON_GPU, "16")],
    ],
)
def test_what_is_no_kernel_on_the_cpu_of_an_accelerators_graph(read: Read, dump: list[str]) -> None:
    assert of_kind(read, Kind.DEVICE_FALLBACK, dump) == []


@pytest.mark.parametrize(
    "call", ["print('norm {}'.format(buf0))", "print('x = {x}'.format(x=buf0))", "print('at layer')"]
)
def test_a_wrapper_that_prints(read: Read, call: str) -> None:
    (report,) = of_kind(read, Kind.OP_FALLBACK, clean(call))
    assert (report.op, report.scope) == ("higher_order::print", Scope.OPERATOR)


@pytest.mark.parametrize(
    "call",
    ["return print_performance(fn, times=times, repeat=repeat)", "# print('norm')", "fingerprint('x')"],
)
def test_a_wrapper_that_does_not(read: Read, call: str) -> None:
    assert of_kind(read, Kind.OP_FALLBACK, clean(call)) == []


@pytest.mark.parametrize(("sorted_", "state"), [(True, State.PROVEN), (False, State.UNOBSERVABLE)])
def test_partitions_without_cuda_graphs_do_not_tell_what_is_on_the_cpu(
    read: Read, sorted_: bool, state: State
) -> None:
    reason = "" if sorted_ else "partition includes all ops when cudagraphs is disabled"
    parts = record("Created 1 graph partitions: 0 cudagraphable, 1 non-cudagraphable", artifact="cudagraphs")
    parts += record(f"    op0_op1: reason={reason}, ir=NoneType", artifact="cudagraphs") if reason else []
    lines = [*traced(), *code(), *parts, *listed("forward /app/moe/decoder.py:148")]
    (process,) = read(*lines).evidence.processes.values()
    proof = prove(process["torch.compile"])
    assert proof[Kind.DEVICE_FALLBACK].state is state
    assert proof[Kind.CUDAGRAPH_SKIP].state is State.PROVEN


def test_a_function_that_is_called_under_a_dispatch_mode_runs_in_eager(read: Read) -> None:
    said = "skipping: {} (reason: non-infra torch dispatch mode present, this is not supported today in torch.compile, file: {})"
    frames = [
        ("forward", "/app/blocks.py"),
        ("__contains__", "/usr/lib/python3.12/weakref.py"),
        ("__new__", "<frozen _collections_abc>"),
    ]
    lines = [line for frame in frames for line in record(said.format(*frame), cid="")]
    (report,) = of_kind(read, Kind.EAGER_FRAME, lines)
    assert (report.op, report.scope) == ("forward", Scope.REGION)
    assert (report.location.file, report.location.line) == ("/app/blocks.py", None)
