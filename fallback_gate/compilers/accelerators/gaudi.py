r"""gaudi: Intel Gaudi (HPU): what PyTorch's bridge runs on the CPU, and what its graph compiler leaves eager.

    CPU Fallback stats:
    12<TAB>aten::isin.Tensor_Tensor_out
    Fallback required. Node: sort_1 Target: aten.sort.default Meta: {...}

**What falls back.** An operator without an HPU kernel runs on the CPU at each call (`CPU Fallback stats` counts
the calls); under torch.compile, a node that the graph compiler can't take is run eager on the HPU.

**At which setting it speaks.** `Fallback required` is a WARNING, on by default. The statistics are printed when
the device is released at the end of the process, into the files of `HABANA_LOGS`, and on the console only with
`ENABLE_CONSOLE=true`. Step markers and leaf views need the bridge's DEBUG level.

**When it is silent.** The statistics without console logging; all of it where the process is killed. A strict
run fails instead: `PT_HPU_PLACE_ON_CPU=none` for CPU fallbacks, `PT_HPU_USE_EAGER_FALLBACK=0` for eager nodes.

**What proves the end.** Nothing: a process without any fallback prints no statistics, and no line tells that
console logging was on.

Wording seen in the source of the bridge (1.2x) and of vLLM's Gaudi plug-in; lines made after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule, StrictMode
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "gaudi"
SEEN = "gaudi-pytorch-bridge 1.2x (source)"
STRICT = "PT_HPU_PLACE_ON_CPU=none and PT_HPU_USE_EAGER_FALLBACK=0 (the program then fails), or ENABLE_CONSOLE=true"

_ROW = Pattern(r"^\s*(?P<count>\d{1,12})\s+(?P<op>[a-z_]\w*::[\w.]+)\s*$")


def statistics(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """One report for each row below the header; one that names nothing where the rows are missing."""
    report = by_groups(rule, record, match)
    rows = 0
    for line in record.following(shared.MOST):
        row = _ROW.match(line.text)
        if not row:
            break
        rows += 1
        yield shared.named(report, row["op"])._replace(
            position=record.position_at(line.at), text=line.text, reason=f"{row['count']} calls on the CPU"
        )
    if not rows:
        yield report._replace(scope=Scope.UNKNOWN)


STATISTICS = Rule(
    id="gaudi/cpu-fallback-stats",
    compiler=NAME,
    anchor=("CPU Fallback stats:",),
    pattern=r"CPU Fallback stats:\s*$",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The operator has no HPU kernel for these inputs: each call ran on the CPU, with copies there and back.",
    help="Rewrite the operator for the HPU; PT_HPU_PLACE_ON_CPU=none makes the program stop where it is called.",
    seen_in=SEEN,
    matches=(
        "[00:00:30.000000][PT_FALLBACK][critical] CPU Fallback stats:\n12\taten::isin.Tensor_Tensor_out",
        "[00:00:30.000000][PT_FALLBACK][critical] CPU Fallback stats:",
    ),
    ignores=("see CPU Fallback stats: below",),
    read=statistics,
)

STEP_MARKER = Rule(
    id="gaudi/step-marker",
    compiler=NAME,
    anchor=("step marker due to cpu fallback",),
    pattern=r"step marker due to cpu fallback\s{1,8}(?P<op>[\w:.]+)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The lazy graph was cut and executed, because the operator runs on the CPU.",
    help=STATISTICS.help,
    seen_in=f"{SEEN}, DEBUG of PT_IRGRAPH",
    matches=("step marker due to cpu fallback  aten::isin.Tensor_Tensor_out",),
)

DENIED = Rule(
    id="gaudi/not-supported",
    compiler=NAME,
    anchor=("is not yet supported on HPU.",),
    pattern=r"(?:^|[\s:])(?P<op>[a-z_]\w*::[\w.]+) (?P<reason>is not yet supported on HPU)\.",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The operator has no HPU kernel, and the fallback to the CPU is switched off: the program ended here.",
    help="Rewrite the operator for the HPU, or name it in PT_HPU_PLACE_ON_CPU and allow it as cold.",
    seen_in=f"{SEEN}, with PT_HPU_PLACE_ON_CPU",
    matches=("RuntimeError: aten::isin.Tensor_Tensor_out is not yet supported on HPU.",),
    ignores=("This model is not yet supported on HPU.",),
)

EAGER_NODE = Rule(
    id="gaudi/eager-node",
    compiler=NAME,
    anchor=("Fallback required. Node: ",),
    pattern=r"Fallback required\. Node: (?P<node>\S+) Target: (?P<op>\S+) Meta: ",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The HPU's graph compiler can't take the node: it runs eager between two graphs.",
    help="The line Node.args below it shows types and shapes; PT_HPU_USE_EAGER_FALLBACK=0 makes it an error.",
    seen_in=f"{SEEN}, WARNING",
    matches=(
        "Fallback required. Node: sort_1 Target: aten.sort.default Meta: {'val': FakeTensor(..., device='hpu:0', size=(4, 8))}",
    ),
    ignores=("Fallback required.",),
    read=lambda rule, record, match: (
        shared.named(by_groups(rule, record, match), match["op"], match["node"]),
    ),
)

LEAF_VIEW = Rule(
    id="gaudi/leaf-view",
    compiler=NAME,
    anchor=("fellback to eager due to being identified as leaf view",),
    pattern=r"(?<![\w.:])(?P<op>[\w.:]{1,200}) fellback to eager due to being identified as (?P<reason>leaf view node)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="A view at the end of the graph is left to the eager mode.",
    help="Views of outputs are cheap; return the tensor itself where it stands in a hot loop.",
    seen_in=f"{SEEN}, DEBUG",
    matches=("torch.ops.aten.view.default fellback to eager due to being identified as leaf view node",),
    ignores=("torch.ops.aten._to_copy.default fellback to eager becouse it was identified as non D2D copy",),
)

EAGER_ERROR = Rule(
    id="gaudi/eager-nodes-error",
    compiler=NAME,
    anchor=("Eager fallback in nodes: [",),
    pattern=r"AssertionError: Eager fallback in nodes: \[(?P<ops>[^\]]{0,4000})\]",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="These nodes would run eager, and PT_HPU_USE_EAGER_FALLBACK=0 forbids it: the program ended here.",
    help="The WARNING Fallback required above it names each node's operator.",
    seen_in=f"{SEEN}, with PT_HPU_USE_EAGER_FALLBACK=0",
    matches=("AssertionError: Eager fallback in nodes: ['sort_1', 'nonzero_2']",),
    ignores=('    assert not nodes, f"Eager fallback in nodes: [{nodes}]"',),
    read=shared.listed,
)

PT2E = Rule(
    id="gaudi/pt2e-graph-break",
    compiler=NAME,
    anchor=("GRAPH BREAK DETECTED...",),
    pattern=r"(?<!NO )GRAPH BREAK DETECTED\.{3,40}(?P<reason>USING HABANA PT2E-QUANT FLOW)",
    kind=Kind.GRAPH_BREAK,
    scope=Scope.UNKNOWN,
    meaning="The model to be quantised has graph breaks: each of its graphs is quantised by itself.",
    help="Find the breaks with TORCH_LOGS=graph_breaks.",
    seen_in=f"{SEEN}, INFO",
    matches=("GRAPH BREAK DETECTED...............USING HABANA PT2E-QUANT FLOW.......!",),
    ignores=("NO GRAPH BREAK DETECTED...............USING PT2E-QUANT FLOW.......!",),
)

IROPE = Rule(
    id="gaudi/irope",
    compiler=NAME,
    anchor=("Using irope in HPU is not supported yet",),
    pattern=r"Using irope in HPU is not supported yet, it will (?P<reason>fall back to global attention[^.]{0,80})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="Attention with interleaved position embeddings is not there: all tokens are attended to instead.",
    help="Long contexts cost more than the model intends; use a plug-in with irope.",
    seen_in="vllm-gaudi (source), WARNING",
    matches=(
        "WARNING 11-30 00:29:06 hpu_attn.py:422] Using irope in HPU is not supported yet, it will fall back to global attention for long context.",
    ),
    ignores=(
        "FusedSDPA slicing graph breaks are only supported in lazy mode. Disabling graph breaks for eager/compile mode to avoid Synapse compiler failures.",
    ),
    at_least=True,
    read=shared.called("irope", "attention"),
)

NOT_COMPILED = Rule(
    id="gaudi/graph-not-compiled",
    compiler=NAME,
    anchor=("Graph compile failed. synStatus=",),
    pattern=r"(?P<reason>Graph compile failed\. synStatus=\s{0,4}\S.{0,200})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="The graph compiler refused the graph: the program ends, or its author caught the error.",
    help="The log of the graph compiler (HABANA_LOGS, or ENABLE_CONSOLE=true with LOG_LEVEL_ALL=4) names the node.",
    seen_in=f"{SEEN} and public threads, an exception",
    matches=(
        "RuntimeError: Graph compile failed. synStatus=synStatus 26 [Generic failure]. ",
        "[19:08:34.165045][PT_BRIDGE       ][error][tid:44F8A] /npu-stack/pytorch-integration/backend/synapse_helpers/graph.cpp: 599Graph compile failed. synStatus=synStatus 26 [Generic failure]. compile",
    ),
    ignores=("@pytest.mark.xfail(reason='Graph compile failed. synStatus 26')",),
)

REQUIRED = frozenset({Kind.DEVICE_FALLBACK, Kind.OP_FALLBACK})
WHY = "the statistics go to the console only with ENABLE_CONSOLE=true, and only where something fell back"

READER = Reader(
    name=NAME,
    rules=(STATISTICS, STEP_MARKER, DENIED, EAGER_NODE, LEAF_VIEW, EAGER_ERROR, PT2E, IROPE, NOT_COMPILED),
    markers=(),
    required=REQUIRED,
    prove=shared.unshown(WHY, STRICT, *REQUIRED),
    setting=STRICT,
    strict=(
        StrictMode({"PT_HPU_PLACE_ON_CPU": "none"}, frozenset({Kind.DEVICE_FALLBACK})),
        StrictMode({"PT_HPU_USE_EAGER_FALLBACK": "0"}, frozenset({Kind.OP_FALLBACK})),
    ),
    manual=__doc__,
    silent="partly: nodes left eager are warned of, CPU fallbacks go to a file",
    seen_in="gaudi-pytorch-bridge 1.2x (source)",
)
