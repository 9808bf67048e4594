"""Room 3: runs of real compilers that look like proof and are none: something fell back, or nothing was compiled."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fallback_gate.compilers import READERS, ending
from fallback_gate.compilers.rule import Evidence
from fallback_gate.model import Kind, State
from tests.compilers.conftest import states
from tests.compilers.lines import listed, traced

SAMPLES = Path(__file__).parent.parent.parent / "sample_logs"
Read = Callable[..., Any]


EXECUTABLE = [
    "hal.executable public @f_dispatch_0 {",
    "      func.func @f_dispatch_0_matmul() attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {",
    "}",
]


@pytest.mark.parametrize(
    "error",
    [
        "configured_module_f_dispatch_0.mlir:1:0: error: failed to serialize executables",
        "configured_module_f_dispatch_0.mlir:2:2: error: failed to serialize executable for target backend llvm-cpu",
        'f_dispatch_0.mlir:3:4: error: failed to run translation of source executable to target executable for backend #hal.executable.target<"llvm-cpu"',
    ],
)
def test_an_error_after_iree_dumped_its_configurations(error: str, read: Read) -> None:
    assert set(states(read(*EXECUTABLE), "iree").values()) == {State.PROVEN}
    for lines in ([*EXECUTABLE, error], [error, *EXECUTABLE]):  # the dump goes to stdout, the error to stderr
        said = read(*lines)
        assert said.told == [("compile_error", "f_dispatch_0", "program")]
        assert set(states(said, "iree").values()) == {State.UNPROVEN}


def test_another_module_that_iree_refuses(read: Read) -> None:
    error = "rank.mlir:2:8: error: 'linalg.matmul' op inferred input/output operand #1 has shape's dimension #0 to be 24, but found 25"
    said = read(*EXECUTABLE, error)
    assert said.told == [("compile_error", "*", "program")]
    assert set(states(said, "iree").values()) == {State.UNPROVEN}


@pytest.mark.parametrize(
    "lost", ["", "configured_module_f_dispatch_0.mlir:2:2: warning: op is not vectorized"]
)
def test_a_note_of_an_error_that_the_log_lost(lost: str, read: Read) -> None:
    """IREE shows the operation behind each of its errors: a log that begins there is of a compile that failed."""
    note = "configured_module_f_dispatch_0.mlir:1:0: note: see current operation: "
    for lines in ([lost, note, *EXECUTABLE], [*EXECUTABLE, lost, note]):
        assert set(states(read(*lines), "iree").values()) == {State.UNPROVEN}
    warned = note.replace("note: see current operation: ", "warning: op is not vectorized")
    said = read(*EXECUTABLE, warned, "  %0 = linalg.fill ins(%c : f32)", "  ^", note)
    assert set(states(said, "iree").values()) == {State.PROVEN}


GRAPH = "executed graph: layerType primitiveType runtimePrecision name"
OUTPUT = "  Output                   unknown_f32                  f32    logits"
COUNTED = "{0}_16    Status.EXECUTED      layerType: {0}      execType: unknown_i32      realTime (ms): 0.2  cpuTime (ms): 0.2"


@pytest.mark.parametrize(
    ("layer", "state"),
    [
        ("TensorIterator", State.UNOBSERVABLE),
        ("Loop", State.UNOBSERVABLE),
        ("If", State.UNOBSERVABLE),
        ("Subgraph", State.PROVEN),
    ],
)
def test_no_graph_of_openvino_shows_what_runs_in_a_body(layer: str, state: State, read: Read) -> None:
    row = f"  {layer:24s} unknown_i32                  i32    {layer}_16"
    said = read(GRAPH, row, OUTPUT)
    assert (said.reports, states(said, "openvino")) == ([], {"reference_kernel": state})
    table = (
        "[ INFO ] Performance counts for 0-th infer request",
        COUNTED.format(layer),
        "Total time:     7 ms",
    )
    assert states(read(*table), "openvino") == {"reference_kernel": state}
    whole = (GRAPH, OUTPUT)
    assert states(read(*whole, GRAPH, row, OUTPUT), "openvino") == {"reference_kernel": state}


@pytest.mark.parametrize(
    ("row", "told", "state"),
    [  # rows of the same nodes, in runs of 2025.2 and 2026.4 in which each node ran
        ("search/bucket.0      Status.EXECUTED      layerType: Bucketize            execType: ref_any_f32          realTime (ms): 0.025", "Bucketize", State.PROVEN),
        ("search/bucket.0      Status.NOT_RUN       layerType: Bucketize            execType: ref_any_f32          realTime (ms): 0.000", "Bucketize", State.PROVEN),
        ("encoder/relu         Status.NOT_RUN       layerType: Relu                 execType: undef                realTime (ms): 0.000", None, State.PROVEN),
    ],
)  # fmt: skip
def test_a_kernel_below_a_microsecond_is_told_as_not_run(
    row: str, told: str | None, state: State, read: Read
) -> None:
    said = read(
        "[ INFO ] Performance counts for 0-th infer request", row, f"Total time:     {row[-5:]} milliseconds"
    )
    assert [report.op for report in said.reports] == ([told] if told else [])
    assert states(said, "openvino") == {"reference_kernel": state}


def test_a_second_model_that_openvino_does_not_make(read: Read) -> None:
    row = "  FullyConnected           brgemm_avx512_f32            f32    MatMul_4"
    assert states(read(GRAPH, row, OUTPUT), "openvino") == {"reference_kernel": State.PROVEN}
    said = read(
        *(GRAPH, row, OUTPUT),
        "second model on numpy: Exception from src/inference/src/cpp/core.cpp:109:",
        "Exception from src/inference/src/dev/core_impl.cpp:659:",
        'Device with "FPGA" name is not registered in the OpenVINO Runtime',
    )
    assert said.told == [("compile_error", "*", "unknown")]
    assert set(states(said, "openvino").values()) == {State.UNPROVEN}


@pytest.mark.parametrize(
    ("kernel", "state"), [("undef_bf16", State.UNPROVEN), ("brgemm_avx512_bf16", State.PROVEN)]
)
def test_a_dynamic_graph_of_openvino_tells_kernels_only_after_a_request(
    kernel: str, state: State, read: Read
) -> None:
    row = f"  FullyConnected           {kernel:28s} bf16   MatMul_4"
    said = read(GRAPH, row, OUTPUT)
    assert (said.reports, states(said, "openvino")) == ([], {"reference_kernel": state})


@pytest.mark.parametrize(
    ("statement", "op", "state"),
    [
        (["lv1: R.Tuple(", '    R.Tensor((16, 2), dtype="float32")', ") = R.topk(lv, k=2)"], "relax.topk", State.PROVEN),
        (["lv1: R.Object = (", "    R.topk(lv, k=2)", ")"], "relax.topk", State.PROVEN),
        (['lv1: R.Tuple = R.call_dps_packed("tvm.contrib.sort.topk", (lv,))'], None, State.UNPROVEN),
        (['lv1: R.Tuple = R.call_pure_packed("topk", lv)'], None, State.UNPROVEN),
    ],
)  # fmt: skip
def test_a_module_of_tvm_in_other_forms(
    statement: list[str], op: str | None, state: State, read: Read
) -> None:
    said = read(
        "@I.ir_module",
        "class Module:",
        "    @R.function",
        "    def fused_relax_matmul_tensorrt(",
        '        x: R.Tensor((16, 64), dtype="float32"),',
        '    ) -> R.Tensor((16, 8), dtype="float32"):',
        '        R.func_attr({"Codegen": "tensorrt"})',
        "        return gv",
        "    @R.function",
        "    def main(",
        '        x: R.Tensor((16, 64), dtype="float32"),',
        "    ) -> R.Tuple:",
        "        with R.dataflow():",
        "            lv: R.Tensor((16, 8)) = cls.fused_relax_matmul_tensorrt(x)",
        *(f"            {line}" for line in statement),
        "        return lv1",
    )
    assert [report.op for report in said.reports] == ([op] if op else [])
    assert states(said, "tvm.byoc") == {"op_fallback": state}


PARTITIONED = [
    "@I.ir_module",
    "class Module:",
    "    @R.function",
    '    def fused_relax_matmul_dnnl(feat: R.Tensor((8, 32), dtype="float32")) -> R.Tensor((8, 16), dtype="float32"):',
    '        R.func_attr({"Codegen": "dnnl"})',
    "        return output",
    "    @R.function",
    '    def main(feat: R.Tensor((8, 32), dtype="float32")) -> R.Tensor((8, 16), dtype="float32"):',
    "        cls = Module",
    '        gv: R.Tensor((8, 16), dtype="float32") = cls.fused_relax_matmul_dnnl(feat)',
    "        return gv",
]


def test_a_partition_of_tvm_for_a_compiler_that_is_not_built_in(read: Read) -> None:
    assert states(read(*PARTITIONED), "tvm.byoc") == {"op_fallback": State.PROVEN}
    why = "no dnnl here, using llvm: Check failed: (codegen.has_value()) is false: Codegen is not found: relax.ext.dnnl"
    said = read(*PARTITIONED, why)
    assert said.told == [("compile_error", "dnnl", "program")]
    assert set(states(said, "tvm.byoc").values()) == {State.UNPROVEN}


SUMMARY = ["Total delegated subgraphs: 1", "Number of delegated nodes: 2", "Number of non-delegated nodes: 3"]
TABLE = [
    "|    | op_type             |   occurrences_in_delegated_graphs |   occurrences_in_non_delegated_graphs |",
    "|----+---------------------+-----------------------------------+---------------------------------------|",
    "|  0 | aten_linear_default |                                 1 |                                     0 |",
    "|  1 | Total               |                                 1 |                                     0 |",
]


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        (TABLE, State.PROVEN),
        ([*SUMMARY, *TABLE], State.PROVEN),
        ([*SUMMARY, *SUMMARY, *TABLE], State.UNPROVEN),
        ([*SUMMARY, *TABLE, *SUMMARY], State.UNPROVEN),
        (SUMMARY, State.UNPROVEN),
        ([line.replace("aten_linear_default", "cond               ") for line in TABLE], State.UNOBSERVABLE),
        ([line.replace("aten_linear_default", "while_loop         ") for line in TABLE], State.UNOBSERVABLE),
        ([line.replace("aten_linear_default", "aten_conv          ") for line in TABLE], State.PROVEN),
        (
            [
                *TABLE[:3],
                "..                  ...                              ...                                  ...",
                TABLE[3],
            ],
            State.UNPROVEN,
        ),
    ],
)
def test_each_summary_of_executorch_owes_a_table(lines: list[str], state: State, read: Read) -> None:
    assert states(read(*lines), "executorch") == {"op_fallback": state}


BEGAN = "W0000 00:00:1796016635.329570   21227 tf_tfl_flatbuffer_helpers.cc:364] Ignored output_format."
ENDED = "I0000 00:00:1796016635.348858   21227 flatbuffer_export.cc:4302] Estimated count of arithmetic ops: 1536  ops, equivalently 768  MACs"


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ([BEGAN, ENDED], State.PROVEN),
        ([BEGAN, ENDED, ENDED], State.PROVEN),
        ([BEGAN, ENDED, ENDED, BEGAN], State.UNPROVEN),
        ([BEGAN, ENDED, ENDED, BEGAN, ENDED], State.PROVEN),
        ([BEGAN, BEGAN, ENDED], State.UNPROVEN),
        ([BEGAN, ENDED, ENDED, BEGAN, BEGAN, ENDED], State.UNPROVEN),
    ],
)
def test_a_quantised_conversion_prints_its_end_twice(lines: list[str], state: State, read: Read) -> None:
    assert states(read(*lines), "litert.converter") == {"op_fallback": state}


def test_a_conversion_that_is_refused_proves_nothing(read: Read) -> None:
    said = read(BEGAN, ENDED, ENDED, BEGAN, "TF Select ops: DenseBincount, IFFT", BEGAN, ENDED)
    assert [report.op for report in said.reports] == ["DenseBincount", "IFFT"]
    assert set(states(said, "litert.converter").values()) == {State.UNPROVEN}


@pytest.mark.parametrize(
    ("log", "compiler", "ends"),
    [
        ("torch_xla/clean-report.2.9.log", "torch.xla", ""),
        ("rknn/clean-verbose.2.5.log", "rknn", "I rknn building done."),
    ],
)
def test_a_clean_log_proves_nothing_before_its_end(log: str, compiler: str, ends: str, read: Read) -> None:
    lines = (SAMPLES / log).read_bytes().decode().split("\n")
    last = max(at for at, line in enumerate(lines[:-1]) if line == ends)
    for length in range(1, last + 1):
        said = read(*lines[:length])
        for by in said.evidence.processes.values():
            proofs = READERS[compiler].prove(by[compiler]).items() if compiler in by else ()
            assert "device_fallback" not in {k.value for k, p in proofs if p.state is State.PROVEN}, length
    assert states(read(*lines[: last + 1]), compiler)["device_fallback"] is State.PROVEN


@pytest.mark.parametrize("log", ["clean-report.2.9.log", "bincount-report.2.9.log"])
def test_no_torn_line_of_a_report_of_torch_xla_ends_it(log: str, read: Read) -> None:
    """What stands behind a report ends it, and the first letters of a line of its own are no such thing."""
    lines = (SAMPLES / "torch_xla" / log).read_bytes().decode().rstrip("\n").split("\n")
    start = lines.index("Metric: CompileTime")
    for at in range(start + 1, len(lines)):
        for length in range(1, min(len(lines[at]), 20)):
            said = states(read(*lines[:at], lines[at][:length]), "torch.xla")
            assert said["device_fallback"] is not State.PROVEN, (at, lines[at][:length])


def test_no_line_of_another_writer_ends_a_report_of_torch_xla(read: Read) -> None:
    """A thread that prints between the report's lines takes no counter away, and what is cut behind it is cut."""
    lines = (SAMPLES / "torch_xla/bincount-report.2.9.log").read_text(encoding="utf-8").splitlines()
    start = lines.index("Metric: CompileTime")
    whole = read(*lines)
    assert states(whole, "torch.xla")["device_fallback"] is State.PROVEN
    last = max(at for at, line in enumerate(lines) if line.startswith("Counter: aten::"))
    for at in range(start + 1, last + 2):
        torn = [*lines[:at], "step 12 done"]
        assert [r.op for r in read(*torn, *lines[at:]).reports] == [r.op for r in whole.reports], at
        cut = read(*torn, *lines[at : last + 1])
        assert states(cut, "torch.xla")["device_fallback"] is not State.PROVEN, at


