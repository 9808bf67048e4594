"""Room 3: what MindSpore's `jit(capture_mode="bytecode")` can't capture: breaks of a graph, functions left to Python.

    [DEBUG] PI(11,7f00,python):... StopTraceAt] [graph_break]
    Graph break at: In file /app/net.py:11
        if y.sum() > 2:

    Reason: Data-dependent conditional control flow is not supported

With `MS_JIT_BYTECODE_LOGS=graph_break` each break comes with its reason and the user's code that led there; at INFO
with the function that was cut. A function whose graph is refused is an ERROR, and named at INFO only.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.ascend.mindspore_code import (
    NAME,
    PLACE,
    RECORD,
    called,
    counted,
    files,
    location,
)
from fallback_gate.compilers.ascend.names import named
from fallback_gate.compilers.rule import Marker, Rule
from fallback_gate.model import Kind, Location, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_NEARBY = 40  # lines of INFO between a call that could not be inlined and the break in its caller
_CALLS = Pattern(r"(?P<call>[A-Za-z_][\w.]{0,200})\(")
_STATEMENT = Pattern(r"^\s*(?:if|elif|while|for|with|assert)\b")
_CODE_OBJECT = Pattern(
    r"<code object (?P<name>[\w<>.]{1,200}) at 0x\w{1,20}, file \"(?P<file>[^\"]{1,500})\", line (?P<line>-?\d{1,9})>"
)
_PARTS = Pattern(r"^(?:\d{1,6}[A-Z]\.)+")  # of a function that was cut: `1I.45B.gate`
_INLINED = "BuildSubGraph] Failed to build subgraph for call node "
_CALLEE = Pattern(r"function=<(?:bound method|function|method|built-in \w{1,10}) '?(?P<callee>[\w.]{1,200})")
_OWN = "/site-packages/mindspore/"


def _offending(said: str, inner: str | None) -> list[str]:
    """The call of the user's line that led to the one within the library, or else the line's first."""
    calls: list[str] = []
    while (found := _CALLS.search(said)) and len(calls) < 20:
        calls.append(found["call"])
        said = said[found.end() :]
    last = inner.rpartition(".")[2] if inner else None
    return [call for call in calls if call.rpartition(".")[2] == last][:1] or calls[:1]


def stopped(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The place and its code, the reason, and the user's code that led there, outermost first."""
    reason: str | None = None
    frames: list[Location] = []
    code: dict[Location, str] = {}
    for line in record.following(60):
        if RECORD.match(line.text):
            break
        if line.text.startswith("Reason: "):
            reason = line.text.removeprefix("Reason: ").strip()
        elif place := PLACE.search(line.text):
            frames.append(location(place))
        elif frames and line.text.strip():
            code.setdefault(frames[-1], line.text)
    report = named(rule, record, match)
    if not frames:
        yield report._replace(scope=Scope.UNKNOWN)
        return
    users = [frame for frame in frames[1:] if _OWN not in (frame.file or "")] or frames[:1]
    said, inner = code.get(users[-1], ""), called(code.get(frames[0]), None)
    calls = [] if _STATEMENT.match(said) else _offending(said, inner)
    names = tuple(dict.fromkeys((*calls, *([inner] if inner and calls else []))))
    yield report._replace(
        op=names[0] if names else "*",
        names=names,
        reason=reason or said.strip() or None,
        location=users[-1],
        files=tuple(dict.fromkeys(file for frame in reversed(users) for file in files(frame))),
    )


STOPPED = Rule(
    id="mindspore/bytecode-break",
    compiler=NAME,
    anchor=("StopTraceAt] [graph_break]",),
    pattern=r"\] StopTraceAt\] \[graph_break\]",
    kind=Kind.GRAPH_BREAK,
    scope=Scope.SITE,
    meaning="jit by bytecode can't capture what stands there: the graph ends, Python runs the code, another graph begins.",
    help="Take the call or the branch out of the function, or write it with mindspore.ops; fullgraph=True makes it an error.",
    seen_in="2.10 (run), MS_JIT_BYTECODE_LOGS=graph_break",
    matches=(
        "[DEBUG] PI(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/frontend/jit/pi/graph_capture/graph.cc:297] StopTraceAt] [graph_break] \nGraph break at: In file /app/net.py:13\n    z = y.asnumpy()\n\nReason: Unsupported function\n\nFrom user code:\nIn file /app/net.py:13\n    z = y.asnumpy()",
    ),
    ignores=("StopTraceAt [graph_break]",),
    read=stopped,
)


