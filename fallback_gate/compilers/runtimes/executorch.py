r"""executorch: ExecuTorch's lowering: what its partitioners leave to the portable kernels.

    |  4 | aten_index_tensor |  0 |  4 |

is a row of `get_delegation_info(graph_module).get_operator_delegation_dataframe()`, printed by `tabulate`, by pandas
or as CSV, with or without an index: operator, occurrences in delegated graphs, occurrences in those that are not.

    DEBUG:executorch.backends.xnnpack.partition.config.gemm_configs:WhyNoPartition: Node aten_mm_default was not partitioned because Expected weight to be a static param.

**What falls back.** An operator outside the delegates runs as a portable kernel, a plain loop, on the CPU.

**At which setting it speaks.** Kernels that lack: always. The table: where the program prints it. Reasons: by the
partitioners of OpenVINO, Neuropilot and MLX, and of QNN up to 2025, whatever the level; of Vulkan, QNN, Arm and Core AI with
logging at INFO (Vulkan's up to 1.0 and MPS' warn of a model without any partition); of XNNPACK with
`XnnpackPartitioner(verbose=True)` and logging at DEBUG.

**When it is silent.** By default, but for that. Each partitioner leaves nodes out without a line: `WhyNoPartition` each
operator that XNNPACK has no configuration for at all (topk, index, add.Scalar), Arm's those that some checks refuse,
Neuropilot's all but what the program asked to leave out. So their lines prove nothing.

**What proves the end.** The table with its last row, `Total`, to which the others add up, one for each summary; or the
lowered graph itself, from its first line to its `return` (see `executorch_graphs`), behind what the partitioners say.
`getitem` and the operators of symbolic sizes (`ge`, `sym_size`, `_assert_scalar`) are counted as not delegated, and
compute no tensor: no fallback. What runs in the branches of a `cond` or the body of a loop is in no table: a log with
one proves nothing, unless the policy accepts that (`proof: {accept_unobservable: [op_fallback]}`).

Wording seen in 1.5 (XNNPACK and Vulkan run, the other partitioners in its source), 0.4 to 1.0 of QNN's and Vulkan's
in source and public threads. That of Core ML has a reader of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
from fallback_gate.compilers.runtimes import (
    executorch_apple,
    executorch_arm,
    executorch_errors,
    executorch_graphs,
    executorch_partitioners,
    executorch_qnn,
    executorch_vulkan,
)
from fallback_gate.compilers.runtimes.executorch_names import NAME, is_symbolic, names_of
from fallback_gate.compilers.shared import step
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Line, Record

LONGEST = 5_000  # lines of one table

_ROW = Pattern(
    r"^\W*(?:\d{1,6}\W+)?(?P<op>[A-Za-z_](?:[\w.:]{0,199}\w)?)(?:\W+\d{1,9}\W+|\s+\.\.\.\s+)(?P<outside>\d{1,9})\W*$"
)
_RULED = Pattern(r"^(?!.*\.\.\.)\W*$")  # dots stand for rows that pandas leaves out
_WITH_BODY = {"cond", "map", "map_impl", "while_loop", "scan"}


def table(record: Record) -> tuple[list[tuple[str, int, Line]], bool]:
    """The rows under the header: operator and how often it is outside; and whether they add up to its last row."""
    rows: list[tuple[str, int, Line]] = []
    for line in record.following(LONGEST):
        if row := _ROW.match(line.text):
            if row["op"] == "Total":
                return rows, sum(count for _, count, _ in rows) == int(row["outside"])
            rows.append((row["op"], int(row["outside"]), line))
        elif not _RULED.match(line.text):
            break
    return rows, False


def outside(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operators of the table that stand outside the delegates."""
    report = by_groups(rule, record, match)
    for op, count, line in table(record)[0]:
        if count and not is_symbolic(op):
            names = names_of(op)
            yield report._replace(
                op=names[0],
                names=names,
                position=record.position_at(line.at),
                text=line.text,
                reason=f"{count} outside the delegates",
            )