def test_a_report_of_torch_xla_that_another_process_begins_again(read: Read) -> None:
    """Where a report is cut, the next process' whole one says nothing of what the first one would have counted."""
    lines = (SAMPLES / "torch_xla/clean-report.2.9.log").read_text(encoding="utf-8").splitlines()
    start, counted = lines.index("Metric: DeviceLockWait"), lines.index("Counter: CreateCompileHandles")
    for cut in range(start + 2, counted + 2):
        for again in (lines, ["", *lines], lines[start:]):
            said = read(*lines[:cut], *again)
            assert states(said, "torch.xla")["device_fallback"] is State.UNPROVEN, cut
    for between in ([], ["step 12 done"]):
        said = read(*lines, *between, *lines)
        assert states(said, "torch.xla")["device_fallback"] is State.PROVEN
    for cut in range(lines.index("Metric: CompileTime") + 1, counted + 1):
        said = read(*lines[:cut], "restarted", "loaded")
        assert states(said, "torch.xla")["device_fallback"] is State.UNPROVEN, cut


def test_a_share_of_neuron_is_proof_where_all_that_is_left_is_named(read: Read) -> None:
    said = (
        "INFO:Neuron:Number of arithmetic operators (pre-compilation) before = 120, fused = 114, percent fused = 95.0%",
        "INFO:Neuron:Number of arithmetic operators (post-compilation) before = 120, compiled = 114, percent compiled = 95.0%",
        "INFO:Neuron:Neuron successfully compiled 1 sub-graphs, Total fused subgraphs = 1, Percent of model sub-graphs successfully compiled = 100.0%",
        "INFO:Neuron:There are 6 ops of 1 different types in the TorchScript that are not compiled by neuron-cc: aten::nonzero, (For more information see https://x)",
    )
    assert states(read(*said), "neuron")["device_fallback"] is State.PROVEN
    assert states(read(*said[:3]), "neuron")["device_fallback"] is State.UNPROVEN


