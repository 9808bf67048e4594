"""Room 3: what CoreML, NNAPI, QNN and MIGraphX in ONNX Runtime say that they can take of a graph.

    [W:onnxruntime:, ...] CoreMLExecutionProvider::GetCapability, number of partitions supported by CoreML: 38 number of nodes in the graph: 637 number of nodes supported by CoreML: 557

CoreML and NNAPI warn where there is more than one partition, QNN tells it at INFO, each node is told at VERBOSE, and
MIGraphX counts nothing and lists the types at VERBOSE (before 1.24 at INFO, where ORT_MIGRAPHX_DUMP_MODEL_OPS is
set). All of it only implies the fallback: where the placement of the session is printed too, that one tells.

Read in the source: https://github.com/microsoft/onnxruntime/tree/main/onnxruntime/core/providers, `coreml`, `nnapi`,
`qnn` and `migraphx`.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.runtimes.onnxruntime_nodes import SEE_NODES, of_operator
from fallback_gate.compilers.runtimes.onnxruntime_placement import HEAD, NAME
from fallback_gate.compilers.shared import hinted
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_W = "2026-11-30 00:18:23.263189488 [W:onnxruntime:, "


def _counted(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Not where a plugin counts groups in place of nodes, as QNN's does: then both numbers are the same."""
    said = match.groupdict()
    if said["parts"] is not None and said["parts"] == said["qnn"] and int(said["parts"]):
        return ()
    return (by_groups(rule, record, match)._replace(hint=True),)


COUNTED = Rule(
    id="onnxruntime/partly-supported",
    compiler=NAME,
    anchor=("umber of partitions supported by ",),
    pattern=HEAD
    + r"(?:(?:CoreML|Nnapi|WebNN)ExecutionProvider::GetCapability, number of partitions supported by \w{2,20}: \d{1,9},? "
    r"number of nodes in the graph: (?P<all>\d{1,9}),? (?P<reason>number of nodes supported by \w{2,20}: (?!(?P=all)\b)\d{1,9})"
    r"|Number of partitions supported by QNN EP: (?:0\b(?!,)|(?P<parts>\d{1,9}), number of nodes in the graph: (?P<total>\d{1,9}), "
    r"number of nodes supported by QNN: (?P<qnn>(?!(?P=total)\b)\d{1,9})))",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.UNKNOWN,
    meaning="The provider takes a part of the graph: the rest runs on the providers behind it.",
    help=SEE_NODES,
    seen_in="1.8 to 1.27 (source and public threads), WARNING for several partitions, else INFO",
    matches=(
        _W
        + "coreml_execution_provider.cc:107 GetCapability] CoreMLExecutionProvider::GetCapability, number of partitions supported by CoreML: 88 number of nodes in the graph: 1504 number of nodes supported by CoreML: 933",
        _W
        + "webnn_execution_provider.cc:180 GetCapability] WebNNExecutionProvider::GetCapability, number of partitions supported by WebNN: 7 number of nodes in the graph: 123 number of nodes supported by WebNN: 111",
        _W
        + "nnapi_execution_provider.cc:200 GetCapability] NnapiExecutionProvider::GetCapability, number of partitions supported by NNAPI: 3 number of nodes in the graph: 42 number of nodes supported by NNAPI: 40",
        "2026-11-30 00:23:11.0 [I:onnxruntime:, qnn_execution_provider.cc:1152 GetCapability] Number of partitions supported by QNN EP: 3, number of nodes in the graph: 60, number of nodes supported by QNN: 58",
        "2026-11-30 00:23:11.0 [I:onnxruntime:, qnn_execution_provider.cc:1152 GetCapability] Number of partitions supported by QNN EP: 0",
    ),
    ignores=(
        "2026-11-30 00:23:11.0 [I:onnxruntime:, qnn_execution_provider.cc:1152 GetCapability] Number of partitions supported by QNN EP: 1, number of nodes in the graph: 233, number of nodes supported by QNN: 233",
        "2026-11-30 00:23:11.0 [I:onnxruntime:, qnn_execution_provider.cc:1152 GetCapability] Number of partitions supported by QNN EP: 2, number of nodes in the graph: 233, number of nodes supported by QNN: 2",
        "2026-11-30 00:23:11.0 [I:onnxruntime:, coreml_execution_provider.cc:107 GetCapability] CoreMLExecutionProvider::GetCapability, number of partitions supported by CoreML: 1 number of nodes in the graph: 13 number of nodes supported by CoreML: 13",
    ),
    at_least=True,
    shared_anchor=True,
    read=_counted,
)

