r"""tvm.build: models that TVM can't import, and builds that end in an error, whichever of its compilers ran.

    AssertionError: Unsupported function types ['special_bessel_j0.default']
    tvm.error.OpNotImplemented: The following operators are not supported for frontend ONNX: Foo, Bar

**What falls back.** Nothing runs through TVM: the program ended, or its author caught the error and went on
without the compiler.

**At which setting it speaks.** Always: the error is a Python exception, of TVM's own types or of any (`KeyError`,
`ValueError`) under frames of TVM's compiler. Some texts are known without a traceback too, as where the program
caught the error and printed it.

**When it is silent.** Where the exception was caught and not printed. An error while a tuner tries a
candidate is no failed build, and is left out.

**What proves the end.** Nothing: that no error is in a log does not show that the build ended.

Wording seen in 0.27 (run), and in the source of 0.7 to 0.19 for Relay's importers.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.raised import of_user, raised
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.compilers.torch.user_stack import user_stack
from fallback_gate.compilers.tvm import names
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.model.names import operator
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "tvm.build"
MOST_OPERATORS = 200

_NAME = Pattern(r"(?P<name>[A-Za-z_][\w.:]*)")
_QUOTED = Pattern(r"['\x22](?P<name>[A-Za-z_][\w.:]*)['\x22]")
_NATIVE = Pattern(r"^\s*File \x22(?:[^\x22]{1,500}\.(?:cc|cpp|cu|h|hpp|pxi|pyx)|<[^\x22]{1,100}>)\x22, line ")
_TUNING = Pattern(
    r"Error in (?:building|running)|Trial #|MeasureResult|Sending \d+ sample|RPCRunner|LocalBuilder"
    r"|[\\/](?:autotvm|auto_scheduler)[\\/]measure|[\\/]meta_schedule[\\/](?:runner|builder)[\\/]"
)


def _traceback(record: Record) -> list[str] | None:
    """The traceback above an error, outermost frame first; None where a tuner or another compiler raised it."""
    lines: list[str] = []
    opened = False
    for line in record.preceding(120):
        if opened:
            return None if _TUNING.search(line.text) else lines[::-1]
        lines.append(line.text)
        if "tilelang/" in line.text or _TUNING.search(line.text):
            return None
        opened = line.text.startswith("Traceback (most recent call last):")
    return lines[::-1] if opened else []


def _placed(report: Report, lines: list[str]) -> Report:
    """The report, with the frames of the user's own code."""
    stack = user_stack(line for line in of_user(lines, "tvm") if not _NATIVE.search(line))
    return report._replace(stack=stack.functions, files=stack.files, location=stack.innermost)


