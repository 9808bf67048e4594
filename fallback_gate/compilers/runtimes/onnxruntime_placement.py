r"""Room 3: where ONNX Runtime put each node: the block that it prints at verbose level, one for each session.

    [V:onnxruntime:, session_state.cc:1377 VerifyEachNodeIsAssignedToAnEp] Node placements
    [V:onnxruntime:, session_state.cc:1380 VerifyEachNodeIsAssignedToAnEp]  Node(s) placed on [CPUExecutionProvider]. Number of nodes: 2
    [V:onnxruntime:, session_state.cc:1382 VerifyEachNodeIsAssignedToAnEp]   TopK (/layer0/topv/TopK)

Up to 1.11 a provider's nodes stood on one line: ` Provider: [X]: [TopK (/layer0/topv/TopK), ]`. Where one
provider has all, the block is `All nodes placed on [X]. Number of nodes: 46` (before 1.12: `have been placed`).
A count holds fused nodes: one node on a device can be most of the model.

That a node is on the CPU is a fallback where another provider has nodes beside it. Where the CPU has all, it
is one where the lines before the block show another provider at work for this session, or the program lists
its session's providers and there is another one among them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Rule, Sighting
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Line, Record

NAME = "onnxruntime"
CPU = "CPUExecutionProvider"
MOST_NODES = 100_000
WIDEST_GAP = 500  # lines of other threads inside a block

# What stands before each message: its own brackets, or the target of the Rust crate `ort`, behind a span with the place.
HEAD = r"(?:\[[VIWEF]:onnxruntime:.{0,300}?\] |(?:\bort\{.{0,300}?\}: )?\bort::logging: )"
_AT = r"(?:VerifyEachNodeIsAssignedToAnEp|TransformGraph)(?:\]|\x22\}: ort::logging:)\s{1,4}"
_ALL = Pattern(
    _AT
    + r"All nodes (?:have been )?placed on \[(?P<provider>\w+)\]\.(?:\s{1,8}Number of nodes: (?P<count>\d{1,9}))?"
)
_SOME = Pattern(
    _AT + r"Node\(s\) placed on \[(?P<provider>\w+)\]\.\s{1,8}Number of nodes: (?P<count>\d{1,9})"
)
_LISTED = Pattern(_AT + r"Provider: \[(?P<provider>\w+)\]: \[(?P<nodes>.*)$")
_NODE = Pattern(_AT + r"(?P<op>[\w.-]+) \((?P<name>.*)\)\s*$")  # a part that a provider took: `EP-subgraph_1`
_OF_LIST = Pattern(r"(?<![\w.-])(?P<op>[\w.-]+) \((?P<name>[^()]*)\)(?:, |\])")
_HEADER = Pattern(r"(?:\]|::logging:) Node placements\s*$")
_DONE = Pattern(r"SaveMLValueNameIndexMapping|Session successfully initialized")
_AHEAD = {  # providers that are asked for ahead of another one that can run on the same device
    "CUDAExecutionProvider": {"TensorrtExecutionProvider", "NvTensorRTRTXExecutionProvider"},
    "ROCMExecutionProvider": {"MIGraphXExecutionProvider"},
}


@dataclass(slots=True)
class Group:
    """The nodes of one provider: how many the block announces, and those that it lists."""

    provider: str
    count: int
    nodes: list[tuple[str, str, Line]] = field(default_factory=list)


@dataclass(slots=True)
class Placement:
    """One block: its groups, or the one provider that has all nodes; `cut` where lines of it are missing."""

    groups: list[Group] = field(default_factory=list)
    whole: str = ""
    cut: bool = True
    stray: bool = False  # a node ahead of the first group: whose it is, no line tells

    def adds_up(self) -> bool:
        """Whether each group has the nodes that it announces; where there is one provider alone, the block
        says that it has all nodes, so that one group is what is left of several."""
        providers = {group.provider for group in self.groups}
        return (
            not self.stray
            and len(providers) == len(self.groups) > 1
            and all(len(group.nodes) == group.count for group in self.groups)
        )


def placement(record: Record) -> Placement:
    """The block whose first line is the record."""
    found = Placement()
    gap = 0
    for line in record.following(MOST_NODES):
        gap += 1
        if gap > WIDEST_GAP or _HEADER.search(line.text):
            break
        if _DONE.search(line.text):
            found.cut = not found.adds_up()
            break
        if node := _NODE.search(line.text):
            if found.groups:
                found.groups[-1].nodes.append((node["op"], node["name"], line))
            found.stray = found.stray or not found.groups
        elif group := _SOME.search(line.text):
            found.groups.append(Group(group["provider"], int(group["count"])))
        elif group := _LISTED.search(line.text):
            found.groups.append(_listed(group["provider"], group["nodes"], line))
        elif single := _ALL.search(line.text):
            found.whole, found.cut = single["provider"], found.stray or bool(found.groups)
            break
        else:
            continue
        gap = 0
    return found


def _listed(provider: str, nodes: str, line: Line) -> Group:
    """The nodes of a provider on one line; a line that is cut announces one more than it has."""
    group = Group(provider, 0)
    rest = nodes
    while node := _OF_LIST.search(rest):
        group.nodes.append((node["op"], node["name"], line))
        rest = rest[node.end() :]
    group.count = len(group.nodes) + (not nodes.rstrip().endswith("]"))
    return group


def off_device(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Each node that stands on a provider behind another one of the same block."""
    found = placement(record)
    report = by_groups(rule, record, match)
    for group in found.groups:
        ahead = [g for g in found.groups if behind(group.provider, g.provider)]
        if not ahead:
            continue
        beside = ", ".join(f"{g.provider} ({g.count} nodes)" for g in ahead)
        for op, name, line in group.nodes:
            if op.startswith("Memcpy"):
                continue
            yield report._replace(
                op=op,
                names=tuple(dict.fromkeys((op, name))) if name else (op,),
                layer=name or None,
                site=name or None,
                position=record.position_at(line.at),
                text=line.text,
                reason=f"placed on {group.provider} ({group.count} nodes), beside {beside}",
            )


