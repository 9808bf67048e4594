"""Room 3: the C++ wrapper that Inductor generates: the operators that it calls, each in the way it has.

A C shim where there is one, else the dispatcher, a call back into Python, or the proxy executor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch.inductor import KERNEL_HELP, KERNEL_MEANING, is_compute, of_operator
from fallback_gate.compilers.torch.log import NAME, LogRecord, base, messages, opened, parse
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_CODE = "V1130 00:31:36.193000 5156 torch/_inductor/graph.py:2722] [0/0] [__output_code] "
_SHIM = Pattern(r"\baoti_torch_(?:(?:cpu|cuda|xpu|mps|hpu)_(?P<op>\w+)|proxy_executor_call_function)\(")
_LIBRARY_SHIM = Pattern(
    r"\w*_out$|_*(?:mkldnn|mkl|onednn)_|convolution$|_*(?:scaled_|int_|grouped_)?mm$|addmm$|bmm$"
)
_CHECKED_RESULT = Pattern(r'assert_size_stride\((?P<buffer>\w+), .*"torch\.ops\.(?P<op>\w+\.\w+\.\w+)"')
_CHECKED = Pattern(r'"torch\.ops\.(?P<op>\w+\.\w+\.\w+)"')
_OVERLOAD = Pattern(
    r"(?P<op>\w+?)_(?P<name>[A-Z]\w*|stable|dim|values?|src|two|generator|low|dtype|float|int|correction)$"
)
_MOST_BETWEEN = 24  # lines
_SOURCE = Pattern(
    r"// Topologically Sorted Source Nodes: \[[^\]]*\], Original ATen: \[(?P<op>\w+\.\w+)\]\s*$"
)
_MADE = Pattern(
    r"AtenTensorHandle \w+_handle;|\(&\w+_handle\)\);|RAIIAtenTensorHandle \w+\(|\bint_array_\d+\[\] = "
)


def called(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
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
        told = _result_of(record, log, code) or _source_of(record)
        if told:
            yield of_operator(rule, record, log, told, scope=Scope.OPERATOR, reason=reason, at_least=True)
        else:
            yield base(rule, record, log, "*", Scope.UNKNOWN, reason=reason, at_least=True)
    elif not _LIBRARY_SHIM.match(shim):
        further = messages(record, log, 4) if log else (line.text for line in record.following(4))
        full = next((name["op"] for line in further if (name := _CHECKED.search(line))), _of_shim(shim))
        reason = "the C++ wrapper calls its C shim: no kernel was generated"
        yield of_operator(rule, record, log, full, reason=reason, site=f"{record.position}")


def _of_shim(shim: str) -> str:
    """The operator of a C shim, whose name is the operator's with its overload: `sort_stable`."""
    overload = _OVERLOAD.match(shim) if shim != "unique_dim" else None
    return f"aten.{overload['op']}.{overload['name']}" if overload else f"aten.{shim}"


def dispatched(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A call of an operator without a C shim in a C++ wrapper: by the dispatcher, or by a call back into Python."""
    log = parse(record.text)
    name = match["python"] or f"{match['op']}.{match['overload'] or 'default'}"
    if (not log or log.artifact == "output_code") and is_compute(name):
        reason = "the C++ wrapper calls it by the dispatcher or in Python: no kernel was generated"
        yield of_operator(rule, record, log, name, reason=reason, site=f"{record.position}")


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


def _source_of(record: Record) -> str | None:
    """The operator that the comment above a call names, where it names one: only the call's results are made between."""
    for text, _ in record.preceding(_MOST_BETWEEN):
        if found := _SOURCE.search(text):
            return found["op"]
        if not _MADE.search(text):
            return None
    return None


def proxied(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """AOTInductor's call of an operator that has no C shim."""
    log = opened(record.text, match, None)
    if log:
        reason = "no C shim: called through the proxy executor"
        yield of_operator(rule, record, log, match["op"], reason=reason)


DISPATCHED = Rule(
    id="torch/fallback-kernel",
    compiler=NAME,
    anchor=("aoti_torch_call_dispatcher", ", 0, PyUnicode_FromString(", "findSchemaOrThrow("),
    pattern=r"(?:^\t|\[__output_code\] )\s*(?:(?:aoti_torch_call_dispatcher|static auto op = c10::Dispatcher::singleton\(\)\.findSchemaOrThrow)\(\"(?P<op>\w+::\w+)\", \"(?P<overload>\w*)\""
    r"|PyTuple_SetItem\(py_args_\d+, 0, PyUnicode_FromString\(\"(?P<python>[\w.]+)\"\)\))",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning=KERNEL_MEANING,
    help=KERNEL_HELP,
    seen_in="2.14.1 (run), 2.7 (source), artifact output_code of a C++ wrapper: operators without a C shim",
    matches=(
        _CODE + '            aoti_torch_call_dispatcher("meshnet::edge_norm", "", dispatch_vars.data())',
        _CODE + '    PyTuple_SetItem(py_args_1, 0, PyUnicode_FromString("torch.ops.mylib.update_.default"));',
        _CODE
        + '    static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("mylib::gather_all", "out");',
    ),
    ignores=(
        'aoti_torch_call_dispatcher("meshnet::edge_norm", "", dispatch_vars.data())',
        _CODE + '    PyTuple_SetItem(py_args_1, 1, PyUnicode_FromString("torch.ops.mylib.update_.default"));',
    ),
    read=dispatched,
)


CALLED = Rule(
    id="torch/fallback-kernel",
    compiler=NAME,
    anchor=(
        "aoti_torch_cpu_",
        "aoti_torch_cuda_",
        "aoti_torch_xpu_",
        "aoti_torch_mps_",
        "aoti_torch_proxy_executor_call",
    ),
    pattern=r"(?:^\t|\[__output_code\]).*AOTI_TORCH_ERROR_CODE_CHECK\(|aoti_torch_proxy_executor_call_function\(",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=KERNEL_MEANING,
    help=KERNEL_HELP,
    seen_in="2.7.1 and 2.14.1, artifact output_code of a C++ wrapper (TORCHINDUCTOR_CPP_WRAPPER=1)",
    matches=(
        _CODE
        + "    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_topk(buf1, 3L, -1L, 1, 1, &buf3_handle, &buf4_handle));",
        _CODE
        + "    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_proxy_executor_call_function(proxy_executor, 0, 0, nullptr, 2, args));",
    ),
    ignores=(
        _CODE + "    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_mm_out(buf0, arg0_1, arg1_1));",
        _CODE
        + "    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(2, int_array_0, int_array_1, 6, 0, 0, &buf0_handle));",
    ),
    read=called,
)


PROXIED = Rule(
    id="torch/fallback-kernel",
    compiler=NAME,
    anchor=("using proxy executor as fallback",),
    pattern=r"(?<![\w.:])(?P<op>\w[\w.:]+) is missing a c-shim implementation, using proxy executor as fallback",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The ahead-of-time package calls this operator through the interpreter-like proxy executor.",
    help=KERNEL_HELP,
    seen_in="2.13, WARNING of AOTInductor",
    matches=(
        "W1130 00:42:05.094000 12430 torch/_inductor/graph.py:1002] [0/0] "
        "aten.median.dim is missing a c-shim implementation, using proxy executor as fallback",
    ),
    at_least=True,
    read=proxied,
)
