r"""Room 3: models that OpenVINO does not convert or compile: its front ends, its plugins and the compiler of its NPU.

    Exception from src\plugins\intel_npu\src\plugin\npuw\compiled_model.cpp:516:
    Failed to compile Model0_kv1152_FCEW000__0 for all devices in [NPU]
    [ERROR] 18:07:10.251 [vpux-compiler] Failed Pass StaticAllocation on Operation loc(fused<{name = "main", ...
    Cannot create Interpolate layer /up/Resize id:56 from unsupported opset: opset11

An exception names its place in the source, by slashes or, on Windows, by backslashes, and what went wrong below the last.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.runtimes.openvino_kernels import NAME
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import BEFORE, Pattern
from fallback_gate.scan.record import Record

MOST_OPERATORS = 200
MOST_LINES = 20_000  # of one list of nodes

_NAME = Pattern(r"[A-Za-z_][\w.:]{0,200}(?:-[\w.:-]{1,200})?")


def unconverted(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """One report for each operator of the list."""
    report = by_groups(rule, record, match)._replace(reason=match[0].strip().removeprefix("-- "))
    found: dict[str, None] = {}
    rest = match["listed"]
    while (name := _NAME.search(rest)) and len(found) < MOST_OPERATORS:
        found.setdefault(name[0].strip(".:"))
        rest = rest[name.end() :]
    for said in found:
        op = said if "::" in said else said.rpartition(".")[2]
        yield report._replace(op=op, names=tuple(dict.fromkeys((op, said, op.rpartition("::")[2]))))


UNCONVERTED = Rule(
    id="openvino/not-converted",
    compiler=NAME,
    anchor=(
        "-- No conversion rule found for operations: ",
        "-- Conversion is failed for: ",
        "does not support the following ONNX operations: ",
    ),
    pattern=rf"^{BEFORE}(?:-- (?:No conversion rule found for operations|Conversion is failed for)|OpenVINO does not support the following ONNX operations): (?P<listed>.*)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="No front end converts the operator: the model is not compiled.",
    help="Register a conversion extension for the operator (openvino.frontend.ConversionExtension), or rewrite it in the model.",
    seen_in="2026.4 (run), 2024.6 and 2025.2 (run) for ONNX, an exception",
    matches=(
        "-- No conversion rule found for operations: com.acme.GateAttn, aten::special_bessel_j0",
        "-- Conversion is failed for: aten::gate_attn",
        "OpenVINO does not support the following ONNX operations: acme.rank.TreeGather, Optional, OptionalGetElement",
    ),
    ignores=("No conversion rule found for operations of this kind",),
    read=unconverted,
)

NO_PLUGIN = Rule(
    id="openvino/plugin-not-loaded",
    compiler=NAME,
    anchor=("Cannot load library ", "Context was not initialized for "),
    pattern=r"(?:Cannot load library .{0,1000}?(?<![a-zA-Z])(?:lib)?openvino_(?:intel_)?(?P<device>\w{2,40})_plugin\.\w{2,5}\b|^[\s|+>]*\[(?P<named>\w{2,40})\] Context was not initialized for \d{1,9} device)[\"']?:?\s?(?P<reason>.*)",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="The device that the program names can't be used: the model is not compiled for it.",
    help="Install the device's driver and the libraries that the line names.",
    seen_in="2026.4 (run), an exception",
    matches=(
        'Cannot load library "/opt/venv/openvino/libs/libopenvino_intel_gpu_plugin.so": libOpenCL.so.1: cannot open shared object file: No such file or directory',
        "[GPU] Context was not initialized for 0 device",
    ),
    ignores=('Cannot load library "/usr/lib/libfoo.so"',),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op=(match["device"] or match["named"]).upper(),
            names=((match["device"] or match["named"]).upper(),),
        ),
    ),
)


_PLACE = Pattern(r"^\s*(?:Exception from |Check '.{0,200}' failed at )")


def _told_below(record: Record) -> str | None:
    """What the exception says below its places."""
    below = (line.text.strip() for line in record.following(6))
    return next((text for text in below if text and not _PLACE.match(text)), None)


_NODE = Pattern(
    r"(?P<op>\b[A-Z]\w{0,60}) (?:node|layer) with name '(?P<name>[^']{1,300})'"
    r"|doesn't support (?P<type>[A-Z]\w{0,60}) operation\b.{0,200}?\. Operation name: (?P<said>\S{1,300})"
)


def of_plugin(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The node or else the device whose plugin raised the error, and what it says below; none where a request runs."""
    if any("infer_request" in line.text for line in record.preceding(3)):
        return
    device, reason = match["device"].upper(), _told_below(record)
    report = by_groups(rule, record, match)._replace(op=device, names=(device,), reason=reason)
    node = _NODE.search(reason or "")
    if node is None:
        yield report
        return
    op, layer = node["op"] or node["type"], node["name"] or node["said"]
    yield report._replace(op=op, names=(op, layer, device), layer=layer)


