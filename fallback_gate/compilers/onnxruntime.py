r"""onnxruntime: ONNX Runtime with its execution providers (CUDA, TensorRT, OpenVINO, QNN, CoreML, ...).

**What falls back.** A node that its provider lacks runs on the CPU, with copies around it; so does a whole
session whose provider does not load. In the CPU's own kernels, some have a slow form.

**At which setting it speaks.** Each node's place at VERBOSE (`SessionOptions.log_severity_level = 0`), in a
build that is not minimal. At the default (WARNING) one line for a whole session, `Some nodes were not
assigned to the preferred execution providers`, which names none. Load failures and retries: always, with
`log_severity_level` up to 2.

**When it is silent.** Whoever names the CPU provider in the list, as nearly everybody does, gets no such
line; a session that lands on the CPU whole gives none either. `session.get_providers()` lists a provider
that runs no node.

**What proves the end.** At VERBOSE the placement of each session, and `Session successfully initialized`.
`All nodes placed on [CPUExecutionProvider]` proves something only where the log also shows that no other
provider was asked for: print `session.get_providers()`. A profile shows what ran, and proves no absence. A provider may itself use the
CPU (CoreML, OpenVINO's AUTO): its own log must tell.

Wording seen in 1.24, 1.27, 1.30, 1.31 and 1.32 (run), older forms in the source of 1.4 to 1.12.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers import onnxruntime_placement, onnxruntime_profile, onnxruntime_providers
from fallback_gate.compilers.onnxruntime_placement import CPU, NAME
from fallback_gate.compilers.reading import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_W = "2026-11-30 00:18:23.263189488 [W:onnxruntime:, "
_HEAD = r"\[[VIWEF]:onnxruntime:[^\]]{0,300}\] "
_SEE_NODES = "Record at VERBOSE (log_severity_level = 0): the log then names each node and its provider."


def _of(rule: Rule, record: Record, match: Match[str], *names: str) -> tuple[Report]:
    """The report of one operator of a model: its type first, then the node and other spellings."""
    known = tuple(dict.fromkeys(name for name in names if name))
    return (by_groups(rule, record, match)._replace(op=known[0], names=known),)


SOME_NODES = Rule(
    id="onnxruntime/some-nodes-not-assigned",
    compiler=NAME,
    anchor=("Some nodes were not assigned to the preferred",),
    pattern=_HEAD + r"(?P<reason>Some nodes were not assigned to the preferred execution providers)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.UNKNOWN,
    meaning="Some nodes of the session run on a provider behind the one that was asked for; the line names none.",
    help=_SEE_NODES,
    seen_in="1.13 to 1.32 (run), WARNING, only where the CPU provider was not named",
    matches=(
        _W
        + "session_state.cc:1327 VerifyEachNodeIsAssignedToAnEp] Some nodes were not assigned to the preferred execution providers which may or may not have an negative impact on performance.",
    ),
    ignores=("Some nodes were not assigned to the preferred zone",),
    at_least=True,
    read=lambda rule, record, match: (by_groups(rule, record, match)._replace(hint=True),),
)

COPIES = Rule(
    id="onnxruntime/memcpy-nodes",
    compiler=NAME,
    anchor=("Memcpy nodes are added to the graph ",),
    pattern=r"(?P<reason>\d{1,9} Memcpy nodes are added to the graph .{0,200}? for \w+ExecutionProvider)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.UNKNOWN,
    meaning="Tensors are copied between device and CPU: nodes in the middle of the graph run on the CPU.",
    help=_SEE_NODES,
    seen_in="1.13 to 1.31 (its binary), WARNING",
    matches=(
        _W
        + "transformer_memcpy.cc:74 ApplyImpl] 2 Memcpy nodes are added to the graph main_graph for CUDAExecutionProvider. It might have negative impact on performance",
    ),
    at_least=True,
    read=SOME_NODES.read,
)

PARTITIONED = Rule(
    id="onnxruntime/tensorrt-partitioned",
    compiler=NAME,
    anchor=("number of subgraphs running on ", "claimed {n} of {n} nodes"),
    pattern=_HEAD
    + r"(?:\[\w{2,30} EP\] (?P<reason>Graph is partitioned and number of subgraphs running on .*)"
    r"|[\w-]{2,60}: (?P<claimed>claimed (?P<took>\d{1,9}) of (?!(?P=took) )\d{1,9} nodes))",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.UNKNOWN,
    meaning="The provider took a part of the graph: the rest runs on the providers behind it.",
    help=_SEE_NODES,
    seen_in="1.30 (run), 1.31 (its binary and source), INFO",
    matches=(
        "2026-11-30 00:19:02.5 [I:onnxruntime:Default, tensorrt_execution_provider.cc:2410 GetCapability] [TensorRT EP] Graph is partitioned and number of subgraphs running on TensorRT execution provider is 3",
        "2026-11-30 00:23:14.462693960 [I:onnxruntime:, onnxruntime-ggml:0 ep] onnxruntime-ggml: claimed 40 of 42 nodes",
    ),
    ignores=(
        "2026-11-30 00:23:12.5 [I:onnxruntime:, onnxruntime-ggml:0 ep] onnxruntime-ggml: claimed 48 of 48 nodes",
    ),
    at_least=True,
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(hint=True, reason=match["reason"] or match["claimed"]),
    ),
)

CUDA_REFUSES = Rule(
    id="onnxruntime/kernel-not-supported",
    compiler=NAME,
    anchor=("allback to CPU execution provider for Op type: ",),
    pattern=r"(?:(?P<reason>\w{2,20} kernel not supported)\. )?Fallback to CPU execution provider for Op type: (?P<op>[\w.]+)(?: node name: (?P<layer>.*\S))?",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The provider has a kernel for the operator, but not for these attributes: the node runs on the CPU.",
    help="Change the attributes that the provider lacks (directions, activations, pads), or replace the operator.",
    seen_in="1.4 to 1.31 (its binary and source), WARNING",
    matches=(
        _W
        + "cuda_execution_provider.cc:2300 GetCapability] CUDA kernel not supported. Fallback to CPU execution provider for Op type: LSTM node name: LSTM_12",
        "2020-08-09 09:37:41.559607 [W:onnxruntime:Default, cuda_execution_provider.cc:1400 GetCapability] Fallback to CPU execution provider for Op type: Pad node name: Pad_3",
    ),
)

NO_KERNEL = Rule(
    id="onnxruntime/no-kernel",
    compiler=NAME,
    anchor=("kernel not found in registries for Op type: ",),
    pattern=_HEAD
    + r"(?P<reason>\w{2,20} kernel not found in registries) for Op type: (?P<op>[\w.]+)(?: node name: (?P<layer>.*\S))?",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The provider has no kernel for the operator in these types: a provider behind it runs the node.",
    help="Replace the operator, or its types, by what the provider's table of operators lists.",
    seen_in="1.13 to 1.26 (source), INFO",
    matches=(
        "2023-05-25 00:21:19.1 [I:onnxruntime:, cuda_execution_provider.cc:2304 GetCapability] CUDA kernel not found in registries for Op type: GridSample node name: /up/GridSample",
    ),
    read=lambda rule, record, match: (
        _of(rule, record, match, match["op"], match["layer"] or "")[0]._replace(hint=True),
    ),
)

PREFERRED = Rule(
    id="onnxruntime/cpu-preferred",
    compiler=NAME,
    anchor=("Force fallback to CPU execution for node: ",),
    pattern=r"Force fallback to CPU execution for node: (?P<what>\S.{0,500}?) because (?P<reason>the CPU execution path is deemed faster)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="ONNX Runtime put the node on the CPU by design: it computes shapes, which copies would make slower.",
    help="Allow it where it computes shapes; constant folding or static shapes take it away.",
    seen_in="1.13 to 1.31 (its binary and user logs), INFO",
    matches=(
        "2023-01-30 12:49:49.5 [I:onnxruntime:OnnxGlobalEnv, fallback_cpu_capability.cc:146 onnxruntime::GetCpuPreferredNodes] ORT optimization- Force fallback to CPU execution for node: strided_slice__62 because the CPU execution path is deemed faster than overhead involved with execution on other EPs  capable of executing this node",
    ),
    ignores=("Candidate for fallback CPU execution: strided_slice__62",),
    read=lambda rule, record, match: (
        _of(rule, record, match, match["what"])[0]._replace(hint=True, layer=match["what"]),
    ),
)

_LACKED = Pattern(r"(?P<name>(?:[\w.]{1,80}::)?(?P<op>\w{1,80})) x\d{1,9}")


def lacked(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Each operator of a plugin's list: `ai.onnx.contrib::GateAttn x2, Foo x1`."""
    rest, left = match["ops"], 200
    while left and (found := _LACKED.search(rest)):
        yield _of(rule, record, match, found["op"], found["name"])[0]
        rest, left = rest[found.end() :], left - 1