RAISED = [
    "Traceback (most recent call last):",
    '  File "/app/tv/modes.py", line 40, in <module>',
    "    main()",
    '  File "/app/tv/modes.py", line 31, in main',
    "    print(served[batch])",
    "          ~~~~~~^^^^^^^",
    "KeyError: 3",
]
LONG = [
    *RAISED[:-1],
    "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
    *["more"] * 9,
]
IGNORED = ["Exception ignored in: <function Pool.__del__ at 0x7f>", *RAISED]


@pytest.mark.parametrize(
    ("behind", "proven"),
    [
        (RAISED, False),
        (LONG, False),
        ([f"[rank0]: {line}" for line in RAISED], False),
        (
            [*RAISED[:-1], "During handling of the above exception, another exception occurred:", *RAISED],
            False,
        ),
        ([*RAISED, *(f"served request {number}" for number in range(ending.NEAR))], True),
        (IGNORED, True),
        (["/app/tv/modes.py:12: UserWarning: slow", "  main()"], True),
    ],
)
def test_a_program_that_an_exception_ended(behind: list[str], proven: bool, read: Read) -> None:
    """The list at exit is printed then too. One that is caught is followed by what the program goes on to print."""
    lines = (SAMPLES / "torch/clean.2.14.1.log").read_text(encoding="utf-8").splitlines()
    at = next(at for at, line in enumerate(lines) if "attempted to trace the following frames" in line)
    said = states(read(*lines[:at], *behind, *lines[at:]), "torch.compile")
    assert {said[kind] for kind in ("graph_break", "eager_frame", "op_fallback")} == {
        State.PROVEN if proven else State.UNPROVEN
    }


