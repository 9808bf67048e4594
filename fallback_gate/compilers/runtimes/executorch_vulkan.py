"""Room 3: ExecuTorch's Vulkan partitioner: nodes that stay on the CPU.

    [Vulkan Partitioner] Due to [no operator implementation], skipping ... = aten.log.default(...)

**What falls back.** A node without a shader for its types and shapes stays in the portable program and runs on
the CPU; without any partition, all of it does.

**At which setting it speaks.** INFO of Python's logging for a node, WARNING where nothing was delegated. In 1.5
the partitioner logs INFO by default too, where the program did not set up logging itself.

**When it is silent.** Before 1.5 by default, on single nodes.

`executorch` is the manual page.

Wording seen in ExecuTorch 1.5 (run), in the source of 0.4 to 1.0 and in public logs.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.runtimes.executorch_names import NAME
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_TARGET = Pattern(
    r"(?:target=|= |^)(?:[\w.]{1,80}_ops\.)?(?P<op>[a-z_]\w{0,60}(?:\.\w{1,80}){1,2}|[a-z_]\w{0,60}::[\w.]{1,80})[\](]"
)


def skipped(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The node as it is printed: its call, or its line of the graph."""
    report = by_groups(rule, record, match)
    node = match["node"].strip()
    target = _TARGET.search(node)
    if target:
        node = node.removeprefix("%").partition(" : [num_users")[0]
        yield shared.named(report, target["op"], node[:200])
    else:
        yield report._replace(scope=Scope.UNKNOWN, names=(node[:200],))


SKIPPED = Rule(
    id="executorch-vulkan/skipped",
    compiler=NAME,
    anchor=("[Vulkan Partitioner] Due to [",),
    pattern=r"\[Vulkan Partitioner\] Due to \[(?P<reason>[^\]]{1,400})\], skipping (?P<node>\S.{0,2000})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="Vulkan has no shader for the node: it runs on the CPU, and the graph is split around it.",
    help="The brackets give the reason; rewrite the node, or change its type.",
    seen_in="ExecuTorch 0.4 to 1.5 (1.5 run), INFO",
    matches=(
        "[Vulkan Partitioner] Due to [no operator implementation], skipping aten.sort.default(...)",
        "INFO:root:[Vulkan Partitioner] Due to [no operator implementation], skipping [torch.float32: torch.Size([16, 2]), torch.int64: torch.Size([16, 2])] = aten.topk.default(torch.float32: torch.Size([16, 8]), 2,  ...)",
        "INFO:root:[Vulkan Partitioner] Due to [no operator implementation], skipping torch.float32: torch.Size([1]) = aten.log.default(torch.float32: torch.Size([1]),  ...)",
        "INFO:root:[Vulkan Partitioner] Due to [no operator implementation], skipping %aten_log_default : [num_users=1] = call_function[target=executorch.exir.dialects.edge._ops.aten.log.default](args = (%x,), kwargs = {})",
    ),
    read=skipped,
)

NOTHING = Rule(
    id="executorch-vulkan/no-partition",
    compiler=NAME,
    anchor=("No Vulkan subgraphs can be partitioned!",),
    pattern=r"(?P<reason>No Vulkan subgraphs can be partitioned)!",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="Nothing was delegated: the whole program runs on the CPU.",
    help="The level INFO gives the reason for each node.",
    seen_in="ExecuTorch 0.4 to 1.0 (source), WARNING",
    matches=("WARNING:root:No Vulkan subgraphs can be partitioned!",),
)

RULES = (SKIPPED, NOTHING)