LACKED = Rule(
    id="onnxruntime/plugin-lacks-operator",
    compiler=NAME,
    anchor=("nodes use ops this provider lacks: ",),
    pattern=r"(?P<reason>\d{1,9} of \d{1,9} nodes use ops this provider lacks): (?P<ops>[^;]*)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The plugin provider lacks the operator, and may leave the whole graph to the CPU for it.",
    help="Let the plugin take the rest (partial=1), or replace the operator.",
    seen_in="onnxruntime-ggml 0.2.0 with 1.30 (run), WARNING",
    matches=(
        _W
        + "onnxruntime-ggml:0 ep] onnxruntime-ggml: 2 of 42 nodes use ops this provider lacks: ai.onnx.contrib::GateAttn x2; claiming nothing (set partial=1 to override)",
    ),
    read=lacked,
)

_UNIT = Pattern(r"Operator type: (?P<op>[\w.]+) Node name: (?P<name>.*?) Node index: ")
_WHY = Pattern(r"REASON : (?P<reason>.*\S)")


def refused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Each node of a unit that QNN refused; the nodes and the reason are on the lines after it."""
    nodes, reason = [], None
    for line in record.following(40):
        if found := _UNIT.search(line.text):
            nodes.append(found)
        elif why := _WHY.search(line.text):
            reason = why["reason"]
            break
        elif "[V:onnxruntime:" in line.text:
            break
    for node in nodes:
        report = _of(rule, record, match, node["op"], node["name"])[0]
        yield report._replace(hint=True, layer=node["name"], site=node["name"], reason=reason)


REFUSED = Rule(
    id="onnxruntime/qnn-refuses",
    compiler=NAME,
    anchor=("Validation FAILED for ",),
    pattern=_HEAD + r"Validation FAILED for \d{1,9} nodes in (?:Ort)?NodeUnit ",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="QNN does not take the node: it runs on the CPU.",
    help="The line REASON says what QNN lacks; quantise the node (QDQ) or replace the operator.",
    seen_in="onnxruntime-qnn 2.7.0 with 1.32 (run), VERBOSE",
    matches=(
        "2026-11-30 00:23:11.0 [V:onnxruntime:, qnn_execution_provider.cc:700 GetSupportedNodes] Validation FAILED for 1 nodes in OrtNodeUnit (TopK) :\n\tOperator type: TopK Node name: /layer0/topv/TopK Node index: 12\n\tREASON : Operators of type `TopK` are not supported by QNN EP.",
    ),
    read=refused,
)

SLOW_KERNEL = Rule(
    id="onnxruntime/slow-kernel",
    compiler=NAME,
    anchor=(
        "unpacked compute mode for the Matmul operation",
        "falling back to the dequant/GEMV path",
        "falling back to Memory Efficient Attention or Unfused path",
    ),
    pattern=r"(?P<reason>(?P<nbits>Falling back to using unpacked compute mode for the Matmul operation)"
    r"|(?P<moe>QMoE native .{0,300}?falling back to the dequant/GEMV path)"
    r"|.{0,300}?falling back to Memory Efficient Attention or Unfused path)",
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
    ),
    read=lambda rule, record, match: _of(
        rule, record, match, "MatMulNBits" if match["nbits"] else "QMoE" if match["moe"] else "Attention"
    ),
)

NO_CAPTURE = Rule(
    id="onnxruntime/no-graph-capture",
    compiler=NAME,
    anchor=("This session cannot use the graph capture feature",),
    pattern=r"(?P<reason>This session cannot use the graph capture feature as requested by the user.*)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.PROGRAM,
    meaning="The graph can't be captured: some of its nodes are on another provider.",
    help=_SEE_NODES,
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
_BY = Pattern(r"\b(?P<what>QNN|TensorRT|OpenVINO|CUDA|MIGraphX|CoreML|CANN|DML|WebGPU|VitisAI)\b")


def failed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator that the error names, else the provider, else nothing."""
    reason = match["reason"]
    if op := _UNKNOWN_OP.search(reason) or _UNIMPLEMENTED.search(reason):
        yield _of(rule, record, match, op["op"], op["name"])[0]._replace(scope=Scope.OPERATOR)
    elif by := _BY.search(reason):
        yield _of(rule, record, match, onnxruntime_placement.provider_named(by["what"]), by["what"])[0]
    else:
        yield by_groups(rule, record, match)