PLUGIN_FAILED = Rule(
    id="openvino/plugin-failed",
    compiler=NAME,
    anchor=("intel_cpu", "intel_gpu", "intel_npu"),
    pattern=r"(?:Exception from |\bfailed at )(?:\S{0,200}?[/\\])?src[/\\]plugins[/\\]intel_(?P<device>cpu|gpu|npu)[/\\]",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="The plugin of the device raised an error while the model was compiled: there is no model for it.",
    help="Read what the exception says below its places: a driver that is missing, or an operator, a shape or a type that the plugin lacks.",
    seen_in="2025.2 to 2026.4 (run), 2023.0 to 2026.1 (public threads), an exception",
    matches=(
        "Exception from src/plugins/intel_npu/src/compiler_adapter/include/compiler_adapter_factory.hpp:28:\nNPU Compiler Adapter must be used with LEVEL0 backend",
        "Exception from src\\plugins\\intel_npu\\src\\plugin\\src\\plugin.cpp:668:\nL0 pfnCreate2 result: ZE_RESULT_ERROR_UNKNOWN",
        "Check 'false' failed at src\\plugins\\intel_gpu\\src\\plugin\\program_builder.cpp:179:\n[GPU] ProgramBuilder build failed!",
        "Check 'axis_shape' failed at src/plugins/intel_cpu/src/nodes/cum_sum.cpp:73:\nCumSum node with name 'dur/cumsum' doesn't support 'axis' input tensor with non scalar rank",
        "Check '!shape.rank().is_dynamic()' failed at src/plugins/intel_cpu/src/node.cpp:106:\nUnexpected: CPU plug-in doesn't support Parameter operation with dynamic rank. Operation name: cc",
    ),
    ignores=(
        "RuntimeError: Exception from src/inference/src/cpp/infer_request.cpp:223:\nException from src/plugins/intel_cpu/src/node.cpp:590:\n[CPU] Gather node out of bounds",
        "cp libopenvino_intel_gpu_plugin.so /opt",
    ),
    read=of_plugin,
)


