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

**What proves the end.** A graph or a table of counters that is printed whole, for reference kernels, in whatever
columns (see `openvino_graphs`); with dynamic shapes, a graph that is printed after a request; for each run of
`benchmark_app`, and for each model of AUTO before its `scheduler ending`, where the log shows these. `-pcsort
simple_sort` leaves rows out, and proves nothing. No log shows that AUTO's devices were all tried.

Wording seen in 2024.6, 2025.2 and 2026.4 (run); AUTO's run-time lines and HETERO's error in its binary and source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.compilers.runtimes import (
    openvino_errors,
    openvino_graphs,
    openvino_kernels,
    openvino_models,
    openvino_told,
)
from fallback_gate.compilers.runtimes.openvino_kernels import NAME
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.scan.record import Record

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

RULES = (
    *openvino_kernels.RULES,
    openvino_told.FREE,
    *openvino_errors.RULES,
    HETERO,
    NO_DEVICE,
    FALLBACK_DEVICE,
)
MARKERS = (
    *openvino_kernels.MARKERS,
    openvino_graphs.MARKER,
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


_DOUBTS = {  # by the state of a graph: why it proves nothing
    "cut": "the executed graph is cut: rows of it are missing",
    "unordered": "the nodes of the executed graph do not all tell their execOrder: rows of it may be missing",
    "early": "the graph was printed before its first request: with dynamic shapes kernels are picked only then",
}


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """An executed graph that is printed whole shows each kernel."""
    if Kind.COMPILE_ERROR in evidence.reported:
        why = "a model could not be compiled, and nothing shows that it was after all"
        return {kind: Proof(State.UNPROVEN, why, None, SETTING) for kind in (*REQUIRED, Kind.COMPILE_ERROR)}
    return {Kind.REFERENCE_KERNEL: _shown(evidence)}


def _shown(evidence: Evidence) -> Proof:
    """Whether each kernel is shown."""
    shown = openvino_models.TABLES
    states = {state for marker in shown for state, _ in evidence.of(marker)}
    if not states:
        return Proof(State.UNOBSERVABLE, "no log level of OpenVINO shows which kernels ran", None, SETTING)
    why = next((why for state, why in _DOUBTS.items() if state in states), None)
    if openvino_models.without_table(evidence):
        why = "a model was compiled of which no executed graph or table of counters is printed"
    if why:
        return Proof(State.UNPROVEN, why, None, SETTING)
    if "nested" in states:
        why = "the graph has a loop or a condition, and no log shows which kernels run in its body"
        return Proof(State.UNOBSERVABLE, why, None, BODIES)
    line = min(at for at in map(evidence.first, shown) if at is not None)
    return Proof(State.PROVEN, "the executed graph is printed whole, with the kernel of each node", line)


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
