"""Room 3: Inductor's fallback kernels, read in each artifact that shows them.

The rules that call these functions, with the lines that they match, stand in `inductor_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from re import Match

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch.log import (
    LogRecord,
    base,
    is_library,
    messages,
    opened,
    parse,
    until_next,
)
from fallback_gate.compilers.torch.trace import compile_around
from fallback_gate.model import Location, Report, Scope
from fallback_gate.model.names import operator, plain
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

# Namespaces whose calls are no fallback: allocation, collectives, streams and events, libraries that Inductor chose.
_BY_DESIGN = ("inductor.", "_c10d_functional.", "c10d.", "streams.", "mkldnn.", "mkl.", "onednn.")
KERNEL_HELP = (
    "Give the operator a lowering, a decomposition or a Triton kernel; if the library kernel is the fast path, "
    "allow it as a cold operator with a reason. https://docs.pytorch.org/docs/stable/torch.compiler_faq.html"
)


def named(report: Report, name: str, **said: str) -> Report:
    """The report, for the operator that a message names in whatever spelling, and what else is said."""
    op, names = _names(name)
    return report._replace(op=op, names=names, **said)  # type: ignore[arg-type]


@lru_cache(maxsize=4096)
def _names(name: str) -> tuple[str, tuple[str, ...]]:
    """The operator, and its names: as said, and where generated code calls the in-place form, without it."""
    op = operator(name)
    functional = (op.removesuffix("_"),) if "::" in op else ()
    return op, tuple(dict.fromkeys((op, plain(name), *functional)))


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
        yield named(base(rule, record, log, name), name, reason="Inductor has no code for it: FallbackKernel")


def implicit(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """`Creating implicit fallback for:`; the operator is the target on the next line."""
    log = opened(record.text, match, None)
    if not log:
        return
    for message in messages(record, log, 3):
        if found := re.match(r"\s*target: (?P<op>\S+)", message):
            name = found["op"]
            yield named(base(rule, record, log, name), name, reason="no lowering: implicit fallback")
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
    report = base(rule, record, log, "*", Scope.UNKNOWN, reason=f"scheduled as {match['node']}")
    if name is None:
        yield report
    elif is_compute(name):
        yield named(report._replace(scope=Scope.OPERATOR), name)


_PYTHON_KERNEL = Pattern(r"\s*python_kernel_name='?(?P<op>[\w.:]+)'?,")
_OP_OVERLOAD = Pattern(r"\s*op_overload=(?P<op>[\w.:]+),")


def fused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A node of the post-fusion dump whose kernel is an operator, not generated code."""
    log = parse(record.text)
    if log and log.artifact in ("ir_post_fusion", "ir_pre_fusion") and is_compute(match["op"]):
        yield named(
            base(rule, record, log, match["op"]),
            match["op"],
            reason="the node's kernel is an ATen call",
        )


