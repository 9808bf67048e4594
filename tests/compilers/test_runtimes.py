"""Room 3: inference runtimes: their messages and what their logs prove; wording from real runs and their sources."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fallback_gate.compilers import READERS
from fallback_gate.compilers.runtimes.executorch import names_of
from fallback_gate.model import State
from tests.compilers.conftest import states

SAMPLES = Path(__file__).parent.parent.parent / "sample_logs"
Read = Callable[..., Any]

SESSION = "2026-11-30 00:18:28.7 [{}:onnxruntime:, inference_session.cc:2567 Initialize] {}"
BEGIN = SESSION.format("I", "Initializing session.")
END = SESSION.format("I", "Session successfully initialized.")
ONLY_CPU = "providers: ['CPUExecutionProvider']"


def sample(name: str) -> list[str]:
    """The lines of a sample log."""
    return (SAMPLES / name).read_text(encoding="utf-8").splitlines()


def v(message: str) -> str:
    """A line of ONNX Runtime's placement block."""
    return f"2026-11-30 00:18:28.7 [V:onnxruntime:, session_state.cc:1307 VerifyEachNodeIsAssignedToAnEp] {message}"


def block(*groups: tuple[str, list[str]]) -> list[str]:
    """A placement block: each provider with its nodes, as `Op (name)`."""
    lines = [v("Node placements")]
    for provider, nodes in groups:
        lines.append(v(f" Node(s) placed on [{provider}]. Number of nodes: {len(nodes)}"))
        lines += [v(f"  {node}") for node in nodes]
    return lines


CUDA, CPU, TENSORRT = "CUDAExecutionProvider", "CPUExecutionProvider", "TensorrtExecutionProvider"


def test_a_node_beside_a_provider_is_a_fallback_with_its_name_and_line(read: Read) -> None:
    lines = [BEGIN, *block((CUDA, ["Conv (c)"]), (CPU, ["TopK (/a/TopK)", "Shape ()"])), END]
    said = read(*lines)
    assert [(r.op, r.layer, r.position) for r in said.reports] == [("TopK", "/a/TopK", 6), ("Shape", None, 7)]
    assert said.reports[0].reason == f"placed on {CPU} (2 nodes), beside {CUDA} (1 nodes)"
    assert states(said, "onnxruntime") == {"device_fallback": State.PROVEN, "compile_error": State.PROVEN}


@pytest.mark.parametrize(
    ("groups", "fell_back"),
    [
        ([(CPU, ["TopK (t)"]), (CUDA, ["Conv (c)"])], ["TopK"]),
        ([(TENSORRT, ["TRT_1 (t)"]), (CUDA, ["TopK (t)", "MemcpyToHost (Memcpy)"])], ["TopK"]),
        ([(CUDA, ["Conv (c)"]), ("DmlExecutionProvider", ["TopK (t)"])], []),
        ([("AzureExecutionProvider", ["Chat (c)"]), (CPU, ["TopK (t)"])], []),
    ],
)
def test_which_provider_is_behind_which(
    groups: list[tuple[str, list[str]]], fell_back: list[str], read: Read
) -> None:
    assert [report.op for report in read(BEGIN, *block(*groups), END).reports] == fell_back


def test_the_block_of_older_versions_has_the_nodes_on_one_line(read: Read) -> None:
    at = "2020-08-09 09:37:41.5 [V:onnxruntime:, inference_session.cc:671 TransformGraph]"
    said = read(
        BEGIN,
        f"{at} Node placements",
        f"{at}  Provider: [{CPU}]: [Gather (Gather_120), Shape (Shape_3), ]",
        f"{at}  Provider: [{CUDA}]: [Conv (Conv_1), ]",
        END,
    )
    assert [(report.op, report.layer) for report in said.reports] == [
        ("Gather", "Gather_120"),
        ("Shape", "Shape_3"),
    ]
    assert states(said, "onnxruntime")["device_fallback"] is State.PROVEN