FAILED = Rule(
    id="onnxruntime/session-not-made",
    compiler=NAME,
    anchor=("[ONNXRuntimeError] : ",),
    pattern=r"^\s*(?:[\w.]{0,100}onnxruntime[\w.]{1,100}|[\w.]{0,100}(?:Exception|Error)): \[ONNXRuntimeError\] : \d{1,3} : "
    r"(?:FAIL|EP_FAIL|NOT_IMPLEMENTED|INVALID_GRAPH|ENGINE_ERROR|RUNTIME_EXCEPTION) : (?P<reason>(?!Non-zero status).*)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="The session could not be made: the program ended, or its author caught the error and went on without it.",
    help="The line says which operator or provider the model fails on.",
    seen_in="1.24 to 1.32 (run), an exception",
    matches=(
        "onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : FAIL : Load model from decoder_custom.onnx failed:Fatal error: com.acme:GateAttn(-1) is not a registered function/op",
        "onnxruntime.capi.onnxruntime_pybind11_state.EPFail: [ONNXRuntimeError] : 11 : EP_FAIL : Failed to finalize QNN graph. Error: QNN_COMMON_ERROR_MEM_ALLOC",
        "onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented: [ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for ConvInteger(10) node with name 'Conv_0_quant'",
    ),
    ignores=(
        "onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument: [ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Got invalid dimensions for input: x",
        "onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running Add node.",
    ),
    read=failed,
)

