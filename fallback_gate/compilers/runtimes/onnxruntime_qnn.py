r"""Room 3: nodes that Qualcomm's QNN provider in ONNX Runtime refuses, in each form in which it says so.

    [V:onnxruntime:, ...] Validation FAILED for 1 nodes in OrtNodeUnit (TopK) :
    [W:onnxruntime:, ... CreateQnnNode] QNN.backendValidateOpConfig() failed for node `/emb/Gather` of type `Gather` with error code 3110
    [E:onnxruntime:, ... GetCapability] Unsupported nodes in QNN EP: { name: /act/LeakyRelu, type: LeakyRelu }

The first needs VERBOSE. The second comes at the default level; where it is asked for a fusion, its parts may still be
taken, so that the placement tells where that is printed. The list comes only where the CPU was forbidden.

Read in the source: https://github.com/microsoft/onnxruntime/tree/main/onnxruntime/core/providers/qnn.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.runtimes.onnxruntime_nodes import of_operator
from fallback_gate.compilers.runtimes.onnxruntime_placement import HEAD, NAME
from fallback_gate.compilers.shared import MOST
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_UNIT = Pattern(r"Operator type: (?P<op>[\w.]+) Node name: (?P<name>.*?) Node index: ")
_WHY = Pattern(r"REASON : (?P<reason>.*\S)")
_LISTED = Pattern(r"\{ ?name: (?P<name>[^{}]{0,300}?), type: (?P<op>[\w.]{1,80}) ?\}")


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
        report = of_operator(rule, record, match, node["op"], node["name"])[0]
        yield report._replace(hint=True, layer=node["name"], site=node["name"], reason=reason)


REFUSED = Rule(
    id="onnxruntime/qnn-refuses",
    compiler=NAME,
    anchor=("Validation FAILED for ",),
    pattern=HEAD + r"Validation FAILED for \d{1,9} nodes in (?:Ort)?NodeUnit ",
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


def invalid(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The node by QNN's name of its type, which may differ from ONNX's (`Conv2d`, `ElementWiseAdd`)."""
    report = of_operator(rule, record, match, match["op"], match["layer"])[0]
    yield report._replace(hint=True, site=match["layer"])


INVALID = Rule(
    id="onnxruntime/qnn-invalid",
    compiler=NAME,
    anchor=("QNN.backendValidateOpConfig() failed for node ",),
    pattern=r"(?P<reason>QNN\.backendValidateOpConfig\(\) failed) for node `(?P<layer>[^`]{0,300})` of type `(?P<op>\w{1,80})` with error code \d{1,9}",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="QNN's back end finds the node invalid with these types, shapes or parameters: it runs on the CPU.",
    help="Look up QNN's limits for the operator on this back end; quantise its inputs alike, or change its shape.",
    seen_in="1.17 to 1.24 (source and public threads), WARNING",
    matches=(
        "2026-11-30 00:23:11.0 [W:onnxruntime:, qnn_model_wrapper.cc:244 onnxruntime::qnn::QnnModelWrapper::CreateQnnNode] QNN.backendValidateOpConfig() failed for node `/emb/Gather` of type `Gather` with error code 3110",
        "QNN.backendValidateOpConfig() failed for node `/act/LeakyRelu` of type `Prelu` with error code 3110",
    ),
    read=invalid,
)


def each_listed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Each node of the list; a long line is cut at what patterns see."""
    rest, left = match["listed"], MOST
    while left and (found := _LISTED.search(rest)):
        report = of_operator(rule, record, match, found["op"], found["name"])[0]
        yield report._replace(hint=True, layer=found["name"] or None, site=found["name"] or None)
        rest, left = rest[found.end() :], left - 1


LISTED = Rule(
    id="onnxruntime/qnn-unsupported-nodes",
    compiler=NAME,
    anchor=("Unsupported nodes in QNN EP: ",),
    pattern=r"(?:^|\] )(?P<reason>Unsupported nodes in QNN EP): (?P<listed>\{ ?name: .*)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="QNN does not take the node; the session forbids the CPU, and is not made for it.",
    help=INVALID.help,
    seen_in="1.17 to 1.23 (source and public threads), ERROR, with session.disable_cpu_ep_fallback",
    matches=(
        "2026-11-30 00:23:11.0 [E:onnxruntime:, qnn_execution_provider.cc:640 GetCapability] Unsupported nodes in QNN EP: { name: /act/LeakyRelu, type: LeakyRelu }{ name: /enc/Slice, type: Slice }, ",
    ),
    ignores=("Why the NPU refused is only there (Unsupported nodes in QNN EP: ...)",),
    read=each_listed,
)

RULES = (REFUSED, INVALID, LISTED)
