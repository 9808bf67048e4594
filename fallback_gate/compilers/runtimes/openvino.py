r"""openvino: OpenVINO's runtime and its front ends, on CPU, GPU and NPU.

**What falls back.** A node of the CPU plugin runs a reference kernel. AUTO takes the CPU where the device that
it was to use is missing. A model with an operator that no front end converts is not compiled at all.

**At which setting it speaks.** Kernels: only in the executed graph, by `benchmark_app -pc`, or printed by the
program from `compiled.get_runtime_model()` (see `openvino_kernels`). AUTO: with `LOG_LEVEL=LOG_DEBUG` on the
device AUTO. Conversion errors: always, as an exception.

**When it is silent.** By default, on all but errors. `AUTO:GPU,CPU` on a machine without a GPU runs on the
CPU without a word; HETERO with a missing device fails instead. `ONEDNN_VERBOSE` shows primitives of oneDNN
only, to which reference nodes do not belong; `OPENVINO_LOG_LEVEL` prints nothing for the CPU. The body of a loop
(`Loop`, `TensorIterator`) or of an `If` is in no graph and no table: a log with one proves nothing, unless the
policy accepts that (`proof: {accept_unobservable: [reference_kernel]}`).

**What proves the end.** A graph or a table of counters that is printed whole, for reference kernels; with dynamic
shapes, a graph that is printed after a request; for each run of `benchmark_app`, and for each model of AUTO before
its `scheduler ending`, where the log shows these. `-pcsort simple_sort` leaves rows out, and proves nothing. No log
shows that AUTO's devices were all tried.

Wording seen in 2024.6, 2025.2 and 2026.4 (run); AUTO's run-time lines and HETERO's error in its binary and source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.compilers.runtimes import openvino_kernels, openvino_models, openvino_told
from fallback_gate.compilers.runtimes.openvino_kernels import NAME
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import BEFORE, Pattern
from fallback_gate.scan.record import Record

MOST_OPERATORS = 200

_NAME = Pattern(r"[A-Za-z_][\w.:]{0,200}")


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

HETERO = Rule(
    id="openvino/hetero-not-assigned",
    compiler=NAME,
    anchor=(" were not able to be assigned on any ",),
    pattern=r"\(Name:\s?(?P<layer>[^,()]{1,300}), Type:\s?(?P<op>\w{1,80})\) were not able to be assigned on any pointed device",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="None of the devices that HETERO was given takes the node: the model is not compiled.",
    help="Name a device that takes the node too (HETERO:GPU,CPU), which then is a fallback that this log does not show.",
    seen_in="2026.4 (its binary and source), an exception",
    matches=("(Name:/attn/GateAttn, Type: GateAttn) were not able to be assigned on any pointed device.",),
)

_AUTO = "[00:03:39.3405]"


def of_device(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The device that was to be used."""
    report = by_groups(rule, record, match)._replace(reason=match["why"])
    device = match["device"]
    yield report._replace(op=device, names=(device,)) if device else report


NO_DEVICE = Rule(
    id="openvino/auto-device-missing",
    compiler=NAME,
    anchor=("[AUTO] get default device id failed for ", "[AUTO] cannot get device cap"),
    pattern=r"\[AUTO\] (?P<why>(?:get default device id failed for|cannot get device capab\w{1,10} from device:) (?P<device>[\w.]{1,40}))",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="AUTO was given the device and can't use it: the model runs on another device of the list.",
    help="Install the device's driver; name the device alone to get an error instead.",
    seen_in="2026.4 (run), LOG_LEVEL=LOG_DEBUG of the device AUTO",
    matches=(
        f"{_AUTO}D[plugin.cpp:188][AUTO] get default device id failed for GPU",
        f"{_AUTO}D[plugin.cpp:634][AUTO] cannot get device capabity from device: GPU",
    ),
    ignores=(f"{_AUTO}I[auto_schedule.cpp:163][AUTO] select device:CPU",),
    read=of_device,
)

FALLBACK_DEVICE = Rule(
    id="openvino/auto-fallback-device",
    compiler=NAME,
    anchor=("[AUTO] Select fallback device:", "[AUTO] Load context in FALLBACKDEVICE "),
    pattern=r"\[AUTO\] (?P<why>Select fallback device:\s?(?P<device>[\w.]{0,40})|Load context in FALLBACKDEVICE with error: .*)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="Inference failed on the device at run time: AUTO goes on with another one.",
    help="Look for the device's error above the line; ENABLE_RUNTIME_FALLBACK=NO makes the run fail instead.",
    seen_in="2026.4 (its binary)",
    matches=(
        f"{_AUTO}I[auto_schedule.cpp:400][AUTO] Select fallback device:CPU",
        f"{_AUTO}W[auto_schedule.cpp:410][AUTO] Load context in FALLBACKDEVICE with error: no device",
    ),
    read=of_device,
)

