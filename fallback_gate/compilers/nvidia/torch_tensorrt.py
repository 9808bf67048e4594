r"""torch_tensorrt: Torch-TensorRT, by `torch_tensorrt.compile`, `torch.compile(backend="torch_tensorrt")` or TorchScript.

    The following nodes are currently set to run in Torch:
    Node: torch.ops.acme.gate_attn.default, with layer location: layers.0/gate_attn

**What falls back.** A node without a converter, or one that a validator refuses, stays in PyTorch, and cuts the
graph into more engines. A block that is smaller than `min_block_size` stays there whole, and so does a graph
with too few supported operators, or one whose conversion fails (`pass_through_build_failures=False`).

**At which setting it speaks.** Skipped graphs and failed conversions by default, as warnings. Nodes: with
`dryrun=True`, which prints a report, or with the logger `torch_tensorrt` at DEBUG.

**When it is silent.** At the default level a node that stays in PyTorch has no line at all. A dry run builds no
engine: it does not show that a conversion works. With `require_full_compilation=True` the compile fails
instead of cutting the graph.

**What proves the end.** A dry-run report that is whole, for the one graph of the process. More graphs than one may
mean that torch.compile broke the model; that is for its own log to show.

Wording from runs of the partitioner and the dry run of 2.14, and from the source of 2.9 to 2.14.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.nvidia import torch_tensorrt_report as report
from fallback_gate.compilers.nvidia.torch_tensorrt_operators import COMPLEX, REFUSED, SAYS
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.scan.record import Record

NAME = "torch_tensorrt"
CONVERTER = (
    "Write a converter (@dynamo_tensorrt_converter) or a plugin for the operator, or replace it in the model."
)


def as_hint(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """What the list of nodes says with names."""
    yield by_groups(rule, record, match)._replace(hint=True, names=("subgraph",))


IN_TORCH = Rule(
    id="torch-tensorrt/node-in-torch",
    compiler=NAME,
    anchor=("nodes are currently set to run in Torch:",),
    pattern=r"^The following nodes are currently set to run in Torch:\s*$",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The node runs in PyTorch, between two engines.",
    help=CONVERTER,
    seen_in="2.9 to 2.14, the dry-run report: stdout with dryrun=True, else DEBUG",
    matches=(
        "The following nodes are currently set to run in Torch:\n"
        "Node: torch.ops.acme.gate_attn.default, with layer location: layers.0/gate_attn\n"
        "Note: Some of the above nodes may be supported, but were not included in a TRT graph by the partitioner",
    ),
    ignores=(
        "Node: torch.ops.acme.gate_attn.default, with layer location: layers.0/gate_attn",
        "# The following nodes are currently set to run in Torch: none",
    ),
    read=report.left_in_torch,
)

NO_CONVERTER = Rule(
    id="torch-tensorrt/no-converter",
    compiler=NAME,
    anchor=("ops are currently unsupported or excluded",),
    pattern=r"^The following ops are currently unsupported or excluded from conversion, and are listed",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="No converter takes the operator as it is used here, or it was excluded (torch_executed_ops).",
    help=CONVERTER,
    seen_in=IN_TORCH.seen_in,
    matches=(
        "The following ops are currently unsupported or excluded from conversion, and are listed with their op-count in the graph:\n"
        " torch.ops.acme.gate_attn.default: 2\n",
    ),
    ignores=(" torch.ops.acme.gate_attn.default: 2",),
    read=report.without_converter,
)

OVERVIEW = Rule(
    id="torch-tensorrt/unsupported-node",
    compiler=NAME,
    anchor=("Unsupported or Excluded Nodes:",),
    pattern=r"^Unsupported or Excluded Nodes:\s*$",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning=NO_CONVERTER.meaning,
    help=CONVERTER,
    seen_in="1.4 to 2.14, DEBUG of the partitioner, once or twice a graph",
    matches=("Unsupported or Excluded Nodes:\n- torch.ops.acme.gate_attn.default + Operator Count: 2\n",),
    ignores=("Supported Nodes:", "- torch.ops.aten.topk.default + Operator Count: 2"),
    read=report.overview,
)

TORCHSCRIPT = Rule(
    id="torch-tensorrt/torchscript-unsupported",
    compiler=NAME,
    anchor=("Unsupported operators listed below:",),
    pattern=r"^Unsupported operators listed below:\s*$",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The TorchScript front end has no converter for the operator: it runs in PyTorch, or the compile fails.",
    help=CONVERTER,
    seen_in="1.0 to 2.14 (source), INFO, ERROR where the whole graph was required",
    matches=("Unsupported operators listed below:\n  - aten::gate_mix(Tensor a, Tensor b) -> Tensor\n",),
    ignores=("  - aten::gate_mix(Tensor a, Tensor b) -> Tensor",),
    read=report.torchscript,
)

TRACED = Rule(
    id="torch-tensorrt/torchscript-unsupported",
    compiler=NAME,
    anchor=("Unsupported operator: ",),
    pattern=r"^(?:ERROR|DEBUG): (?:\[[^\]]{0,120}\] - )?Unsupported operator: (?P<op>\w{1,80}::[\w.]{1,120})\(",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=TORCHSCRIPT.meaning,
    help=CONVERTER,
    seen_in="1.0 to 2.14 (source), with the places in the program; ERROR where the whole graph was required, else DEBUG",
    matches=(
        "ERROR: [Torch-TensorRT] - Unsupported operator: aten::gate_mix(Tensor a, Tensor b) -> Tensor",
        "DEBUG: [Torch-TensorRT - Debug Build] - Unsupported operator: aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        "DEBUG: [Torch-TensorRT TorchScript Conversion Context] - Unsupported operator: aten::gate_mix(Tensor a) -> Tensor",
    ),
    ignores=("ERROR: [calculator] - Unsupported operator: %",),
    read=report.traced,
)

SKIPPED = Rule(
    id="torch-tensorrt/graph-skipped",
    compiler=NAME,
    anchor=("Skipping this subgraph, since min_block",),
    pattern=SAYS
    + r"(?P<reason>\d{1,9} supported operations detected in subgraph containing \d{1,9} computational nodes\."
    r" Skipping this subgraph, since min_block_size was detected to be \d{1,9})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The whole graph runs in PyTorch: it has fewer supported operators than min_block_size.",
    help="Lower min_block_size, or find the unsupported operators with dryrun=True.",
    seen_in="1.4 to 2.14, WARNING",
    matches=(
        "WARNING:torch_tensorrt.dynamo._compiler:110 supported operations detected in subgraph containing 112 computational nodes. Skipping this subgraph, since min_block_size was detected to be 500",
        "0 supported operations detected in subgraph containing 4 computational nodes. Skipping this subgraph, since min_block_size was detected to be 5",
    ),
    read=lambda rule, record, match: (by_groups(rule, record, match)._replace(names=("subgraph",)),),
)

REMOVED = Rule(
    id="torch-tensorrt/block-removed",
    compiler=NAME,
    anchor=("Removing partition which has ", "smaller than the threshold: "),
    pattern=r"(?P<reason>Removing partition which has \d{1,9} < \d{1,9} computational operators"
    r"|Eliminating acc subgraph because it's smaller than the threshold: \d{1,9} < \d{1,9})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.UNKNOWN,
    meaning="A block of supported operators runs in PyTorch, for it is smaller than min_block_size.",
    help="Lower min_block_size, or replace the unsupported operators around the block.",
    seen_in="2.9 to 2.14 (source), DEBUG",
    matches=(
        "DEBUG:torch_tensorrt.dynamo.partitioning._global_partitioner:Removing partition which has 2 < 5 computational operators",
        "DEBUG:torch_tensorrt.dynamo.partitioning._adjacency_partitioner:Eliminating acc subgraph because it's smaller than the threshold: 2 < 5",
    ),
    read=as_hint,
)

FAILED = Rule(
    id="torch-tensorrt/conversion-failed",
    compiler=NAME,
    anchor=("TRT conversion failed on the subgraph.",),
    pattern=SAYS
    + r"(?P<reason>TRT conversion failed on the subgraph\.) See trace above\. Returning GraphModule forward instead",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="No engine was built for the graph: all of it runs in PyTorch.",
    help="Read the trace after the warning; pass_through_build_failures=True makes the compile fail instead.",
    seen_in="1.4 to 2.14 (source), WARNING with a trace",
    matches=(
        "WARNING:torch_tensorrt.dynamo.backend.backends:TRT conversion failed on the subgraph. See trace above. Returning GraphModule forward instead.",
    ),
)

NOT_FULL = Rule(
    id="torch-tensorrt/not-fully-supported",
    compiler=NAME,
    anchor=("was specified, but model is not fully supported",),
    pattern=r"(?P<reason>\brequire_full_compilation=True was specified, but model is not fully supported)(?!\x22)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="The model has operators without a converter, and was to be compiled whole: the program ended, or went on without TensorRT.",
    help="dryrun=True, or the log at DEBUG, names the operators.",
    seen_in="2.14 (run), an exception",
    matches=(
        "AssertionError: require_full_compilation=True was specified, but model is not fully supported",
        "export.py: Torch-TensorRT failed: AssertionError: require_full_compilation=True was specified, but model is not fully supported",
    ),
    ignores=('        "require_full_compilation=True was specified, but model is not fully supported"',),
)

MARKERS = (
    Marker(
        id="torch-tensorrt/dry-run",
        compiler=NAME,
        anchor=(" Dry-Run Results for Graph ",),
        pattern=r"^\++ Dry-Run Results for Graph \++\s*$",
        shows="A dry-run report: whole, cut, or of a graph without operators.",
        seen_in="1.4 to 2.14",
        matches=("+++++ Dry-Run Results for Graph +++++",),
        ignores=("see Dry-Run Results for Graph below",),
        read=report.reported,
    ),
    Marker(
        id="torch-tensorrt/partitioned",
        compiler=NAME,
        anchor=("Partitioning the graph via the ",),
        pattern=SAYS + r"Partitioning the graph via the (?:fast|global|hierarchical)\w* partitioner",
        shows="A graph is being compiled.",
        seen_in="1.4 to 2.14, INFO",
        matches=("INFO:torch_tensorrt.dynamo._compiler:Partitioning the graph via the fast partitioner",),
    ),
    Marker(
        id="torch-tensorrt/engines",
        compiler=NAME,
        anchor=("TensorRT-Accelerated Engines Generated: ",),
        pattern=r"^Number of TensorRT-Accelerated Engines Generated: (?P<engines>\d{1,9})\s*$",
        shows="A graph was cut for this many engines.",
        seen_in="1.4 to 2.14, DEBUG",
        matches=("Number of TensorRT-Accelerated Engines Generated: 3",),
    ),
)
RULES = (
    IN_TORCH, NO_CONVERTER, OVERVIEW, TORCHSCRIPT, TRACED, SKIPPED, REMOVED, FAILED, NOT_FULL, REFUSED, COMPLEX,
)  # fmt: skip
REQUIRED = frozenset({Kind.OP_FALLBACK})
SETTING = "dryrun=True with the min_block_size of the release, or require_full_compilation=True"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """A whole dry-run report lists each node of its graph that stays in PyTorch."""
    return {Kind.OP_FALLBACK: _nodes(evidence), Kind.COMPILE_ERROR: _built()}


def _built() -> Proof:
    why = "a dry run builds no engine, and no line says that all conversions ended well"
    return Proof(
        State.UNOBSERVABLE, why, None, "pass_through_build_failures=True, which makes the compile fail"
    )


def _nodes(evidence: Evidence) -> Proof:
    states = {state for (state,) in evidence.of("torch-tensorrt/dry-run")}
    reports = evidence.counts.get("torch-tensorrt/dry-run", 0)
    graphs = evidence.counts.get("torch-tensorrt/partitioned", 0)
    if not states:
        why = "no dry-run report: at this level a node that stays in PyTorch has no line"
        return Proof(State.UNOBSERVABLE, why, None, SETTING)
    if "cut" in states:
        return Proof(State.UNPROVEN, "a dry-run report is cut, or lists less than it counts", None, SETTING)
    if "empty" in states:
        return Proof(State.UNPROVEN, "a dry-run report is about a graph without operators", None, SETTING)
    if graphs > reports:
        return Proof(State.UNPROVEN, "not each graph that was cut has its report", None, SETTING)
    if reports > 1:
        why = "several graphs: if torch.compile cut the model, the code between them runs eager"
        return Proof(State.UNPROVEN, why, None, "one exported program a process")
    why = "the dry-run report is whole: it lists each node that stays in PyTorch"
    return Proof(State.PROVEN, why, evidence.first("torch-tensorrt/dry-run"))


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="partly: skipped graphs and failed conversions are warned of, single nodes are not",
    seen_in="2.14 (run), 2.9 to 2.14 (source)",
)