NODE = Rule(
    id="onnxruntime/node-not-supported",
    compiler=NAME,
    anchor=("supported: [0]",),
    pattern=HEAD
    + r"(?:Operator type: \[(?P<op>[\w.]{1,80})\] index: \[\d{1,9}\] name: \[(?P<layer>[^\]]{0,300})\] supported: \[0\]"
    r"|Node supported: \[0\](?P<unit>(?= ).{1,700}))",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The provider does not take the node: it runs on a provider behind it.",
    help="The lines before it say what the provider lacks; change the type, the shape or the operator.",
    seen_in="1.8 to 1.27 (source and public threads), VERBOSE",
    matches=(
        "2026-11-30 00:23:11.0 [V:onnxruntime:, helper.cc:90 GetSupportedNodes] Operator type: [Unsqueeze] index: [8] name: [node_unsqueeze] supported: [0]",
        "2026-11-30 00:23:11.0 [V:onnxruntime:, qnn_execution_provider.cc:400 GetSupportedNodes] Node supported: [0] index: [3] name: [/up/TopK] Operator type: [TopK] as part of the NodeUnit type: [TopK] index: [3] name: [/up/TopK]",
    ),
    ignores=(
        "2026-11-30 00:23:11.0 [V:onnxruntime:, helper.cc:90 GetSupportedNodes] Operator type: [Gemm] index: [12] name: [node_linear] supported: [1]",
    ),
    read=lambda rule, record, match: _node(rule, record, match),
)
_UNIT_TYPE = Pattern(r"\bOperator type: \[(?P<op>[\w.]{1,80})\]")
_UNIT_NAME = Pattern(r"\bname: \[(?P<name>[^\]]{1,300})\]")


