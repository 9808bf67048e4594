r"""cann: CANN's graph engine (GE) and ATC, which place each operator of a graph on an engine of the Ascend chip.

    W11001: Op [/model.23/Mod] does not hit the high-priority operator information library, which might ...
    [DEBUG] GE(11,atc):... DNNEngineManager:Set kernel_lib aicpu_tf_kernel, atomic engine DNN_VM_AICPU, to node mod_1

**What falls back.** An operator that AI Core refuses (data type, format, shape) goes to the next engine that
takes it: the chip's CPU cores (AICPU) or the host. Where none takes it, the build ends with EZ3002 and
EZ3003; where its kernel does not compile, with E40021; where ATC can't read it, with E19010.

**At which setting it speaks.** ATC prints W11001 and the error codes by default, after its result.
`ASCEND_GLOBAL_LOG_LEVEL=1` (INFO) names each engine that refused an operator, `0` (DEBUG) the engine of
each operator; both go to `~/ascend/log/debug/plog/`, and to the terminal with
`ASCEND_SLOG_PRINT_TO_STDOUT=1`.

**When it is silent.** At the default level on an operator that AI Core's library does not know at all: AICPU
is its first engine, so nothing was refused. GE moves small shape computations to the host on purpose
(HostcpuEngineUpdatePass), which is no fallback.

**What proves the end.** Placements at DEBUG and then ATC's `run success`, once: each operator's engine is in the log.

Wording seen in ATC logs of CANN 5 to 8 (public threads), and in GE's source of 2021, 2023 and 2025.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.ascend.cann_placement import LOW_PRIORITY, NAME, NO_STORE, PLACED, REFUSED, typed
from fallback_gate.compilers.ascend.names import named, of_op, sighted
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.compilers.shared import hinted, step
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import BEFORE, Pattern
from fallback_gate.scan.record import Record

_CODE = r"(?:\[PID: \d{1,9}\] )?(?:[\d:.-]{19,40} )?"

UNSUPPORTED = Rule(
    id="cann/unsupported-operator",
    compiler=NAME,
    anchor=("of Ops kernel [", "of ops kernel "),
    pattern=rf"(?:\b(?:EZ3002|E13002)\)?: {_CODE}Optype \[(?P<type1>\w{{1,128}})\] of Ops kernel \[\w{{1,64}}\] is unsupported\. Reason: (?P<reason1>.*)"
    r"|(?:GetDNNEngineName:|\[Check\]\[OpSupported\]|CheckEngineType: check support failed, )Op type (?P<type2>\w{1,128}) of ops kernel \w{1,64} is unsupported, ?reason ?: ?(?P<reason2>.*))",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="An engine refused the operator; with no other engine for it the build ends.",
    help="The reason lists what the engine takes: cast the input, change the format, or register a custom operator.",
    seen_in="CANN 5 to 8, EZ3002 (E13002 before CANN 5)",
    matches=(
        "EZ3002: [PID: 11] 2026-01-01-00:00:00.000.000 Optype [GateMix] of Ops kernel [AIcoreEngine] is unsupported. Reason: [tbe-custom]:op type GateMix is not found in this op store.",
        "[PID: 321725] 2025-12-20-22:25:54.410.921 Unsupported_Operator(EZ3002): Optype [MaxPoolWithArgmaxV1] of Ops kernel [AIcoreEngine] is unsupported. Reason: [tbe-custom]:op type MaxPoolWithArgmaxV1 is not found in this op store.",
        "[ERROR] GE(11,atc):2026-01-01-00:00:00.000.000 [dnnengine_manager.cc:265]21 GetDNNEngineName: ErrorNo: 1343242282() GetDNNEngineName:Op type GateMix of ops kernel AIcoreEngine is unsupported, reason:dtype",
    ),
    ignores=(
        "EZ3002: 2024-11-05-22:31:29.035.909 Optype [%s] of Ops kernel [%s] is unsupported. Reason: %s.",
    ),
    read=lambda rule, record, match: (
        named(rule, record, match, match["type1"] or match["type2"])._replace(
            reason=match["reason1"] or match["reason2"]
        ),
    ),
)

NO_ENGINE = Rule(
    id="cann/no-engine",
    compiler=NAME,
    anchor=("No supported Ops kernel and engine are found for",),
    pattern=rf"\bEZ3003\)?: {_CODE}(?P<reason>No supported Ops kernel and engine are found) for \[(?P<node>[^\]]{{1,512}})\],? optype \[(?P<type>\w{{1,128}})\]",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="No engine takes the operator: the graph is not built.",
    help="The EZ3002 lines say why each engine refused it.",
    seen_in="CANN 5 to 8, EZ3003",
    matches=(
        "EZ3003: No supported Ops kernel and engine are found for [gate_mix_1], optype [GateMix].",
        "[PID: 11] 2026-01-01-00:00:00.000.000 No_Supported_Operator(EZ3003): No supported Ops kernel and engine are found for [/gate/Mix], optype [GateMix].",
    ),
    read=typed,
)

_OPTYPE = Pattern(r"(?:^\(|\], )optype: \[(?P<type>\w{1,128})\]")
_MOST_OF_A_STACK = 40  # lines of the kernel compiler's error, within the brackets of `oppath`


def not_compiled(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator's type where that is told, else the kernel's name, which has it with a number behind."""
    told = _OPTYPE.search(match["reason"])
    if told is None and "(oppath: [" in match["reason"]:
        for line in record.following(_MOST_OF_A_STACK):
            if line.text.startswith(" " * 8) or (told := _OPTYPE.search(line.text)):
                break
    if told:
        yield named(rule, record, match, told["type"], match["op"])._replace(site=match["op"])
    else:
        yield from of_op(rule, record, match)


