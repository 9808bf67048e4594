r"""Room 3: sessions of ONNX Runtime that are not made, or whose kernels and graphs are the slow ones.

    onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : FAIL : Load model from m.onnx failed: ...

An error while a model runs (`Non-zero status code returned`, wrong inputs) is no failed build, and left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.runtimes.onnxruntime_nodes import SEE_NODES, of_operator
from fallback_gate.compilers.runtimes.onnxruntime_placement import HEAD, NAME, provider_named
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_W = "2026-11-30 00:18:23.263189488 [W:onnxruntime:, "

SLOW_KERNEL = Rule(
    id="onnxruntime/slow-kernel",
    compiler=NAME,
    anchor=(
        "unpacked compute mode for the Matmul operation",
        "falling back to the dequant/GEMV path",
        "falling back to Memory Efficient Attention or Unfused path",
        "; falling back to dequantize + SGEMM",
        "cuDNN Flash Attention is disabled",
        "Requested split-k but workspace",
    ),
    pattern=r"(?P<reason>(?P<nbits>Falling back to using unpacked compute mode for the Matmul operation)"
    r"|(?P<moe>QMoE native .{0,300}?falling back to the dequant/GEMV path"
    r"|(?<!\S)\S{0,60} ?block-wise expert weights .{0,200}?; falling back to dequantize \+ SGEMM)"
    r"|(?P<gemm>Requested split-k but workspace size insufficient)"
    r"|cuDNN Flash Attention is disabled\. Requires cuDNN [\d.]{1,8} or later"
    r"|(?:^|(?<=\] ))[^\]\s][^\]]{0,300}?falling back to Memory Efficient Attention or Unfused path)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The fast kernel can't be used here: weights are dequantised first, or attention is not fused.",
    help="The line says what the fast kernel lacks; change the block size, the types or the machine.",
    seen_in="1.31 (its binary)",
    matches=(
        _W
        + "matmul_nbits.cc:300 MatMulNBits] Falling back to using unpacked compute mode for the Matmul operation (i.e.) the weights will be de-quantized to fp32",
        _W
        + "moe_quantization.cc:90 QMoE] QMoE native FP4 CUTLASS GEMM was requested, but the device is sm80; falling back to the dequant/GEMV path.",
        _W
        + "group_query_attention.cc:90 Run] Flash attention lacks head size 300; falling back to Memory Efficient Attention or Unfused path.",
        _W + "attention.cc:90 Run] cuDNN Flash Attention is disabled. Requires cuDNN 9.3 or later.",
        _W
        + "moe_quantization_cpu.cc:90 QMoE] 'fc1': block-wise expert weights (input 2) cannot use the MLAS QNBit GEMM kernels because of its block size; falling back to dequantize + SGEMM.",
    ),
    read=lambda rule, record, match: of_operator(
        rule,
        record,
        match,
        "MatMulNBits"
        if match["nbits"]
        else "QMoE"
        if match["moe"]
        else "MatMul"
        if match["gemm"]
        else "Attention",
    ),
)

FALLBACK_MODE = Rule(
    id="onnxruntime/convolution-fallback-mode",
    compiler=NAME,
    anchor=("running in Fallback mode. May be extremely slow",),
    pattern=r"OP (?P<op>\w{1,60})\((?P<layer>[^)]{0,300})\) running in (?P<reason>Fallback mode)\. May be extremely slow",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="cuDNN's fallback plans are used for the convolution, none of its tuned ones.",
    help="Set the CUDA provider's option cudnn_conv_algo_search to EXHAUSTIVE or HEURISTIC: DEFAULT is this mode.",
    seen_in="1.20 to 1.31 (its binary, source and public threads), WARNING, for each shape",
    matches=(
        "2026-04-15 17:29:35.454313044 [W:onnxruntime:Default, conv.cc:425 UpdateState] OP Conv(/emb/emb.1/patches/patches.1/Conv) running in Fallback mode. May be extremely slow.",
        "[W:onnxruntime:Default, conv.cc:425 UpdateState] OP Conv() running in Fallback mode. May be extremely slow.",
    ),
    read=lambda rule, record, match: of_operator(rule, record, match, match["op"], match["layer"] or ""),
)

NO_CAPTURE = Rule(
    id="onnxruntime/no-graph-capture",
    compiler=NAME,
    anchor=("This session cannot use the graph capture feature",),
    pattern=r"(?P<reason>This session cannot use the graph capture feature as requested by the user.*)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.PROGRAM,
    meaning="The graph can't be captured: some of its nodes are on another provider.",
    help=SEE_NODES,
    seen_in="1.31 (its binary), ERROR",
    matches=(
        "2026-11-30 00:19:02.5 [E:onnxruntime:, inference_session.cc:1800 Initialize] This session cannot use the graph capture feature as requested by the user as all the graph nodes have not been assigned to CUDAExecutionProvider",
    ),
)

_UNKNOWN_OP = Pattern(
    r"(?P<name>(?:[\w.-]{1,80}:)?(?P<op>\w{1,80}))\(-?\d{1,9}\) is not a registered function/op"
)
_UNIMPLEMENTED = Pattern(
    r"Could not find an implementation for (?P<op>\w{1,80})\(\d{1,9}\) node with name '(?P<name>[^']*)'"
)
_NHWC = Pattern(
    r"Node '(?P<name>[^']{0,300})' OpType:(?P<op>\w{1,80}) with domain:\S{1,60} was inserted using the NHWC format"
)
_BY = Pattern(
    r"\b(?P<what>QNN|TensorRT|OpenVINO|CUDA|MIGraphX|CoreML|CANN|DML|WebGPU|VitisAI|[A-Z]\w{1,38}ExecutionProvider"
    r"|\w{2,20}(?= execution provider is not supported in this build))\b"
)


_TOLD_ELSEWHERE = Pattern(r"^\s*EP Error|\[[VIWEF]:onnxruntime:")


def failed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator that the error names, else the provider, else nothing.

    Not of a line of the log itself, nor of the block of a retry, both of which have rules of their own.
    """
    if not _TOLD_ELSEWHERE.search(record.text[: match.start()]):
        yield by_reason(rule, record, match, match["reason"] or match["load"] or "")  # a cut line