def printed(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """Whether the table is whole, and whether operators may stand in bodies that it leaves out."""
    rows, whole = table(record)
    nested = any(op in _WITH_BODY for op, _, _ in rows)
    state = "cut" if not rows or not whole else "nested" if nested else "whole"
    yield Sighting(marker.id, record.position, (state,))


_TABLE = """|    | op_type               |   occurrences_in_delegated_graphs |   occurrences_in_non_delegated_graphs |
|----+-----------------------+-----------------------------------+---------------------------------------|
|  0 | aten__softmax_default |                                 4 |                                     0 |
|  1 | aten_index_tensor     |                                 0 |                                     4 |
|  2 | getitem               |                                 0 |                                    22 |
|  3 | Total                 |                                 4 |                                    26 |"""
_NARROW = """                  op_type  ...  occurrences_in_non_delegated_graphs
0  aten_full_like_default  ...                                    1
1     aten_linear_default  ...                                    0
2                   Total  ...                                    1"""  # as pandas prints it where there is no terminal
_PLAIN = """op_type,occurrences_in_delegated_graphs,occurrences_in_non_delegated_graphs
aten_linear_default,2,0
aten_sort_default,0,1
getitem,0,2
Total,2,3"""  # to_csv(index=False)
_HEADER = r"\bop_type\b(?:.{0,300}occurrences_in_delegated_graphs\b.{0,100}|\s+\.\.\.\s+)occurrences_in_non_delegated_graphs"

OUTSIDE = Rule(
    id="executorch/not-delegated",
    compiler=NAME,
    anchor=("occurrences_in_non_delegated_graphs",),
    pattern=_HEADER,
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="No delegate takes the operator: a portable kernel computes it on the CPU.",
    help="Rewrite the operator in what the backend takes, or build it with optimised kernels (optimized_native_cpu_ops_lib).",
    seen_in="1.5 (run), printed by the program",
    matches=(_TABLE, _NARROW, _PLAIN),
    ignores=("df['occurrences_in_non_delegated_graphs'].sum()",),
    read=outside,
)

WHY = Rule(
    id="executorch/not-partitioned",
    compiler=NAME,
    anchor=("WhyNoPartition: Node ",),
    pattern=r"WhyNoPartition: Node (?P<layer>[\w.]{1,200}) was not partitioned because (?P<reason>.*)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="XNNPACK's partitioner refuses the node: a portable kernel computes it on the CPU.",
    help="The line says what XNNPACK needs: static weights, ranks, types.",
    seen_in="1.5 (run), DEBUG with XnnpackPartitioner(verbose=True)",
    matches=(
        "DEBUG:executorch.backends.xnnpack.partition.config.gemm_configs:WhyNoPartition: Node aten_mm_default_1 was not partitioned because Expected weight to be a static param.",
    ),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op=names_of(match["layer"])[0],
            names=tuple(dict.fromkeys((*names_of(match["layer"]), match["layer"]))),
            site=match["layer"],
        ),
    ),
)

