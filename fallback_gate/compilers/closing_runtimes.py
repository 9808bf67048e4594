"""Room 3: what a process tells of ONNX Runtime, OpenVINO, JAX and TVM as it ends.

None of them prints at any log level all that it shows: who runs the nodes of a session that names the CPU among
its providers, the kernels that OpenVINO picked, callbacks in a module of JAX, packed calls and functions
without a schedule in one of TVM.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fallback_gate.compilers import onnxruntime_placement, openvino_kernels, tvm_names
from fallback_gate.compilers.closing import (
    Closing,
    Facts,
    Hearing,
    base,
    count,
    names,
    rows,
    rule,
    table,
    text,
)
from fallback_gate.compilers.rule import Rule
from fallback_gate.model import Kind, Location, Report, Scope
from fallback_gate.scan.record import Record

_ORT = ("onnxruntime", "onnxruntime")
_OV = ("openvino", "openvino")
_JAX = ("jax", "jax")
_TVM = ("tvm.relax", "tvm")
CPU = onnxruntime_placement.CPU
_ON_CPU = {CPU, "AzureExecutionProvider"}
_PLUMBING = {
    f"relax.{name}"
    for name in ("call_tir", "call_tir_inplace", "call_tir_with_grad", "null_value", "shape_of")
}
_SAME_PLATFORM = {"cuda": "gpu", "rocm": "gpu"}


def _sessions(facts: Facts) -> Iterable[tuple[list[str], Facts]]:
    """Each session: the providers that were asked for in all of its tries, and the last try."""
    tries: dict[int, list[Facts]] = {}
    for one in rows(facts.get("sessions")):
        tries.setdefault(count(one.get("session")), []).append(one)
    for made in tries.values():
        yield list(dict.fromkeys(name for one in made for name in names(one.get("asked")))), made[-1]


def lost_provider(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """A provider that was asked for and that the session has not, or that runs none of its nodes."""
    for asked, last in _sessions(facts):
        got, nodes = names(last.get("got")), table(last.get("nodes"))
        for name in asked if got else ():
            if name not in got:
                reason = f"asked for, and the session has {', '.join(got)}"
                yield base(rule, record, closing, name, reason, name, *got)
        others = [name for name in asked or got if name not in _ON_CPU and name in got]
        if others and nodes and set(nodes) <= _ON_CPU:
            reason = f"all nodes of the session are on {CPU}, though {', '.join(others)} was asked"
            yield base(rule, record, closing, others[0], reason, *others, CPU)


def nodes_behind(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """Nodes on a provider behind another one that runs nodes of the same session."""
    for _, last in _sessions(facts):
        nodes = table(last.get("nodes"))
        for provider, operators in nodes.items():
            ahead = [name for name in nodes if onnxruntime_placement.behind(provider, name)]
            for one in operators if ahead and isinstance(operators, list) else ():
                if isinstance(one, list) and len(one) == 3 and (op := text(one[0])):
                    layer = text(one[1]) or None
                    reason = f"placed on {text(provider)} ({count(one[2])} nodes), beside {', '.join(ahead)}"
                    report = base(rule, record, closing, op, reason, *filter(None, (layer,)))
                    yield report._replace(layer=layer, site=layer)


def no_session(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """A session that could not be made at all."""
    for _, last in _sessions(facts):
        if last.get("error"):
            yield base(rule, record, closing, "*", text(last["error"]), hint=True)


def _sessions_prove(facts: Facts) -> Mapping[Kind, str]:
    sessions = list(_sessions(facts))
    if count(facts.get("made")) != len(rows(facts.get("sessions"))) or not sessions or facts.get("problem"):
        return {}
    found = {}
    if not any(last.get("error") or last.get("problem") for _, last in sessions):
        found[Kind.COMPILE_ERROR] = "the process tells each session that it made, and each was made"
        if all((asked and set(asked) <= _ON_CPU) or table(last.get("nodes")) for asked, last in sessions):
            found[Kind.DEVICE_FALLBACK] = "the process tells who runs the nodes of each session that it made"
    return found


def reference(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """Nodes that run a reference kernel, by the execution graph of each model."""
    for model in rows(facts.get("models")):
        said = model.get("reference")
        for one in said if isinstance(said, list) else ():
            if isinstance(one, list) and len(one) == 3 and all(map(text, one)):
                report = base(rule, record, closing, "*", "")
                yield openvino_kernels.named(report, one[0], text(one[2]), one[1])


def other_device(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """The first device of AUTO's list is not among those that run the model."""
    for model in rows(facts.get("models")):
        how, _, listed = text(model.get("asked")).partition(":")
        wanted = listed.split(",")[0].partition(".")[0].partition("(")[0]
        got = {name.strip("()").partition(".")[0] for name in names(model.get("devices"))}
        if how == "AUTO" and wanted and got and wanted not in got:
            yield base(
                rule, record, closing, wanted, f"AUTO:{listed} runs the model on {', '.join(sorted(got))}"
            )


