"""Room 3: TensorRT: layers that leave the DLA, tactics without memory, and builds that end or do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.compilers import READERS
from fallback_gate.compilers.nvidia import tensorrt, tensorrt_layers
from fallback_gate.compilers.rule import Evidence, Sighting
from fallback_gate.model import State

Read = Callable[..., Any]
W, I, E = "[01/01/2026-00:00:04] [W] [TRT] ", "[01/01/2026-00:00:05] [I] [TRT] ", "[01/01/2026-00:00:06] [E] "  # noqa: E741


def states(said: Any) -> dict[str, State]:
    """What the log proves about TensorRT, in its one process."""
    (by,) = said.evidence.processes.values()
    return {kind.value: proof.state for kind, proof in READERS["tensorrt"].prove(by["tensorrt"]).items()}


@pytest.mark.parametrize(
    ("line", "op"),
    [
        (W + "Default DLA is enabled but layer Gather in token embedding is not supported on DLA, falling back to GPU.", "Gather in token embedding"),
        ("WARNING: Default DLA is enabled but layer layer74-act is not running on DLA, falling back to GPU.", "layer74-act"),
        ("[TensorRT] WARNING: Default DLA is enabled but layer a is not supported on DLA, falling back to GPU.", "a"),
        ("[01/01/2026-00:00:04] [01/01/2026-00:00:04] " + "[W] [TRT] DLA only supports FP16 and Int8 precision type. Switching (Unnamed Layer* 12) [Gather] device type to GPU.", "(Unnamed Layer* 12) [Gather]"),
        (W + "Layer '/model.22/dfl/conv.1/Conv' (CONVOLUTION): Unsupported on DLA. Switching this layer's device type to GPU.", "/model.22/dfl/conv.1/Conv"),
        ("[01/29/2026-15:42:41] [TRT] [W] Validation failed for DLA layer: /model.23/m.0/Mod. Switching to GPU fallback.", "/model.23/m.0/Mod"),
        ("WARNING: [TRT]: DLA supports only 8 subgraphs per DLA core. Switching to GPU for layer conv_6", "conv_6"),
    ],
)  # fmt: skip
def test_a_layer_that_leaves_the_dla(line: str, op: str, read: Read) -> None:
    (report,) = read(line).reports
    assert (report.kind.value, report.op, report.layer, report.scope.value) == (
        "device_fallback",
        op,
        op,
        "operator",
    )
    assert report.names[0] == op


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        (W + "/head/Div: DLA cores do not support DIV ElementWise operation.", "/head/Div: DLA cores do not support DIV ElementWise operation."),
        ("ERROR: [TRT]: /head/Div: ActivationLayer (with ActivationType = LEAKY_RELU) not supported for DLA.", "/head/Div: ActivationLayer (with ActivationType = LEAKY_RELU) not supported for DLA."),
        (W + "/stem/Div: DLA cores do not support DIV ElementWise operation.", "Unsupported on DLA"),
    ],
)  # fmt: skip
def test_the_reason_is_the_line_before_about_the_same_layer(before: str, reason: str, read: Read) -> None:
    line = (
        W + "Layer '/head/Div' (ELEMENTWISE): Unsupported on DLA. Switching this layer's device type to GPU."
    )
    (report,) = read(before, line).reports
    assert report.reason == reason
    assert "ELEMENTWISE" in report.names


LIST = [
    I + "---------- Layers Running on DLA ----------",
    I + "[DlaLayer] {ForeignNode[/stem/Conv.../neck/Relu]}",
    I + "---------- Layers Running on GPU ----------",
    I + "[GpuLayer] COPY: /neck/Relu_output_0 copy",
    I + "[GpuLayer] SHUFFLE: reshape_after_/fc/Gemm",
    I + "[GpuLayer] POINTWISE: PWN(PWN(/head/Sigmoid), /head/Mul)",
    I + "[GpuLayer] SOFTMAX: (Unnamed Layer* 7) [Softmax] + /head/Cast",
]
NO_DLA = [LIST[0], LIST[2], I + "[GpuLayer] CONVOLUTION: /a/Conv", I + "[GpuLayer] /b/Relu"]
MEMORY = I + "[MemUsageChange] Init cuDNN: CPU +1, GPU +10"
CACHE = I + "Local timing cache in use. Profiling results in this builder pass will not be stored."
END = I + "Engine generation completed in 84.1 seconds."


def test_the_list_of_a_program_that_hands_it_to_its_own_logger(read: Read) -> None:
    plain, handed_on = (
        read(*(line.replace(I, prefix) for line in [*LIST, MEMORY, END])) for prefix in (I, "INFO:TensorRT:")
    )
    assert [(report.op, report.position) for report in handed_on.reports] == [
        (report.op, report.position) for report in plain.reports
    ]


def test_layers_for_the_gpu_beside_layers_for_the_dla(read: Read) -> None:
    said = read(*LIST, MEMORY, END)
    assert [(report.op, report.position, report.hint) for report in said.reports] == [
        ("/head/Sigmoid", 6, True),
        ("/head/Mul", 6, True),
        ("(Unnamed Layer* 7) [Softmax]", 7, True),
        ("/head/Cast", 7, True),
    ]
    assert "POINTWISE" in said.reports[0].names


def test_without_a_dla_the_gpu_is_no_fallback(read: Read) -> None:
    assert read(*NO_DLA, MEMORY, END).reports == []


def test_the_list_of_old_versions(read: Read) -> None:
    said = read(
        "INFO: [TRT]: --------------- Layers running on DLA: ",
        "INFO: [TRT]: {conv_1,batch_norm_1}, {conv_2}, ",
        "INFO: [TRT]: --------------- Layers running on GPU: ",
        "INFO: [TRT]: (Unnamed Layer* 0) [Constant] + shuffle_3, conv_6, PWN(Sigmoid_3, Mul_4), ",
        "INFO: [TRT]: Detected 1 inputs",
    )
    assert [report.op for report in said.reports] == [
        "(Unnamed Layer* 0) [Constant]",
        "shuffle_3",
        "conv_6",
        "Sigmoid_3",
        "Mul_4",
    ]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("/a/Conv", ("/a/Conv",)),
        ("/a/Conv + PWN(/b/Sigmoid)", ("/a/Conv", "/b/Sigmoid")),
        ("PWN(PWN(PWN(Sigmoid_15), Mul_16), Add_17)", ("Sigmoid_15", "Mul_16", "Add_17")),
        ("(Unnamed Layer* 692) [Constant] + (Unnamed Layer* 693)", ("(Unnamed Layer* 692) [Constant]", "(Unnamed Layer* 693)")),
        ("{ForeignNode[a...b]}", ("{ForeignNode[a...b]}",)),
    ],
)  # fmt: skip
def test_a_fused_layer_tells_its_parts(name: str, parts: tuple[str, ...]) -> None:
    assert tensorrt_layers.parts(name) == parts


@given(
    st.lists(st.from_regex(r"/[a-z]{1,8}(/[A-Za-z_0-9.]{1,8}){1,3}", fullmatch=True), min_size=1, max_size=20)
)
def test_a_fused_layer_tells_all_its_parts(names: list[str]) -> None:
    assert tensorrt_layers.parts(" + ".join(names)) == tuple(dict.fromkeys(names))
    assert tensorrt_layers.parts(f"PWN({', '.join(names)})") == tuple(dict.fromkeys(names))


@given(st.text(max_size=300))
def test_any_name_has_parts(name: str) -> None:
    assert len(tensorrt_layers.parts(name)) <= 64


def test_a_name_of_brackets_is_read_in_no_time() -> None:
    assert len(tensorrt_layers.parts("PWN(" * 4000 + "a" + ")" * 4000)) <= 1
    assert len(tensorrt_layers.parts("a + " * 4000)) == 1


@pytest.mark.parametrize(
    "line",
    [
        "[01/01/2026-00:00:00] [I] DLACore: 0(With GPU fallback)",
        "[01/01/2026-00:00:00] [I] Allow GPU fallback for DLA: Enabled",
        W + "Detected layernorm nodes in FP16.",
        W
        + "onnx2trt_utils.cpp:375: Your ONNX model has been generated with INT64 weights, while TensorRT does not natively support INT64. Attempting to cast down to INT32.",
        I + "No importer registered for op: GateMix. Attempting to import as plugin.",
        I + "Successfully created plugin: GateMix",
        "[E] Error[10]: Could not find any implementation for node {ForeignNode[a...b]}.",
        I + "[GpuLayer] SOFTMAX: /head/Softmax",
        "Building and running a GPU inference engine",
        'q: what is "Default DLA is enabled but layer a is not supported on DLA, falling back to GPU."?',
        "While parsing node number 3 [Slice] we found that",
    ],
)
def test_no_fallback(line: str, read: Read) -> None:
    assert read(line).reports == []


def test_a_skipped_tactic_with_its_detail_is_one_event(read: Read) -> None:
    reports = read(
        W + "Tactic Device request: 512MB Available: 130MB. Device memory is insufficient to use tactic.",
        W
        + "UNSUPPORTED_STATESkipping tactic 9 due to insufficient memory on requested size of 52 detected for tactic 0x11aa.",
        "Try decreasing the workspace size with IBuilderConfig::setMaxWorkspaceSize().",
        W + "Skipping tactic 3 due to oom error on requested size of 700 detected for tactic 4.",
    ).reports
    assert [(report.op, report.names, report.site, report.hint) for report in reports] == [
        ("*", (), None, True),
        ("*", ("tactic 0x11aa",), "0x11aa 52", False),
        ("*", ("tactic 4",), "4 700", False),
    ]
    assert {report.scope.value for report in reports} == {"unknown"}


def test_a_node_that_the_parser_refuses(read: Read) -> None:
    (report,) = read(
        E + 'ModelImporter.cpp:720: While parsing node number 66 [Einsum -> "/attn/Einsum_output_0"]:',
        E + "ModelImporter.cpp:721: --- Begin node ---",
        'name: "/attn/Einsum"',
        'op_type: "Einsum"',
        E + "ModelImporter.cpp:723: --- End node ---",
        E + "ModelImporter.cpp:726: ERROR: builtin_op_importers.cpp:1100 In function importEinsum:",
        "[8] Assertion failed: equation.size() < 3",
    ).reports
    assert (report.kind.value, report.op, report.layer) == (
        "compile_error",
        "Einsum",
        "/attn/Einsum_output_0",
    )
    assert report.reason == "Assertion failed: equation.size() < 3"


def test_the_table_of_polygraphy(read: Read) -> None:
    said = read(
        "[I] ===== Summary =====",
        "    Operator | Count   | Reason                          | Nodes",
        "    " + "-" * 60,
        "    GateAttn |       2 | In node 0: INVALID_NODE: a | b  | [[2, 3], [7, 8]]",
        "    NonZeroLong|       1 | UNKNOWN ERROR                   | [[4, 5]]",
        "",
        "[I] Saving results",
        "    Later    |       1 | no row of the table             | [[4, 5]]",
    )
    assert [(report.op, report.position, report.site, report.reason) for report in said.reports] == [
        ("GateAttn", 4, "[[2, 3], [7, 8]]", "In node 0: INVALID_NODE: a | b"),
        ("NonZeroLong", 5, "[[4, 5]]", "UNKNOWN ERROR"),
    ]


def test_the_table_of_polygraphy_without_partitions(read: Read) -> None:
    said = read(
        "[I] ===== Summary =====",
        "    Stack trace  | Operator  | Node            | Reason",
        "    " + "-" * 60,
        "                 | GateAttn  | /layer0/attn    | In node 3: UNSUPPORTED_NODE: x | y",
        "    outer -> in  | GateAttn  | /layer1/attn    | In node 9: UNSUPPORTED_NODE: z",
        "",
    )
    assert [(report.op, report.layer) for report in said.reports] == [
        ("GateAttn", "/layer0/attn"),
        ("GateAttn", "/layer1/attn"),
    ]
    assert {report.kind.value for report in said.reports} == {"op_fallback"}
    assert said.reports[0].reason == "In node 3: UNSUPPORTED_NODE: x | y"


def test_trtexec_without_an_engine_names_the_node_without_an_implementation(read: Read) -> None:
    said = read(
        *NO_DLA,
        E
        + "Error[10]: [optimizer.cpp::computeCosts::3873] Error Code 10: Internal Error (Could not find any implementation for node {ForeignNode[a...b]}.)",
        E + "Engine could not be created from network",
        E + "Failed to create engine from model or file.",
        "&&&& FAILED TensorRT.trtexec [TensorRT v8600] # trtexec --onnx=x.onnx",
    )
    assert {(report.kind.value, report.op, report.scope.value) for report in said.reports} == {
        ("compile_error", "{ForeignNode[a...b]}", "program")
    }
    assert State.PROVEN not in states(said).values()


BANNER = "&&&& RUNNING TensorRT.trtexec [TensorRT v100300] # trtexec --onnx=x.onnx"
PASSED = "&&&& PASSED TensorRT.trtexec [TensorRT v100300] # trtexec --onnx=x.onnx"
LOADED = I + "Loaded engine size: 12 MiB"
GLOBAL = I + "Global timing cache in use. Profiling results in this builder pass will be stored."
YES, NO = State.PROVEN, State.UNPROVEN
ASKED = "[01/01/2026-00:00:00] [I] DLACore: 0(With GPU fallback)"
ALL_DLA = [*LIST[:3], I + "No layer is running on GPU"]
MOVED = W + "Layer '/a/Conv' (CONVOLUTION): Unsupported on DLA. Switching this layer's device type to GPU."


@pytest.mark.parametrize(
    ("lines", "devices", "tactics"),
    [
        ([*NO_DLA, MEMORY, CACHE, END], YES, YES),
        ([BANNER, *NO_DLA, MEMORY, CACHE, END, LOADED, PASSED], YES, YES),
        ([ASKED, *ALL_DLA, MEMORY, CACHE, END], YES, YES),
        ([ASKED, *NO_DLA, MEMORY, CACHE, END], NO, NO),  # no word about why
        ([ASKED, MOVED, *NO_DLA, MEMORY, CACHE, END], YES, YES),  # the events say it
        ([ASKED, *ALL_DLA], NO, NO),
        ([*NO_DLA, MEMORY, GLOBAL, END], YES, NO),
        ([*NO_DLA, MEMORY, END], YES, NO),  # which cache was in use is not said
        ([*NO_DLA, MEMORY, CACHE], NO, NO),  # no end
        (NO_DLA, NO, NO),  # cut in the list
        ([*NO_DLA[:2], MEMORY, CACHE, END], NO, NO),  # the rows of the GPU are lost
        ([*NO_DLA[:3], MEMORY, NO_DLA[3], CACHE, END], NO, NO),  # one changed places with the line below
        ([LIST[0]], NO, NO),
        ([*NO_DLA, MEMORY, CACHE, END, *NO_DLA, MEMORY, CACHE], NO, NO),  # the second build did not end
        ([*NO_DLA, MEMORY, CACHE, END, LOADED, LOADED], NO, NO),  # one engine was built elsewhere
        ([LOADED], NO, NO),
        ([BANNER], NO, NO),
        ([BANNER, *NO_DLA, MEMORY, CACHE, END], NO, NO),  # trtexec itself did not end
        ([BANNER, *NO_DLA, MEMORY, CACHE, END, LOADED, PASSED, BANNER], NO, NO),  # nor did the second one
        ([CACHE, END], NO, NO),  # the end alone
    ],
)
def test_what_a_build_proves(lines: list[str], devices: State, tactics: State, read: Read) -> None:
    said = states(read(*lines))
    assert (said["device_fallback"], said["untuned_config"]) == (devices, tactics)


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ([BANNER, PASSED], YES),
        ([BANNER, PASSED, BANNER, PASSED], YES),
        ([BANNER, PASSED, BANNER], State.UNOBSERVABLE),
        ([BANNER], State.UNOBSERVABLE),
        ([BANNER, PASSED, PASSED.replace("PASSED", "FAILED")], State.UNOBSERVABLE),
    ],
)
def test_each_trtexec_must_end_to_tell_of_cuda_graphs(lines: list[str], state: State, read: Read) -> None:
    assert states(read(*lines))["cudagraph_skip"] is state


@pytest.mark.parametrize(
    ("said", "version"), [("8502", "8.5.2"), ("8600", "8.6.0"), ("100300", "10.3.0"), ("101611", "10.16.11")]
)
def test_the_version_that_trtexec_prints(said: str, version: str) -> None:
    evidence = Evidence()
    evidence.add(Sighting("tensorrt/trtexec", 1, ("RUNNING", said)))
    assert tensorrt.version(evidence) == version
    assert tensorrt.version(Evidence()) is None