def by_reason(rule: Rule, record: Record, match: Match[str], reason: str) -> Report:
    """The report of an error, by what its text names."""
    if op := _UNKNOWN_OP.search(reason) or _UNIMPLEMENTED.search(reason) or _NHWC.search(reason):
        return of_operator(rule, record, match, op["op"], op["name"])[0]._replace(
            scope=Scope.OPERATOR, reason=reason
        )
    if by := _BY.search(reason):
        return of_operator(rule, record, match, provider_named(by["what"]), by["what"])[0]._replace(
            reason=reason
        )
    return by_groups(rule, record, match)._replace(reason=reason or None)


FAILED = Rule(
    id="onnxruntime/session-not-made",
    compiler=NAME,
    anchor=("[ONNXRuntimeError] : ",),
    pattern=r"\[ONNXRuntimeError\] : \d{1,3} : "
    r"(?:(?:FAIL|EP_FAIL|NOT_IMPLEMENTED|INVALID_GRAPH|INVALID_PROTOBUF|ENGINE_ERROR|RUNTIME_EXCEPTION) : (?P<reason>(?!Non-zero status).*)"
    r"|INVALID_ARGUMENT : (?P<load>(?:Failed to load model |\w{2,20} execution provider is not supported in this build).*))",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="The session could not be made: the program ended, or its author caught the error and went on without it.",
    help="The line says which operator or provider the model fails on.",
    seen_in="1.17 to 1.32 (run), an exception",
    matches=(
        "onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : FAIL : Load model from decoder_custom.onnx failed:Fatal error: com.acme:GateAttn(-1) is not a registered function/op",
        "WARNING:serve:session failed, using torch: [ONNXRuntimeError] : 1 : FAIL : Fatal error: acme.rank:TreeGather(-1) is not a registered function/op",
        "onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument: [ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Failed to load model with error: /onnxruntime_src/onnxruntime/core/graph/model_load_utils.h:46 void onnxruntime::model_load_utils::ValidateOpsetForDomain(...) ONNX Runtime only *guarantees* support for models stamped with official released onnx opset versions. Opset 40 is under development",
        "onnxruntime.capi.onnxruntime_pybind11_state.EPFail: [ONNXRuntimeError] : 11 : EP_FAIL : Failed to finalize QNN graph. Error: QNN_COMMON_ERROR_MEM_ALLOC",
        "onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented: [ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for ConvInteger(10) node with name 'Conv_0_quant'",
    ),
    ignores=(
        "onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument: [ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Got invalid dimensions for input: x",
        "onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running Add node.",
        "EP Error [ONNXRuntimeError] : 1 : FAIL : Failed to load library libonnxruntime_providers_tensorrt.so",
        "2026-11-30 00:19:02.5 [E:onnxruntime:Default, provider_bridge_ort.cc:2458 operator()] [ONNXRuntimeError] : 1 : FAIL : Failed to load library x.so",
    ),
    read=failed,
)

