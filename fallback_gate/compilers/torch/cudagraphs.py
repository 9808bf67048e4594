"""Room 3: what runs without a CUDA graph: a whole graph, or a partition of one, and why.

The rules that call these functions, with the lines that they match, stand in `inductor_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from re import Match

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch.inductor import is_compute, named
from fallback_gate.compilers.torch.log import LogRecord, base, messages, opened, parse, user_stack
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.model.names import operator, plain
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record


def skipped_cudagraph(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A whole graph that runs without CUDA graph; the user's frames follow where PyTorch knows them."""
    log = opened(record.text, match, "cudagraphs", None)
    if not log:
        return
    reason = match["reason"].strip().rstrip(".")
    reason = re.sub(r"(?:(?:skipping|disabling) cudagraphs due to )+", "", reason)
    stack = user_stack((record.text.partition("Found from")[2].lstrip(" :"), *messages(record, log, 40)))
    incompatible = re.search(r"incompatible op (?P<op>[\w.:]+)", reason)
    where = stack.innermost
    report = base(rule, record, log, (where.function if where else None) or "*")
    if incompatible:
        report = named(report, incompatible["op"])
    elif where and where.function:
        report = report._replace(names=(where.function,))
    yield report._replace(stack=stack.functions, files=stack.files, location=where, reason=reason)


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
        report = base(
            rule,
            record,
            log,
            "*",
            Scope.UNKNOWN,
            id="torch/fallback-kernel",
            kind=Kind.OP_FALLBACK,
            at_least=True,
            hint=name is None,
            reason="a FallbackKernel node",
        )
        if name is None:
            yield report
        elif is_compute(name):
            yield named(report._replace(scope=Scope.OPERATOR), name)


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
