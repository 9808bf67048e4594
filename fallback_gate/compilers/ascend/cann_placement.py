"""Room 3: where CANN's graph engine puts each operator: the rules of `cann` that name an engine.

Some lines name the node, some its type as well; reports are for the node, which all of them name.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.ascend.names import named, node_type
from fallback_gate.compilers.rule import Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "cann"
PLOG = "[DEBUG] GE(11,atc):2026-01-01-00:00:00.100.002 [dnnengine_manager.cc:226]21 GetDNNEngineName: "
_CPU = Pattern(r"(?i)aicpu|host_?cpu")
_REFUSED = r"DNNEngineManager:Check support failed, kernel_name is (?P<kernel>[^,\s]{1,128}), op type is (?P<type>[^,\s]{1,128}), op name is (?P<node>\S{1,512})"
_PLACED = (
    r"(?<!HostcpuEngineUpdatePass\]: )\bSet (?:OpKernelLibName|kernel_lib) (?P<lib>[^\s,]{1,128})(?: and|, atomic)"
    r" (?:engine name|OpEngineName|engine) (?P<engine>[^\s,]{1,128}),? (?:to|into) (?:op_desc |node )?(?P<node>\S{1,512})"
)
_REFUSAL, _PLACEMENT = Pattern(_REFUSED), Pattern(_PLACED)
_LOOK = 40  # lines between an operator's refusal and its placement


def placed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A placement on a CPU; the lines before it tell the operator's type and who refused it."""
    if not (_CPU.search(match["engine"]) or _CPU.search(match["lib"])):
        return
    node = match["node"]
    kind, refused = node_type(node), ""
    for line in record.preceding(_LOOK):
        found = _REFUSAL.search(line.text)
        if found and found["node"] == node:
            kind, refused = found["type"], f" after {found['kernel']} refused it"
            break
    report = named(rule, record, match, node, kind)
    yield report._replace(site=node, reason=f"placed on {match['engine']} ({match['lib']}){refused}")


PLACED = Rule(
    id="cann/placed-on-cpu",
    compiler=NAME,
    anchor=("Set OpKernelLibName ", "DNNEngineManager:Set ", "Set kernel_lib "),
    pattern=_PLACED,
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The operator runs on the chip's CPU cores or on the host, not on AI Core.",
    help="Look at why AI Core refused it (data type, format, dynamic shape); cast or rewrite the operator in the model.",
    seen_in="GE of 2021 to 2025 (source), DEBUG",
    matches=(
        PLOG
        + "DNNEngineManager:Set OpKernelLibName aicpu_tf_kernel and engine name DNN_VM_AICPU to op_desc gate_mix_1",
        PLOG
        + "DNNEngineManager:Set kernel_lib aicpu_ascend_kernel, atomic engine DNN_VM_AICPU_ASCEND, to node mod_1",
        PLOG
        + "DNNEngineManager: Set OpKernelLibName DNN_VM_HOST_CPU_OP_STORE and OpEngineName DNN_VM_HOST_CPU to size_2",
        "[INFO] GE(11,atc):2026-01-01-00:00:00.100.002 [ge_generator.cc:226]21 CheckEngineTypeSupport: CheckEngineType:Set OpKernelLibName aicpu_tf_kernel and engine name DNN_VM_AICPU into op_desc unique_1",
    ),
    ignores=(
        PLOG
        + "DNNEngineManager:Set OpKernelLibName AIcoreEngine and engine name AIcoreEngine to op_desc conv_1",
        PLOG
        + "DNNEngineManager:Set kernel_lib DNN_VM_GE_LOCAL_OP_STORE, atomic engine DNN_VM_GE_LOCAL, to node reshape_1",
        "[INFO] GE(11,atc):2026-01-01-00:00:00.100.002 [hostcpu_engine_update_pass.cc:226]21 CheckAndMarkHostExec: [HostcpuEngineUpdatePass]: Set OpKernelLibName DNN_VM_HOST_CPU_OP_STORE and OpEngineName DNN_VM_HOST_CPU to size_2",
    ),
    read=placed,
)


