"""Room 3: what JAX and TensorFlow say of functions that they do not compile; lines of real runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Read = Callable[..., Any]

BINCOUNT = [  # TensorFlow 2.21, an exception; its lines are the program's own
    "tensorflow.python.framework.errors_impl.InvalidArgumentError: Input 1 to node `bincount/DenseBincount` with op DenseBincount must be a compile-time constant.",
    "",
    "XLA compilation requires that operator arguments that represent shapes or dimensions be evaluated to concrete values at compile time.",
    "",
    "Stack trace for op definition: ",
    'File "p/tfx.py", line 29, in step',
    "",
    "\t [[{{node bincount/DenseBincount}}]]",
    "\ttf2xla conversion failed while converting __inference_net_48[_XlaMustCompile=true,config_proto=13561319589895757934]. Run with TF_DUMP_GRAPH_PREFIX=/path",
]
LACKED = [
    "tensorflow.python.framework.errors_impl.InvalidArgumentError: Detected unsupported operations when trying to compile graph __inference_net_27[_XlaMustCompile=true] on XLA_CPU_JIT: PyFunc (No registered 'PyFunc' OpKernel for XLA_CPU_JIT devices compatible with node {{node PyFunc}}){{node PyFunc}}",
    "The op is created at: ",
    "\ttf2xla conversion failed while converting __inference_net_27[_XlaMustCompile=true]. Run with TF_DUMP_GRAPH_PREFIX=/path",
]


def test_a_function_that_xla_does_not_convert_is_told_where_its_error_begins(read: Read) -> None:
    (report,) = read("epoch 1", *BINCOUNT).reports
    assert (report.op, report.kind.value, report.scope.value) == ("DenseBincount", "compile_error", "program")
    assert (report.position, report.layer, report.stack) == (2, "bincount/DenseBincount", ("net",))
    assert report.reason == BINCOUNT[0].partition("Error: ")[2]


def test_an_operator_that_xla_lacks_is_told_once(read: Read) -> None:
    assert [(report.op, report.position) for report in read(*LACKED).reports] == [("PyFunc", 1)]


def test_an_error_without_its_node_names_none(read: Read) -> None:
    (report,) = read(BINCOUNT[-1]).reports
    assert (report.op, report.names, report.stack) == ("*", (), ("net",))


def test_a_variable_read_outside_the_clusters_is_bookkeeping(read: Read) -> None:
    at = "I0000 00:00:1796084121.015336   19091 mark_for_compilation_pass.cc:"
    rows = ["NoOp: 2", "ReadVariableOp: 1", "Unique: 1", "_Arg: 2"]
    lines = [
        f"{at}1694]  Built 1 clusters, size 21 / 27 (77.78%)",
        f"{at}1713]  Unclustered nodes: 6 / 27 (22.22%)",
    ]
    said = read(*lines, *(f"{at}1718]   {row} instances" for row in rows))
    assert [report.op for report in said.reports] == ["Unique"]


@pytest.mark.parametrize(
    ("line", "told"),
    [  # JAX 0.10: jax_debug_nans, an FFI call without its handler, export of eig for a TPU, Pallas on a CPU
        (
            "Invalid nan value encountered in the output of a jax.jit function. Calling the de-optimized version.",
            ("eager_frame", "*", "unknown"),
        ),
        (
            "JaxRuntimeError: NOT_FOUND: No FFI handler registered for acme_gate_attn on a platform Host (canonical host)",
            ("compile_error", "acme_gate_attn", "operator"),
        ),
        (
            "[train] export failed NotImplementedError MLIR translation rule for primitive 'eig' not found for platform tpu",
            ("compile_error", "eig", "operator"),
        ),
        (
            "[train] jit failed, python loop: ValueError Only interpret mode is supported on CPU backend.",
            ("compile_error", "pallas_call", "operator"),
        ),
    ],
)
def test_what_jax_does_not_compile(line: str, told: tuple[str, str, str], read: Read) -> None:
    assert read(line).told == [told]


def test_a_source_line_that_raises_is_no_error(read: Read) -> None:
    assert read('    raise ValueError("Only interpret mode is supported on CPU backend.")').reports == []