def called(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A call of an operator in the generated wrapper: each call is one site."""
    log = parse(record.text)
    if log and log.artifact != "output_code":
        return
    code = log.message if log else record.text[1:]  # the payload of a structured trace starts with a tab
    found = _CALL.match(code)
    if found and is_compute(found["op"]):
        report = base(rule, record, log, "*")
        yield named(
            report if log else report._replace(compile_id=compile_around(record)),
            found["op"],
            site=f"{log.frame if log else record.position} {code.strip()[:200]}",
            reason="the generated wrapper calls it: no kernel was generated",
        )


def called_where_formatted(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The same, of a wrapper in records of the program's own format: its lines have no prefix."""
    log = opened(record.text, match, "output_code")
    if log and not log.prefix:
        for line in until_next(record, LONGEST_WRAPPER):
            found = _CALL.match(line.text)
            if found and is_compute(found["op"]):
                report = base(rule, record, log, "*", position=record.position_at(line.at), text=line.text)
                yield named(
                    report,
                    found["op"],
                    site=line.text.strip()[:200],
                    reason="the generated wrapper calls it: no kernel was generated",
                )


LONGEST_WRAPPER = 50_000  # lines
_CALL = Pattern(
    r"\s+(?:[\w ,()]*= *)?"
    r"(?P<op>torch\.ops\.\w+\.\w+(?:\.\w+)?|aten\.\w+_(?:\.\w+)?|aten\.(?!\w*_?out\b)\w+(?:\.(?!\w*out\b)\w+)?)\("
)


def called_from_cpp(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A call through a C shim in a C++ wrapper; the check on a later line names the operator in full.

    Shims of library kernels (`aoti_torch_cpu_mm_out`, `..._convolution`) are no fallback.
    """
    log = parse(record.text)
    code = log.message if log and log.artifact == "output_code" else record.text
    found = _SHIM.search(code) if log or record.text.startswith("\t") else None
    if not found or (log and log.artifact != "output_code"):
        return
    shim = found["op"]
    if shim is None:
        reason = "the C++ wrapper calls it through the proxy executor"
        report = base(rule, record, log, "*", Scope.UNKNOWN, reason=reason, at_least=True)
        told = _result_of(record, log, code)
        yield named(report._replace(scope=Scope.OPERATOR), told) if told else report
    elif not _LIBRARY_SHIM.match(shim):
        further = messages(record, log, 4) if log else (line.text for line in record.following(4))
        full = next((name["op"] for line in further if (name := _CHECKED.search(line))), _of_shim(shim))
        reason = "the C++ wrapper calls its C shim: no kernel was generated"
        yield named(base(rule, record, log, "*"), full, reason=reason, site=f"{record.position}")


def _of_shim(shim: str) -> str:
    """The operator of a C shim, whose name is the operator's with its overload: `sort_stable`."""
    overload = _OVERLOAD.match(shim) if shim != "unique_dim" else None
    return f"aten.{overload['op']}.{overload['name']}" if overload else f"aten.{shim}"


_OVERLOAD = Pattern(
    r"(?P<op>\w+?)_(?P<name>[A-Z]\w*|stable|dim|values?|src|two|generator|low|dtype|float|int|correction)$"
)


def dispatched_from_cpp(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A call of an operator without a C shim in a C++ wrapper: by the dispatcher, or by a call back into Python."""
    log = parse(record.text)
    name = match["python"] or f"{match['op']}.{match['overload'] or 'default'}"
    if (not log or log.artifact == "output_code") and is_compute(name):
        reason = "the C++ wrapper calls it by the dispatcher or in Python: no kernel was generated"
        yield named(base(rule, record, log, "*"), name, reason=reason, site=f"{record.position}")


def _result_of(record: Record, log: LogRecord | None, code: str) -> str | None:
    """The operator that the check of a result names, where the result is a tensor that the call was given.

    Up to the next call, whose results are checked behind it.
    """
    further = messages(record, log, 12) if log else (line.text for line in record.following(12))
    for line in further:
        if "AOTI_TORCH_ERROR_CODE_CHECK(" in line:
            return None
        checked = _CHECKED_RESULT.search(line)
        if checked and re.search(rf"\b{checked['buffer']}\b", code):
            return checked["op"]
    return None


_SHIM = Pattern(r"\baoti_torch_(?:(?:cpu|cuda|xpu|mps|hpu)_(?P<op>\w+)|proxy_executor_call_function)\(")
_LIBRARY_SHIM = Pattern(
    r"\w*_out$|_*(?:mkldnn|mkl|onednn)_|convolution$|_*(?:scaled_|int_|grouped_)?mm$|addmm$|bmm$"
)
_CHECKED_RESULT = Pattern(r'assert_size_stride\((?P<buffer>\w+), .*"torch\.ops\.(?P<op>\w+\.\w+\.\w+)"')
_CHECKED = Pattern(r'"torch\.ops\.(?P<op>\w+\.\w+\.\w+)"')


def proxied(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """AOTInductor's call of an operator that has no C shim."""
    log = opened(record.text, match, None)
    if log:
        reason = "no C shim: called through the proxy executor"
        yield named(base(rule, record, log, match["op"]), match["op"], reason=reason)


def batching(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """vmap without a batching rule: the Python warning stands at the user's line the first time."""
    if parse(record.text):
        return
    file = match["file"]
    where = Location(file, int(match["line"])) if file and not is_library(file) else None
    report = named(base(rule, record, None, match["op"]), match["op"])
    yield report._replace(
        location=where,
        files=(file,) if where else (),
        reason="no batching rule: vmap runs the operator in a loop over the batch",
    )