ALL = v(f" All nodes placed on [{CUDA}]. Number of nodes: 46")
ALL_CPU = v(f" All nodes placed on [{CPU}]. Number of nodes: 46")
HEADER = v("Node placements")


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ([BEGIN, HEADER, ALL, END], State.PROVEN),
        ([BEGIN, HEADER, ALL.replace("nodes placed", "nodes have been placed"), END], State.PROVEN),
        ([BEGIN, HEADER, ALL], State.UNPROVEN),
        ([BEGIN, HEADER], State.UNPROVEN),
        ([BEGIN, END], State.UNOBSERVABLE),
        ([BEGIN, HEADER, ALL, END, BEGIN], State.UNPROVEN),
        ([BEGIN, HEADER, ALL, END, BEGIN, END], State.UNPROVEN),
        ([BEGIN, HEADER, ALL_CPU, END], State.UNPROVEN),
        ([BEGIN, HEADER, ALL_CPU, END, ONLY_CPU], State.PROVEN),
        ([BEGIN, HEADER, ALL_CPU, END, ONLY_CPU, f"['{CUDA}', '{CPU}']"], State.UNPROVEN),
        ([BEGIN, *block((CUDA, ["Conv (c)"]))[:-1], END], State.UNPROVEN),
    ],
)  # fmt: skip
def test_a_session_is_proven_by_its_placement_and_its_end(lines: list[str], state: State, read: Read) -> None:
    said = read(*lines)
    assert said.reports == []
    assert states(said, "onnxruntime")["device_fallback"] is state


ONE_GONE = block((CUDA, ["Conv (c)", "MatMul (m)"]), ("QNNExecutionProvider", ["Relu (r)"]))


@pytest.mark.parametrize("at", range(len(ONE_GONE)))
def test_a_placement_that_lost_any_line_proves_nothing(at: int, read: Read) -> None:
    whole = states(read(BEGIN, *ONE_GONE, END), "onnxruntime")["device_fallback"]
    lost = states(read(BEGIN, *ONE_GONE[:at], *ONE_GONE[at + 1 :], END), "onnxruntime")["device_fallback"]
    assert (whole, lost is State.PROVEN) == (State.PROVEN, False)


@pytest.mark.parametrize("at", [1, 2, 4, 5, 6])  # 3: the two nodes of one group may stand in any order
def test_a_placement_with_two_lines_in_the_wrong_order_proves_nothing(at: int, read: Read) -> None:
    lines = [BEGIN, *ONE_GONE, END]
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    assert states(read(*lines), "onnxruntime")["device_fallback"] is not State.PROVEN


OTHER = f"session providers: ['DmlExecutionProvider', '{CPU}']"
SAME = f"session providers: ['{CUDA}', '{CPU}']"
PLACED = [BEGIN, HEADER, ALL, END]


def test_a_provider_that_was_lost_on_the_way_is_no_further_session(read: Read) -> None:
    using = f"['{TENSORRT}', '{CUDA}', '{CPU}']"
    retry = [f"EP Error: boom using {using}", f"Falling back to ['{CUDA}', '{CPU}'] and retrying."]
    assert (
        states(read(f"providers={using}", *retry, *PLACED, SAME), "onnxruntime")["device_fallback"]
        is State.PROVEN
    )


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ([f"loading a.onnx with providers=['{CUDA}', '{CPU}']", *PLACED, SAME], State.PROVEN),  # one session
        ([*PLACED, SAME, *PLACED, SAME], State.PROVEN),
        ([*PLACED, SAME, *PLACED, OTHER], State.PROVEN),
        ([OTHER.replace("session", "available"), *PLACED, SAME], State.PROVEN),
        ([OTHER, *PLACED, SAME], State.UNPROVEN),
        ([*PLACED, SAME, OTHER], State.UNPROVEN),
        ([*PLACED, SAME, SAME], State.UNPROVEN),
        ([*PLACED, SAME, f"session providers: ['{CPU}']"], State.UNPROVEN),
    ],
)
def test_each_session_that_lists_its_providers_owes_a_placement(
    lines: list[str], state: State, read: Read
) -> None:
    assert states(read(*lines), "onnxruntime")["device_fallback"] is state


def test_all_on_the_cpu_is_a_fallback_where_another_provider_was_asked(read: Read) -> None:
    asked = "2026-11-30 00:18:28.7 [I:onnxruntime:, cuda_execution_provider.cc:2304 GetCapability] CUDA kernel not found in registries for Op type: TopK node name: t"
    said = read(BEGIN, HEADER, ALL_CPU, END, BEGIN, asked, HEADER, ALL_CPU, END)
    whole = [report for report in said.reports if report.scope.value == "program"]
    assert [(report.kind.value, report.op, report.position) for report in whole] == [
        ("device_fallback", CUDA, 7)
    ]