def unsupported(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """One report for each operator that the importer lacks."""
    report = _placed(
        by_groups(rule, record, match)._replace(reason=match[0].strip()), _traceback(record) or []
    )
    listed = match["types"] or match["listed"] or match["one"] or ""
    found: list[str] = []
    shape = _QUOTED if _QUOTED.search(listed) else _NAME  # `set([u'Abs'])` of Python 2
    while (name := shape.search(listed)) and len(found) < MOST_OPERATORS:
        found.append(name["name"].strip(".:"))
        listed = listed[name.end() :]
    for said in dict.fromkeys(found):
        yield names.named(report, _spelled(said, aten=bool(match["types"])))
    if not found:
        yield report._replace(scope=Scope.UNKNOWN)


def _spelled(said: str, *, aten: bool) -> tuple[str, ...]:
    """The names of an operator of a framework: `special_bessel_j0.default` of torch.fx, `aten::sort`, `Conv`."""
    if "::" in said:
        return tuple(dict.fromkeys((operator(said), said, said.rpartition("::")[2])))
    bare = said.partition(".")[0] if aten else said
    return tuple(dict.fromkeys((bare, said, f"aten::{bare}"))) if aten else (bare,)


UNSUPPORTED = Rule(
    id="tvm-build/unsupported-operator",
    compiler=NAME,
    anchor=(
        "Unsupported function types ",
        "The following operators are not ",
        "OpNotImplemented: Operator ",
        "OpAttributeUnImplemented: ",
    ),
    pattern=r"(?:^|(?<=\s))Unsupported function types (?P<types>[\[{(]['\x22].+)"
    r"|^(?:\s*[\w.]*(?:Error|Implemented|UnImplemented): |.{0,300}?(?=The following operators are not \w+ (?:for|in) frontend \w+: ))"
    r"(?:The following operators are not (?:supported|implemented)(?: (?:for|in) frontend \w+)?: ?(?P<listed>.*)"
    r"|Operator (?P<one>[\w.:]+)(?: \w+)? is not (?:supported|implemented) (?:for|in) frontend \w+)",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="TVM's importer has no converter for the operator: the model is not imported, nothing is compiled.",
    help="Register a converter (convert_map, custom_convert_map), or rewrite the operator in the model.",
    seen_in="0.7 to 0.27, an exception",
    matches=(
        "AssertionError: Unsupported function types ['special_bessel_j0.default', 'foo.Tensor']",
        "tvm.error.OpNotImplemented: The following operators are not supported for frontend ONNX: Foo, Bar",
        "NotImplementedError: The following operators are not implemented: ['aten::special_bessel_j0']",
        "NotImplementedError: The following operators are not implemented: set([u'Abs', u'RandomUniform'])",
        "tvm.error.OpNotImplemented: Operator Foo is not supported for frontend TFLite.",
        "TVM import failed, serving eager: Unsupported function types ['histc.default']",
        "onnx import failed: The following operators are not supported for frontend ONNX: Foo, Bar",
    ),
    ignores=(
        '    assert not missing_func_types, f"Unsupported function types {missing_func_types}"',
        "The following operators are not supported by the exporter: x",
    ),
    read=unsupported,
)


_INTRINSIC = Pattern(r"\bintrinsic (?:now: ?)?Op\((?P<op>(?:relax|tir)\.[\w.]{1,120})\)")


def failed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """An error that TVM raised and nobody caught; the user's frames are above it."""
    lines = _traceback(record)
    if lines is not None:
        report = _placed(by_groups(rule, record, match), lines)
        if lacked := _INTRINSIC.search(match["reason"]):
            op = lacked["op"]
            yield report._replace(op=op, names=(op, op.rpartition(".")[2]), scope=Scope.OPERATOR)
        else:
            yield report._replace(op=report.stack[0] if report.stack else "*", names=report.stack[:1])


FAILED = Rule(
    id="tvm-build/error",
    compiler=NAME,
    anchor=("tvm.error.", "TVMError: ", "RuntimeError: Memory verification failed with"),
    pattern=r"^\s*(?:tvm\.error\.(?!OpNotImplemented|OpAttributeUnImplemented)\w+|(?:tvm\._ffi\.base\.)?TVMError|RuntimeError(?=: Memory verification failed with the following errors:)): (?P<reason>(?!.*Codegen is not found: |T\.tma_copy\(\) cannot fall back to normal copy).*)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="TVM raised an error: the program ended, or its author caught it and went on without the compiler.",
    help="Read the traceback above the line.",
    seen_in="0.7 to 0.27, an exception",
    matches=(
        "tvm.error.InternalError: Check failed: (it != functions.end()) is false",
        "tvm._ffi.base.TVMError: Traceback (most recent call last):",
        "TVMError: Check failed: false == true",
        "TVMError: unknown intrinsic Op(tir.acos)",
        "RuntimeError: Memory verification failed with the following errors:",
    ),
    ignores=(
        "    raise tvm.error.InternalError(msg)",
        "except TVMError: pass",
        "tvm.error.InternalError: Check failed: (codegen.has_value()) is false: Codegen is not found: relax.ext.dnnl",
        "tvm.error.InternalError: T.tma_copy() cannot fall back to normal copy in LowerBulk: x, src=A, dst=As",
    ),
    read=failed,
)


def refused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """What the build of a function was refused for, as an exception says or the program that caught it."""
    lines = _traceback(record)
    if lines is not None:
        yield _placed(by_groups(rule, record, match), lines)


REFUSED = Rule(
    id="tvm-build/refused",
    compiler=NAME,
    anchor=(
        "Memory verification failed with the following errors",
        "Cannot find global function target.build.",
    ),
    pattern=r"^(?!\s*RuntimeError: Memory verification)(?:[^\x22]{0,300}?\W)?"
    r"(?P<reason>Memory verification failed with the following errors|Cannot find global function target\.build\.\w{1,40})",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="A function was not scheduled for the GPU, or this build of TVM has no code generator for the target: the "
    "program ended, or its author caught the error and went on without the compiler.",
    help="Schedule the function (dlight, MetaSchedule), or build TVM with the target.",
    seen_in="0.25 and 0.27 (run), an exception",
    matches=(
        "ValueError: Cannot find global function target.build.vulkan",
        "compile failed, fallback to torch: RuntimeError Memory verification failed with the following errors:",
    ),
    ignores=("RuntimeError: Memory verification failed with the following errors:",),
    read=refused,
)

_OWN_FRAME = (
    r"File \x22[^\x22]{1,500}\x22, line \d{1,7}, in (?:tvm_ffi\.core\.|tvm\._ffi\._c)"
    r"|File \x22[^\x22]{1,500}/tvm/rel(?:ax/(?:frontend|backend)|ay/(?:frontend|op/contrib))/"
)
_OWN = Pattern(_OWN_FRAME)
_OF_THE_COMPILER = Pattern(r"[\\/]tvm[\\/](?!runtime[\\/]|rpc[\\/]|_ffi[\\/]|ffi[\\/])\w+[\\/]")
_TOLD = Pattern(  # by the rules above, or by another reader
    r"tvm\.error\.|TVMError$|(?:tvm\.)?(?:\w+\.)*Op(?:Not|AttributeUn)Implemented$"
)
_TOLD_TEXT = Pattern(
    r"Unsupported function types|The following operators are not|Memory verification failed|Cannot find global function target\.build\."
)


def exception(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """An exception of any type that TVM's compiler raised, told by its frames."""
    found = raised(record, _OWN)
    if found is None or _TOLD.match(found.type) or _TOLD_TEXT.search(found.text):
        return
    if not any(map(_OF_THE_COMPILER.search, found.frames)):
        return
    if any("tilelang" in frame or _TUNING.search(frame) for frame in found.frames):
        return
    report = _placed(by_groups(rule, record, match), found.frames)
    yield report._replace(
        op=report.stack[0] if report.stack else "*",
        names=report.stack[:1],
        position=record.position_at(found.line.at),
        text=found.line.text,
        reason=f"{found.type}: {found.text}"[:500],
    )


_FRAMES = 'Traceback (most recent call last):\n  File "/app/serve.py", line 9, in <module>\n'
_FFI = '  File "python/tvm_ffi/cython/function.pxi", line 1038, in tvm_ffi.core.Function.__call__\n'
RAISED = Rule(
    id="tvm-build/exception",
    compiler=NAME,
    anchor=(
        "tvm_ffi.core.",
        "tvm._ffi._c",
        "tvm/relax/frontend/",
        "tvm/relay/frontend/",
        "tvm/relax/backend/",
        "tvm/relay/op/contrib/",
    ),
    pattern=_OWN_FRAME,
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning=FAILED.meaning,
    help=FAILED.help,
    seen_in="0.16 to 0.27 (run), an exception of any type",
    matches=(
        _FRAMES
        + '  File "/opt/venv/tvm/ir/transform.py", line 171, in __call__\n'
        + _FFI
        + "\nKeyError: 'T.float16'",
        _FRAMES
        + '  File "/opt/venv/tvm/relax/frontend/onnx/onnx_frontend.py", line 6467, in from_onnx\nKeyError: 23',
    ),
    ignores=(
        _FRAMES + '  File "/opt/venv/tvm/runtime/vm.py", line 80, in __call__\n' + _FFI + "ValueError: shape",
        _FRAMES
        + '  File "/opt/venv/tvm/ir/transform.py", line 171, in __call__\n'
        + _FFI
        + "tvm.error.InternalError: x",
        _FFI + "KeyError: 'T.float16'",
    ),
    read=exception,
)

REQUIRED = frozenset({Kind.COMPILE_ERROR})
RULES = (UNSUPPORTED, FAILED, REFUSED, RAISED)


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=(),
    required=REQUIRED,
    prove=shared.unended(
        "TVM raised an error, and nothing in the log shows that the model was compiled after all",
        "",
        *REQUIRED,
    ),
    manual=__doc__,
    silent="no: the build ends in an error",
    seen_in="0.7 to 0.27 (0.27 run)",
)