def _node(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator and the node, in whichever order the provider's version prints them."""
    op, layer = match["op"], match["layer"]
    if unit := match["unit"]:
        kind, name = _UNIT_TYPE.search(unit), _UNIT_NAME.search(unit)
        if kind is None:
            return
        op, layer = kind["op"], name["name"] if name else None
    report = of_operator(rule, record, match, op, layer or "")[0]
    yield report._replace(hint=True, layer=layer or None, site=layer or None)


_TYPE = Pattern(r"\[[VI]:onnxruntime:[^\]]{0,300}\] (?P<op>[A-Za-z]\w{0,80})\s*$")


def _types(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Each type between the two lines of MIGraphX; the second one ends the list."""
    told: dict[str, None] = {}
    for line in record.following(200):
        if "* Unsupported nodes *" in line.text or "onnxruntime:" not in line.text:
            break
        if found := _TYPE.search(line.text):
            told.setdefault(found["op"])
    for op in told:
        yield of_operator(rule, record, match, op)[0]._replace(hint=True)


TYPES = Rule(
    id="onnxruntime/migraphx-lacks-operators",
    compiler=NAME,
    anchor=("= Unsupported nodes =",),
    pattern=HEAD + r"=+ (?P<reason>Unsupported nodes) =+",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="MIGraphX does not take the operator: it runs on the CPU, and all of the graph does where more than ten nodes are left out.",
    help="Replace the operator, or its types, by what MIGraphX has.",
    seen_in="1.14 (source) INFO with ORT_MIGRAPHX_DUMP_MODEL_OPS=1, 1.27 (source) VERBOSE",
    matches=(
        "2026-11-30 00:23:11.0 [V:onnxruntime:Default, migraphx_execution_provider.cc:1100 GetCapability] ============= Unsupported nodes ====================\n2026-11-30 00:23:11.0 [V:onnxruntime:Default, migraphx_execution_provider.cc:1102 GetCapability] NonMaxSuppression\n2026-11-30 00:23:11.0 [V:onnxruntime:Default, migraphx_execution_provider.cc:1104 GetCapability] ************* Unsupported nodes ********************",
    ),
    read=_types,
)

TYPE = Rule(
    id="onnxruntime/type-not-supported",
    compiler=NAME,
    anchor=("MiGraphx: unsupported data type", "CoreML does not support input dim"),
    pattern=HEAD + r"(?P<reason>MiGraphx: unsupported data type \w{1,20}, fallback to CPU"
    r"|CoreML does not support input dim > \d{1,9}\. Input:.{1,300})",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.UNKNOWN,
    meaning="The provider can't take a tensor of this type or size: what uses it runs on a provider behind it.",
    help=SEE_NODES,
    seen_in="1.14 to 1.27 (source and public threads), WARNING; MIGraphX since 1.24 VERBOSE",
    matches=(
        _W
        + "migraphx_execution_provider.cc:200 getMIGraphXType] MiGraphx: unsupported data type 8, fallback to CPU",
        _W
        + "helper.cc:82 IsInputSupported] CoreML does not support input dim > 16384. Input:text_model.embeddings.token_embedding.weight, shape: {49408,512}",
    ),
    at_least=True,
    read=hinted,
)

DROPPED = Rule(
    id="onnxruntime/node-dropped-to-cpu",
    compiler=NAME,
    anchor=(
        "] Dropping the ",
        ": Dropping the ",
    ),
    pattern=HEAD
    + r"Dropping the (?P<op>\w{1,40}) node: (?P<layer>.{0,300}?) to CPU because (?P<reason>it requires .{1,200})",
    kind=Kind.DEVICE_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The CUDA provider has no kernel for this padding: the node runs on the CPU.",
    help="Pad the input before the node, so that its own padding is symmetric.",
    seen_in="1.17 to 1.31 (its binary), WARNING",
    matches=(
        _W
        + "cuda_execution_provider.cc:2100 ConvTransposeNeedFallbackToCPU] Dropping the ConvTranspose node: /up/ConvTranspose to CPU because it requires asymmetric padding which the CUDA EP currently does not support",
    ),
    read=lambda rule, record, match: of_operator(rule, record, match, match["op"], match["layer"]),
)

NPU = Rule(
    id="onnxruntime/npu-unsupported",
    compiler=NAME,
    anchor=("Fallback unsupported op ",),
    pattern=HEAD
    + r"(?P<reason>Fallback unsupported op) (?:\(node_unit\) )?(?P<op>[A-Za-z]\w{0,80}) {1,4}(?:to cpu|backward to devices like: cpu)",
    kind=Kind.DEVICE_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The NPU's provider does not take the operator: it runs on a provider behind it, mostly the CPU.",
    help="Replace the operator by what the NPU has, or move it to an end of the graph.",
    seen_in="VSINPU of 1.19 to 1.27 and providers made after it (source), WARNING",
    matches=(
        "2026-11-30 00:23:11.0 [W:onnxruntime:Default, vsinpu_ep_graph.cc:83 SupportedOp] Fallback unsupported op (node_unit) ConvTranspose  to cpu.",
        "2026-11-30 00:23:11.0 [W:onnxruntime:Default, vsinpu_ep_graph.cc:40 SupportedOp] Fallback unsupported op ConvTranspose  to cpu.",
    ),
    read=lambda rule, record, match: [of_operator(rule, record, match, match["op"])[0]._replace(hint=True)],
)

RULES = (COUNTED, NODE, TYPES, TYPE, DROPPED, NPU)
