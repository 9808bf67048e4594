"""Room 3: what a process tells of ONNX Runtime and OpenVINO as it ends: who runs the nodes, and how.

No default level of either says who runs the nodes of a session that names the CPU among its providers, and no
level at all which kernels OpenVINO picked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fallback_gate.compilers.closing.records import (
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
from fallback_gate.compilers.runtimes import onnxruntime_placement, openvino_kernels
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

_ORT = ("onnxruntime", "onnxruntime")
_OV = ("openvino", "openvino")
CPU = onnxruntime_placement.CPU
_ON_CPU = {CPU, "AzureExecutionProvider"}


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
                report = base(rule, record, closing, "*", f"{text(one[0])} runs {text(one[1])}")
                yield openvino_kernels.named(report, one[0], text(one[2]), one[1])


def other_device(rule: Rule, record: Record, closing: Closing, facts: Facts) -> Iterable[Report]:
    """The first device of AUTO's list is not among those that run the model."""
    for model in rows(facts.get("models")):
        how, _, listed = text(model.get("asked")).partition(":")
        wanted = listed.split(",")[0].partition(".")[0].partition("(")[0]
        got = {name.partition(".")[0] for name in _devices(model)}
        if how == "AUTO" and wanted and got and wanted not in got:
            yield base(
                rule, record, closing, wanted, f"AUTO:{listed} runs the model on {', '.join(sorted(got))}"
            )


def _devices(model: Facts) -> set[str]:
    """The devices that run a model; AUTO puts one that only stands in for another in brackets."""
    return {name.strip("()") for name in names(model.get("devices"))}


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
        and _devices(model) == {"CPU"}
        and isinstance(listed, list)
        and count(model.get("references")) == len(listed)
        and not model.get("problem")
        and not model.get("error")
    )


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
HEARINGS: Mapping[str, Hearing] = {
    "onnxruntime": Hearing("onnxruntime", _ORT_RULES, _sessions_prove),
    "openvino": Hearing("openvino", _OV_RULES, _models_prove),
}