def refused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """AI Core's refusal, where no placement after it decides: at INFO none is printed."""
    if match["kernel"] != "AIcoreEngine":
        return
    for line in record.following(_LOOK):
        found = _PLACEMENT.search(line.text)
        if found and found["node"] == match["node"]:
            return
    report = named(rule, record, match, match["node"], match["type"])
    yield report._replace(site=match["node"], reason="AIcoreEngine refused it", hint=True)


REFUSED = Rule(
    id="cann/refused-by-ai-core",
    compiler=NAME,
    anchor=("DNNEngineManager:Check support failed",),
    pattern=_REFUSED,
    kind=Kind.DEVICE_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="AI Core refused the operator: a CPU takes it, or nothing does. At this level the log does not say which.",
    help="Build with ASCEND_GLOBAL_LOG_LEVEL=0 to see where the operator went.",
    seen_in="GE of 2021 to 2025 (source), INFO",
    matches=(
        "[INFO] GE(11,atc):2026-01-01-00:00:00.000.000 [dnnengine_manager.cc:245]21 GetDNNEngineName: DNNEngineManager:Check support failed, kernel_name is AIcoreEngine, op type is GateMix, op name is gate_mix_1",
    ),
    ignores=(
        "DNNEngineManager:Check support failed, kernel_name is aicpu_tf_kernel, op type is GateMix, op name is gate_mix_1",
    ),
    read=refused,
)

_LOW_PRIORITY = r"Op ?\[(?P<op>[^\]\s]{1,512})\] does not hit the high-priority operator information library"
_EACH = Pattern(_LOW_PRIORITY)


def low_priority(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """One report for each operator of the line: ATC's messages may stand one after the other on it."""
    rest: Match[str] | None = match
    text = record.text
    while rest:
        report = named(rule, record, match, rest["op"], node_type(rest["op"]))
        yield report._replace(site=rest["op"], reason=rest[0])
        text = text[rest.end() :]
        rest = _EACH.search(text)


LOW_PRIORITY = Rule(
    id="cann/low-priority-engine",
    compiler=NAME,
    anchor=("does not hit the high-priority operator information library",),
    pattern=_LOW_PRIORITY,
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The first engine in order (AI Core) refused the operator: a later one, the AICPU as a rule, runs it.",
    help="Build with ASCEND_GLOBAL_LOG_LEVEL=0 to see the engine; cast the inputs or rewrite the operator.",
    seen_in="ATC of CANN 5 to 8, W11001",
    matches=(
        "W11001: Op [Slice_29] does not hit the high-priority operator information library, which might result in compromised performance.",
        "[PID: 11127] 2025-11-15-10:47:10.434.860 Operator_Missing_High-Priority_Performance(W11001): Op [node_select_scatter_1] does not hit the high-priority operator information library, which might result in compromised performance.",
        "INFO:root: 2025-02-10-12:52:23.694.284 Op[/backbone/stages.2/blocks.14/attn/Div_4] does not hit the high-priority operator information library, which might result in compromised performance.",
    ),
    ignores=(
        '"ErrMessage": "Op %s does not hit the high-priority operator information library, which"',
        "1: does not hit the high-priority operator information library.",
    ),
    read=low_priority,
)


def typed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A message that names the operator's type, and perhaps the node."""
    node = match.groupdict().get("node")
    yield named(rule, record, match, match["type"], node)._replace(site=node)


NO_STORE = Rule(
    id="cann/no-kernel-store",
    compiler=NAME,
    anchor=("DNNEngineManager:Can not find any supported ops kernel info store",),
    pattern=r"(?P<reason>DNNEngineManager:Can not find any supported ops kernel info store by kernel_name [^,\s]{1,128}),"
    r" ?op type is (?P<type>[^,\s]{1,128}), op name is (?P<node>\S{1,512})",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The kernel library that should run the operator is not loaded.",
    help="Check the CANN installation and its operator packages (opp, custom operators).",
    seen_in="GE of 2021 to 2025 (source), WARNING",
    matches=(
        "[WARNING] GE(11,atc):2026-01-01-00:00:00.000.000 [dnnengine_manager.cc:252]21 GetDNNEngineName: DNNEngineManager:Can not find any supported ops kernel info store by kernel_name AIcoreEngine,op type is GateMix, op name is gate_mix_1",
    ),
    read=typed,
)
