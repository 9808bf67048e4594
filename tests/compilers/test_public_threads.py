"""Room 3: lines in forms that public threads showed: what each must be read as, beside the readers' own examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Read = Callable[..., Any]
RUST = '2026-06-13T06:47:39.0Z TRACE ort{id="" location="session_state.cc:1310 VerifyEachNodeIsAssignedToAnEp"}: ort::logging: '
CPP = "2026-06-13 06:47:39.0 [V:onnxruntime:, session_state.cc:1310 VerifyEachNodeIsAssignedToAnEp] "
CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"


def told(said: Any) -> list[tuple[str, str]]:
    """Kind and operator of each report, hints too."""
    return [(report.kind.value, report.op) for report in said.reports]


@pytest.mark.parametrize("head", [RUST, CPP])
def test_a_placement_is_read_from_either_language(head: str, read: Read) -> None:
    said = read(
        head + "Node placements",
        head + f" Node(s) placed on [{CUDA}]. Number of nodes: 1",
        head + "  Conv (/c)",
        head + f" Node(s) placed on [{CPU}]. Number of nodes: 1",
        head + "  TopK (/a/TopK)",
    )
    assert told(said) == [("device_fallback", "TopK")]


@pytest.mark.parametrize(
    ("lines", "events"),
    [
        (["Node placements", f" Node(s) placed on [{CPU}]. Number of nodes: 875", "......"], 1),
        ([f" Node(s) placed on [{CUDA}]. Number of nodes: 9", f" Node(s) placed on [{CPU}]. Number of nodes: 3"], 1),
        ([f" Node(s) placed on [{CPU}]. Number of nodes: 3", " Node(s) placed on [AzureExecutionProvider]. Number of nodes: 1"], 0),
        ([f"All nodes placed on [{CPU}]. Number of nodes: 3"], 0),
    ],
)  # fmt: skip
def test_numbers_of_nodes_without_their_names_tell_of_the_cpu(
    lines: list[str], events: int, read: Read
) -> None:
    assert told(read(*(CPP + line for line in lines))) == [("device_fallback", "*")] * events


@pytest.mark.parametrize("slash", ["/", "\\"])
@pytest.mark.parametrize("device", ["cpu", "gpu", "npu"])
def test_an_exception_of_a_plugin_is_read_on_windows_too(slash: str, device: str, read: Read) -> None:
    lines = [
        "RuntimeError: Exception from src/inference/src/cpp/core.cpp:113:",
        f"Exception from src/plugins/intel_{device}/src/plugin/plugin.cpp:697:",
        f"Check 'false' failed at src/plugins/intel_{device}/src/plugin/x.cpp:61:",
        "the layer is too wide",
    ]
    said = read(*(line.replace("/", slash) for line in lines))
    found = {(report.kind.value, report.op, report.reason) for report in said.reports if not report.hint}
    assert found == {("compile_error", device.upper(), "the layer is too wide")}


def test_an_exception_while_a_request_runs_is_no_failed_compile(read: Read) -> None:
    said = read(
        "RuntimeError: Exception from src\\inference\\src\\cpp\\infer_request.cpp:223:",
        "Exception from src\\plugins\\intel_gpu\\src\\plugin\\sync_infer_request.cpp:590:",
        "out of bounds",
    )
    assert told(said) == []


@pytest.mark.parametrize(
    ("lines", "ops"),
    [
        (["[Vitis AI EP] No. of Operators :   CPU     8    NPU  2356 VITIS_EP_CPU    13 "], ["*"]),
        (["[Vitis AI EP] No. of Operators :   NPU   398"], []),
        (["[Vitis AI EP] No. of Operators :", " VAIML   122", "[Vitis AI EP] No. of Subgraphs :", "   NPU     1"], []),
    ],
)  # fmt: skip
def test_numbers_of_operators_on_ryzen_ai(lines: list[str], ops: list[str], read: Read) -> None:
    assert [report.op for report in read(*lines).reports] == ops


@pytest.mark.parametrize(
    ("line", "events"),
    [
        (
            "VERBOSE: Replacing 125 node(s) with delegate (TfLiteHexagonDelegate) node, yielding 1 partitions.",
            0,
        ),
        (
            "VERBOSE: Replacing 120 node(s) with delegate (TfLiteHexagonDelegate) node, yielding 2 partitions.",
            1,
        ),
        ("INFO: TfLiteHexagonDelegate delegate: 125 nodes delegated out of 125 nodes with 1 partitions.", 0),
        ("I/tflite: Hexagon delegate: 95 nodes delegated out of 96 nodes.", 1),
    ],
)
def test_the_share_of_a_delegate_in_older_words(line: str, events: int, read: Read) -> None:
    assert told(read(line)) == [("op_fallback", "*")] * events


def test_a_logger_with_two_handlers_tells_each_operator_once(read: Read) -> None:
    head, row = (
        "Not compiled operators (and operator counts) to Neuron:",
        " => aten::embedding: 2 [not supported]",
    )
    second = "2022-12-19 02:32:20,148 : INFO : "
    said = read("INFO:Neuron:" + head, second + head, "INFO:Neuron:" + row, second + row, "INFO:Neuron: done")
    assert told(said) == [("device_fallback", "aten::embedding")] * len(said.reports)
    assert 1 <= len(said.reports) <= 2


def test_rows_of_the_edge_tpu_count_only_below_a_head(read: Read) -> None:
    head = "Operator                       Count      Status"
    row = "CONV_2D                        35         More than one subgraph is not supported"
    number = "Number of operations that will run on CPU: 35"
    assert told(read(row)) == []
    assert told(read(number, "", head, "", row)) == [("device_fallback", "*"), ("device_fallback", "CONV_2D")]
    version = "Edge TPU Compiler version 16.0.384591198"
    assert told(read(version, number, "", head, "", row)) == [("device_fallback", "CONV_2D")]


def test_an_encoder_lists_the_operators_that_its_back_end_lacks(read: Read) -> None:
    said = read(
        "warmup: WARNING: the CLIP graph uses unsupported operators by the backend",
        "warmup:          list of unsupported ops (backend=Vulkan0):",
        "warmup:          UPSCALE: type = f32, ne = [92 92 1152 1]",
        "warmup:         SOFT_MAX: type = f32, ne = [8464 8464 16 1]",
        "warmup: flash attention is enabled",
        "warmup:             ROPE: type = f32, ne = [72 16 8464 1]",
    )
    assert told(said) == [("device_fallback", "UPSCALE"), ("device_fallback", "SOFT_MAX")]


@pytest.mark.parametrize(
    ("listed", "ops"),
    [
        ("set([u'Abs', u'RandomUniform'])", ["Abs", "RandomUniform"]),
        ("{'Resampler', 'Atan2'}", ["Resampler", "Atan2"]),
    ],
)
def test_an_importer_of_tvm_lists_in_the_words_of_either_python(
    listed: str, ops: list[str], read: Read
) -> None:
    said = read(f"NotImplementedError: The following operators are not implemented: {listed}")
    assert told(said) == [("compile_error", op) for op in ops]


def test_a_terminal_that_broke_the_line_hides_no_operator(read: Read) -> None:
    said = read(
        "Warning: CAUTION: The operator 'torchvision::nms' is not currently supported on the NPU backend and w",
        "ill fall back to run on the CPU. This may have performance implications. (function npu_cpu_fallback)",
    )
    assert told(said) == [("device_fallback", "torchvision::nms")]


SHARP = "Microsoft.ML.OnnxRuntime.OnnxRuntimeException: [ErrorCode:"
JAVA = "ai.onnxruntime.OrtException: Error code - ORT_"
WEB = "Error: Can't create a session. ERROR_CODE: 9, ERROR_MESSAGE: "


@pytest.mark.parametrize("head", [SHARP + "NotImplemented] ", JAVA + "NOT_IMPLEMENTED - message: ", WEB])
@pytest.mark.parametrize(
    ("reason", "op"),
    [
        ("Could not find an implementation for ConvInteger(10) node with name 'Conv_0_quant'", "ConvInteger"),
        ("Fatal error: com.acme:GateAttn(-1) is not a registered function/op", "GateAttn"),
        ("CoreML static output shape is too large", "CoreMLExecutionProvider"),
        ("no such thing", "*"),
    ],
)
def test_a_session_that_another_language_could_not_make(head: str, reason: str, op: str, read: Read) -> None:
    assert told(read(head + reason)) == [("compile_error", op)]


@pytest.mark.parametrize(
    "line",
    [
        SHARP + "InvalidArgument] Got invalid dimensions for input: x",
        SHARP + "RuntimeException] Non-zero status code returned while running Add node. Name:'Add_0'",
        JAVA + "INVALID_ARGUMENT - message: Load model from m.onnx failed:Load model m.onnx failed",
        "failed to call OrtRun(). ERROR_CODE: 2, ERROR_MESSAGE: Got invalid dimensions for input: x",
    ],
)
def test_an_error_of_a_run_is_no_failed_session(line: str, read: Read) -> None:
    assert told(read(line)) == []


def test_the_library_s_own_line_within_an_exception_tells_once(read: Read) -> None:
    said = read(SHARP + "RuntimeException] x.cpp:11 [ONNXRuntimeError] : 1 : FAIL : Could not compile")
    assert told(said) == [("compile_error", "*")]


@pytest.mark.parametrize(
    ("line", "op"),
    [
        ("Missing operator: [4] aten::native_dropout.out", "aten::native_dropout"),
        ("[operator_registry.cpp:256] kernel 'acme::gate.Tensor_out' not found.", "acme::gate"),
        (
            "RuntimeError: Node aten_linear_default with op <EdgeOpOverload: aten.linear.default>: schema = aten::linear(Tensor x) -> Tensor was not decomposed or delegated.",
            "aten::linear",
        ),
    ],
)
def test_an_operator_that_executorch_has_no_kernel_for(line: str, op: str, read: Read) -> None:
    assert told(read(line)) == [("compile_error", op)]


@pytest.mark.parametrize(
    ("place", "what", "ops"),
    [
        ("m.mlir:3:4", "tensor.from_elements", ["tensor.from_elements"]),
        ("<unknown>:0", "torch.constant.float", ["torch.constant.float"]),
        ("<unknown>:0", "torch.aten.sort", ["aten::sort"]),
        ("<unknown>:0", "arith.addf", []),
        ("m.mlir:3:4", "tf.Foo", []),
        ("k.py:3:4", "hal.interface.constant.load", ["hal.interface.constant.load"]),
    ],
)
def test_operations_that_mlir_does_not_legalize(place: str, what: str, ops: list[str], read: Read) -> None:
    said = read(f"{place}: error: failed to legalize operation '{what}'")
    assert [report.op for report in said.reports if report.compiler == "iree"] == ops


def test_a_kernel_s_type_is_told_behind_the_compiler_s_own_error(read: Read) -> None:
    head = "E40021: Failed to compile Op [Select121]. (oppath: [Compile /opt/opp/select.py failed with errormsg/stack: File x"
    stack = ['    raise RuntimeError("no src")', "", "RuntimeError: no src', 'errPcause': ' '}"]
    assert told(read(head, *stack, "], optype: [Select])")) == [("compile_error", "Select")]
    end = "        Solution: See the host log for details"
    assert told(read(head, *stack, end, "], optype: [Add])")) == [("compile_error", "Select121")]


@pytest.mark.parametrize(
    ("line", "events"),
    [
        ("Number of operators supported by VAIML: 1157 (95.699%)", 1),
        ("Number of operators supported by VAIML: 0(0.000%)", 1),
        ("Number of operators offloaded by VAIML: 122 (100.000%)", 0),
        ("Number of subgraphs with compilation errors (fall back to CPU): 0", 0),
        ("Number of subgraphs with compilation errors (fall back to CPU): 2", 1),
    ],
)
def test_the_share_that_an_npu_takes(line: str, events: int, read: Read) -> None:
    assert told(read(line)) == [("device_fallback", "*")] * events


TRITON = '  File "/opt/venv/triton/backends/amd/compiler.py", line 244, in make_ttgir'


@pytest.mark.parametrize(
    ("frames", "events"),
    [
        ([TRITON, "    pm.run(mod)"], 1),
        (['  File "/opt/venv/torch/_inductor/runtime/triton_heuristics.py", line 600, in f', TRITON], 0),
        (['  File "/opt/venv/mlir/run.py", line 1, in make_ttgir'], 0),
    ],
)
def test_passes_of_triton_that_fail_without_a_diagnostic(frames: list[str], events: int, read: Read) -> None:
    said = read("Traceback (most recent call last):", *frames, "RuntimeError: PassManager::run failed")
    found = [report.reason for report in said.reports if report.compiler == "triton"]
    assert found == ["PassManager::run failed in make_ttgir"] * events


@pytest.mark.parametrize(
    ("lines", "ops"),
    [
        (["error lowering Ops.SINK", "tensor operations:", "(cat, conv2d)"], ["cat"]),
        (["error lowering Ops.SINK", "tensor operations:", "()"], ["*"]),
        (["error lowering Ops.SINK", "and no more"], []),
        (["RuntimeError: compile failed: nvrtc: error: x"], []),
        (['  File "/opt/tinygrad/tinygrad/device.py", line 9, in f', "RuntimeError: compile failed: x"], ["*"]),
    ],
)  # fmt: skip
def test_a_kernel_that_tinygrad_could_not_make(lines: list[str], ops: list[str], read: Read) -> None:
    assert [report.op for report in read(*lines).reports if report.compiler == "tinygrad"] == ops


TAGGED = "05-19 15:05:29.819 +0000 21043 21043 W TFLiteInfer: "


def test_a_list_of_the_gpu_delegate_under_an_application_s_tag(read: Read) -> None:
    said = read(
        TAGGED + "Failed to apply delegate: Next operations are not supported by GPU delegate:",
        TAGGED + "TRANSPOSE: Operation is not supported.",
        TAGGED + "First 129 operations will run on the GPU, and the remaining 175 on the CPU.",
    )
    assert told(said) == [("op_fallback", "TRANSPOSE")]


def test_rows_of_the_gpu_delegate_whose_header_was_cut(read: Read) -> None:
    split = "85 operations will run on the GPU, and the remaining 5 operations will run on the CPU."
    said = read("Loaded: Operation is fine", "PADV2: Operation is not supported.", split)
    assert [(report.op, report.hint) for report in said.reports] == [("*", True), ("PADV2", False)]
    assert [report.op for report in read("LOG: started", split).reports] == ["*"]


def test_the_edge_tpu_s_compiler_fails_by_itself(read: Read) -> None:
    said = read(
        "Edge TPU Compiler version 16.0.384591198",
        "ERROR: Restored original execution plan after delegate application failure.",
        "Compilation failed: Compilation failed due to large activation tensors in model.",
        "Compilation failed!",
    )
    assert {report.kind.value for report in said.reports} == {"compile_error"}


@pytest.mark.parametrize(
    ("lines", "events"),
    [
        (["<E> Failed to validate op aten_convolution_default_107 with error 0xc26"], ["aten::convolution"]),
        (["<E> Failed to validate op /model.22/Sigmoid_1 with error 0xc26"], []),
        (["<E> Failed to validate op Conv_7 with error 0xc26"], []),
    ],
)
def test_a_node_that_qnn_does_not_validate(lines: list[str], events: list[str], read: Read) -> None:
    said = read(*lines)
    assert [report.op for report in said.reports if report.compiler == "executorch"] == events


@pytest.mark.parametrize(
    ("file", "op"),
    [("configured_module_gemm_dispatch_0.mlir", "gemm_dispatch_0"), ("/opt/torch/utils/_device.py", "*"), ("<eval_with_key>.16", "*")],
)  # fmt: skip
def test_an_executable_of_iree_is_named_by_its_own_file_alone(file: str, op: str, read: Read) -> None:
    said = read(f"{file}:104:0: error: failed to serialize executables")
    assert told(said) == [("compile_error", op)]


VLLM_WORKER = (
    "(EngineCore_DP0 pid=26353) (Worker_TP7 pid=26373) ERROR 12-17 13:32:44 [multiproc_executor.py:815] "
)
PYTEST = "E       "
LOST = "[1;36m(EngineCore_DP0 pid=165)[0;0m ERROR 12-17 13:32:44 [core.py:712] "


@pytest.mark.parametrize("before", [VLLM_WORKER, PYTEST, LOST, ""])
def test_an_error_of_the_compiler_is_read_with_its_place_in_whatever_stands_before_each_line(
    before: str, read: Read
) -> None:
    lines = [
        "torch._dynamo.exc.Unsupported: Data-dependent branching",
        "  Explanation: Detected data-dependent branching (e.g. `if my_tensor.sum() > 0:`).",
        "",
        "from user code:",
        '   File "/app/models/moe.py", line 31, in gate_attn',
        "    if x.sum() > 0:",
    ]
    (report,) = read(*(before + line for line in lines)).reports
    assert (report.kind.value, report.op, report.location.line) == ("compile_error", "gate_attn", 31)


def test_a_gpu_without_room_for_autotuning_falls_back_where_something_is_tuned(read: Read) -> None:
    small = "W0511 09:29:33.134000 85646 torch/_inductor/utils.py:1731] [0/0] Not enough SMs to use max_autotune_gemm mode"
    assert told(read(small, "step 0: train loss 1.8203")) == []
    assert told(read(small, "AUTOTUNE convolution(8x3x224x224, 64x3x7x7)")) == [("untuned_config", "mm")]


def test_an_engine_of_vllm_that_no_attention_backend_fits_does_not_start(read: Read) -> None:
    said = read(
        VLLM_WORKER + "WorkerProc failed to start.",
        VLLM_WORKER + "Traceback (most recent call last):",
        VLLM_WORKER + '  File "/opt/vllm/platforms/cuda.py", line 412, in select_attention_backend',
        VLLM_WORKER + "    raise ValueError(",
        VLLM_WORKER
        + "ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=576). "
        "Reasons: {TRITON_MLA: [sparse not supported]}.",
    )
    assert told(said) == [("compile_error", "attention")]
    assert "sparse not supported" in said.reports[0].reason