ASKED = f"providers: ['{CUDA}', '{CPU}']"
ON_CPU = [BEGIN, HEADER, ALL_CPU, END]


@pytest.mark.parametrize(
    ("lines", "at", "state"),
    [
        ([*ON_CPU, ASKED], [2], State.PROVEN),
        ([ASKED, BEGIN, HEADER, ALL, END, *ON_CPU, ASKED], [7], State.PROVEN),
        ([ASKED, *ON_CPU, *ON_CPU, ASKED], [3, 7], State.PROVEN),
        ([BEGIN, HEADER, ALL, END, ASKED, *ON_CPU], [], State.UNPROVEN),  # of which session, nobody knows
        ([BEGIN, HEADER, ALL, END, ASKED, *ON_CPU, ONLY_CPU], [], State.UNPROVEN),
        ([ASKED.replace("prov", "available prov"), *ON_CPU], [], State.UNPROVEN),
        ([*ON_CPU, f"['AzureExecutionProvider', '{CPU}']"], [], State.PROVEN),
    ],
)
def test_all_on_the_cpu_is_a_fallback_where_each_list_has_another_provider(
    lines: list[str], at: list[int], state: State, read: Read
) -> None:
    said = read(*lines)
    assert [(report.op, report.scope.value, report.position) for report in said.reports] == [
        (CUDA, "program", line) for line in at
    ]
    assert states(said, "onnxruntime")["device_fallback"] is state


@pytest.mark.parametrize("before", [1, 2])
def test_a_retry_names_the_provider_that_was_lost(before: int, read: Read) -> None:
    using = f"['{TENSORRT}', ('{CUDA}', {{'device_id': 0}}), '{CPU}']"
    lines = {
        1: [f"EP Error: [ONNXRuntimeError] : 11 : EP_FAIL : boom using {using}"],
        2: ["*************** EP Error ***************", "EP Error boom", f" when using {using}"],
    }[before]
    said = read(*lines, f"Falling back to ['{CUDA}', '{CPU}'] and retrying.")
    assert said.told == [("device_fallback", TENSORRT, "program")]
    assert "boom" in (said.reports[0].reason or "")


def test_a_line_that_names_nothing_yields_to_those_that_do(read: Read) -> None:
    warning = "2026-11-30 00:18:23.2 [W:onnxruntime:, session_state.cc:1327 VerifyEachNodeIsAssignedToAnEp] Some nodes were not assigned to the preferred execution providers which may or may not"
    said = read(warning, *block((CUDA, ["Conv (c)"]), (CPU, ["TopK (t)"])), END)
    assert [report.op for report in said.reports if not report.hint] == ["TopK"]
    assert read(warning).told == [("device_fallback", "*", "unknown")]
    assert states(read(warning), "onnxruntime")["device_fallback"] is State.UNPROVEN


def test_a_profile_shows_kernels_of_the_cpu_beside_those_of_a_provider(read: Read) -> None:
    def kernel(name: str, op: str, provider: str) -> str:
        args = {"op_name": op, "provider": provider, "node_index": "3"}
        return json.dumps({"cat": "Node", "pid": 7, "name": f"{name}_kernel_time", "args": args}) + ","

    cpu = kernel("/a/TopK", "TopK", CPU)
    said = read("[", kernel("/c", "Conv", CUDA), cpu, cpu, "]")
    assert [(r.op, r.layer, r.position) for r in said.reports] == [("TopK", "/a/TopK", 3)]
    assert read("[", cpu, "]").reports == []
    assert State.PROVEN not in states(said, "onnxruntime").values()