def test_an_exception_outweighs_the_trace_beside_it(read: Read) -> None:
    """A structured trace does not tell how its process ended."""
    trace = gzip.decompress((SAMPLES / "torch/trace-clean.2.9.1.log.gz").read_bytes()).decode().splitlines()
    shown = states(read(*trace), "torch.compile")
    assert shown["graph_break"] is State.PROVEN
    pid = trace[0].split()[2]
    end = f"I1130 02:30:57.001000 {pid} torch/_dynamo/eval_frame.py:837] TorchDynamo attempted to trace the following frames: ["
    both = states(read(*trace, *RAISED, end), "torch.compile")
    assert both["graph_break"] is not State.PROVEN


@pytest.mark.parametrize("first", [True, False])
def test_a_process_with_the_same_id_that_traced_nothing_owes_a_proof(first: bool, read: Read) -> None:
    """In a container everyone is process 1. The other one's compiler was off, but it exported a graph."""
    clean = (SAMPLES / "torch/clean.2.14.1.log").read_text(encoding="utf-8").splitlines()
    at = "I1130 02:30:50.001000 5684 torch/_dynamo/"
    other = [
        f"{at}eval_frame.py:837] TorchDynamo attempted to trace the following frames: [",
        f"{at}eval_frame.py:837] ",
        f"{at}eval_frame.py:837] ]",
        f"{at}utils.py:925] GraphLowering.run, 0.1959",
    ]
    assert states(read(*clean), "torch.compile")["eager_frame"] is State.PROVEN
    mixed = [*other, *clean] if first else [*clean, *other]
    assert states(read(*mixed), "torch.compile")["eager_frame"] is State.UNPROVEN