MARKERS = (
    executorch_graphs.MARKER,
    Marker(
        id="executorch/table-printed",
        compiler=NAME,
        anchor=("occurrences_in_non_delegated_graphs",),
        pattern=_HEADER,
        shows="The table of delegated operators was printed: whole, without the body of a branch or a loop, or cut.",
        seen_in="1.5 (run)",
        matches=(_TABLE,),
        read=printed,
    ),
    Marker(
        id="executorch/delegated",
        compiler=NAME,
        anchor=("Verbose logging enabled for XNNPACK partitioner",),
        pattern=r"^.{0,200}:Verbose logging enabled for XNNPACK partitioner",
        shows="A program was lowered to a delegate.",
        seen_in="1.5 (run)",
        matches=(
            "DEBUG:executorch.backends.xnnpack.partition.xnnpack_partitioner:Verbose logging enabled for XNNPACK partitioner.",
        ),
    ),
    Marker(
        id="executorch/summary",
        compiler=NAME,
        anchor=("Total delegated subgraphs: ",),
        pattern=r"\bTotal delegated subgraphs: \d{1,9}",
        shows="The summary of a lowered program was printed: its table is owed.",
        seen_in="1.5 (run)",
        matches=("Total delegated subgraphs: 9",),
    ),
    Marker(
        id="executorch/partitioned",
        compiler=NAME,
        anchor=(
            "[Vulkan Partitioner] Due to [",
            "[QNN Partitioner Op Support]: ",
            "[QnnPartitioner] ",
            "[LpaiPartitionFallbackSupport] ",
            "[Neuropilot Backend] The ",
            "Op not supported: ",
            "eaving out of delegate",
            "The following nodes were rejected for TOSA",
            "MLX Partitioner: UNSUPPORTED OPS SUMMARY",
        ),
        pattern=r"\[Vulkan Partitioner\] Due to \[|\[QNN Partitioner Op Support\]: |\[QnnPartitioner\] |\[LpaiPartitionFallbackSupport\] "
        r"|\[Neuropilot Backend\] The |^Op not supported:  torch\.ops\.|\bleaving out of delegate|The following nodes were rejected for TOSA|MLX Partitioner: UNSUPPORTED OPS SUMMARY",
        shows="A partitioner looked at a node: the table of the program that it lowers is owed.",
        seen_in="0.4 to 1.5 (run and source)",
        matches=("[QnnPartitioner] aten.linear.default | True",),
        read=step,
    ),
)
RULES = (
    OUTSIDE,
    WHY,
    executorch_graphs.OUTSIDE,
    *executorch_qnn.RULES,
    *executorch_vulkan.RULES,
    *executorch_arm.RULES,
    *executorch_partitioners.RULES,
    *executorch_apple.RULES,
    *executorch_errors.RULES,
)
REQUIRED = frozenset({Kind.OP_FALLBACK})
SETTING = "the table of get_delegation_info(lowered.exported_program().graph_module) printed"

BODIES = "the tables of the bodies' own graph modules, and `proof: {accept_unobservable: [op_fallback]}` in the policy"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """The whole table shows each operator outside the delegates, for each summary that the log has."""
    states = evidence.of("executorch/table-printed") | evidence.of(executorch_graphs.PRINTED)
    if Kind.COMPILE_ERROR in evidence.reported:
        why = "a program could not be lowered, and nothing shows that it was after all"
        return {kind: Proof(State.UNPROVEN, why, None, SETTING) for kind in (*REQUIRED, Kind.COMPILE_ERROR)}
    if evidence.counts.get("executorch/summary", 0) > evidence.counts.get("executorch/table-printed", 0):
        why = "a program has its summary in the log, and no table"
        return {Kind.OP_FALLBACK: Proof(State.UNPROVEN, why, None, SETTING)}
    shown = (
        evidence.last.get(marker, -1) for marker in ("executorch/table-printed", executorch_graphs.PRINTED)
    )
    if states and evidence.last.get("executorch/partitioned", -1) > max(shown):
        why = "a program was lowered behind the last table or graph"
        return {Kind.OP_FALLBACK: Proof(State.UNPROVEN, why, None, SETTING)}
    if states == {("whole",)}:
        why = "the table or the graph lists each operator that is outside the delegates"
        line = evidence.first("executorch/table-printed") or evidence.first(executorch_graphs.PRINTED)
        return {Kind.OP_FALLBACK: Proof(State.PROVEN, why, line)}
    if ("nested",) in states and ("cut",) not in states:
        why = "the table has a branch or a loop, and no log shows which operators its body leaves outside"
        return {Kind.OP_FALLBACK: Proof(State.UNOBSERVABLE, why, None, BODIES)}
    why = (
        "the table of delegated operators is cut" if states else "no table of delegated operators is printed"
    )
    return {Kind.OP_FALLBACK: Proof(State.UNPROVEN, why, None, SETTING)}


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="yes, but for some partitioners' refusals",
    seen_in="1.5 (run), 0.1 to 1.5 (source and public threads)",
)