ORT_W = "2026-11-30 00:18:23.2 [W:onnxruntime:, x.cc:1 f] "


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("UserWarning: Specified provider 'QNNExecutionProvider' is not in available provider names.Available providers: 'CPUExecutionProvider'", ("device_fallback", "QNNExecutionProvider", "program")),
        (ORT_W + "Failed to create TensorrtExecutionProvider. Please reference", ("device_fallback", TENSORRT, "program")),
        ('Error loading "C:\\ort\\onnxruntime_providers_cuda.dll" which depends on "cublasLt64_12.dll" which is missing.', ("device_fallback", CUDA, "program")),
        (ORT_W + "CUDA kernel not supported. Fallback to CPU execution provider for Op type: LSTM node name: l", ("device_fallback", "LSTM", "operator")),
        (ORT_W + "2 Memcpy nodes are added to the graph main_graph for CUDAExecutionProvider. It might", ("device_fallback", "*", "unknown")),
        ("onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented: [ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for TopK(11) node with name 'TopK_3'", ("compile_error", "TopK", "operator")),
        ("onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : FAIL : out of disk", ("compile_error", "*", "program")),
        ("[00:03:39.3405]D[plugin.cpp:188][AUTO] get default device id failed for GPU.1", ("device_fallback", "GPU.1", "program")),
        ("[00:03:39.3405]I[auto_schedule.cpp:400][AUTO] Select fallback device:CPU", ("device_fallback", "CPU", "program")),
        ('Cannot load library "/ov/libs/libopenvino_intel_npu_plugin.so": libze_loader.so.1: cannot open', ("compile_error", "NPU", "program")),
        ("    stablehlo.custom_call @xla_ffi_python_cpu_callback(%1) {has_side_effect = true} : (tensor<f32>) -> ()", ("device_fallback", "callback", "operator")),
        ("(Name:/a/Gate, Type: GateAttn) were not able to be assigned on any pointed device.", ("compile_error", "GateAttn", "operator")),
        ("-- Conversion is failed for: aten::gate_attn", ("compile_error", "aten::gate_attn", "operator")),
        ("/a/Gather   EXECUTED   layerType: Gather   execType: ref_any_f32   realTime (ms): 0.2", ("reference_kernel", "Gather", "operator")),
        ("/l0/GateAttn_7   Status.EXECUTED   layerType: Reference   execType: ref_f32   realTime (ms): 0.2", ("reference_kernel", "GateAttn", "operator")),
        ("DEBUG:openvino.frontend.pytorch.torchdynamo.execute:OpenVINO execution failed with x. Falling back to native PyTorch execution.", ("eager_frame", "*", "program")),
        ("An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to cpu.", ("device_fallback", "GPU", "program")),
        ("RuntimeError: Unable to initialize backend 'tpu': INTERNAL: x", ("compile_error", "tpu", "program")),
        ("  ROOT %io_callback.2 = (f32[2]{0}) custom-call(%a), custom_call_target=\"xla_ffi_partitioned_python_gpu_callback\"", ("device_fallback", "io_callback", "operator")),
        ("WARNING:tensorflow:AutoGraph could not transform <bound method Moe.call of <Moe object at 0x7f>> and will run it as-is.", ("eager_frame", "Moe.call", "region")),
        ("W0000 00:00:1729782634.4    1221 gpu_device.cc:2344] Cannot dlopen some GPU libraries. Please make sure", ("device_fallback", "GPU", "program")),
        ("Custom ops: PyFunc\nDetails:", ("op_fallback", "PyFunc", "operator")),
        ("RuntimeError: Missing out variants: {'acme::gate_attn'}", ("compile_error", "acme::gate_attn", "operator")),
    ],
)  # fmt: skip
def test_one_line(line: str, told: tuple[str, str, str], read: Read) -> None:
    assert read(line).told == [told]


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-30 00:18:59.0 [V:onnxruntime:, attention_fusion.cc:330 operator()] MobileClipMHA[/q]: fusion skipped: check failed",
        "2023-01-30 12:49:49.5 [I:onnxruntime:, fallback_cpu_capability.cc:80 GetCpuPreferredNodes] Candidate for fallback CPU execution: Shape_1",
        "onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument: [ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Got invalid dimensions",
        "the docs say: Some nodes were not assigned to the preferred execution providers",
        "ggml_vulkan: No devices found.",
        "[00:04:55.7264]I[auto_schedule.cpp:163][AUTO] select device:CPU",
        "/a/MatMul   Status.EXECUTED   layerType: MatMul   execType: brgemm_avx2_f32   realTime (ms): 0.1",
        "onednn_verbose,v1,primitive,exec,cpu,softmax,jit:avx512_core,forward_inference,src:f32,,,1x16x2,0.01",
        "INFO:2026-11-30 00:13:13,125:jax._src.xla_bridge:849: Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so",
        '  %custom-call = (f32[16,1]{1,0}) custom-call(%ynn_fusion.2), custom_call_target="TopK", called_computations={%c}',
        "WARNING:tensorflow:5 out of the last 5 calls to <function layer at 0x7f> triggered tf.function retracing.",
        "I0000 00:00:1.1 1 compilability_check_util.cc:62] Found uncompilable node output_RetVal (op _Retval): top level _Arg or _Retval",
        "INFO: Created TensorFlow Lite XNNPACK delegate for CPU.",
        "[serve] op 26 DELEGATE [0, 5, 6, 7] -> [21, 22, 25]",
        "Number of non-delegated nodes: 36",
    ],
)
def test_no_fallback(line: str, read: Read) -> None:
    assert read(line).reports == []


