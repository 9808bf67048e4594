r"""Room 3: nodes of ONNX Runtime that a provider does not take, one by one or told by their number alone.

    [W:onnxruntime:, ...] Some nodes were not assigned to the preferred execution providers which may or may not ...
    [I:onnxruntime:, ...] CUDA kernel not found in registries for Op type: GridSample node name: /up/GridSample

A line that names no node, and one of a provider that was asked among others, only implies the fallback: where
the placement of the session is printed too, that one tells (see `onnxruntime_placement`).
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.runtimes.onnxruntime_placement import HEAD, NAME
from fallback_gate.compilers.shared import hinted
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import BEFORE, Pattern
from fallback_gate.scan.record import Record

_W = "2026-11-30 00:18:23.263189488 [W:onnxruntime:, "
SEE_NODES = "Record at VERBOSE (log_severity_level = 0): the log then names each node and its provider."


def of_operator(rule: Rule, record: Record, match: Match[str], *names: str) -> tuple[Report]:
    """The report of one operator of a model: its type first, then the node and other spellings."""
    known = tuple(dict.fromkeys(name for name in names if name))
    return (by_groups(rule, record, match)._replace(op=known[0], names=known),)


SOME_NODES = Rule(
    id="onnxruntime/some-nodes-not-assigned",
    compiler=NAME,
    anchor=("Some nodes were not assigned to the preferred",),
    pattern=rf"(?:{HEAD}|\bort: |^{BEFORE}(?=.{{1,100}} which may or may not have an negative impact))"
    + r"(?P<reason>Some nodes were not assigned to the preferred execution providers)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.UNKNOWN,
    meaning="Some nodes of the session run on a provider behind the one that was asked for; the line names none.",
    help=SEE_NODES,
    seen_in="1.13 to 1.32 (run), WARNING, only where the CPU provider was not named",
    matches=(
        _W
        + "session_state.cc:1327 VerifyEachNodeIsAssignedToAnEp] Some nodes were not assigned to the preferred execution providers which may or may not have an negative impact on performance.",
        "2026-01-01T00:00:00.243882Z  INFO ort: Some nodes were not assigned to the preferred execution providers which may or may not have an negative impact on performance.",
        "Some nodes were not assigned to the preferred execution providers which may or may not have an negative impact on performance. e.g. ORT explicitly assigns shape related ops to CPU to improve perf.",
    ),
    ignores=("Some nodes were not assigned to the preferred zone",),
    at_least=True,
    read=hinted,
)

COPIES = Rule(
    id="onnxruntime/memcpy-nodes",
    compiler=NAME,
    anchor=("Memcpy nodes are added to the graph ",),
    pattern=r"(?P<reason>\d{1,9} Memcpy nodes are added to the graph .{0,200}? for \w+ExecutionProvider)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.UNKNOWN,
    meaning="Tensors are copied between device and CPU: nodes in the middle of the graph run on the CPU.",
    help=SEE_NODES,
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
    anchor=("number of subgraphs running on ", ": claimed "),
    pattern=HEAD
    + r"(?:\[\w{2,30} EP\] (?P<reason>Graph is partitioned and number of subgraphs running on .*)"
    r"|[\w-]{2,60}: (?P<claimed>claimed (?P<took>\d{1,9}) of (?!(?P=took) )\d{1,9} nodes))",
    kind=Kind.DEVICE_FALLBACK,
    shared_anchor=True,
    scope=Scope.UNKNOWN,
    meaning="The provider took a part of the graph: the rest runs on the providers behind it.",
    help=SEE_NODES,
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
    pattern=HEAD
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
        of_operator(rule, record, match, match["op"], match["layer"] or "")[0]._replace(hint=True),
    ),
)

PREFERRED = Rule(
    id="onnxruntime/cpu-preferred",
    compiler=NAME,
    anchor=("Force fallback to CPU execution for node: ",),
    pattern=r"(?P<plain>Force fallback to CPU execution) for node: (?P<what>\S.{0,500}?)(?: because (?P<reason>the CPU execution path is deemed faster)|\s*$)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="ONNX Runtime put the node on the CPU by design: it computes shapes, which copies would make slower.",
    help="Allow it where it computes shapes; constant folding or static shapes take it away.",
    seen_in="1.8 to 1.31 (its binary and user logs) INFO, 1.4 to 1.7 (public threads) WARNING, without the reason",
    matches=(
        "2026-11-30 00:18:23.2 [W:onnxruntime:Default, fallback_cpu_capability.cc:135 GetCpuPreferredNodes] Force fallback to CPU execution for node: Slice_12",
        "2023-01-30 12:49:49.5 [I:onnxruntime:OnnxGlobalEnv, fallback_cpu_capability.cc:146 onnxruntime::GetCpuPreferredNodes] ORT optimization- Force fallback to CPU execution for node: strided_slice__62 because the CPU execution path is deemed faster than overhead involved with execution on other EPs  capable of executing this node",
    ),
    ignores=("Candidate for fallback CPU execution: strided_slice__62",),
    read=lambda rule, record, match: (
        of_operator(rule, record, match, match["what"])[0]._replace(
            hint=True, layer=match["what"], reason=match["reason"] or match["plain"]
        ),
    ),
)

_LACKED = Pattern(r"(?P<name>(?:[\w.]{1,80}::)?(?P<op>\w{1,80})) x\d{1,9}")


def lacked(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Each operator of a plugin's list: `ai.onnx.contrib::GateAttn x2, Foo x1`."""
    rest, left = match["ops"], 200
    while left and (found := _LACKED.search(rest)):
        yield of_operator(rule, record, match, found["op"], found["name"])[0]
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

_NODE_BELOW = Pattern(r"[\]:]\s{1,4}[\w.-]+ \(.*\)\s*$")


def placed_on_cpu(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Not where the rest of the placement stands around it, which then tells, nor beside Azure's provider alone."""
    named = any(_NODE_BELOW.search(line.text) for line in record.following(1))
    if named and record.is_near(b"Node placements", behind=False):
        return
    if not record.is_near(b"placed on [AzureExecutionProvider]"):
        yield by_groups(rule, record, match)._replace(hint=True)


ON_CPU = Rule(
    id="onnxruntime/nodes-on-cpu",
    compiler=NAME,
    anchor=("Node(s) placed on [CPUExecutionProvider]",),
    pattern=rf"(?:{HEAD}\s?|^{BEFORE})"
    + r"Node\(s\) (?P<reason>placed on \[CPUExecutionProvider\]\.\s{1,8}Number of nodes: (?P<count>[1-9]\d{0,8}))\s*$",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.UNKNOWN,
    meaning="So many nodes of a session run on the CPU, beside those of another provider; the lines below name them.",
    help="Keep the lines below in the log: a filter such as grep took them away.",
    seen_in="1.12 to 1.32 (source and public threads), VERBOSE",
    matches=(
        "2026-11-30 00:18:28.7 [V:onnxruntime:, session_state.cc:1380 VerifyEachNodeIsAssignedToAnEp]  Node(s) placed on [CPUExecutionProvider]. Number of nodes: 875",
        "  Node(s) placed on [CPUExecutionProvider]. Number of nodes: 14",
    ),
    ignores=("expected: Node(s) placed on [CPUExecutionProvider]. Number of nodes: 1",),
    at_least=True,
    read=placed_on_cpu,
)

RULES = (SOME_NODES, COPIES, PARTITIONED, CUDA_REFUSES, NO_KERNEL, PREFERRED, LACKED, ON_CPU)
