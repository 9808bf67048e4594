"""Room 3: Inductor's fallback kernels, read in each artifact that shows them.

The rules that call these functions, with the lines that they match, stand in `inductor_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from re import Match
from typing import Any

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch import unprefixed
from fallback_gate.compilers.torch.log import LogRecord, base, messages, opened, parse, until_next
from fallback_gate.compilers.torch.trace import compile_around
from fallback_gate.compilers.torch.user_stack import is_library
from fallback_gate.model import Location, Report, Scope
from fallback_gate.model.names import operator, plain
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

# Namespaces whose calls are no fallback: allocation, collectives, streams and events, libraries that Inductor chose.
_BY_DESIGN = ("inductor.", "_c10d_functional.", "c10d.", "streams.", "mkldnn.", "mkl.", "onednn.")
KERNEL_MEANING = (
    "Inductor has no code for this operator: it runs through the framework's kernel and can't be fused."
)
KERNEL_HELP = (
    "Give the operator a lowering, a decomposition or a Triton kernel; if the library kernel is the fast path, "
    "allow it as a cold operator with a reason. https://docs.pytorch.org/docs/stable/torch.compiler_faq.html"
)


def of_operator(rule: Rule, record: Record, log: LogRecord | None, name: str, **facts: Any) -> Report:
    """A report about the operator that a message names, in whatever spelling."""
    op, names = names_of(name)
    return base(rule, record, log, op, names=names, **facts)


@lru_cache(maxsize=4096)
def names_of(name: str) -> tuple[str, tuple[str, ...]]:
    """The operator, and its names: as said, and where generated code calls the in-place form, without it."""
    op, said = operator(name), plain(name)
    functional: tuple[str, ...] = ()
    if "::" in op and op.endswith("_"):
        overload = said.removeprefix(op.replace("::", "."))
        functional = (op.removesuffix("_"), *([op.removesuffix("_") + overload] if overload else ()))
    return op, tuple(dict.fromkeys((op, said, *functional)))


def of_named(rule: Rule, record: Record, log: LogRecord | None, name: str, **facts: Any) -> Report:
    """The same, where the message names no more than that: an operator that runs another one may be any of them."""
    report = of_operator(rule, record, log, name, **facts)
    return report._replace(scope=Scope.REGION, hint=True) if _RUNS_ANOTHER.search(name) else report


_RUNS_ANOTHER = Pattern(r"\bhigher_order\.(?:graphsafe_)?run_(?:with|and_save)_rng_state\b")


def of_call(rule: Rule, record: Record, log: LogRecord | None, found: Match[str], **facts: Any) -> Report:
    """A report of a call in generated code: where it runs another operator, which is its first argument, of that one."""
    runs, name = found["runs"], found["op"]
    if not runs or not _RUNS_ANOTHER.search(name):
        return of_named(rule, record, log, name, **facts)
    report = of_operator(rule, record, log, runs, **facts)
    return report._replace(names=(*report.names, *names_of(name)[1]))


def is_compute(name: str) -> bool:
    """Whether a call of the operator stands in for a kernel that was not generated."""
    return not plain(name).startswith(_BY_DESIGN)


def hinted(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """`Using FallbackKernel: NAME`: once for each graph and operator, whatever the number of calls."""
    log = opened(record.text, match, "perf_hints", None)
    if not log and (parse(record.text) or "UserWarning: Using " not in record.text):
        return
    name = match["op"]
    if name == "None":
        yield base(rule, record, log, "*", Scope.UNKNOWN, reason="PyTorch 2.4 does not name the operator")
    elif is_compute(name):
        yield of_named(rule, record, log, name, reason="Inductor has no code for it: FallbackKernel")


def implicit(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """`Creating implicit fallback for:`; the operator is the target on the next line."""
    log = opened(record.text, match, None)
    if not log:
        return
    bare = (line.text for line in record.following(1))  # 2.0 puts its prefix on the first line only
    for message in chain(messages(record, log, 3), bare):
        if found := re.match(r"\s*target: (?P<op>\S+)", message):
            yield of_operator(rule, record, log, found["op"], reason="no lowering: implicit fallback")
            return
    yield base(rule, record, log, "*", Scope.UNKNOWN, reason="no lowering: implicit fallback")


def scheduled(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A fallback kernel in the scheduler's dump; its name is on one of the next lines."""
    log = opened(record.text, match, None)
    if not log:
        return
    name = None
    for message in messages(record, log, 200, until="scheduling "):
        found = _PYTHON_KERNEL.match(message) or _OP_OVERLOAD.match(message)
        if found and found["op"] != "None":
            name = found["op"]
            break
        if message.startswith(")"):
            break
    reason = f"scheduled as {match['node']}"
    if name is None:
        yield base(rule, record, log, "*", Scope.UNKNOWN, reason=reason)
    elif is_compute(name):
        yield of_named(rule, record, log, name, scope=Scope.OPERATOR, reason=reason)