NO_PLUGIN = Rule(
    id="openvino/plugin-not-loaded",
    compiler=NAME,
    anchor=("Cannot load library ", "Context was not initialized for "),
    pattern=r"(?:Cannot load library .{0,1000}?libopenvino_(?:intel_)?(?P<device>\w{2,40})_plugin\.\w{2,5}\b|^[\s|+>]*\[(?P<named>\w{2,40})\] Context was not initialized for \d{1,9} device)[\"']?:?\s?(?P<reason>.*)",
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


def of_plugin(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The device whose plugin raised the error, and what it says below; none where a request runs."""
    if any("infer_request" in line.text for line in record.preceding(3)):
        return
    device = match["device"].upper()
    below = next((line.text.strip() for line in record.following(1)), "")
    yield by_groups(rule, record, match)._replace(op=device, names=(device,), reason=below or None)


PLUGIN_FAILED = Rule(
    id="openvino/plugin-failed",
    compiler=NAME,
    anchor=("Exception from src/plugins/",),
    pattern=r"\bException from src/plugins/(?:intel_)?(?P<device>cpu|gpu|npu)/",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="The plugin of the device raised an error while the model was compiled: there is no model for it.",
    help="Install the device's driver and the libraries that it needs; the line below says what the plugin lacks.",
    seen_in="2025.2 (run), an exception",
    matches=(
        "Exception from src/plugins/intel_npu/src/compiler_adapter/include/compiler_adapter_factory.hpp:28:\nNPU Compiler Adapter must be used with LEVEL0 backend",
    ),
    ignores=(
        "RuntimeError: Exception from src/inference/src/cpp/infer_request.cpp:223:\nException from src/plugins/intel_cpu/src/node.cpp:590:\n[CPU] Gather node out of bounds",
    ),
    read=of_plugin,
)


def implied(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """That a call of Core failed: where a line below says of what, that one tells."""
    below = (line.text.strip() for line in record.following(4))
    why = next((text for text in below if text and not text.startswith("Exception from ")), "")
    yield by_groups(rule, record, match)._replace(hint=True, reason=why or None)


NOT_MADE = Rule(
    id="openvino/model-not-made",
    compiler=NAME,
    anchor=("Exception from src/inference/src/cpp/core.cpp:",),
    pattern=r"\bException from src/inference/src/cpp/core\.cpp:\d{1,6}:",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.UNKNOWN,
    meaning="A model could not be read or compiled: the program ended, or its author caught the error and went on without it.",
    help="The lines below say what failed.",
    seen_in="2024.6 and 2025.2 (run), an exception",
    matches=(
        'second model on numpy: Exception from src/inference/src/cpp/core.cpp:109:\nException from src/inference/src/dev/core_impl.cpp:659:\nDevice with "FPGA" name is not registered in the OpenVINO Runtime',
    ),
    ignores=("Exception from src/inference/src/cpp/infer_request.cpp:223:",),
    read=implied,
)

RULES = (
    *openvino_kernels.RULES, openvino_told.FREE, UNCONVERTED, HETERO, NO_DEVICE, FALLBACK_DEVICE, NO_PLUGIN, PLUGIN_FAILED, NOT_MADE,
)  # fmt: skip
MARKERS = (
    *openvino_kernels.MARKERS,
    *openvino_models.MARKERS,
    Marker(
        id="openvino/auto-selected",
        compiler=NAME,
        anchor=("[AUTO] select device:",),
        pattern=r"\[AUTO\] select device:(?P<device>[\w.]{1,40})",
        shows="AUTO chose a device.",
        seen_in="2026.4 (run)",
        matches=(f"{_AUTO}I[auto_schedule.cpp:163][AUTO] select device:CPU",),
    ),
)
REQUIRED = frozenset({Kind.REFERENCE_KERNEL})
SETTING = "benchmark_app -pc, or the executed graph printed from compiled.get_runtime_model() after a request"

BODIES = (
    "the body's own executed graph (compile it as a model of its own), "
    "and `proof: {accept_unobservable: [reference_kernel]}` in the policy"
)


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """An executed graph that is printed whole shows each kernel."""
    shown = (openvino_models.GRAPHS, openvino_models.COUNTERS)
    states = {state for marker in shown for state, _ in evidence.of(marker)}
    if Kind.COMPILE_ERROR in evidence.reported:
        why = "a model could not be compiled, and nothing shows that it was after all"
        return {kind: Proof(State.UNPROVEN, why, None, SETTING) for kind in (*REQUIRED, Kind.COMPILE_ERROR)}
    if "cut" in states:
        proof = Proof(State.UNPROVEN, "the executed graph is cut: rows of it are missing", None, SETTING)
    elif states and openvino_models.without_table(evidence):
        why = "a model was compiled of which no executed graph or table of counters is printed"
        proof = Proof(State.UNPROVEN, why, None, SETTING)
    elif "early" in states:
        why = (
            "the graph was printed before its first request: with dynamic shapes kernels are picked only then"
        )
        proof = Proof(State.UNPROVEN, why, None, SETTING)
    elif "nested" in states:
        why = "the graph has a loop or a condition, and no log shows which kernels run in its body"
        proof = Proof(State.UNOBSERVABLE, why, None, BODIES)
    elif states:
        line = next(at for at in map(evidence.first, shown) if at is not None)
        why = "the executed graph is printed whole, with the kernel of each node"
        proof = Proof(State.PROVEN, why, line)
    else:
        why = "no log level of OpenVINO shows which kernels ran"
        proof = Proof(State.UNOBSERVABLE, why, None, SETTING)
    return {Kind.REFERENCE_KERNEL: proof}


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="yes",
    seen_in="2024.6 to 2026.4 (run)",
)