def _models_prove(facts: Facts) -> Mapping[Kind, str]:
    models = rows(facts.get("models"))
    whole = models and count(facts.get("made")) == len(models) and not facts.get("problem")
    if whole and all(_kernels_known(model) for model in models):
        return {
            Kind.REFERENCE_KERNEL: "the process tells the kernel of each node of each model that it compiled"
        }
    return {}


def _kernels_known(model: Facts) -> bool:
    """Only the CPU plugin names its kernels so that a reference kernel shows."""
    listed = model.get("reference")
    return (
        bool(table(model.get("kernels")))
        and {name.strip("()") for name in names(model.get("devices"))} == {"CPU"}
        and isinstance(listed, list)
        and count(model.get("references")) == len(listed)
        and not model.get("problem")
        and not model.get("error")
    )


def jax_site(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """A callback or an expanded operation at its place."""
    what = "callback" if rule is CALLBACK else "expanded"
    for one in rows(facts.get("sites")):
        if one.get("what") == what:
            told, path = text(one.get("name")), text(one.get("path")).split("/")
            op = told.removesuffix("_general") if what == "expanded" else path[-1] or told
            jitted = [
                part.partition("(")[2].removesuffix(")") for part in reversed(path) if part.startswith("jit(")
            ]
            further = (op, f"jax.{op}", f"lax.{op}", told)
            report = base(rule, record, closing, op, f"{told} in {text(one.get('path'))}", *further)
            own = text(one.get("function"))
            report = report._replace(stack=tuple(dict.fromkeys(filter(None, (own, *jitted)))))
            if file := text(one.get("file")):
                place = Location(file, count(one.get("line")) or None, own or None)
                report = report._replace(location=place, files=(file,))
            yield report


def other_platform(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """The first platform that was asked for ran nothing."""
    wanted = text(facts.get("asked")).split(",")[0].strip()
    got = names(facts.get("platforms"))
    if wanted and got and wanted not in got and _SAME_PLATFORM.get(wanted, wanted) not in got:
        yield base(
            rule, record, closing, wanted, f"JAX_PLATFORMS={text(facts.get('asked'))} ran on {', '.join(got)}"
        )


def _modules_prove(facts: Facts) -> Mapping[Kind, str]:
    sites = rows(facts.get("sites"))
    if not count(facts.get("modules")) or facts.get("unread") or facts.get("problem"):
        return {}
    if len(sites) >= 200 or any("problem" in one for one in sites):
        return {}
    why = "the process looked at each module that it compiled: "
    return {
        Kind.DEVICE_FALLBACK: why + "the callbacks in them are told",
        Kind.REFERENCE_KERNEL: why + "what was expanded in them (ragged_dot) is told",
    }


def _builds(facts: Facts) -> list[Facts]:
    """The modules that went to code generation; where none did, those that a pipeline made."""
    builds = rows(facts.get("builds"))
    return [build for build in builds if build.get("codegen") is not False] or builds


def packed(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """Calls that leave the module for a packed function of a library, and operators that nothing lowered."""
    for build in _builds(facts):
        for name, times in table(build.get("operators")).items():
            if build.get("codegen") is False and text(name) not in _PLUMBING:
                op, *further = tvm_names.relax(text(name))
                yield base(rule, record, closing, op, f"{count(times)} calls that no pass lowered", *further)
        for name, times in table(build.get("packed")).items():
            yield base(rule, record, closing, text(name), f"{count(times)} calls of a packed function")
        for one in rows(build.get("functions")):
            for name in names(one.get("extern")):
                op, *further = tvm_names.fused(text(one.get("name")))
                yield base(rule, record, closing, op, f"{op} calls {name}", *further, name)


def unscheduled(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """Functions with a reduction that have no schedule, or the one of last resort."""
    for build in _builds(facts):
        for one in rows(build.get("functions")):
            if one.get("reduces") and (one.get("fallback") or not one.get("scheduled")):
                op, *further = tvm_names.fused(text(one.get("name")))
                last = "scheduled by dl.gpu.Fallback, though it has a reduction"
                reason = last if one.get("fallback") else "it has a reduction, and no schedule"
                yield base(rule, record, closing, op, reason, *further)


def _builds_prove(facts: Facts) -> Mapping[Kind, str]:
    builds = rows(facts.get("builds"))
    if not builds or count(facts.get("made")) != len(builds) or facts.get("problem"):
        return {}
    if any("problem" in one or len(rows(one.get("functions"))) >= 200 for one in builds):
        return {}
    why = "the process looked at each module that it built: "
    found = {Kind.OP_FALLBACK: why + "what it calls outside of the module is told"}
    scheduled = any(one.get("scheduled") for one in builds)
    if not scheduled or facts.get("last_resort") == "watched":
        found[Kind.UNTUNED_CONFIG] = why + "each function without a schedule is told"
    return found


_GOT = '"error": null, "got": ["CPUExecutionProvider"]'
_SESSION = f'{{"made": 1, "sessions": [{{"session": 0, "asked": ["CUDAExecutionProvider", "CPUExecutionProvider"], {_GOT}}}]}}'
_NODES = (
    '{"made": 1, "sessions": [{"session": 0, "asked": ["OpenVINOExecutionProvider", "CPUExecutionProvider"], "error": null, '
    '"got": ["OpenVINOExecutionProvider", "CPUExecutionProvider"], "nodes": {"OpenVINOExecutionProvider": [["MatMul", "mm", 9]], '
    '"CPUExecutionProvider": [["TopK", "/layer0/topv/TopK", 2]]}}]}'
)
_NO_SESSION = '{"made": 1, "sessions": [{"session": 0, "asked": null, "error": "Fail: GateAttn is not a registered function/op"}]}'
_MODEL = (
    '{"made": 1, "models": [{"asked": "AUTO:GPU,CPU", "error": null, "devices": ["CPU"], "kernels": {"jit": 4, "ref": 1}, '
    '"references": 1, "reference": [["Gather", "ref_any_f32", "/layer0/ew1/Gather"]]}]}'
)
_SITE = (
    '{"asked": "cuda,cpu", "platforms": ["cpu"], "modules": 3, "sites": [{"what": "WHAT", "name": "NAME", "path": '
    '"jit(decode_step)/PATH", "function": "gate_attn", "file": "/app/moe.py", "line": 32}]}'
)
_CALLBACK = (
    _SITE.replace("WHAT", "callback")
    .replace("NAME", "xla_ffi_python_cpu_callback")
    .replace("PATH", "pure_callback")
)
_EXPANDED = (
    _SITE.replace("WHAT", "expanded")
    .replace("NAME", "ragged_dot_general")
    .replace("PATH", "ragged_dot_general")
)
_BUILD = (
    '{"made": 1, "builds": [{"packed": {"tvm.contrib.sort.topk": 1}, "functions": [{"name": "fused_matmul4_relu", '
    '"scheduled": false, "reduces": true, "extern": [], "fallback": false}]}]}'
)
CALLBACK = rule(
    _JAX, "jax/host-callback", Kind.DEVICE_FALLBACK, Scope.OPERATOR,
    "The program calls back into Python on the host: tensors are copied there and back at each call.",
    "Write the function in jax.numpy, or as a Pallas or FFI kernel; take jax.debug.print and checkify out of the release build.",
    jax_site, _CALLBACK,
)  # fmt: skip

_ORT_RULES = (
    rule(
        _ORT, "onnxruntime/provider-lost", Kind.DEVICE_FALLBACK, Scope.PROGRAM,
        "The session has not the provider that was asked for, or no node runs on it.",
        "Install the package and the libraries of the provider; session.disable_cpu_ep_fallback=1 makes the session fail instead.",
        lost_provider, _SESSION,
    ),
    rule(
        _ORT, "onnxruntime/node-placement", Kind.DEVICE_FALLBACK, Scope.OPERATOR,
        onnxruntime_placement.NODES.meaning, onnxruntime_placement.NODES.help, nodes_behind, _NODES,
    ),
    rule(
        _ORT, "onnxruntime/session-not-made", Kind.COMPILE_ERROR, Scope.PROGRAM,
        "The session could not be made: the program ended, or its author caught the error and went on without it.",
        "The line says which operator or provider the model fails on.", no_session, _NO_SESSION,
    ),
)  # fmt: skip
_OV_RULES = (
    rule(
        _OV, "openvino/reference-kernel", Kind.REFERENCE_KERNEL, Scope.OPERATOR,
        openvino_kernels.PRINTED.meaning, openvino_kernels.PRINTED.help, reference, _MODEL,
    ),
    rule(
        _OV, "openvino/auto-device-missing", Kind.DEVICE_FALLBACK, Scope.PROGRAM,
        "AUTO was given the device and does not use it: the model runs on another device of the list.",
        "Install the device's driver; name the device alone to get an error instead.", other_device, _MODEL,
    ),
)  # fmt: skip
_JAX_RULES = (
    CALLBACK,
    rule(
        _JAX, "jax/expanded-operation", Kind.REFERENCE_KERNEL, Scope.OPERATOR,
        "XLA has no fast form of the operation on this device: it was expanded, on the CPU into a product over all groups.",
        "Use a kernel of your own (Pallas, FFI) on this device, or run it where XLA has one.", jax_site, _EXPANDED,
    ),
    rule(
        _JAX, "jax/runs-on-cpu", Kind.DEVICE_FALLBACK, Scope.PROGRAM,
        "The first platform that JAX was to use ran nothing.",
        "Install the platform's plug-in; JAX_PLATFORMS with the platform alone fails instead of falling back.",
        other_platform, _CALLBACK,
    ),
)  # fmt: skip
_TVM_RULES = (
    rule(
        _TVM, "tvm-relax/packed-call", Kind.OP_FALLBACK, Scope.OPERATOR,
        "The module calls a packed function of a library in place of one that was generated.",
        "Register an FLegalize for the operator, or allow the library call.", packed, _BUILD,
    ),
    rule(
        _TVM, "tvm-relax/no-schedule", Kind.UNTUNED_CONFIG, Scope.OPERATOR,
        "The function has a reduction and no schedule, or dlight's last resort: it runs as plain loops.",
        "Tune the function with MetaSchedule and apply the database, or schedule it (dlight, a schedule rule of your own).",
        unscheduled, _BUILD,
    ),
)  # fmt: skip

HEARINGS: Mapping[str, Hearing] = {
    "onnxruntime": Hearing("onnxruntime", _ORT_RULES, _sessions_prove),
    "openvino": Hearing("openvino", _OV_RULES, _models_prove),
    "jax": Hearing("jax", _JAX_RULES, _modules_prove),
    "tvm.relax": Hearing("tvm", _TVM_RULES, _builds_prove),
}