NO_FALLBACK = Rule(
    id="onnxruntime/fallback-disabled",
    compiler=NAME,
    anchor=("fallback to CPU EP has been explicitly disabled", "also disabled fallback to the CPU EP"),
    pattern=rf"(?:{HEAD}|(?<! : FAIL : )(?:^|(?<=[\]:] )))(?P<reason>(?:This session contains graph nodes that are assigned to the default CPU EP, but fallback"
    r"|Conflicting session configuration: explicitly added the CPU EP).*)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="session.disable_cpu_ep_fallback forbids nodes on the CPU, and some would be there, or the list names the CPU: there is no session.",
    help=SEE_NODES,
    seen_in="1.24 to 1.32 (run), ERROR",
    matches=(
        "2026-11-30 00:18:23.2 [E:onnxruntime:, inference_session.cc:2500 operator()] This session contains graph nodes that are assigned to the default CPU EP, but fallback to CPU EP has been explicitly disabled by the user.",
        "2026-11-30 04:04:20.7 [E:onnxruntime:, inference_session.cc:3303 operator()] Conflicting session configuration: explicitly added the CPU EP to the session, but also disabled fallback to the CPU EP via session configuration options.",
    ),
    ignores=("fallback to CPU EP has been explicitly disabled by the user",),
)

THROWN = Rule(
    id="onnxruntime/initialisation-failed",
    compiler=NAME,
    anchor=(
        "Exception during initialization: ",
        "was inserted using the NHWC format as requested by ",
        "execution provider is not supported in this build",
    ),
    pattern=HEAD + r"Exception during initialization: (?P<logged>.*)"
    r"|(?<!FAIL : )(?P<nhwc>Node '[^']{0,300}' OpType:\w{1,80} with domain:\S{1,60} was inserted using the NHWC format as requested by \w{2,40}, but was not selected by that EP)"
    r"|(?:^|[a-z]: |\] )(?P<bare>\w{2,20} execution provider is not supported in this build)\b",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="The session could not be made: the program ended, or its author caught the error and went on without it.",
    help=FAILED.help,
    seen_in="1.4 to 1.24 (source and public threads), ERROR, or an exception of another language's binding",
    matches=(
        "2026-11-30 00:19:02.5 [E:onnxruntime:, inference_session.cc:1186 onnxruntime::InferenceSession::Initialize::<lambda_0>::operator ()] Exception during initialization: tensorrt_execution_provider.cc:480 onnxruntime::TensorrtExecutionProvider::GetSupportedList graph_build.Resolve().IsOK() was false.",
        "java error: Node 'Conv_1' OpType:Conv with domain:com.ms.internal.nhwc was inserted using the NHWC format as requested by QNNExecutionProvider, but was not selected by that EP. This means the graph is now invalid",
        "Error: WebGPU execution provider is not supported in this build. ",
    ),
    ignores=(
        "Exception during initialization: no such camera",
        'It raises "WebGPU execution provider is not supported in this build."',
        "onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : FAIL : Node 'Conv_1' OpType:Conv with domain:com.ms.internal.nhwc was inserted using the NHWC format as requested by QNNExecutionProvider, but was not selected by that EP.",
    ),
    read=lambda rule, record, match: (
        by_reason(rule, record, match, match["logged"] or match["nhwc"] or match["bare"]),
    ),
)


def when_run(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """What the provider says; not where OpenVINO's own exception follows, which its reader reads."""
    reason = match["cann"] or match["openvino"]
    below = next((line.text for line in record.following(1)), "")
    if "Exception from " not in reason and "Exception from " not in below:
        yield by_reason(rule, record, match, reason)._replace(hint=True)


WHEN_RUN = Rule(
    id="onnxruntime/not-compiled-when-run",
    compiler=NAME,
    anchor=(
        "CANN Graph error executing ",
        "xception while Reading network",
        "xception while Loading Network for graph",
    ),
    pattern=r"\b(?P<cann>CANN Graph error executing .{0,300})"
    r"|(?P<openvino>\[OpenVINO-EP\]\s{1,2}(?:Unknown e|E)xception while (?:Reading network|Loading Network for graph)\b.{0,1000})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="The provider compiles its part of the graph when it first runs, and could not: the run fails.",
    help="The line, or the provider's own log, says what it lacks: fix the shapes, or leave the model to another provider.",
    seen_in="1.10 to 1.20 (source and public threads), ERROR and an exception",
    matches=(
        "2024-05-09 07:05:28.1 [E:onnxruntime:, sequential_executor.cc:516 ExecuteKernel] Non-zero status code returned while running main_graph_1 node. Name:'CANNExecutionProvider_main_graph_1_0' Status Message: CANN Graph error executing ge::aclgrphParseONNXFromMem(string_model.data(), string_model.size(), parser_params, graph)",
        "[OpenVINO-EP] [OpenVINO-EP] Exception while Reading network: invalid external data",
        "[OpenVINO-EP]  Exception while Loading Network for graph: OpenVINO-EP-subgraph_1: no such device",
    ),
    ignores=(
        "Exception while Reading network: timed out",
        "[OpenVINO-EP]  Exception while Loading Network for graph: OpenVINO-EP-subgraph_1Exception from src/inference/src/core.cpp:102",
    ),
    read=when_run,
)

RULES = (SLOW_KERNEL, FALLBACK_MODE, NO_CAPTURE, FAILED, NO_FALLBACK, THROWN, WHEN_RUN)
