"""Room 3: Dynamo's records of more than one line, read: graph breaks, skipped frames, limits, errors.

Every function here turns one record into reports. The rules that call them, with the lines that they
match, stand in `torch_dynamo_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from re import Match
from typing import Any

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch_log import (
    LogRecord,
    UserStack,
    frames,
    is_library,
    library_frames,
    opened,
    parse,
    until_next,
    user_stack,
)
from fallback_gate.events.names import function, operator
from fallback_gate.model import Kind, Location, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Line, Record

LONGEST_BREAK = 400  # lines of one graph-break record
LONGEST_ERROR = 450

_NEXT_BREAK = ("Graph break in user code at ", "Graph break (user stack suppressed ")
_ENVELOPING_REASON = Pattern(
    r"Encountered graph break when attempting|Failed to handle graph break gracefully"
    r"|Encountered graph break that we cannot resume from"
)
_GAVE_UP = "Skipping the function and falling back to eager"
_REST_IS_EAGER = "skipping the rest of the function"
_SKIPPED_FRAME = Pattern(r"frame skipped: (?P<function>\S+) \((?P<file>.+) line (?P<line>\d{1,9})\)")
_FUNCTION_OBJECT = Pattern(r"<(?:function|bound method|method) (?P<name>[\w.<>]+)(?: at 0x| of )")
_SKIPPED_CALL = Pattern(r"module: (?P<module>[\w.]+), qualname: (?P<name>[\w.]+)")
_METHOD = Pattern(r"method `(?P<name>\w+)` of class `(?P<owner>[\w.]+)`")
_OPERATOR = Pattern(r"(?<![\w./-])(?:torch\.ops\.)?(?P<name>[a-z_]\w*(?:\.|::)[a-z_]\w*\.[A-Za-z_]\w*)\b")
_BUILTIN = Pattern(r"builtin:? `?(?P<name>[\w.]+?)\.?`?(?: \[|\(| This|`|$)")
_ITEM_NAMES = ("Tensor.item", "aten::_local_scalar_dense")


def base(
    rule: Rule, record: Record, log: LogRecord | None, op: str, scope: Scope | None = None, **facts: Any
) -> Report:
    """A report with what every rule fills the same way, and the facts of this record."""
    told = {
        "id": rule.id,
        "compiler": rule.compiler,
        "kind": rule.kind,
        "scope": scope or rule.scope,
        "op": op,
        "position": record.position,
        "text": record.text,
        "pid": log.pid if log else None,
        "when": log.when if log else None,
        "compile_id": (log.frame or None) if log else None,
        "at_least": rule.at_least,
        "help": rule.help,
        **facts,
    }
    return Report(**told)


def further(
    record: Record, log: LogRecord, limit: int, until: str | tuple[str, ...] | None = None
) -> Iterator[Line]:
    """The record's further physical lines, up to one that opens the next record."""
    if log.prefix:
        return record.continued(log.prefix, limit, until, log.opens)
    return until_next(record, limit)


def messages(record: Record, log: LogRecord, limit: int, until: str | None = None) -> Iterator[str]:
    """The messages of these lines."""
    return (line.text for line in further(record, log, limit, until))