def implied(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """That a call of Core failed: where a line below says of what, that one tells."""
    yield by_groups(rule, record, match)._replace(hint=True, reason=_told_below(record))


NOT_MADE = Rule(
    id="openvino/model-not-made",
    compiler=NAME,
    anchor=("core.cpp:",),
    pattern=r"Exception from src[/\\]inference[/\\]src[/\\]cpp[/\\]core\.cpp:\d{1,6}:",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.UNKNOWN,
    meaning="A model could not be read or compiled: the program ended, or its author caught the error and went on without it.",
    help="The lines below say what failed.",
    seen_in="2024.6 and 2025.2 (run), 2023.0 to 2026.1 (public threads), an exception",
    matches=(
        "RuntimeError: Exception from src\\inference\\src\\cpp\\core.cpp:112:\nmodel is broken",
        'second model on numpy: Exception from src/inference/src/cpp/core.cpp:109:\nException from src/inference/src/dev/core_impl.cpp:659:\nDevice with "FPGA" name is not registered in the OpenVINO Runtime',
    ),
    ignores=("Exception from src/inference/src/cpp/infer_request.cpp:223:",),
    read=implied,
)

_LOCATION = Pattern(r"\bname = \x22(?P<name>[^\x22]{1,300})\x22, type = \x22(?P<type>\w{1,80})\x22")
_WHOLE = ("Module", "Func")


def of_npu(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator that the location names; the NPU where that is a whole function."""
    report, at = by_groups(rule, record, match), _LOCATION.search(match["reason"])
    if at and at["type"] not in _WHOLE:
        yield report._replace(
            op=at["type"], names=(at["type"], at["name"]), layer=at["name"], scope=Scope.OPERATOR
        )
    else:
        yield report._replace(op="NPU", names=("NPU",))


NPU_COMPILER = Rule(
    id="openvino/npu-compiler",
    compiler=NAME,
    anchor=("[vpux-compiler] ", " for all devices in ["),
    pattern=r"^\s*\[ERROR\] (?:[\d:.]{8,20} )?\[vpux-compiler\] (?P<reason>(?:Failed Pass \w{1,100} on Operation|Got Diagnostic at loc\().{0,600})"
    r"|(?P<npuw>\bFailed to compile \S{1,200} for all devices in \[NPU\b.{0,60})",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="The NPU's compiler does not compile the model, or a part of it: the program ended, or went on without it.",
    help="Give the model static shapes (model.reshape), or look for the operator that the lines around name; a newer driver brings a newer compiler.",
    seen_in="2024.5 to 2026.1 (source of NPUW, and public threads), ERROR",
    matches=(
        '[ERROR] 18:07:10.251 [vpux-compiler] Failed Pass StaticAllocation on Operation loc(fused<{name = "main", type = "Func"}>["main", "_part26"])',
        '[ERROR] [vpux-compiler] Got Diagnostic at loc(fused<{name = "MatMul_5868", type = "MatMul"}>["MatMul_5868"]) : Got non broadcastable dimensions pair',
        "RuntimeError: Failed to compile Model0_kv1152_FCEW000__0 for all devices in [NPU]",
    ),
    ignores=("[WARNING] 18:07:10.251 [vpux-compiler] Got Diagnostic at loc(unknown) : slow",),
    read=lambda rule, record, match: (
        of_npu(rule, record, match)
        if match["reason"]
        else (by_groups(rule, record, match)._replace(op="NPU", names=("NPU",), reason=match["npuw"]),)
    ),
)

OPSET = Rule(
    id="openvino/unknown-operation",
    compiler=NAME,
    anchor=(" from unsupported opset: ",),
    pattern=r"(?P<reason>Cannot create (?P<op>\w{1,80}) layer (?P<layer>\S{1,300}) id:\d{1,9} from unsupported opset: \w{1,40})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The model was made by a later OpenVINO, or with an extension, and this one does not know the operation: the model is not read.",
    help="Convert the model with the version that runs it (for the NPU that is the driver's), or add the extension (openvino_tokenizers, say).",
    seen_in="2022.1 to 2024.2 (source and public threads), an exception",
    matches=("Cannot create Interpolate layer /up/Resize id:56 from unsupported opset: opset11",),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(names=(match["op"], match["layer"])),
    ),
)

_MO_ROW = Pattern(r"^\s{0,40}(?:\[ ERROR \]\s{1,40})?(?P<op>[A-Za-z_]\w{0,80}) \((?P<count>\d{1,9})\)\s*$")


def refused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The rows that count an operator; those between them name its nodes."""
    report = by_groups(rule, record, match)
    for line in record.following(MOST_LINES):
        if "Part of the nodes was not converted" in line.text:
            return
        if row := _MO_ROW.match(line.text):
            yield report._replace(
                op=row["op"], names=(row["op"],), position=record.position_at(line.at), text=line.text,
                reason=f"{row['count']} nodes can't be converted",
            )  # fmt: skip


OPTIMIZER = Rule(
    id="openvino/model-optimizer",
    compiler=NAME,
    anchor=("List of operations that cannot be converted to Inference Engine IR",),
    pattern=r"(?:^|\] )\s*List of operations that cannot be converted to Inference Engine IR:\s*$",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="Model Optimizer, the converter up to 2023, lacks the operator: there is no model.",
    help="Convert with a later OpenVINO (ovc, or openvino.convert_model), or cut the model before the operator.",
    seen_in="2019 to 2021.4 (source and public threads), ERROR",
    matches=(
        "[ ERROR ]  List of operations that cannot be converted to Inference Engine IR:\n[ ERROR ]      Complex (1)\n[ ERROR ]          lambda_2/Complex\n[ ERROR ]      IFFT2D (2)\n[ ERROR ]          lambda_2/IFFT2D\n[ ERROR ]  Part of the nodes was not converted to IR. Stopped.",
    ),
    ignores=(
        "    unsupported.report(log.error, 'List of operations that cannot be converted to Inference Engine IR:')",
    ),
    read=refused,
)

NO_NPU = Rule(
    id="openvino/npu-library-without-npu",
    compiler=NAME,
    anchor=("Library will fallback to AUTO device selection",),
    pattern=r"UserWarning: (?P<reason>(?P<op>NPU) is not available in your system)\. Library will fallback to AUTO device selection",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="intel_npu_acceleration_library finds no NPU: OpenVINO's AUTO device takes the model, mostly on the CPU.",
    help="Install the NPU's driver, and look whether OpenVINO lists the device (Core().available_devices).",
    seen_in="intel_npu_acceleration_library 1.0 to 1.4 (source), a Python warning",
    matches=(
        "/opt/venv/intel_npu_acceleration_library/backend/__init__.py:18: UserWarning: NPU is not available in your system. Library will fallback to AUTO device selection mode",
    ),
)

RULES = (UNCONVERTED, NO_PLUGIN, PLUGIN_FAILED, NOT_MADE, NPU_COMPILER, OPSET, OPTIMIZER, NO_NPU)
