"""Room 3: accelerators and edge runtimes: which operator a message names, and which lines look like one and are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.compilers import shared
from fallback_gate.compilers.book import Book
from fallback_gate.model import Location
from tests.compilers.conftest import family

Read = Callable[..., Any]
READERS = (*family("accelerators"), *family("edge"))
ONLY = {reader.name: Book({reader.name: reader}) for reader in READERS}

NAMED = [
    ("gaudi", "step marker due to cpu fallback  aten::isin.Tensor_out", "device_fallback", "aten::isin"),
    (
        "gaudi",
        "RuntimeError: aten::isin.Tensor_out is not yet supported on HPU.",
        "op_fallback",
        "aten::isin",
    ),
    (
        "torch.xpu",
        "UserWarning: The operator 'aten::sort.out on the XPU backend is falling back to run on the CPU.",
        "device_fallback",
        "aten::sort",
    ),
    (
        "torch.mlu",
        "Warning: The operator 'aten::sort.out' fails on the MLU backend and will fall back to run on the CPU.",
        "device_fallback",
        "aten::sort",
    ),
    (
        "torch.musa",
        "Could not run 'aten::sort' with arguments from the 'MUSA' backend.",
        "op_fallback",
        "aten::sort",
    ),
    ("torch.dipu", "fallback to cpu, name=aten::sort.out", "device_fallback", "aten::sort"),
    (
        "onednn",
        "onednn_verbose,v1,primitive,exec,cpu,matmul,ref:any,undef,src_s8,,,64x64:64x64,1.2",
        "reference_kernel",
        "matmul",
    ),
    (
        "paddle",
        "I1130 00:00:00.0 11 a.cc:2] missing XPU kernel: top_k, expected_kernel_key:{a; b}, fallbacking to CPU one!",
        "device_fallback",
        "top_k",
    ),
    ("tpu_mlir", "RuntimeError: Op not support:{'DFT'}", "compile_error", "DFT"),
    (
        "tpu_mlir",
        '%0:2 = "tpu.GenericCpu"(%arg0) {cpu_op_name = "topk", param = {K = 2 : i64}} : (tensor<1x8xf32>) loc(#loc6)',
        "device_fallback",
        "topk",
    ),
    ("mnn", "[CoreML] The Creator Don't support type TopKV2.", "device_fallback", "TopKV2"),
    (
        "executorch",
        "[QNN Partitioner Op Support]: aten.sort.default | False",
        "op_fallback",
        "aten::sort",
    ),
    (
        "executorch",
        "INFO:root:[Vulkan Partitioner] Due to [dtype not supported], skipping torch.int16: torch.Size([1]) = aten.where.self(x,  ...)",
        "op_fallback",
        "aten::where",
    ),
    (
        "tflite",
        "WARNING: Operator QUANTIZE (v2) refused by NNAPI delegate: OP Version different from 1",
        "op_fallback",
        "QUANTIZE",
    ),
    (
        "vitis_ai",
        "[UNILOG][WARNING] xir::Op{name = net__pool, type = pool-fix} has been allocated to CPU.",
        "device_fallback",
        "pool-fix",
    ),
    (
        "rknn",
        "W RKNN: [13:52:53.504] Transpose will fallback to CPU, because input shape has exceeded the max limit",
        "device_fallback",
        "Transpose",
    ),
    (
        "rknn",
        "E RKNN: unsupport cpu Min op, op name: Min:block/Minimum in current, please try updating",
        "compile_error",
        "Min",
    ),
    (
        "tidl",
        "Unsupported (TIDL check) TIDL layer type ---            TopK ",
        "device_fallback",
        "TopK",
    ),
    (
        "tf_trt",
        "TF-TRT Warning: Engine retrieval for input shapes: [[3,2]] failed. Running native segment for a/TRTEngineOp_0",
        "op_fallback",
        "a/TRTEngineOp_0",
    ),
    (
        "neuron",
        "WARNING:Neuron:torch.neuron.trace failed on _NeuronGraph$21; falling back to native python function call",
        "compile_error",
        "_NeuronGraph$21",
    ),
]


@pytest.mark.parametrize(("compiler", "line", "kind", "op"), NAMED)
def test_a_line_names_its_operator(compiler: str, line: str, kind: str, op: str, read: Read) -> None:
    (report,) = read(line).reports
    assert (report.compiler, report.kind.value, report.op) == (compiler, kind, op)


@pytest.mark.parametrize(
    "line",
    [
        "torch.ops.aten._to_copy.default fellback to eager becouse it was identified as non D2D copy",
        "NO GRAPH BREAK DETECTED...............USING HABANA PT2E-QUANT FLOW.......!",
        "FusedSDPA slicing graph breaks are only supported in lazy mode. Disabling graph breaks for eager/compile mode",
        "diopiSort is not yet implemented, sort.out will be fallback to cpu",
        "force fallback has been set, sort.out will be fallback to cpu",
        "onednn_verbose,v1,primitive,create:dispatch,matmul,cpu,matmul,ref:any,undef,src,,,2x2,unsupported isa,src/a.cpp:1",
        "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src_f32,,,64x64,0.1",
        "Counter: xla::_to_cpu",
        "Counter: CreateXlaTensor",
        "pt-xla-profiler: CompileTime too frequent: 21 counts during 11 steps",
        "INFO:Neuron:aten::relu",
        "[QNN Partitioner Op Support]: aten.add.Tensor | True",
        "INFO: Created TensorFlow Lite XNNPACK delegate for CPU.",
        "VERBOSE: Replacing 3 out of 9 node(s) with delegate (TfLiteFlexDelegate) node, yielding 2 partitions for subgraph 0.",
        "INFO: Explicitly applied XNNPACK delegate, and the model graph will be partially executed by the delegate w/ 2 delegate kernels.",
        "2026-11-30 08:42:51.5: W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find TensorRT",
        "Layers type supported by TIDL --- layer type - TopK,  Node name - TopK_12",
        "[UNILOG][WARNING] DPU prefers xir::Op{name = c, type = conv2d-fix}'s input batch to be 4. So it will be assigned to CPU.",
        "GATHER: Operation is not supported.",
        "DEQUANTIZE                     2          Operation is working on an unsupported data type",
        "    GateMix           54              No",
        "The operator 'aten::sort' is not currently implemented for the MPS device.",
        "Could not run 'aten::sort' with arguments from the 'CUDA' backend.",
    ],
)
def test_no_event(line: str, read: Read) -> None:
    assert read(line, book=Book({reader.name: reader for reader in READERS})).reports == []


def test_the_statistics_of_gaudi_are_rows_below_their_header(read: Read) -> None:
    said = read(
        "7\taten::before",
        "[00:00:30.000000][PT_FALLBACK][critical] CPU Fallback stats:",
        "12\taten::isin.Tensor_out",
        "3\taten::nms",
        "epoch 2 loss 0.9",
        "5\taten::after",
    )
    assert [(r.op, r.position, r.reason) for r in said.reports] == [
        ("aten::isin", 3, "12 calls on the CPU"),
        ("aten::nms", 4, "3 calls on the CPU"),
    ]


def test_rows_of_another_rank_are_not_taken(read: Read) -> None:
    said = read(
        "[rank0]: CPU Fallback stats:",
        "[rank1]: 9\taten::other",
        "[rank0]: 3\taten::nms",
        "[rank1]: 8\taten::other",
    )
    assert [(r.op, r.position) for r in said.reports] == [("aten::nms", 3)]
    assert [process.rank for process in said.processes] == [0]


def test_the_rows_of_the_next_model_belong_to_its_own_header(read: Read) -> None:
    header = (
        "INFO:Neuron:The following operations are currently not supported in torch-neuron for this model:"
    )
    said = read(header, "INFO:Neuron:aten::nonzero", header, "INFO:Neuron:aten::topk")
    assert [(report.op, report.position) for report in said.reports] == [
        ("aten::nonzero", 2),
        ("aten::topk", 4),
    ]


@pytest.mark.parametrize("twice", [False, True])
def test_the_header_decides_what_a_row_of_neuron_means(twice: bool, read: Read) -> None:
    lines = [
        "INFO:Neuron:The following operations are currently supported in torch-neuron for this model:",
        "INFO:Neuron:aten::relu",
        "INFO:Neuron:The following operations are currently not supported in torch-neuron for this model:",
        "INFO:Neuron:aten::multinomial",
        "INFO:Neuron:98.00% of all operations (including primitives) (294 of 300) are supported",
        "INFO:Neuron:aten::late",
    ]
    said = read(*(line for line in lines for _ in range(1 + twice)))
    assert {r.op for r in said.reports} == {"aten::multinomial"}


@pytest.mark.parametrize(
    ("behind", "reasons"),
    [
        (["  Value: 12"], ["12 calls on the CPU"]),
        (["  Value: 0"], []),
        (["step 12 done", "  Value: 12"], ["12 calls on the CPU"]),
        (["step 12 done", "  Value: 0"], []),
        (["Counter: xla::add", "  Value: 12"], [None]),
        (["  Value: 12step 13 done"], [None]),
        ([], [None]),
    ],
)
def test_a_counter_whose_value_is_lost_counts(behind: list[str], reasons: list[object], read: Read) -> None:
    """PyTorch/XLA prints a counter once it was counted up; only one that was set back is 0."""
    assert [r.reason for r in read("Counter: aten::_local_scalar_dense", *behind).reports] == reasons


def test_qnn_gives_its_own_errors_as_the_reason(read: Read) -> None:
    said = read(
        "[ERROR] [Qnn ExecuTorch]:  <E> old",
        "[QNN Partitioner Op Support]: aten.add.Tensor | True",
        "[ERROR] [Qnn ExecuTorch]:  <E> [429] has incorrect Rank 6.",
        "",
        "[ERROR] [Qnn ExecuTorch]:  <E> QnnBackend_validateOpConfig failed 3110",
        "[QNN Partitioner Op Support]: aten.copy.default | False",
        "[QNN Partitioner Op Support]: aten.copy.default | Forced Fallback",
    )
    assert [r.reason for r in said.reports] == [
        "[429] has incorrect Rank 6.; QnnBackend_validateOpConfig failed 3110",
        "Forced Fallback",
    ]


def test_a_row_of_arms_table_goes_on_in_the_lines_below(read: Read) -> None:
    said = read(
        "╒══╤══╤══╤══╕",
        "│ Node name │ Target │ Torch func │ Reason │",
        "╞══╪══╪══╪══╡",
        "│ quantized_decomposed_quantize_per_t │ quantized_decomposed.quantize_per_t │ - │ Not included │",
        "│ ensor_default │ ensor.default │  │ in the list │",
        "├──┼──┼──┼──┤",
        "│ getitem │ <built-in function getitem> │ - │ Not included │",
        "╘══╧══╧══╧══╛",
        "│ aten_add_tensor │ aten.add.Tensor │ - │ below the table │",
    )
    assert [(r.op, r.site, r.reason) for r in said.reports] == [
        (
            "quantized_decomposed::quantize_per_tensor",
            "quantized_decomposed_quantize_per_tensor_default",
            "Not included in the list",
        )
    ]


SELECTED = "I litert  : [compiler_plugin.cc:741] Partitioned subgraph<0>, selected {} ops, from a total of 3912 ops. resulted in 2 partitions."
LOOKUP = "E litert  : [x.cc:1] LiteRT Op #4 'EmbeddingLookup' (code=7) is not supported in Qualcomm Compiler."


def test_what_a_plugin_leaves_is_told_by_its_share_where_nothing_names_it(read: Read) -> None:
    assert read(SELECTED.format(3912)).told == []
    assert read(SELECTED.format(3911)).told == [("op_fallback", "*", "program")]
    named = read(LOOKUP, SELECTED.format(3911))
    assert [report.names for report in named.reports] == [("EmbeddingLookup", "EMBEDDING_LOOKUP")]


def test_ml_drift_lists_what_it_refuses(read: Read) -> None:
    said = read(
        "I0000 00:00:1795998201.1    1221 ir_model_builder.cc:700] ",
        "  Not supported by ML Drift:",
        "    CAST: Op has bool tensors which are not supported.",
        "    TOPK_V2: Operation is not supported.",
        "I0000 00:00:1795998201.1    1221 ir_model_builder.cc:720] 29 / 31 ops are delegated to ML Drift.",
    )
    assert [report.op for report in said.reports] == ["CAST", "TOPK_V2"]


def test_the_builder_of_qnn_is_named_by_its_file(read: Read) -> None:
    line = "[QNN Delegate Op Builder]: Height or Width is not suitable, fall back op"
    place = "C:\\app\\backends\\qualcomm\\builders\\op_adaptive_avg_pool2d.py:62: UserWarning: "
    assert [r.op for r in read(place + line).reports] == ["adaptive_avg_pool2d"]
    assert read(line).told == [("op_fallback", "*", "unknown")]


GPU = "ERROR: Following operations are not supported by GPU delegate:"
SPLIT = "90 operations will run on the GPU, and the remaining 30 operations will run on the CPU."


@pytest.mark.parametrize(
    ("lines", "ops"),
    [
        (
            [GPU, "GATHER_ND: Operation is not supported.", "DEQUANTIZE:", "", SPLIT],
            ["GATHER_ND", "DEQUANTIZE"],
        ),
        (
            [GPU, "CUSTOM TFLite_Detection_PostProcess: Not supported", SPLIT],
            ["TFLite_Detection_PostProcess"],
        ),
        ([GPU, "GATHER: x", "INFO: Initialized OpenCL-based API.", "LATE: y"], ["GATHER"]),
        (
            [
                "05-31 10:38:42.607 22206 22206 E tflite  : Following operations are not supported by GPU delegate:",
                "05-31 10:38:42.607 22206 22206 E tflite  : UNPACK: Operation is not supported.",
                "05-31 10:38:42.607 22206 22206 E tflite  : 294 operations will run on the GPU, and the remaining 2 operations will run on the CPU.",
            ],
            ["UNPACK"],
        ),
        (["E/tflite: " + GPU[7:], "E/tflite: UNPACK: x", "E/tflite: " + SPLIT], ["UNPACK"]),
        ([GPU], ["*"]),
    ],
)
def test_the_gpu_delegate_lists_what_it_refuses(lines: list[str], ops: list[str], read: Read) -> None:
    assert [r.op for r in read(*lines).reports] == ops


REPLACED = (
    "VERBOSE: Replacing {} out of 120 node(s) with delegate ({}) node, yielding 3 partitions for subgraph 0."
)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([REPLACED.format(90, "TfLiteNnapiDelegate")], [("*", "program")]),
        ([REPLACED.format(90, "TfLiteXNNPackDelegate")], [("*", "program")]),
        ([REPLACED.format(120, "TfLiteGpuDelegateV2"), REPLACED.format(90, "TfLiteXNNPackDelegate")], []),
        ([REPLACED.format(90, "TfLiteGpuDelegateV2"), GPU, "GATHER: x", SPLIT], [("GATHER", "operator")]),
        ([REPLACED.format(120, "TfLiteGpuDelegateV2")], []),
    ],
)
def test_a_share_is_an_event_only_where_nothing_is_named(
    lines: list[str], told: list[tuple[str, str]], read: Read
) -> None:
    assert [(r.op, r.scope.value) for r in read(*lines, book=ONLY["tflite"]).reports] == told


TABLE = [
    "D RKNN: [09:38:25.031]    Network Layer Information Table",
    "D RKNN: [09:38:25.031] ------------",
    "D RKNN: [09:38:25.031] ID   OpType       DataType Target InputShape  OutputShape  FullName",
    "D RKNN: [09:38:25.031] ------------",
    "D RKNN: [09:38:25.031] 0    InputOperator  INT8  CPU    \\            (1,3,8,8)    InputOperator:in",
    "D RKNN: [09:38:25.031] 1    Conv           INT8  NPU    (1,3,8,8)    (1,16,8,8)   Conv:c1",
    "D RKNN: [09:38:25.031] 2    Resize         INT8  CPU    (1,16,8,8)   (1,16,16,16) Resize:up1",
    "D RKNN: [09:38:25.031] 3    OutputOperator INT8  CPU    (1,16,16,16) \\            OutputOperator:out",
    "D RKNN: [09:38:25.031] ------------",
]


def test_the_table_of_rknn_tells_the_target_of_each_layer(read: Read) -> None:
    (report,) = read(*TABLE).reports
    assert (report.op, report.layer, report.position) == ("Resize", "Resize:up1", 7)


def test_a_row_of_rknn_that_changed_places_with_the_line_above_is_read(read: Read) -> None:
    at = next(at for at, line in enumerate(TABLE) if "InputOperator" in line)
    moved = [*TABLE[: at - 1], TABLE[at], TABLE[at - 1], *TABLE[at + 1 :]]
    assert [report.op for report in read(*moved).reports] == ["Resize"]


def test_a_layer_of_tidl_is_named_above_its_message(read: Read) -> None:
    (report,) = read(
        "Layer 296 -- layer name -- Squeeze_1433",
        " Input dims size = 2     dims --- 0   1",
        "Layer 296 --- op type -  Squeeze,   Number of input dims 2  !=  4 .. not supported by TIDL",
    ).reports
    assert (report.op, report.layer) == ("Squeeze", "Squeeze_1433")


EDGETPU = [
    "Edge TPU Compiler version 16.0.384591198",
    "Started a compilation timeout timer of 180 seconds.",
    "Input model: a.tflite",
    "Number of operations that will run on Edge TPU: 264",
    "Number of operations that will run on CPU: 3",
    "",
    "Operator                       Count      Status",
    "",
    "CUSTOM                         1          Operation is working on an unsupported data type",
    "RESHAPE                        10         Mapped to Edge TPU",
    "DEQUANTIZE                     2          Operation is working on an unsupported data type",
    "Compilation child process completed within timeout period.",
    "Compilation succeeded!",
]


def test_the_edge_tpu_compiler_names_what_is_not_mapped(read: Read) -> None:
    said = read(*EDGETPU)
    assert [(r.op, r.position) for r in said.reports] == [("CUSTOM", 9), ("DEQUANTIZE", 11)]
    assert read(*EDGETPU[:5]).told == [("device_fallback", "*", "program")]
    short = [line for line in EDGETPU if not line.startswith("DEQ")]
    assert [r.op for r in read(*short).reports] == ["CUSTOM", "*"]


def test_the_table_of_the_neuron_check_is_read_below_its_header(read: Read) -> None:
    said = read(
        "    Op Type           Num Instances   Neuron Supported ?",
        "    -------           -------------   ------------------",
        "    Pad               7               Yes",
        "    Where             54              No",
        "    * Total inference operations: 61",
        "    Late              54              No",
    )
    assert said.told == [("op_fallback", "Where", "operator")]


def _run(at: str, name: str) -> str:
    """Where SOT begins or ends the opcodes of a function."""
    return f'[EXECUTOR RUN] {at} execute opcode: <code object {name} at 0x7f59c3cb18a0, file "/app/net.py", line 24>'


def test_a_break_within_a_function_that_is_traced_into_breaks_its_caller(read: Read) -> None:
    (report,) = read(
        _run("Start", "$resume_1@gate_8b59f"),
        "[Translate Executor 1] (line  27) PRECALL      1, stack is [NullVariable(object_952)]",
        _run("Start", "other"),
        "[Translate InlineFn 2] (line  90) RESUME       0, stack is []",
        _run("End", "other"),
        _run("Start", "inner"),
        "[Translate InlineFn 2] (line  21) PRECALL      0, stack is [TensorFunctionVariable(numpy, object_963)]",
        "[BreakGraph] call function Break graph:",
        "    Calling `Tensor.numpy` causes breakgraph.",
    ).reports
    assert report.op == "gate"
    assert report.names == ("gate", "inner", "Tensor.numpy")
    assert report.stack == ("inner", "gate")
    assert report.location == Location("/app/net.py", 27, "gate")


def test_the_function_that_is_compiled_no_more_is_named(read: Read) -> None:
    start = (
        '[eval_frame_callback] start to translate: <code object gate at 0x7ff4, file "/app/net.py", line 5>'
    )
    dump = "  5           0 RESUME                   0"
    named, unnamed = (
        read(*lines, "[Cache] Exceed max cache size, skip it").reports[0]
        for lines in ((start, dump), (dump,))
    )
    assert (named.op, named.scope.value, named.location) == (
        "gate",
        "region",
        Location("/app/net.py", None, "gate"),
    )
    assert (unnamed.op, unnamed.scope.value) == ("*", "unknown")


def test_two_operators_on_the_cpu_are_two_places(read: Read) -> None:
    line = '%{0} = "tpu.GenericCpu"(%arg0) {{cpu_op_name = "topk", param = {{K = 2 : i64}}}} : (tensor<1x8xf32>) loc(#loc{0})'
    assert [report.site for report in read(line.format(6), line.format(7)).reports] == ["#loc6", "#loc7"]


def test_the_step_that_failed_names_the_operator_that_made_it_fail(read: Read) -> None:
    failed = "RuntimeError: [!Error]: tpuc-opt net.mlir --convert-top-to-tpu"
    for why, names in (
        (
            "<unknown>:0: error: loc(\"y_Einsum\"): 'top.Einsum' op attribute 'mode' failed",
            ("Einsum", "y_Einsum"),
        ),
        ("UNREACHABLE executed at /opt/tpu-mlir/lib/Conversion/TopToTpu/CV18xx/TopK.cpp:25!", ("TopK",)),
        ("UNREACHABLE executed at /opt/tpu-mlir/lib/Conversion/TopToTpu/TopToTpuPass.cpp:1921!", ()),
    ):
        (report,) = read(why, "#0 0x0000560fe1f5fbd4 (/opt/tpuc-opt+0xcefbd4)", failed).reports
        assert (report.names, report.site) == (names, "net.mlir")
        assert report.scope.value == ("operator" if names else "program")


def test_placeholders_are_no_work_for_tensorrt(read: Read) -> None:
    said = read(
        "There are 9 ops of 4 different types in the graph that are not converted to TensorRT: Identity, Placeholder, "
        "Pack, TopKV2, (For more information see https://docs.nvidia.com/x)."
    )
    assert [r.op for r in said.reports] == ["Pack", "TopKV2"]


@given(st.lists(st.from_regex(r"\A[a-z]{2,8}::[a-z_]{1,12}\Z"), max_size=20, unique=True))
def test_a_list_gives_each_name_once_whatever_stands_around_it(names: list[str]) -> None:
    assert shared.words(", ".join(f"'{name}'" for name in names + names)) == names


def test_words_end_where_their_letters_end_and_are_not_endless() -> None:
    most = [f"n{number}" for number in range(shared.MOST)]
    assert shared.words(" ".join([*most, "more"])) == most
    assert shared.words("[ArgMAX: 2, 'XX.TopK.', aten::sort:]") == ["ArgMAX", "XX.TopK", "aten::sort"]


@given(st.text(max_size=300))
def test_any_text_is_a_list_of_at_most_its_words(text: str) -> None:
    assert len(shared.words(text)) <= len(text)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_every_reader_has_a_manual_page_of_its_own(reader: Any) -> None:
    assert reader.manual.startswith(f"{reader.name}: ")
    for part in ("What falls back", "At which setting it speaks", "When it is silent", "What proves the end"):
        assert f"**{part}.**" in reader.manual


@pytest.mark.parametrize(
    ("begun", "ended", "told"),
    [
        ([1], [2], True),
        ([1, 3], [2, 4], True),
        ([1, 3], [2, 2, 5], True),
        ([5], [2, 6], True),
        ([1, 3], [4, 5], False),
        ([1, 3], [2], False),
        ([1, 3], [2, 3], False),
        ([1], [], False),
        ([1], [1], False),
        ([], [1], False),
        ([], [], False),
    ],
)
def test_each_step_that_began_ends_before_the_next(begun: list[int], ended: list[int], told: bool) -> None:
    assert shared.each_ended(begun, ended) is told