@pytest.mark.parametrize(
    ("log", "function"),
    [("error-caught-without-a-word.2.14.1", "heads"), ("rest-of-function-eager.2.7.1", "forward")],
)
def test_a_frame_beside_a_break_that_is_told(log: str, function: str, read: Read) -> None:
    """The break of another function shows that breaks are printed, and allowing it is no proof for this one."""
    text = (SAMPLES / "torch" / f"{log}.log").read_text("utf-8")
    said = read(*text.splitlines())
    assert {report.op for report in said.reports if not report.hint} - {"*"} == {"note"}
    found = states(said, "torch.compile")
    assert {found[kind] for kind in ("graph_break", "eager_frame", "compile_error")} == {State.UNPROVEN}
    assert {found[kind] for kind in ("recompile_limit", "op_fallback")} == {State.PROVEN}
    (by,) = said.evidence.processes.values()
    why = READERS["torch.compile"].prove(by["torch.compile"])[Kind.EAGER_FRAME].why
    assert f" of {function} /app/" in why


CAUSE = [
    "Traceback (most recent call last):",
    '  File "/opt/torch/_inductor/graph.py", line 1163, in call_function',
    "torch._inductor.exc.InductorError: LoweringException: no kernel",
    "",
    "The above exception was the direct cause of the following exception:",
    "",
    "Traceback (most recent call last):",
    '  File "/app/serve.py", line 12, in guarded',
    "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:",
    "InductorError: LoweringException: no kernel",
    "",
]


def opened(frame: str, cid: str) -> list[str]:
    """A frame whose graph the back end got and did not return."""
    return traced(frame, cid=cid)[:3]


@pytest.mark.parametrize(
    ("frames", "state"),
    [
        ((("f /app/m.py:1", "0/0"),), State.PROVEN),
        ((("f /app/m.py:1", "0/0"), ("g /app/m.py:9", "1/0")), State.UNPROVEN),
    ],
)
def test_a_chain_of_errors_tells_of_one_compile_that_failed(
    frames: tuple[tuple[str, str], ...], state: State, read: Read
) -> None:
    """The program caught both, and printed one: its cause is no word about the other."""
    began = [line for frame, cid in frames for line in opened(frame, cid)]
    said = read(
        *began,
        *CAUSE,
        *(f"served request {number}" for number in range(ending.NEAR)),
        *traced("h /app/m.py:20", cid="2/0"),
        *listed(*(frame for frame, _ in frames), "h /app/m.py:20"),
    )
    assert [report.id for report in said.reports] == ["torch/compile-error"] * 2
    pooled = Evidence()
    for by in said.evidence.processes.values():
        pooled.merge(by["torch.compile"])
    assert READERS["torch.compile"].prove(pooled)[Kind.EAGER_FRAME].state is state