@pytest.mark.parametrize(
    ("line", "op", "layer"),
    [
        ("DFT_11 {'execTimeMcs': '72', 'layerType': 'DFT', 'primitiveType': 'ref_any_f32'}", "DFT", "DFT_11"),
        ('  {"layerType": "Gather", "originalLayersNames": "/ew1/Gather,x", "primitiveType": "ref_any_f32"}', "Gather", "/ew1/Gather"),
        ('<data execOrder="2" originalLayersNames="DFT_4" primitiveType="ref_any_f32" runtimePrecision="f32" />', "DFT", "DFT_4"),
        ("  primitiveType = ref_any_f32", "*", None),
        ("DFT_11 Status.EXECUTED DFT ref_any_f32 25", "DFT", "DFT_11"),
        ("subgraph0: NMS_2.0.0 Status.EXECUTED Convert ref_i32 17", "Convert", "NMS_2.0.0"),
        ("/l0/gate;Status.EXECUTED;Reference;ref_f32;0.025;0.025;", "gate", "/l0/gate"),
        ("Status.EXECUTED DFT ref_any_f32 DFT_11", "DFT", None),
    ],
)  # fmt: skip
def test_a_reference_kernel_in_a_form_of_the_programs_own(
    read: Read, line: str, op: str, layer: str | None
) -> None:
    said = read(line)
    (report,) = said.reports
    assert (report.kind.value, report.op, report.layer) == ("reference_kernel", op, layer)
    assert states(said, "openvino") == {"reference_kernel": State.UNOBSERVABLE}


def clean_table(*, times: tuple[float, ...] = (0.25, 0.5, 0.03), total: float = 0.78) -> list[str]:
    """A table of counters without a reference kernel, laid out as benchmark_app does."""
    rows = [
        f"{f'MatMul_{at}':<20} {'Status.EXECUTED':<20} layerType: {'FullyConnected':<20} execType: {'jit_avx512_f32':<20} "
        f"realTime (ms): {time:<10.3f} cpuTime (ms): {time:<10.3f}"
        for at, time in enumerate(times)
    ]
    return [
        "[ INFO ] Performance counts for 0-th infer request",
        *rows,
        f"Total time:     {total} milliseconds",
    ]


TABLE = clean_table()
NO_ROW = [TABLE[0], TABLE[1], *TABLE[3:]]
MICROSECONDS = [*TABLE[:-1], "Total time:     780 microseconds"]  # before 2022: the unit that is not checked


@pytest.mark.parametrize("width", [*range(60, 95), 200])
def test_a_table_of_counters_cut_at_a_column_proves_nothing(width: int, read: Read) -> None:
    found = states(read(*(line[:width] for line in TABLE)), "openvino")["reference_kernel"]
    whole = width > TABLE[1].index("realTime (ms): ") + len("realTime (ms): 0.250")
    assert found is (State.PROVEN if whole else State.UNPROVEN)


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        (TABLE, State.PROVEN),
        (clean_table(total=0.7804), State.PROVEN),
        (MICROSECONDS, State.PROVEN),
        (NO_ROW, State.UNPROVEN),
        ([TABLE[0], TABLE[-1]], State.UNPROVEN),
        (TABLE[:-1], State.UNPROVEN),
    ],
)
def test_a_table_of_counters_adds_up(lines: list[str], state: State, read: Read) -> None:
    assert states(read(*lines), "openvino")["reference_kernel"] is state


