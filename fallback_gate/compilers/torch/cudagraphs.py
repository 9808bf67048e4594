"""Room 3: what runs without a CUDA graph: a whole graph, or a partition of one, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from re import Match

from fallback_gate.compilers.rule import Evidence, Marker, Rule, Sighting
from fallback_gate.compilers.torch.inductor import is_compute, names_of
from fallback_gate.compilers.torch.log import NAME, LogRecord, base, messages, opened, parse
from fallback_gate.compilers.torch.trace import compile_id_of, metadata, rank_of
from fallback_gate.compilers.torch.user_stack import UserStack, told_by, user_stack
from fallback_gate.model import Kind, Location, Proof, Report, Scope, State
from fallback_gate.model.names import function, operator, plain
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record


def skipped_cudagraph(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A whole graph that runs without CUDA graph; the user's frames follow where PyTorch knows them.

    Up to 2.10 the logger is perf_hints, which is off: Python then writes the bare message, without prefix.
    """
    log = opened(record.text, match, "cudagraphs", "perf_hints", None)
    if log is None and not record.text[: match.start()].strip(" \t|+"):
        log = LogRecord("", record.text, "W", None, "", None)
    if not log:
        return
    frames = messages(record, log, 40) if log.prefix or _FOUND in record.text else ()
    stack = user_stack((record.text.partition(_FOUND)[2].lstrip(" :"), *frames))
    yield _skip(rule, record, log, match["reason"], stack)