def _function(name: str) -> str:
    """The user's function: what is left of one that was cut is `1I.45B.gate`."""
    return _PARTS.sub("", name)


def broken(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The function and the place; a break within a callee is told by the break in its caller, which follows."""
    within = False
    for line in record.following(_NEARBY):
        within |= _INLINED in line.text
        if " break graph at: " in line.text:
            if within:
                return
            break
    name = _function(match["function"])
    report = named(rule, record, match, name)
    callee = None
    for line in record.preceding(_NEARBY):
        if _INLINED in line.text:
            callee = _CALLEE.search(line.text)
        if callee or " break graph at: " in line.text:
            break
    names = tuple(dict.fromkeys((name, callee["callee"]))) if callee else (name,)
    where = Location(match["file"], int(match["line"]), name)
    yield report._replace(names=names, stack=(name,), files=(match["file"],), location=where)


BROKEN = Rule(
    id="mindspore/bytecode-break-at",
    compiler=NAME,
    anchor=(" break graph at: ",),
    pattern=r"\] Function '(?P<function>[\w<>.]{1,200})' (?P<reason>break graph at: \d{1,9} [A-Z_]{2,60}).{0,200}, file \x22(?P<file>[^\x22]{1,500}?):(?P<line>\d{1,9})\x22",
    kind=Kind.GRAPH_BREAK,
    scope=Scope.SITE,
    meaning=STOPPED.meaning,
    help=STOPPED.help,
    seen_in="2.10 (run), INFO",
    matches=(
        "[INFO] PI(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/frontend/jit/pi/graph_capture/graph_build.cc:2251] DoByteCode] Function '1I.45B.gate' break graph at: 40 CALL 0 Loc(13,13,16,27), file \"/app/net.py:13\"",
    ),
    ignores=("Function 'gate' break graph at: somewhere",),
    read=broken,
)


def left_to_python(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The function, on the line itself or, at INFO, below the error."""
    code = _CODE_OBJECT.search(match["code"] or "")
    if match["error"] and (
        below := next(
            (line for line in record.following(_NEARBY) if "] CodeHook] Fall back to" in line.text), None
        )
    ):
        code = _CODE_OBJECT.search(below.text)
    report = named(rule, record, match)._replace(
        reason=match["error"] or "Python executes it", scope=Scope.REGION if code else Scope.UNKNOWN
    )
    if code is None:
        yield report
        return
    name, line = _function(code["name"]), int(code["line"])
    where = Location(code["file"], line if line > 0 else None, name)
    yield report._replace(op=name, names=(name,), stack=(name,), files=(code["file"],), location=where)


LEFT = Rule(
    id="mindspore/left-to-python",
    compiler=NAME,
    anchor=("JitCompileWithTry] got an unexpected", "CodeHook] Fall back to python execute: "),
    pattern=r"\] JitCompileWithTry\] (?P<error>got an unexpected (?:c\+\+|python) error \[.{0,300})"
    r"|\] CodeHook\] Fall back to python execute: (?P<code><code object .{1,900}>)",
    kind=Kind.EAGER_FRAME,
    scope=Scope.UNKNOWN,
    meaning="The function's bytecode, or what is left of it behind a break, could not be compiled: Python runs it, operator by operator.",
    help="The error tells what the graph does not hold, such as a NumPy array: keep it out of the function.",
    seen_in="2.10 (run), ERROR, and INFO which names the function",
    matches=(
        "[ERROR] PI(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/frontend/jit/pi/runtime.cc:704] JitCompileWithTry] got an unexpected c++ error [Illegal type in the graph: AbstractScalar(Type: External, Value: PythonObject(type: <class 'numpy.ndarray'>)",
        '[INFO] PI(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/frontend/jit/pi/runtime.cc:760] CodeHook] Fall back to python execute: <code object 5I.41B.gate at 0x7fe2b4a05930, file "/app/net.py", line -1>',
    ),
    read=left_to_python,
)

RULES = (STOPPED, BROKEN, LEFT)

CAPTURES = Marker(
    id="mindspore/captures-bytecode",
    compiler=NAME,
    anchor=("JitCompile] Start compile <code object ",),
    pattern=r"\] JitCompile\] Start compile <code object ",
    shows="jit by bytecode works in the process.",
    seen_in="2.10 (run), INFO",
    matches=(
        '[INFO] PI(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/frontend/jit/pi/runtime.cc:485] JitCompile] Start compile <code object gate at 0x7fe2e2280540, file "/app/net.py", line 8>',
    ),
    read=counted,
)