NOT_COMPILED = Rule(
    id="cann/kernel-not-compiled",
    compiler=NAME,
    anchor=("Failed to compile Op [",),
    pattern=rf"(?:\bE\w\d{{4}}\)?: {_CODE}|^{BEFORE})Failed to compile Op \[(?P<op>[^\]%]{{1,512}})\]\. (?P<reason>\(op ?(?:path|type): .*)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The kernel of the operator could not be compiled: the graph is not built, or the call fails.",
    help="The lines below the message hold the error of the kernel's compiler.",
    seen_in="CANN 7 to 8, E40021",
    matches=(
        "E40021: Failed to compile Op [Index2]. (oppath: [Compile /opt/opp/built-in/op_impl/ai_core/tbe/impl/dynamic/index.py failed with errormsg/stack: File x",
        "[W compiler_depend.ts:387] Warning: E40021: [PID: 35515] 2025-06-09-21:25:59.698.173 Failed to compile Op [Add1]. (oppath: [Compile /opt/opp/add.py failed with errormsg/stack: File x",
        "        Failed to compile Op [Conv3DTranspose1]. (oppath: [Compile /opt/opp/conv3d_transpose.py failed",
        "E20001: [PID: 11] 2025-06-16-13:02:36.801.136 Failed to compile Op [/attn/Slice_batch_5]. (optype: [StridedSliceD])",
    ),
    ignores=(
        "an error such as `Failed to compile Op [AsStrided]`.",
        "Failed to compile Op [%s]. (optype: [%s])",
    ),
    read=not_compiled,
)

NO_PARSER = Rule(
    id="cann/no-parser",
    compiler=NAME,
    anchor=("No parser is registered for Op [",),
    pattern=rf"(?:\bE[1Z]9010\)?: {_CODE}|^{BEFORE})(?P<reason>No parser is registered) for Op \[(?P<node>[^\],]{{1,512}}), optype \[(?P<type>[\w.:]{{1,200}})\]\]",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="ATC can't read the operator, or not in this version of its set: no model is made.",
    help="The name holds the operator set (ai.onnx::11): export in one that this CANN reads, or register a plugin for the custom operator.",
    seen_in="CANN 3 to 8, E19010, later EZ9010 (source and public threads)",
    matches=(
        "E19010: No parser is registered for Op [gate_mix_3140, optype [ai.onnx::11::GateMix]].",
        "        No parser is registered for Op [/blocks.1/Tome, optype [ai.onnx::11::Tome]].",
    ),
    ignores=('"ErrMessage": "No parser is registered for Op [%s, optype [%s]].",',),
    read=lambda rule, record, match: (
        named(rule, record, match, match["type"].rpartition("::")[2], match["type"], match["node"])._replace(
            site=match["node"]
        ),
    ),
)

OP_MODEL = Rule(
    id="cann/op-model-not-built",
    compiler=NAME,
    anchor=("build op model failed, result = ",),
    pattern=r"(?:^|[\]\s])(?P<reason>build op model failed, result = \d{1,10})\b",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.UNKNOWN,
    meaning="The kernel of one operator could not be compiled when it was called: the call fails.",
    help="The lines above it tell the cause: Python packages of the kernel compiler that are missing, its environment, or the operator's own error.",
    seen_in="CANN 6 to 8 (public threads), the end of an error block",
    matches=(
        "        build op model failed, result = 500001[FUNC:ReportInnerError][FILE:log_inner.cpp][LINE:145]",
    ),
    ignores=("build op model failed, result = %d",),
    read=hinted,
)

