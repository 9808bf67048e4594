"""Room 3: what TensorFlow's auto-clustering leaves outside XLA's clusters, from its verbose log.

    ... mark_for_compilation_pass.cc:1694]  Built 2 clusters, size 29 / 41 (70.73%)
    ... mark_for_compilation_pass.cc:1713]  Unclustered nodes: 12 / 41 (29.27%)
    ... compilability_check_util.cc:62] Found uncompilable node PyFunc (op PyFunc): No registered 'PyFunc' OpKernel ...

Each eager operator is a graph of its own, with its arguments around it; nobody asked XLA to compile those.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "tensorflow"
_I = "I0000 00:00:1795999573.963662   14696 "

_BOOKKEEPING = ("NoOp", "Const", "Identity", "IdentityN", "Placeholder", "VarHandleOp", "ReadVariableOp")
_UNCOMPILABLE = Pattern(r"\] Found uncompilable node \S{1,500} \(op (?P<op>\w{1,80})\)")
_CANDIDATES = Pattern(r"\] compilation_candidates_\.size\(\) = (?P<count>\d{1,9})")


def _left_out(line: str) -> bool:
    """Whether the line tells of an operator that is not bookkeeping: one that computes."""
    node = _UNCOMPILABLE.search(line)
    return node is not None and not node["op"].startswith("_") and node["op"] not in _BOOKKEEPING


def uncompilable(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The node; none where its graph is that of one eager operator, which nobody asked XLA to compile."""
    if match["op"] in _BOOKKEEPING:
        return
    others = 0
    for line in record.preceding(100):
        if "] sorted_nodes.size() = " in line.text or _CANDIDATES.search(line.text):
            break
        others += _left_out(line.text)
    for line in record.following(100):
        if count := _CANDIDATES.search(line.text):
            if int(count["count"]) == 0 and not others:
                return
            break
        others += _left_out(line.text)
    yield by_groups(rule, record, match)


UNCOMPILABLE = Rule(
    id="tensorflow/uncompilable-node",
    compiler=NAME,
    anchor=("Found uncompilable node ",),
    pattern=r"\] Found uncompilable node (?P<layer>\S{1,500}) \(op (?P<op>(?!_)\w{1,80})\): (?P<reason>(?!top level _Arg).*)",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="XLA can't compile the node: it stays outside the clusters and runs as a kernel of TensorFlow.",
    help="Replace the operator; the reason says what XLA lacks.",
    seen_in="2.16 to 2.21 (run), TF_CPP_VMODULE=compilability_check_util=5",
    matches=(
        f"{_I}mark_for_compilation_pass.cc:1296] sorted_nodes.size() = 19\n{_I}compilability_check_util.cc:74] Found uncompilable node Unique (op Unique): Unique op\n{_I}mark_for_compilation_pass.cc:1476] compilation_candidates_.size() = 15",
        _I
        + "compilability_check_util.cc:62] Found uncompilable node PyFunc (op PyFunc): No registered 'PyFunc' OpKernel for XLA_CPU_JIT devices compatible with node {{node PyFunc}}",
    ),
    ignores=(
        _I
        + "compilability_check_util.cc:62] Found uncompilable node input (op _Arg): top level _Arg or _Retval",
        _I
        + "compilability_check_util.cc:62] Found uncompilable node dims (op _DeviceArg): No registered '_DeviceArg' OpKernel",
        _I
        + "compilability_check_util.cc:62] Found uncompilable node VarHandleOp (op VarHandleOp): No registered 'VarHandleOp' OpKernel for XLA_CPU_JIT devices",
        f"{_I}mark_for_compilation_pass.cc:1296] sorted_nodes.size() = 3\n{_I}compilability_check_util.cc:74] Found uncompilable node shape (op _DeviceArg): No registered '_DeviceArg' OpKernel\n"
        f"{_I}compilability_check_util.cc:74] Found uncompilable node RandomStandardNormal (op RandomStandardNormal): stateful random op\n{_I}mark_for_compilation_pass.cc:1476] compilation_candidates_.size() = 0",
    ),
    read=uncompilable,
)