def skip_in_trace(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The same as a structured trace tells it. A hint: the text log says it outright, at WARNING."""
    if not record.holds(_REASON_GIVEN):
        return
    log, said = metadata(record) or (None, {})
    metrics = said.get("compilation_metrics") or said.get("bwd_compilation_metrics")
    if not log or not isinstance(metrics, dict):
        return
    reason, _, found = str(metrics.get("cudagraph_skip_reason") or "").partition(_FOUND)
    stack = user_stack(found.lstrip(" :").splitlines())
    if not stack.innermost and metrics.get("co_name"):
        file, line = metrics.get("co_filename"), metrics.get("co_firstlineno")
        name = function(str(metrics["co_name"]))
        stack = stack.within(
            Location(str(file) if file else None, line if isinstance(line, int) else None, name)
        )
    if reason:
        report = _skip(rule, record, log, reason, stack)
        yield report._replace(
            hint=True, rank=rank_of(said), compile_id=str(metrics.get("compile_id") or compile_id_of(said))
        )


_FOUND = "Found from"
_REASON_GIVEN = re.compile(rb'cudagraph_skip_reason\\*": *(?!null)')


def _skip(rule: Rule, record: Record, log: LogRecord, reason: str, stack: UserStack) -> Report:
    """A skip for a reason, in which PyTorch may have wrapped another one."""
    reason = re.sub(r" {2,}\w{1,60}\.py:\d{1,6}$", "", reason.rstrip())  # rich's column at the right
    reason = re.sub(
        r"(?:(?:skipping|disabling) cudagraphs? (?:for backward )?due to )+", "", reason.strip().rstrip(".")
    )
    incompatible = re.search(r"incompatible op (?P<op>[\w.:]+)", reason)
    told = told_by(stack)
    if incompatible:
        told["op"], told["names"] = names_of(incompatible["op"])
    on_cpu = (Kind.DEVICE_FALLBACK,) if "cpu device" in reason else ()
    return base(rule, record, log, **told, reason=reason, also=on_cpu)


@dataclass(slots=True)
class _Node:
    reason: str
    ir: str
    op: str | None
    stack: list[str]


def partition(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """One partition of a graph that can't be captured: why, which operators, where in the user's code.

    Nodes on the CPU are a device fallback: that part of the compiled graph runs on another device. A
    bare copy between devices and all other reasons cost the capture only.
    """
    log = parse(record.text)
    if not log:
        return
    nodes = list(_nodes(record, log))
    lost = [node for node in nodes if node.reason != _NO_CUDAGRAPHS and node.ir not in _BOOKKEEPING]
    computing = [node for node in lost if node.reason == "cpu ops" and node.ir != "DeviceCopy"]
    if computing:
        yield _partition_report(rule, record, log, lost, Kind.DEVICE_FALLBACK, "torch/cpu-partition")
    else:
        for reason in dict.fromkeys(node.reason for node in lost):
            of_reason = [node for node in lost if node.reason == reason]
            yield _partition_report(rule, record, log, of_reason, Kind.CUDAGRAPH_SKIP, rule.id)
    for name in dict.fromkeys(node.op for node in nodes if node.ir == "FallbackKernel"):
        if name is None or is_compute(name):
            op, names = names_of(name) if name else ("*", ())
            yield base(
                rule,
                record,
                log,
                op,
                Scope.OPERATOR if name else Scope.UNKNOWN,
                names=names,
                id="torch/fallback-kernel",
                kind=Kind.OP_FALLBACK,
                at_least=True,
                hint=name is None,
                reason="a FallbackKernel node",
            )


_NO_CUDAGRAPHS = "partition includes all ops when cudagraphs is disabled"
_BOOKKEEPING = ("AssertScalar", "DynamicScalar")
_NODE = Pattern(r"\s+\w+: reason=(?P<reason>.*?), ir=(?P<ir>\w+)(?:, fx=(?P<fx>.+))?$")
_GETITEM = Pattern(r"<built-in function getitem>\((?P<node>[a-z]\w*?)(?:_\d+)?,")


def _nodes(record: Record, log: LogRecord) -> Iterator[_Node]:
    """The nodes listed under a partition. Each is a log record of its own, with its own prefix."""
    node: _Node | None = None
    own = f" {log.pid} "  # the lines of other processes stand between, and need no closer look
    for text, _ in record.following(4000):
        other = parse(text) if log.pid is None or own in text else None
        if not other or other.pid != log.pid:
            continue
        if other.artifact != log.artifact or other.message.lstrip().startswith(("Partition ", "Created ")):
            break
        if found := _NODE.match(other.message):
            if node:
                yield node
            node = _Node(found["reason"], found["ir"], _operator_of(found["fx"]), [])
        elif node and other.message.startswith(" "):
            node.stack.append(other.message)
        else:
            break
    if node:
        yield node


def _operator_of(fx: str | None) -> str | None:
    if not fx:
        return None
    if found := _GETITEM.match(fx):
        return found["node"]
    found = re.match(r"(?P<op>[\w.:]+)\(", fx)
    return found["op"] if found else None


def _partition_report(
    rule: Rule, record: Record, log: LogRecord, nodes: list[_Node], kind: Kind, identifier: str
) -> Report:
    copies = [node.op for node in nodes if node.op and node.ir == "DeviceCopy"]
    computed = [node.op for node in nodes if node.op and node.ir != "DeviceCopy"]
    ops = list(dict.fromkeys(computed + copies))
    stack = user_stack(next((node.stack for node in nodes if node.stack), ()))
    report = base(rule, record, log, "*", Scope.OPERATOR if ops else Scope.PROGRAM, id=identifier, kind=kind)
    names: list[str] = []
    for name in ops:
        names += [operator(name), plain(name)]
    return report._replace(
        op=operator(ops[0]) if ops else "*",
        names=tuple(dict.fromkeys(names)),
        stack=stack.functions,
        files=stack.files,
        location=stack.innermost,
        reason=", ".join(dict.fromkeys(node.reason for node in nodes)),
    )


_OPENS = "1130 00:42:05.094000 12430 torch/_inductor/graph.py:1002] [0/0] [__cudagraphs] "

CUDAGRAPH_SKIP = Rule(
    id="torch/cudagraph-skip",
    compiler=NAME,
    anchor=(
        "skipping cudagraphs due to",
        "skipping cudagraph due to",
        "disabling cudagraphs due to",
        "disabling cudagraphs for backward due to",
    ),
    pattern=r"(?:skipping cudagraphs?|disabling cudagraphs(?: for backward)?) due to (?P<reason>.+?)(?:\.? Found from.*)?$",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.PROGRAM,
    meaning="A whole compiled graph runs without CUDA graph: each kernel is launched by itself.",
    help="Remove what the reason names: CPU inputs, mutated inputs, or an operator that can't be captured.",
    seen_in="2.11 and 2.13, WARNING; 2.7 and 2.10 (run) without any prefix, in 2.1 to 2.10 (source) of perf_hints",
    matches=(
        "skipping cudagraphs due to mutated inputs (1 instances). Found from : ",
        "[12:00:00] WARNING  skipping cudagraphs due to mutated inputs (1       cudagraph_trees.py:1234",
        "W"
        + _OPENS.replace("cudagraphs", "perf_hints")
        + "skipping cudagraphs due to mutated inputs (1 instances)",
        "[2023-12-20 10:00:00,123] [0/0] torch._inductor.compile_fx.__perf_hints: [WARNING] skipping cudagraphs due to ['mutated inputs']",
        "W"
        + _OPENS
        + "skipping cudagraph due to function 3 exceeding max re-recording limit (=128) on cudagraph node 4 due to static input data pointer changed.",
        "W" + _OPENS + "disabling cudagraphs for backward due to override_cudagraphs annotation",
        "W" + _OPENS + "skipping cudagraphs due to mutated inputs (32 instances). Found from : ",
        "W"
        + _OPENS
        + "skipping cudagraphs due to skipping cudagraphs due to cpu device (arg1_1). Found from : ",
    ),
    ignores=(
        "# skipping cudagraphs due to mutated inputs",
        "WARNING: we saw skipping cudagraphs due to mutated inputs",
    ),
    read=skipped_cudagraph,
)

PARTITION = Rule(
    id="torch/cudagraph-partition",
    compiler=NAME,
    anchor=("nodes, non-cudagraphable",),
    pattern=r"Partition \d+: \d+ nodes, non-cudagraphable",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.OPERATOR,
    meaning="A part of the compiled graph can't be captured in a CUDA graph; its kernels are launched one by one.",
    help="Move the operators that the partition lists to the GPU or out of the compiled region.",
    seen_in="2.11, artifact cudagraphs (which +inductor switches on)",
    matches=("V" + _OPENS + "  Partition 1: 2 nodes, non-cudagraphable, inputs=11, outputs=4",),
    ignores=("V" + _OPENS + "  Partition 0: 55 nodes, cudagraphable, inputs=34, outputs=1",),
    read=partition,
)

SKIP_IN_TRACE = Rule(
    id="torch/cudagraph-skip",
    compiler=NAME,
    anchor=("compilation_metrics",),
    pattern=r'\] \{"(?:bwd_)?compilation_metrics": ',  # the reason stands further in than a line may be read
    kind=Kind.CUDAGRAPH_SKIP,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning=CUDAGRAPH_SKIP.meaning,
    help=CUDAGRAPH_SKIP.help,
    seen_in="2.11 (run), structured trace",
    matches=(
        "V"
        + _OPENS.partition(" [")[0]
        + ' {"compilation_metrics": {"compile_id": "0/0", "co_name": "forward", "co_filename": "/app/moe.py", '
        '"co_firstlineno": 8, "cudagraph_skip_reason": "skipping cudagraphs due to mutated inputs (1 instances)"}}',
    ),
    ignores=(
        "V"
        + _OPENS.partition(" [")[0]
        + ' {"compilation_metrics": {"compile_id": "0/0", "cudagraph_skip_reason": null}}',
    ),
    read=skip_in_trace,
)

RULES = (CUDAGRAPH_SKIP, SKIP_IN_TRACE, PARTITION)


def _unsorted(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """The graph."""
    log = parse(record.text)
    if log and log.artifact == "cudagraphs":
        yield Sighting(marker.id, record.position, (log.compile_id,), log.pid, None, log.when)


UNSORTED = Marker(
    id="torch/partitions-unsorted",
    compiler=NAME,
    anchor=(_NO_CUDAGRAPHS,),
    pattern=rf"reason={_NO_CUDAGRAPHS}",
    shows="CUDA graphs are off: the list of partitions does not tell which operators are on the CPU.",
    seen_in="2.11, artifact cudagraphs",
    matches=("V" + _OPENS + f"    op0_op1: reason={_NO_CUDAGRAPHS}, ir=NoneType",),
    read=_unsorted,
)


def partitions(evidence: Evidence, graphs: set[str], line: int | None) -> tuple[Proof, Proof]:
    """What the lists of partitions prove: of CUDA graphs, and of operators on the CPU."""
    lowered = {cid for (cid,) in evidence.of("torch/lowered")}
    listed = {cid for cid, _ in evidence.of("torch/partitioned")}
    unsorted = {cid for (cid,) in evidence.of("torch/partitions-unsorted")}
    setting = "TORCH_LOGS=dynamo,graph_breaks,output_code,cudagraphs"
    hidden = Proof(State.UNOBSERVABLE, "this level prints no partitions", None, setting)
    if not graphs or graphs - listed - lowered:
        return hidden, hidden
    shown = Proof(State.PROVEN, "the partitions of every graph are printed", line)
    if graphs - (listed - unsorted) - lowered:
        why = "without CUDA graphs the partitions don't tell what is on the CPU"
        return shown, Proof(State.UNOBSERVABLE, why, None, "TORCH_LOGS=+dynamo,+inductor, with a cold cache")
    return shown, shown