def behind(provider: str, other: str) -> bool:
    """Whether a node on the first provider was meant for the other."""
    if provider == CPU:
        return other not in (CPU, "AzureExecutionProvider")
    return other in _AHEAD.get(provider, ())


def placed(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """Who has all nodes, or that several share them, or that the block is cut; and where it stands."""
    found = placement(record)
    state = "cut" if found.cut else found.whole or "shared"
    yield Sighting(marker.id, record.position, (state, str(record.position)))


def at_work(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """A provider that was asked what it can take, and where it said so."""
    said = next(name for name in match.groups() if name)
    yield Sighting(marker.id, record.position, (provider_named(said), str(record.position)))


_PROVIDERS = {
    "cuda": "CUDAExecutionProvider", "tensorrt": "TensorrtExecutionProvider", "rocm": "ROCMExecutionProvider",
    "nv_tensorrt_rtx": "NvTensorRTRTXExecutionProvider", "migraphx": "MIGraphXExecutionProvider",
    "openvino": "OpenVINOExecutionProvider", "qnn": "QNNExecutionProvider", "cann": "CANNExecutionProvider",
    "dnnl": "DnnlExecutionProvider", "vitisai": "VitisAIExecutionProvider", "webgpu": "WebGpuExecutionProvider",
    "js": "JsExecutionProvider", "dml": "DmlExecutionProvider", "coreml": "CoreMLExecutionProvider",
    "nodeunit": "QNNExecutionProvider", "nnapi": "NnapiExecutionProvider", "webnn": "WebNNExecutionProvider",
}  # fmt: skip


def provider_named(said: str) -> str:
    """The provider by the name that its library or its messages use: `cuda`, `QNN`, or a plugin's own."""
    return _PROVIDERS.get(said.casefold(), said)


_V = "2026-11-30 00:18:28.705980518 [V:onnxruntime:, session_state.cc:1307 VerifyEachNodeIsAssignedToAnEp]"
BLOCK = f"""{_V} Node placements
{_V}  Node(s) placed on [OpenVINOExecutionProvider]. Number of nodes: 1
{_V}   OpenVINO-EP-subgraph_1 (OpenVINOExecutionProvider_OpenVINO-EP-subgraph_1_0)
{_V}  Node(s) placed on [CPUExecutionProvider]. Number of nodes: 1
{_V}   GateAttn (/layer0/attn/GateAttn)
2026-11-30 00:18:28.706088680 [V:onnxruntime:, session_state.cc:175 CreateGraphInfo] SaveMLValueNameIndexMapping"""
OLD_BLOCK = """2020-08-09 09:37:41.559607 [V:onnxruntime:, inference_session.cc:671 TransformGraph] Node placements
2020-08-09 09:37:41.559615 [V:onnxruntime:, inference_session.cc:676 TransformGraph]  Provider: [CPUExecutionProvider]: [Gather (Gather_120), Shape (), ]
2020-08-09 09:37:41.559615 [V:onnxruntime:, inference_session.cc:676 TransformGraph]  Provider: [CUDAExecutionProvider]: [Conv (Conv_1), ]"""
_PLACEMENTS = HEAD + r"Node placements\s*$"

NODES = Rule(
    id="onnxruntime/node-placement",
    compiler=NAME,
    anchor=("Node placements",),
    pattern=_PLACEMENTS,
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The provider that was asked for has no kernel for the node, or left it: it runs on another one, with copies there and back.",
    help="Replace the operator or change its types, shapes or attributes; session option session.disable_cpu_ep_fallback=1 "
    "makes the session fail instead (https://onnxruntime.ai/docs/execution-providers/).",
    seen_in="1.17 to 1.32 (run), 1.4 (source), VERBOSE",
    matches=(BLOCK, OLD_BLOCK, BLOCK.replace("onnxruntime:,", "onnxruntime:ranker [v2],")),
    ignores=("[I:onnxruntime:, x.cc:1 f] Node placements follow", "Node placements"),
    read=off_device,
)


def all_on_cpu(evidence: Evidence) -> Iterable[Report]:
    """Sessions that run on the CPU alone although another provider was asked what it can take, or is in each
    list of providers that the program printed, one for each session at least."""
    blocks = sorted((int(at), state) for state, at in evidence.of("onnxruntime/placed"))
    asked = sorted((int(at), provider) for provider, at in evidence.of("onnxruntime/provider-asked"))
    listed = {provider for provider, _ in evidence.of("onnxruntime/providers-listed")}
    enough = evidence.counts.get("onnxruntime/providers-listed", 0) >= len(blocks)
    before = -1
    for at, state in blocks:
        between = asked[bisect_left(asked, (before + 1,)) : bisect_left(asked, (at,))]
        others = sorted({provider for _, provider in between} - {CPU})
        before = at
        said = "asked"
        if not others and enough and listed.isdisjoint((CPU, "at hand")):
            others, said = sorted(listed), "listed by the program"
        if state == CPU and others:
            yield Report(
                id=NODES.id,
                compiler=NAME,
                kind=NODES.kind,
                scope=Scope.PROGRAM,
                op=others[0],
                position=at,
                text="All nodes placed on [CPUExecutionProvider]",
                names=(*others, CPU),
                reason=f"all nodes of the session are on {CPU}, though {', '.join(others)} was {said}",
                help=NODES.help,
            )


_I = "2026-11-30 00:18:28.414288680 [I:onnxruntime:"
MARKERS = (
    Marker(
        id="onnxruntime/placed",
        compiler=NAME,
        anchor=("Node placements",),
        pattern=_PLACEMENTS,
        shows="A session's nodes are listed by provider: all on one, shared, or the list is cut.",
        seen_in=NODES.seen_in,
        matches=(BLOCK, OLD_BLOCK),
        ignores=NODES.ignores,
        read=placed,
    ),
    Marker(
        id="onnxruntime/provider-asked",
        compiler=NAME,
        anchor=(
            ", onnxruntime-",
            "[OpenVINO-EP] Supported subgraphs",
            "[OpenVINO-EP] Model is fully",
            "NodeUnit (",
            "kernel not found in registries for Op type",
            "[TensorRT EP] ",
            "umber of partitions supported by ",
        ),
        pattern=r"\[[VIWEF]:onnxruntime:.{0,300}?(?:, onnxruntime-(\w+):\d{1,9} ep\]"
        r"|\] \[(OpenVINO)-EP\] (?:Supported subgraphs|Model is fully)"
        r"|\] Validation (?:FAILED|PASSED) for \d{1,9} nodes in (?:Ort)?(NodeUnit) "
        r"|\] (\w{2,20}) kernel not found in registries for Op type"
        r"|GetCapability\] \[(TensorRT) EP\]"
        r"|\] (CoreML|Nnapi)ExecutionProvider::GetCapability, number of partitions"
        r"|\] Number of partitions supported by (QNN) EP)"
        r"|\bort::logging: (CoreML|Nnapi)ExecutionProvider::GetCapability, number of partitions",
        shows="A provider other than the CPU's was asked what it can take.",
        seen_in="1.23 to 1.32",
        matches=(
            f"{_I}, onnxruntime-ggml:0 ep] onnxruntime-ggml 0.2.0: primary backend CPU",
            f"{_I}Default, capability.cc:100 GetCapability] [OpenVINO-EP] Model is fully supported by OpenVINO",
            f"{_I}, coreml_execution_provider.cc:107 GetCapability] CoreMLExecutionProvider::GetCapability, number of partitions supported by CoreML: 1 number of nodes in the graph: 13 number of nodes supported by CoreML: 13",
            f"{_I}, cuda_execution_provider.cc:2886 GetCapability] CUDA kernel not found in registries for Op type: Shape node name: /Shape",
        ),
        ignores=("onnxruntime-ggml:0 ep] x", "umber of partitions supported by CoreML: 1"),
        read=at_work,
    ),
)