NO_FALLBACK = Rule(
    id="onnxruntime/fallback-disabled",
    compiler=NAME,
    anchor=("fallback to CPU EP has been explicitly disabled", "also disabled fallback to the CPU EP"),
    pattern=r"\[[EF]:onnxruntime:[^\]]{0,300}\] (?P<reason>(?:This session contains graph nodes that are assigned to the default CPU EP|Conflicting session configuration: explicitly added the CPU EP).*)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="session.disable_cpu_ep_fallback forbids nodes on the CPU, and some would be there, or the list names the CPU: there is no session.",
    help=_SEE_NODES,
    seen_in="1.24 to 1.32 (run), ERROR",
    matches=(
        "2026-11-30 00:18:23.2 [E:onnxruntime:, inference_session.cc:2500 operator()] This session contains graph nodes that are assigned to the default CPU EP, but fallback to CPU EP has been explicitly disabled by the user.",
        "2026-11-30 04:04:20.7 [E:onnxruntime:, inference_session.cc:3303 operator()] Conflicting session configuration: explicitly added the CPU EP to the session, but also disabled fallback to the CPU EP via session configuration options.",
    ),
    ignores=("fallback to CPU EP has been explicitly disabled by the user",),
)

_LISTED = r"(?<!back to )\[(?P<list>'[^\]]{0,1000}ExecutionProvider'[^\]]{0,1000})\]"
_PROVIDER = Pattern(r"'(?P<name>\w{2,60})'")


