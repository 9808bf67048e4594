r"""Room 3: ExecuTorch's partitioners for OpenVINO, MediaTek's Neuropilot and Apple's Core AI.

    Op not supported:  torch.ops.aten.topk.default
    [Neuropilot Backend] The aten.embedding.default operator with name 'aten_embedding_default' is skipped.
    INFO:executorch.backends.apple.coreai.partition.partitioner:Core AI cannot lower op, leaving out of delegate: aten.topk.default

**What falls back.** A node that the partitioner leaves out runs as a portable kernel on the CPU.

**At which setting it speaks.** OpenVINO's and Neuropilot's print, whatever the level; Core AI's logs each text once a
partitioning, at INFO of a logger of its own (it needs a handler: `logging.basicConfig()`).

**When it is silent.** Core AI's by default. Neuropilot's names only what the program asked to leave out.

`executorch` is the manual page.

Wording seen in the source of ExecuTorch 1.5, the partitioners of
https://github.com/pytorch/executorch/tree/main/backends.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.runtimes.executorch_names import NAME, names_of
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record


def said(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator as the partitioner writes it, with the node where that is said too."""
    node = match.groupdict().get("node")
    report = shared.named(by_groups(rule, record, match), match["op"], *((node,) if node else ()))
    yield report._replace(site=node)


def node_only(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A node of the edge dialect, whose name says its operator."""
    names = names_of(match["layer"])
    yield by_groups(rule, record, match)._replace(
        op=names[0], names=tuple(dict.fromkeys((*names, match["layer"]))), site=match["layer"]
    )


OPENVINO = Rule(
    id="executorch-openvino/not-delegated",
    compiler=NAME,
    anchor=("Op not supported: ",),
    pattern=r"^Op not supported:  torch\.ops\.(?P<op>[a-z_]\w{0,60}\.[\w.]{1,120})\s*$",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="OpenVINO's delegate has no translation for the operator: a portable kernel computes it on the CPU.",
    help="Rewrite the operator with ones that OpenVINO has.",
    seen_in="ExecuTorch 1.5 (source), printed",
    matches=("Op not supported:  torch.ops.aten.topk.default",),
    ignores=("Op not supported: torch.ops", "ERROR: Op not supported:  torch.ops.aten.topk.default!"),
    read=said,
)

NEUROPILOT = Rule(
    id="executorch-neuropilot/not-delegated",
    compiler=NAME,
    anchor=("[Neuropilot Backend] The ",),
    pattern=r"\[Neuropilot Backend\] The (?P<op>[a-z_]\w{0,60}\.[\w.]{1,120}) operator with name '(?P<node>\w{1,200})' (?P<reason>is skipped)\.",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The program asked to keep the operator out of the delegate: a portable kernel computes it on the CPU.",
    help="Take it off op_types_to_skip or op_names_to_skip.",
    seen_in="ExecuTorch 1.5 (source), printed",
    matches=(
        "[Neuropilot Backend] The aten.embedding.default operator with name 'aten_embedding_default' is skipped.",
    ),
    read=said,
)

CORE_AI = Rule(
    id="executorch-coreai/not-delegated",
    compiler=NAME,
    anchor=("leaving out of delegate: ",),
    pattern=r"(?P<reason>Core AI cannot lower op), leaving out of delegate: (?P<op>[a-z_]\w{0,60}[.:][\w.:]{1,120})\s*$",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="Core AI has no lowering for the operator: a portable kernel computes it on the CPU.",
    help="Rewrite the operator with ones that coreai-torch lowers.",
    seen_in="ExecuTorch 1.5 (source), INFO",
    matches=(
        "INFO:executorch.backends.apple.coreai.partition.partitioner:Core AI cannot lower op, leaving out of delegate: aten.topk.default",
    ),
    read=said,
)

CORE_AI_TYPES = Rule(
    id="executorch-coreai/operand",
    compiler=NAME,
    anchor=("; leaving out of delegate", "; Core AI narrows 64-bit "),
    pattern=r"Node (?P<layer>\w{1,200}) (?P<reason>has a symbolic scalar operand; leaving out of delegate"
    r"|tagged \w{1,60}; leaving out of delegate|has a torch\.\w{1,20} tensor; Core AI narrows 64-bit dtypes)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="Core AI can't carry an operand of the node: a portable kernel computes it on the CPU.",
    help="Run NarrowToCoreAIDtypesPass (it is in coreai.get_default_passes()), or keep sizes out of the graph.",
    seen_in="ExecuTorch 1.5 (source), INFO",
    matches=(
        "INFO:executorch.backends.apple.coreai.partition.partitioner:Node aten_arange_default has a symbolic scalar operand; leaving out of delegate",
        "Node aten_gather_default has a torch.int64 tensor; Core AI narrows 64-bit dtypes and can't carry them across the delegate boundary.",
    ),
    read=node_only,
)

RULES = (OPENVINO, NEUROPILOT, CORE_AI, CORE_AI_TYPES)