TF_ADAPTER = Rule(
    id="cann/left-in-tensorflow",
    compiler=NAME,
    anchor=("] not supported by GE",),
    pattern=r"(?P<reason>Node \[(?P<node>[^\]]{1,512})\] op \[(?P<type>[^\]\s]{1,128})\] not supported by GE)\b",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="GE has no such operator: TensorFlow runs it on the host, between two graphs on the chip.",
    help="Replace the operator, or register it with a custom parser.",
    seen_in="the TensorFlow adapter (source), INFO",
    matches=("Node [gate/mix] op [GateMix] not supported by GE",),
    read=typed,
)


MARKERS = (
    Marker(
        id="cann/placement",
        compiler=NAME,
        anchor=("DNNEngineManager:Set ",),
        pattern=r"\bDNNEngineManager:Set (?:OpKernelLibName|kernel_lib) [^\s,]{1,128}(?: and|, atomic) engine(?: name)? [^\s,]{1,128},? to (?:op_desc|node) (\S{1,512})",
        shows="DEBUG of GE was on: the engine of each operator is printed.",
        seen_in="GE of 2021 to 2025 (source)",
        matches=(PLACED.matches[0], PLACED.ignores[0], PLACED.ignores[1]),
        ignores=(PLACED.matches[2],),
        read=sighted,
    ),
    Marker(
        id="cann/atc-start",
        compiler=NAME,
        anchor=("ATC start working now",),
        pattern=r"^\W*(ATC) start working now, please wait",
        shows="ATC began to build a model.",
        seen_in="ATC of CANN 3 to 8",
        matches=("ATC start working now, please wait for a moment.",),
        read=step,
    ),
    Marker(
        id="cann/atc-success",
        compiler=NAME,
        anchor=("ATC run success",),
        pattern=r"\b(ATC) run success\b",
        shows="ATC built the model to its end.",
        seen_in="ATC of CANN 3 to 8",
        matches=(
            "ATC run success, welcome to the next use.",
            "...... ATC run success, welcome to the next use.",
        ),
        ignores=("ATC run failed, Please check the detail log, Try 'atc --help' for more information",),
        read=step,
    ),
)
RULES = (
    PLACED, REFUSED, LOW_PRIORITY, NO_STORE, UNSUPPORTED, NO_ENGINE, NOT_COMPILED, NO_PARSER, OP_MODEL, TF_ADAPTER,
)  # fmt: skip
REQUIRED = frozenset({Kind.DEVICE_FALLBACK})
SETTING = "ASCEND_GLOBAL_LOG_LEVEL=0 ASCEND_SLOG_PRINT_TO_STDOUT=1 atc ..., one model a log"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """GE's DEBUG level named each operator's engine, and ATC ended well after the last of them."""
    return {Kind.DEVICE_FALLBACK: _placements(evidence)}


def _placements(evidence: Evidence) -> Proof:
    engines = evidence.facts.get("cann/placement")
    if not engines:
        why = "at this level GE does not print the engine of each operator"
        return Proof(State.UNOBSERVABLE, why, None, SETTING)
    ends = evidence.facts.get("cann/atc-success", {})
    starts = evidence.facts.get("cann/atc-start", {})
    if len(ends) > 1 or len(starts) > 1:
        why = "the log holds more than one run of ATC, and not each need have had DEBUG on"
        return Proof(State.UNPROVEN, why, None, SETTING)
    if not starts or min(starts.values()) > min(engines.values()):
        why = "the log does not show the start of the build before the first placement"
        return Proof(State.UNPROVEN, why, None, SETTING)
    if not ends or min(ends.values()) < evidence.last["cann/placement"]:
        why = "the log does not show the end of the build after the last placement"
        return Proof(State.UNPROVEN, why, None, SETTING)
    why = "DEBUG of GE was on, which prints the engine of each operator, and ATC ended with success"
    return Proof(State.PROVEN, why, min(engines.values()))


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="partly: an operator that AI Core's library does not know goes to AICPU without a word",
    seen_in="ATC of CANN 5 to 8 (public logs), GE of 2021 to 2025 (source)",
)