_INSTANCES = Pattern(r"\]\s{2,6}(?P<op>\w{1,80}): (?P<count>\d{1,9}) instances")
_CLUSTERS = Pattern(r"\]\s{1,4}Built (?P<count>\d{1,9}) clusters")


def unclustered(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operators outside the clusters of a graph; none where the graph is that of one eager operator."""
    clusters = None
    for line in record.preceding(100):
        if clusters := _CLUSTERS.search(line.text):
            break
        if "*** Clustering info" in line.text:
            break
    report = by_groups(rule, record, match)
    found = []
    for line in record.following(500):
        instances = _INSTANCES.search(line.text)
        if not instances:
            break
        if not instances["op"].startswith("_") and instances["op"] not in _BOOKKEEPING:
            found.append((instances["op"], int(instances["count"]), line))
    eager = (not clusters or int(clusters["count"]) == 0) and sum(count for _, count, _ in found) < 2
    for op, count, line in () if eager else found:
        yield report._replace(
            op=op,
            names=(op,),
            position=record.position_at(line.at),
            text=line.text,
            reason=f"{count} outside the clusters of a graph of {match['size']} nodes",
        )


UNCLUSTERED = Rule(
    id="tensorflow/unclustered",
    compiler=NAME,
    anchor=(" Unclustered nodes: ",),
    pattern=r"mark_for_compilation_pass\.cc:\d{1,6}\]\s{1,4}Unclustered nodes: \d{1,9} / (?P<size>\d{1,9}) ",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The operator is outside the clusters: it runs as a kernel of TensorFlow, between compiled ones.",
    help="TF_CPP_VMODULE=compilability_check_util=5 prints the reason; small clusters are dropped by tf_xla_min_cluster_size.",
    seen_in="2.21 (run), TF_CPP_VMODULE=mark_for_compilation_pass=2",
    matches=(
        f"{_I}mark_for_compilation_pass.cc:1694]  Built 2 clusters, size 29 / 41 (70.73%)\n{_I}mark_for_compilation_pass.cc:1713]  Unclustered nodes: 12 / 41 (29.27%)\n{_I}mark_for_compilation_pass.cc:1718]   PyFunc: 1 instances",
    ),
    ignores=(
        f"{_I}mark_for_compilation_pass.cc:1694]  Built 1 clusters, size 21 / 27 (77.78%)\n{_I}mark_for_compilation_pass.cc:1713]  Unclustered nodes: 6 / 27 (22.22%)\n{_I}mark_for_compilation_pass.cc:1718]   NoOp: 2 instances\n{_I}mark_for_compilation_pass.cc:1718]   ReadVariableOp: 1 instances\n{_I}mark_for_compilation_pass.cc:1718]   _Arg: 2 instances\n{_I}mark_for_compilation_pass.cc:1718]   _Retval: 1 instances",
    ),
    read=unclustered,
)

NOT_COMPILED = Rule(
    id="tensorflow/cluster-not-compiled",
    compiler=NAME,
    anchor=("Falling back to TF function call.",),
    pattern=r"(?:\] Compilation failed: ?(?P<reason>\S.{0,1000}?)\.? {1,2}|^(?!.{0,300}Compilation failed:)[^\x22]{0,300}\.  )Falling back to TF function call\.",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.UNKNOWN,
    meaning="XLA could not compile a cluster: its operators run one by one by TensorFlow's kernels, for good.",
    help="The line gives XLA's reason: a compiler that this build lacks, or an operation that it does not implement.",
    seen_in="2.9 and 2.17 (public threads), 2.1 to 2.20 (source), WARNING, once a cluster",
    matches=(
        "2022-04-29 12:25:31.051195: W tensorflow/compiler/jit/kernels/xla_ops.cc:436] Compilation failed:UNIMPLEMENTED: Could not find compiler for platform CUDA: NOT_FOUND: could not find registered compiler for platform CUDA -- was support for that platform linked in?.  Falling back to TF function call.",
        "W0000 00:00:1795998201.0    1221 xla_ops.cc:799] Compilation failed:UNIMPLEMENTED: Dynamic padder.  Falling back to TF function call.",
        "=================.  Falling back to TF function call.",
    ),
    ignores=('LOG(WARNING) << "Compilation failed:" << status << ".  Falling back to TF function call.";',),
)