AUTO = "[00:04:55.7264]I[schedule.cpp:17][AUTO] "
AUTO_BEGINS, AUTO_ENDS = AUTO + "scheduler starting", AUTO + "scheduler ending"
AUTO_MADE = AUTO + "device:CPU compiling model finished"
STEPS = ["[Step 1/11] Parsing and validating input arguments", "[Step 7/11] Loading the model to the device"]
EXECUTED = [
    "executed graph: layerType primitiveType runtimePrecision name",
    "  Output                   unknown_f32                  f32    logits/sink_port_0",
]


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ([*STEPS, *TABLE], State.PROVEN),
        ([*STEPS, *TABLE, *TABLE], State.PROVEN),  # two requests of one model
        ([*STEPS, *TABLE, *STEPS, *TABLE], State.PROVEN),
        ([*STEPS, *EXECUTED], State.UNPROVEN),  # of another program: benchmark_app prints none
        ([*STEPS[1:], *EXECUTED], State.UNPROVEN),
        ([*STEPS, *STEPS, *TABLE], State.UNPROVEN),
        ([*STEPS, *TABLE, *TABLE, *STEPS], State.UNPROVEN),
        ([AUTO_BEGINS, AUTO_MADE, *EXECUTED, AUTO_ENDS], State.PROVEN),
        ([AUTO_BEGINS, AUTO_MADE, AUTO_MADE, *EXECUTED], State.PROVEN),  # one for a start, one to go on with
        ([*STEPS, AUTO_BEGINS, AUTO_MADE, *TABLE, AUTO_ENDS], State.PROVEN),
        ([AUTO_BEGINS, AUTO_MADE, AUTO_ENDS, *EXECUTED], State.UNPROVEN),
        ([AUTO_MADE, AUTO_ENDS, *EXECUTED], State.UNPROVEN),
        ([*EXECUTED, AUTO_BEGINS, AUTO_MADE, AUTO_ENDS], State.UNPROVEN),
        ([AUTO_BEGINS, AUTO_MADE, AUTO_BEGINS, AUTO_MADE, *EXECUTED, AUTO_ENDS], State.UNPROVEN),
        ([AUTO_BEGINS, AUTO_MADE, AUTO_ENDS], State.UNOBSERVABLE),
    ],
)
def test_each_model_of_openvino_that_is_compiled_owes_a_table(
    lines: list[str], state: State, read: Read
) -> None:
    assert states(read(*lines), "openvino")["reference_kernel"] is state


def test_the_operators_outside_openvinos_partitions_are_named(read: Read) -> None:
    head = "DEBUG:openvino.frontend.pytorch.torchdynamo.partition:Graph module {} partitioning <lambda>("
    body = [
        "  (fused_0): fused_0()", ")", "", "def forward(self, arg0_1):",
        "    sym_size_int = torch.ops.aten.sym_size.int(arg0_1, 0)",
        "    fused_0 = self.fused_0(arg0_1)",
        "    add_ = torch.ops.aten.add_.Scalar(fused_0, 1e-07);  fused_0 = None",
        "    gate_attn = torch.ops.acme.gate_attn.default(add_)",
        "    return (gate_attn,)", "    later = torch.ops.aten.sort.default(x)",
    ]  # fmt: skip
    said = read(head.format("after"), *body)
    assert [(r.op, r.position) for r in said.reports] == [("aten::add_", 8), ("acme::gate_attn", 9)]
    assert read(head.format("before"), *body).reports == []


TF = "I0000 00:00:1.1   1 mark_for_compilation_pass.cc:1713] "


@pytest.mark.parametrize(
    ("clusters", "instances", "fell_back"),
    [
        (2, ["NoOp: 2", "PyFunc: 1", "_Arg: 8"], ["PyFunc"]),
        (0, ["Fill: 1", "NoOp: 2", "_Arg: 1"], []),
        (0, ["MatMul: 3", "Relu: 1"], ["MatMul", "Relu"]),
    ],
)
def test_what_stays_outside_the_clusters(
    clusters: int, instances: list[str], fell_back: list[str], read: Read
) -> None:
    said = read(
        f"{TF}*** Clustering info for graph of size 41",
        f"{TF} Built {clusters} clusters, size 29 / 41 (70.73%)",
        f"{TF} Unclustered nodes: 12 / 41 (29.27%)",
        *[f"{TF}  {one} instances" for one in instances],
        f"{TF}*** Inter-Cluster edges:",
    )
    assert [report.op for report in said.reports] == fell_back