def graph_break(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A graph-break record: the break, and the frame that was given up because of it, if any."""
    log = opened(record.text, match, "graph_breaks")
    if not log:
        return
    lines = list(further(record, log, LONGEST_BREAK, _NEXT_BREAK))
    yield from break_reports(rule, record, log, match, lines)


def break_reports(
    rule: Rule, record: Record, log: LogRecord, match: Match[str], record_lines: list[Line]
) -> Iterable[Report]:
    """The reports of a graph-break text, of which `match` is the header and `record_lines` the rest."""
    lines = [line.text for line in record_lines]
    reason, nested = _reason(lines)
    traceback = _traceback_after("User code traceback:", lines)
    stack = user_stack(traceback)
    broken = _broken(stack, traceback)
    where = Location(match["file"], int(match["line"]), broken.function if broken else None)
    files = stack.files or (match["file"],)
    inside = library_frames(traceback) if is_library(match["file"]) else ()
    offending = _offending_call(reason, lines)
    disabled = "disable" in reason and offending
    called = tuple(dict.fromkeys((*offending, *(frame.function for frame in inside if frame.function))))
    op = called[0] if disabled else where.function or "*"
    event = base(
        rule,
        record,
        log,
        op,
        names=tuple(dict.fromkeys((op, *called))) if op != "*" else called,
        stack=stack.functions,
        files=files,
        reason=reason or None,
        location=where,
    )
    yield event
    giving_up = (line for line in record_lines if "frame skipped: " in line.text)
    skipped = next(((m, line) for line in giving_up if (m := _SKIPPED_FRAME.search(line.text))), None)
    if skipped:
        named, told = skipped
        frame = function(named["function"])
        place = Location(named["file"], int(named["line"]), frame)
        yield event._replace(
            id="torch/frame-skipped",
            kind=Kind.EAGER_FRAME,
            scope=Scope.REGION,
            op=frame,
            names=(frame,),
            stack=_from(stack.functions, frame),
            files=(named["file"], *(f for f in files if f != named["file"])),
            position=record.position_at(told.at),
            text=told.text,
            reason=f"{nested or 'graph break'}; the whole frame runs in eager ({reason})",
            location=place,
        )
    elif any(_GAVE_UP in line for line in lines[:3]):
        yield event._replace(
            id="torch/frame-skipped",
            kind=Kind.EAGER_FRAME,
            scope=Scope.REGION,
            reason=f"the frame that was traced here runs in eager ({reason})",
        )
    elif any(_REST_IS_EAGER in line for line in lines[:3]):
        yield event._replace(
            id="torch/rest-of-function-eager",
            kind=Kind.EAGER_FRAME,
            scope=Scope.REGION,
            op=where.function or "*",
            reason=f"Dynamo cannot resume here: the rest of the function runs in eager ({reason})",
        )


def old_graph_break(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A graph-break record of 2.0 to 2.7: the user's frames, then PyTorch's own traceback with the reason.

    From 2.4 the same words close the warning of `Tensor.item()`, which has no artifact.
    """
    log = opened(record.text, match, "graph_breaks", None)
    if not log or (log.artifact is None and log.pid is not None):
        return
    lines = [match["rest"] or "", *messages(record, log, LONGEST_BREAK, until="Graph break")]
    own = next((i for i, line in enumerate(lines) if line.startswith("Traceback ")), len(lines))
    stack = user_stack(lines[:own])
    said = match["reason"].strip()
    given_up = said == "skip:"  # 2.7: the frame, for what was raised first
    raised_at = [at for at in range(own, len(lines)) if _RAISED.match(lines[at])]
    cause = lines[raised_at[0 if given_up else -1] :] if raised_at else []
    reason = said if said and not given_up else cause[0].partition(": ")[2] if cause else ""
    where = _broken(stack, lines[:own])
    called = _old_call(reason) or _offending_call(reason, cause)
    op = called[0] if "disable()" in reason and called else (where.function if where else None) or "*"
    yield base(
        rule,
        record,
        log,
        op,
        names=tuple(dict.fromkeys((op, *called))) if op != "*" else called,
        stack=stack.functions,
        files=stack.files,
        reason=reason or None,
        location=where,
    )


def _old_call(reason: str) -> tuple[str, ...]:
    """The call that broke the graph, from the reasons of 2.0 to 2.6."""
    if reason.startswith("Tensor.item"):
        return _ITEM_NAMES
    if "graph_break in " in reason:
        return ("torch._dynamo.graph_break",)
    if found := _FUNCTION_OBJECT.search(reason):
        return (found["name"],)
    found = _OLD_BUILTIN.search(reason)
    return (found["name"],) if found else ()


_OLD_BUILTIN = Pattern(
    r"(?:unsupported builtin |builtin: |BuiltinVariable\(|UserDefinedObjectVariable\()(?P<name>[\w.]*\w)"
)


def _reason(lines: list[str]) -> tuple[str, str | None]:
    """The kind of break that PyTorch names, and the one that came while it was handled."""
    reason, nested = "", None
    for at, line in enumerate(lines):
        if line.startswith("Graph Break Reason: "):
            reason = line.removeprefix("Graph Break Reason: ").strip()
            if _ENVELOPING_REASON.match(reason):
                reason = next((x.strip() for x in lines[at + 1 : at + 6] if x.strip()), reason)
        elif "another graph break occurred" in line:
            nested = next((x.strip() for x in lines[at + 1 : at + 6] if x.strip()), None)
            break
    return reason, nested


def _traceback_after(opening: str, lines: list[str]) -> list[str]:
    at = next((i for i, line in enumerate(lines) if line.startswith(opening)), len(lines))
    return lines[at + 1 :]


def _broken(stack: UserStack, traceback: list[str]) -> Location | None:
    """The frame that broke: the user's innermost; where a library's object was compiled, the library's."""
    if not stack.functions and (inside := library_frames(traceback)):
        return inside[0]
    return stack.innermost


def _from(stack: tuple[str, ...], frame: str) -> tuple[str, ...]:
    """The part of a stack from a frame outwards; the frame alone if the stack lacks it."""
    return stack[stack.index(frame) :] if frame in stack else (frame,)


def _offending_call(reason: str, lines: Iterable[str]) -> tuple[str, ...]:
    """The names of the call that broke the graph, as far as the record tells them."""
    if "Tensor.item()" in reason:
        return _ITEM_NAMES
    text = "\n".join(line for line in islice(lines, 30) if not line.lstrip().startswith("Hint:"))
    if "torch._dynamo.graph_break()" in reason:
        return ("torch._dynamo.graph_break",)
    if ("disable" in reason or "function" in reason or "callable" in reason) and (
        found := _FUNCTION_OBJECT.search(text)
    ):
        return (found["name"].replace("<locals>.", ""),)
    if found := _SKIPPED_CALL.search(text):
        return (f"{found['module']}.{found['name']}",)
    if found := _METHOD.search(text):
        return (f"{found['owner']}.{found['name']}",)
    if "builtin" in reason and (found := _BUILTIN.search(text)):
        return (found["name"],)
    if ("perator" in reason or "fake" in reason.lower()) and (found := _OPERATOR.search(text)):
        return tuple(dict.fromkeys((operator(found["name"]), found["name"])))
    return ()


def item_warning(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The default level's warning of `Tensor.item()`: the user's frames follow in the same record."""
    log = opened(record.text, match, None)
    if not log:
        return
    traceback = list(messages(record, log, 60, until="Graph break from "))
    stack = user_stack(traceback)
    where = _broken(stack, traceback)
    op = (where.function if where else None) or "Tensor.item"
    yield base(
        rule,
        record,
        log,
        op,
        names=tuple(dict.fromkeys((op, *_ITEM_NAMES))),
        stack=stack.functions,
        files=stack.files,
        reason="Tensor.item() while capture_scalar_outputs is off",
        location=where,
    )


def untraceable_builtin(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The Python warning of a builtin or C function that Dynamo can't trace: it names no user code."""
    if parse(record.text):
        return
    name = match["op"].rstrip(".")
    yield base(rule, record, None, name, names=(name,), reason=f"Dynamo cannot trace {name}")


def wont_convert(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A frame that Dynamo gave up: at WARNING a swallowed error, at INFO after a break or a limit."""
    log = opened(record.text, match, None)
    if not log:
        return
    name = function(match["function"])
    place = Location(match["file"], int(match["line"]), name)
    further = messages(record, log, LONGEST_ERROR, until="WON'T CONVERT")
    cause = next((message.strip() for message in further if _RAISED.match(message)), "")
    limit = "recompile limit exceeded" in cause or "cache_size_limit" in cause
    report = base(
        rule, record, log, name, names=(name,), stack=(name,), files=(match["file"],), location=place
    )
    if log.level == "I":
        kind = Kind.RECOMPILE_LIMIT if limit else Kind.EAGER_FRAME
        yield report._replace(kind=kind, reason=cause or "the frame runs in eager")
    else:
        yield report._replace(reason=cause or "compiling failed; the error was suppressed")


_RAISED = Pattern(r"[A-Za-z_][\w.]*(?:Error|Exception|Failed|Unsupported|Hit|Exceeded|Node)\w*: ")


def skipped_in_loop(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Up to 2.12, at INFO: a frame given up for a break in a loop; the frame is on the next line."""
    log = opened(record.text, match, None)
    if not log:
        return
    for message in messages(record, log, 3):
        found = _FRAME_SUMMARY.search(message)
        if found:
            name = function(found["function"])
            yield base(
                rule,
                record,
                log,
                name,
                names=(name,),
                stack=(name,),
                files=(found["file"],),
                location=Location(found["file"], int(found["line"]), name),
                reason="graph break in a loop: the whole frame runs in eager",
            )
            return
    yield base(rule, record, log, "*", reason="graph break in a loop: a whole frame runs in eager")


_FRAME_SUMMARY = Pattern(r"<FrameSummary file (?P<file>.+), line (?P<line>\d{1,9}) in (?P<function>[^>]+)>")


def recompile_limit(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The recompile or cache-size limit: from then on the function runs in eager for new inputs."""
    log = opened(record.text, match, None)
    if not log:
        return
    reason, op, where = match["limit"], "*", None
    lines = list(messages(record, log, 12, until="torch._dynamo hit"))
    for line in lines:
        if found := _LIMITED_FUNCTION.search(line):
            op = function(found["function"])
            where = Location(found["file"], int(found["line"]), op)
        elif found := _LAST_REASON.search(line):
            reason = f"{match['limit']}: {found['reason'].strip()}"
    stack = user_stack(lines)
    yield base(
        rule,
        record,
        log,
        op,
        None if where else Scope.UNKNOWN,
        names=(op,) if where else (),
        stack=tuple(dict.fromkeys(((op,) if where else ()) + stack.functions)),
        files=tuple(dict.fromkeys(((where.file,) if where and where.file else ()) + stack.files)),
        location=where,
        reason=reason,
    )


_LIMITED_FUNCTION = Pattern(r"function: '(?P<function>.+)' \((?P<file>.+):(?P<line>\d{1,9})\)")
_LAST_REASON = Pattern(r"last reason: (?P<reason>.+)")


def raised(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """An exception of the compiler that ended the program: the last lines of a Python traceback."""
    if parse(record.text):
        return
    error, said = match["error"], match["reason"].strip()
    if "recompile limit exceeded" in said or error.endswith("FailOnRecompileLimitHit"):
        yield base(
            rule,
            record,
            None,
            "*",
            Scope.UNKNOWN,
            id="torch/recompile-limit",
            kind=Kind.RECOMPILE_LIMIT,
            reason=said,
            hint=True,
        )
        return
    lines = []
    for line, _ in record.following(80):
        if _RAISED.match(line) or line.startswith("Traceback "):
            break
        lines.append(line)
    at = next((i for i, line in enumerate(lines) if line.startswith("from user code")), None)
    stack = user_stack(lines[at + 1 :] if at is not None else ())
    called = _offending_call(said, lines)
    where = stack.innermost or next(iter(frames(_quoted_frames(lines))), None)
    op = called[0] if "disable" in said and called else (where.function if where else None) or "*"
    names = ((op,) if op != "*" else ()) + called + ((where.function,) if where and where.function else ())
    yield base(
        rule,
        record,
        None,
        op,
        names=tuple(dict.fromkeys(names)),
        stack=stack.functions or ((where.function,) if where and where.function else ()),
        files=stack.files or ((where.file,) if where and where.file else ()),
        location=where,
        reason=f"{error.rsplit('.', 1)[-1]}: {said}",
    )


def _quoted_frames(lines: Iterable[str]) -> Iterator[str]:
    """Frames that an explanation quotes in a comment: `# File "f.py", line 29, in g, code: ...`."""
    for line in lines:
        if found := re.search(r'# (File "[^"]+", line \d+, in \w+)', line):
            yield found[1]


def backend(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A graph handed to a back end that generates no code: all of it runs operator by operator."""
    log = opened(record.text, match, None)
    if log:
        name = match["backend"]
        yield base(rule, record, log, "*", reason=f"backend={name}: the graph runs in eager")


def nothing_traced(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The list of frames at exit, empty: torch.compile was switched off or never reached.

    Not where Inductor got a graph without Dynamo (torch.export, AOTInductor), as the times behind the list tell.
    """
    log = opened(record.text, match, None)
    if log and traced_frames(record, log) == [] and not _inductor_ran(record, log):
        yield base(
            rule,
            record,
            log,
            "*",
            reason="no frame was traced: compiling was switched off (TORCHDYNAMO_DISABLE, a stance, a disabled forward)",
        )


def _inductor_ran(record: Record, log: LogRecord) -> bool:
    """Whether the table of times at exit, which stands behind the list of frames, has Inductor's."""
    others = (parse(line.text) for line in record.following(MOST_TIMES))
    return any(other and other.pid == log.pid and _LOWERED.match(other.message) for other in others)


MOST_TIMES = 1_000  # lines
_LOWERED = Pattern(r"(?:GraphLowering\.run|AotCodeCompiler\.compile), ")


def traced_frames(record: Record, log: LogRecord) -> list[tuple[str, str]] | None:
    """The frames that the list at exit names, as (function, file:line); None where the list is cut."""
    listed: list[tuple[str, str]] = []
    for message in messages(record, log, 100_000):
        if message.startswith("]"):
            return listed
        if found := re.match(r"\s*\* (?P<function>\S+) (?P<place>.+)$", message):
            listed.append((found["function"], found["place"]))
    return None


def tracing_disabled(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A frame that was not traced since tracing is disabled as a whole (TORCH_COMPILE_DISABLE)."""
    log = opened(record.text, match, None)
    if log:
        name = match["function"]
        yield base(
            rule,
            record,
            log,
            "*",
            names=(name,),
            files=(match["file"],),
            reason="Dynamo tracing is disabled: everything runs in eager",
        )


def resumed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A frame that exists only because a graph broke: all that INFO shows of a break."""
    log = opened(record.text, match, None)
    if log:
        name = function(match["function"])
        yield base(
            rule,
            record,
            log,
            name,
            names=(name,),
            stack=(name,),
            files=(match["file"],),
            location=Location(match["file"], int(match["line"]), name),
            reason="the function was resumed after a graph break",
            hint=True,
        )