def listed(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """Whether a printed list of providers has another one than the CPU's."""
    names, rest = set(), match["list"]
    while found := _PROVIDER.search(rest):
        names.add(found["name"])
        rest = rest[found.end() :]
    yield Sighting(marker.id, record.position, ("cpu" if names <= {CPU} else "others",))


_I = "2026-11-30 00:18:28.706414288 [I:onnxruntime:, inference_session.cc:2567 Initialize] "
MARKERS = (
    *onnxruntime_placement.MARKERS,
    *onnxruntime_profile.MARKERS,
    Marker(
        id="onnxruntime/initializing",
        compiler=NAME,
        anchor=("] Initializing session.",),
        pattern=r"\[I:onnxruntime:[^\]]{0,300}\] Initializing session\.",
        shows="A session is being made, and INFO is on.",
        seen_in="1.4 to 1.32",
        matches=(_I + "Initializing session.",),
    ),
    Marker(
        id="onnxruntime/initialized",
        compiler=NAME,
        anchor=("] Session successfully initialized.",),
        pattern=r"\[I:onnxruntime:[^\]]{0,300}\] Session successfully initialized\.",
        shows="A session was made.",
        seen_in="1.4 to 1.32",
        matches=(_I + "Session successfully initialized.",),
    ),
    Marker(
        id="onnxruntime/providers-listed",
        compiler=NAME,
        anchor=("ExecutionProvider",),
        pattern=_LISTED,
        shows="The program printed a list of providers: session.get_providers(), or what it asks for.",
        seen_in="every version: a Python list",
        matches=("[serve] session providers: ['OpenVINOExecutionProvider', 'CPUExecutionProvider']",),
        ignores=("Falling back to ['CPUExecutionProvider'] and retrying.", "CUDAExecutionProvider"),
        read=listed,
    ),
)

RULES = (
    onnxruntime_placement.NODES, *onnxruntime_providers.RULES, SOME_NODES, COPIES, PARTITIONED, CUDA_REFUSES,
    NO_KERNEL, PREFERRED, LACKED, REFUSED, SLOW_KERNEL, NO_CAPTURE, FAILED, NO_FALLBACK,
)  # fmt: skip
REQUIRED = frozenset({Kind.DEVICE_FALLBACK, Kind.COMPILE_ERROR})
SETTING = "SessionOptions.log_severity_level = 0, and session.get_providers() printed"


def conclude(evidence: Evidence) -> Iterable[Report]:
    """What only the whole log tells: sessions on the CPU alone, kernels of the CPU in a profile."""
    yield from onnxruntime_placement.all_on_cpu(evidence)
    yield from onnxruntime_profile.profiled_on_cpu(evidence)


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Each session must have its placement in the log, and its end."""
    made = evidence.counts.get("onnxruntime/initialized", 0)
    if not made or made < evidence.counts.get("onnxruntime/initializing", 0):
        why = "the log does not show that each session was made"
        error = Proof(State.UNPROVEN, why, None, SETTING)
    else:
        error = Proof(State.PROVEN, "each session was made", evidence.first("onnxruntime/initialized"))
    return {Kind.DEVICE_FALLBACK: _devices(evidence, made), Kind.COMPILE_ERROR: error}


def _devices(evidence: Evidence, made: int) -> Proof:
    states = {state for state, _ in evidence.of("onnxruntime/placed")}
    blocks = evidence.counts.get("onnxruntime/placed", 0)
    listed = evidence.of("onnxruntime/providers-listed")
    why = None
    if not blocks:
        if Kind.DEVICE_FALLBACK not in evidence.reported:
            why = "this level does not show where the nodes are placed"
            return Proof(State.UNOBSERVABLE, why, None, SETTING)
        why = "a provider is missing, or nodes left it, and this level does not show which nodes run where"
    elif "cut" in states:
        why = "a placement of nodes is cut: lines of it are missing"
    elif blocks != made or evidence.counts.get("onnxruntime/initializing", 0) > made:
        why = "the log does not show a placement and an end for each session"
    elif CPU in states and listed != {("cpu",)} and not _told(evidence):
        why = "a session is on the CPU alone, and the log does not show that no other provider was asked for"
    if why:
        return Proof(State.UNPROVEN, why, None, SETTING)
    why = "each session's nodes are placed in the log, and each session was made"
    return Proof(State.PROVEN, why, evidence.first("onnxruntime/placed"))


def _told(evidence: Evidence) -> bool:
    """Whether each session on the CPU alone was reported as a fallback."""
    alone = sum(state == CPU for state, _ in evidence.of("onnxruntime/placed"))
    return alone == sum(1 for _ in onnxruntime_placement.all_on_cpu(evidence))


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    conclude=conclude,
    setting=SETTING,
    manual=__doc__,
    silent="partly: a load failure and, for a session without the CPU provider in its list, one line that names no node",
    seen_in="1.24 to 1.32 (run), 1.4 to 1.12 (source)",
)