@pytest.mark.parametrize(
    ("node", "op", "also"),
    [
        ("aten_mm_default_3", "aten::mm", {"aten_mm_default", "mm"}),
        ("aten__softmax_default", "aten::_softmax", {"_softmax"}),
        ("aten_add_scalar", "aten::add", {"aten_add_scalar"}),
        ("aten_pow_tensor_scalar", "aten::pow", {"pow"}),
        ("aten_permute_copy_default", "aten::permute_copy", {"permute_copy"}),
        ("acme_gate_attn_default", "acme_gate_attn_default", {"acme::gate_attn", "gate_attn"}),
    ],
)
def test_the_names_of_an_operator_of_the_edge_dialect(node: str, op: str, also: set[str]) -> None:
    names = names_of(node)
    assert names[0] == op
    assert also <= set(names)


HEADED = "|    | op_type | occurrences_in_delegated_graphs | occurrences_in_non_delegated_graphs |"
DELEGATED = [HEADED, "|  0 | aten_mm_default | 4 | 0 |", "|  1 | getitem | 0 | 2 |", "|  2 | Total | 4 | 2 |"]


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        (DELEGATED, State.PROVEN),
        ([HEADED, DELEGATED[1], DELEGATED[3]], State.UNPROVEN),  # a row outside the delegates is lost
        ([HEADED, *DELEGATED[2:]], State.PROVEN),  # the one that is lost has none outside
        ([HEADED, DELEGATED[1], DELEGATED[3], DELEGATED[2]], State.UNPROVEN),
        ([HEADED, DELEGATED[1], "|  1 | aten_topk_default", DELEGATED[3]], State.UNPROVEN),
    ],
)
def test_the_table_of_executorch_adds_up(lines: list[str], state: State, read: Read) -> None:
    assert states(read(*lines), "executorch")["op_fallback"] is state


@pytest.mark.parametrize(
    ("log", "compiler", "kind", "needs"),
    [
        ("openvino/clean-execgraph.2026.4.log", "openvino", "reference_kernel", "  Output "),
        ("executorch/xnnpack-mlp-report.1.5.log", "executorch", "op_fallback", " Total "),
        ("litert/convert-clean.2.21.log", "litert.converter", "op_fallback", "Estimated count"),
        ("iree/grouped-gemm-clean.3.13.log", "iree", "untuned_config", "}"),
    ],
)
def test_a_clean_log_proves_nothing_until_its_last_line(
    log: str, compiler: str, kind: str, needs: str, read: Read
) -> None:
    lines = sample(log)
    last = max(at for at, line in enumerate(lines) if line.startswith(needs) or needs in line)
    for length in range(last + 1):
        said = read(*lines[:length])
        for by in said.evidence.processes.values():
            if compiler in by:
                found = {k.value: p.state for k, p in READERS[compiler].prove(by[compiler]).items()}
                assert found[kind] is not State.PROVEN
    assert states(read(*lines[: last + 1]), compiler)[kind] is State.PROVEN


@pytest.mark.parametrize("log", ["jax/callback-hlo.0.10.log", "tensorflow/numpy-function-clusters.2.21.log"])
def test_a_compiler_without_an_end_proves_nothing(log: str, read: Read) -> None:
    said = read(*sample(log))
    for by in said.evidence.processes.values():
        for compiler, evidence in by.items():
            assert State.PROVEN not in {p.state for p in READERS[compiler].prove(evidence).values()}


def test_the_table_that_pandas_makes_narrow_has_the_column_that_counts(read: Read) -> None:
    table = [  # of a torch.where between two linear layers, lowered by 0.6
        "                  op_type  ...  occurrences_in_non_delegated_graphs",
        "0  aten_full_like_default  ...                                    1",
        "1          aten_gt_scalar  ...                                    2",
        "2     aten_linear_default  ...                                    0",
        "3                 getitem  ...                                    2",
        "4                   Total  ...                                    5",
        "",
        "[5 rows x 3 columns]",
    ]
    summary = [
        "Total delegated subgraphs: 2",
        "Number of delegated nodes: 2",
        "Number of non-delegated nodes: 5",
    ]
    said = read(*summary, *table)
    assert [(report.op, report.position, report.reason) for report in said.reports] == [
        ("aten::full_like", 5, "1 outside the delegates"),
        ("aten::gt", 6, "2 outside the delegates"),
    ]
    assert states(said, "executorch")["op_fallback"] is State.PROVEN
    elided = [*table[:3], "..                    ...  ...                                  ...", *table[4:]]
    assert states(read(*summary, *elided), "executorch")["op_fallback"] is State.UNPROVEN