_PYTHON_KERNEL = Pattern(r"\s*python_kernel_name='?(?P<op>[\w.:]+)'?,")
_OP_OVERLOAD = Pattern(r"\s*op_overload=(?P<op>[\w.:]+),")


def fused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A node of the post-fusion dump whose kernel is an operator, not generated code."""
    log = parse(record.text)
    if log and log.artifact in ("ir_post_fusion", "ir_pre_fusion") and is_compute(match["op"]):
        yield of_named(rule, record, log, match["op"], reason="the node's kernel is an ATen call")


def called(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A call of an operator in the generated wrapper: each call is one site."""
    log = parse(record.text)
    if log and log.artifact != "output_code":
        return
    code = log.message if log else record.text[1:]  # the payload of a structured trace starts with a tab
    found = _CALL.match(code)
    if found and is_compute(found["op"]):
        yield of_call(
            rule,
            record,
            log,
            found,
            compile_id=None if log else compile_around(record),
            site=f"{log.frame if log else record.position} {code.strip()[:200]}",
            reason="the generated wrapper calls it: no kernel was generated",
        )


def called_where_formatted(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The same, of a wrapper in records of the program's own format, or of none: its lines have no prefix."""
    log = opened(record.text, match, "output_code")
    lines = until_next
    if not log and (log := unprefixed.unprefixed(record, match, unprefixed.CODE, "output_code")):
        lines = unprefixed.rest_of_code
    if log and not log.prefix:
        for line in lines(record, LONGEST_WRAPPER):
            found = _CALL.match(line.text)
            if found and is_compute(found["op"]):
                yield of_call(
                    rule,
                    record,
                    log,
                    found,
                    position=record.position_at(line.at),
                    text=line.text,
                    site=line.text.strip()[:200],
                    reason="the generated wrapper calls it: no kernel was generated",
                )


LONGEST_WRAPPER = 50_000  # lines
_CALL = Pattern(  # where a line was cut or folded, it may end with the name
    r"(?:\s+|(?=buf\d))(?:[\w(][\w ,()]*= *)?"
    r"(?P<op>torch\.ops\.\w+\.\w+(?:\.\w+)?|aten\.\w+_(?:\.\w+)?|aten\.(?!\w*_?out\b)\w+(?:\.(?!\w*out\b)\w+)?)(?:\((?P<runs>torch\.ops\.\w+\.\w+(?:\.\w+)?)?|$)"
)


def batching(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """vmap without a batching rule: the Python warning stands at the user's line the first time."""
    if parse(record.text):
        return
    file = match["file"]
    where = Location(file, int(match["line"])) if file and not is_library(file) else None
    yield of_operator(
        rule,
        record,
        None,
        match["op"],
        location=where,
        files=(file,) if where else (),
        reason="no batching rule: vmap runs the operator in a loop over the batch",
    )
