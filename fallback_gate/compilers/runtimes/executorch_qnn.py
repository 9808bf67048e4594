r"""Room 3: ExecuTorch's partitioner for Qualcomm's QNN: nodes that stay out of the delegate.

    [ERROR] [Qnn ExecuTorch]:  <E> Failed to validate op aten_sort_default_17 with error 0xc26
    [QNN Partitioner Op Support]: aten.sort.default | False
    [QnnPartitioner] aten.sort.default | False

**What falls back.** A node that QNN refuses stays in the portable program and runs on the CPU.

**At which setting it speaks.** A verdict for each node: printed by default up to 2025, later at INFO of Python's
logging; since 1.5 the name of the pass stands in its brackets, `[QnnPartitioner]`, or
`[LpaiPartitionFallbackSupport]` where the target is LPAI. The lines marked `<E>` above a verdict are its reason,
not an event of their own. A builder that can't express its node in QNN warns of it at each level.

**When it is silent.** In later versions at Python's default level.

`executorch` is the manual page.

Wording seen in the source of ExecuTorch 0.4 to 1.5 and in public threads: `QnnOperatorSupport` and the builders of
https://github.com/pytorch/executorch/tree/main/backends/qualcomm.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.runtimes.executorch_names import NAME, names_of
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_CAUSE = Pattern(r"\[Qnn ExecuTorch\]:\s{0,4}(?:<E> )?(?P<cause>\S.{0,300})")
_BUILDER = Pattern(r"/op_(?P<op>\w{1,80})\.py:\d{1,6}: ")


def refused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A verdict, and what QNN's own lines above it give as the reason."""
    causes: list[str] = []
    for line in record.preceding(12):
        if not line.text.strip():
            continue
        cause = _CAUSE.search(line.text)
        if not cause:
            break
        causes.append(cause["cause"].strip())
    why = "; ".join(reversed(causes)) or match["result"].replace("False", "not supported")
    yield shared.named(by_groups(rule, record, match), match["op"])._replace(reason=why[:600])


REFUSED = Rule(
    id="executorch-qnn/not-delegated",
    compiler=NAME,
    anchor=("[QNN Partitioner Op Support]", "[QnnPartitioner]", "[LpaiPartitionFallbackSupport]"),
    pattern=r"\[(?:QNN Partitioner Op Support|QnnPartitioner|LpaiPartitionFallbackSupport)\]:? (?P<op>[a-z_]\w{0,60}\.[\w.]{1,120}) \| (?P<result>False|Forced Fallback|Skipped|No node visitor, unsupported)",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="QNN does not take the node: it runs on the CPU, and the graph is split around it.",
    help="The lines of QNN above the verdict, marked as errors, tell which parameter QNN refused; rewrite the node, or quantise its inputs.",
    seen_in="ExecuTorch 0.4 to 1.5, INFO",
    matches=(
        "[QNN Partitioner Op Support]: aten.sort.default | False",
        "INFO:executorch.backends.qualcomm.partition.qnn_partitioner:[QnnPartitioner] aten.sort.default | False",
        "[QnnPartitioner] aten.topk.default | No node visitor, unsupported",
        "[LpaiPartitionFallbackSupport] aten.gelu.default | False",
    ),
    ignores=(
        "[QnnPartitioner] aten.add.Tensor | True",
        "[QNN Partitioner Op Support]: aten.add.Tensor | True",
        "[QNN Partitioner Op Support]: aten.add.Tensor | Forced Passed",
    ),
    read=refused,
)


def builder(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The reason of a verdict; its operator stands in the name of the builder's file, where that is printed."""
    report = by_groups(rule, record, match)
    file = _BUILDER.search(record.text.replace("\\", "/"))
    yield (
        report._replace(op=file["op"], names=(file["op"],)) if file else report._replace(scope=Scope.UNKNOWN)
    )


BUILDER = Rule(
    id="executorch-qnn/builder",
    compiler=NAME,
    anchor=("[QNN Delegate Op Builder]",),
    pattern=r"(?<![\"'])\[QNN Delegate Op Builder\]: (?P<reason>\S(?:.{0,398}?\S)?)\.?(?:,? ?[Ff]all ?back(?: op)?)?\s*$",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The builder of the node can't express it in QNN: it runs on the CPU.",
    help="The line gives the reason.",
    seen_in="ExecuTorch 0.4 to 1.5 (source), Python warning",
    matches=(
        "UserWarning: [QNN Delegate Op Builder]: Height or Width is not suitable, fall back op",
        "/app/backends/qualcomm/builders/op_adaptive_avg_pool2d.py:62: UserWarning: [QNN Delegate Op Builder]: Height or Width is not suitable, fall back op",
        "/app/backends/qualcomm/builders/op_softmax.py:60: UserWarning: [QNN Delegate Op Builder]: Softmax only supports channel axis.",
        "/app/backends/qualcomm/builders/op_layer_norm.py:56: UserWarning: [QNN Delegate Op Builder]: Only supports normalization with last input dimension.",
    ),
    ignores=('        "[QNN Delegate Op Builder]: Softmax only supports channel axis.",',),
    at_least=True,
    read=builder,
)

_NODE = Pattern(r"^(?:aten|quantized_decomposed|dim_order_ops|llama|sdpa|torchao)_\w+$")


def not_validated(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator of the node, where the name is one of ExecuTorch's: other programs print QNN's line, too."""
    node = match["layer"]
    if _NODE.match(node):
        names = names_of(node)
        yield by_groups(rule, record, match)._replace(
            hint=True, op=names[0], names=(*names, node), site=node, reason=match["reason"]
        )


NOT_VALIDATED = Rule(
    id="executorch-qnn/not-validated",
    compiler=NAME,
    anchor=("Failed to validate op ",),
    pattern=r"<E> (?P<reason>Failed to validate op (?P<layer>\w{1,200}) with error 0x[0-9a-f]{1,8})",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=REFUSED.meaning,
    help="The lines of QNN above it tell which parameter QNN refused; rewrite the node, or quantise its inputs.",
    seen_in="ExecuTorch 0.1 to 1.5 (source and public threads), ERROR",
    matches=(
        "[ERROR] [Qnn ExecuTorch]: QnnDsp <E> Failed to validate op aten_convolution_default_107 with error 0xc26",
    ),
    ignores=("QnnDsp <E> Failed to validate op /model.22/Sigmoid_1 with error 0xc26",),
    # The verdict on the node follows, where the partitioner prints one.
    read=not_validated,
)

NOT_COMPILED = Rule(
    id="executorch-qnn/not-compiled",
    compiler=NAME,
    anchor=(
        "Failed to add node to Qnn Graph with error",
        "Failed to finalize Qnn Graph with error",
        "Fail to compile graph from qcir",
    ),
    pattern=r"(?P<reason>(?:Failed to (?:add node to|finalize) Qnn Graph with error: \d{1,9}|Fail to compile graph from qcir with graph_name: \w{1,80}))",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="QNN refused the part of the program that was partitioned for it: there is no program.",
    help="The lines of QNN above it, marked <E>, tell which node and which tensor.",
    seen_in="ExecuTorch 0.1 to 1.5 (source and public threads), ERROR",
    matches=(
        "[ERROR] [Qnn ExecuTorch]: Failed to add node to Qnn Graph with error: 6005",
        "E 00:33:17.663831 executorch:QnnManager.cpp:599] Fail to compile graph from qcir with graph_name: kv_forward",
    ),
    ignores=('        "Failed to add node to Qnn Graph with error: %d",',),
)

RULES = (REFUSED, BUILDER, NOT_VALIDATED, NOT_COMPILED)
