"""Room 3: Dynamo's graph breaks, read in each form that a version or level gives them.

Every function here turns one record into reports. The rules that call them, with the lines that they
match, stand in `dynamo_rules`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from re import Match

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch.log import (
    RAISED,
    LogRecord,
    UserStack,
    base,
    further,
    is_library,
    library_frames,
    messages,
    opened,
    parse,
    user_stack,
)
from fallback_gate.model import Kind, Location, Report, Scope
from fallback_gate.model.names import function, operator, plain
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Line, Record

LONGEST_BREAK = 400  # lines of one graph-break record
HEADER = (
    r"Graph break (?:\(user stack suppressed due to duplicate graph break\) )?in user code at "
    r"(?P<file>.+):(?P<line>\d{1,9})"
)
MEANING = "Dynamo stopped tracing here: the call runs in the eager interpreter and the graph is cut in two."
HELP = (
    "Rewrite the call that breaks the graph, or move it out of the compiled region; fullgraph=True turns a break "
    "into an error while you work. https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html"
)

_NEXT_BREAK = ("Graph break in user code at ", "Graph break (user stack suppressed ")
_ENVELOPING_REASON = Pattern(
    r"Encountered graph break when attempting|Failed to handle graph break gracefully"
    r"|Encountered graph break that we cannot resume from"
)
_CHECKPOINT = Pattern(r"\s*Higher Order Operator: torch\.utils\.checkpoint\.checkpoint\s*$")
_GAVE_UP = "Skipping the function and falling back to eager"
_REST_IS_EAGER = "skipping the rest of the function"
_SKIPPED_FRAME = Pattern(r"frame skipped: (?P<function>\S+) \((?P<file>.+) line (?P<line>\d{1,9})\)")
_FUNCTION_OBJECT = Pattern(r"<(?:function|bound method|method) (?P<name>[\w.<>]+)(?: at 0x| of )")
_SKIPPED_CALL = Pattern(r"(?:module: (?P<module>[\w.]+), )?qualname: (?P<name>[\w.]+)")
_METHOD = Pattern(r"method `(?P<name>\w+)` of class `(?P<owner>[\w.]+)`")
_OPERATOR = Pattern(
    r"(?<![\w./-])(?:torch\.ops\.(?P<spelled>[a-z_]\w*\.\w+(?:\.\w+)?)|(?!torch\.)(?P<name>[a-z_]\w*(?:\.|::)[a-z_]\w*\.[A-Za-z_]\w*))\b"
)
_FAKE_CALL = Pattern(r"call_(?:function|method) (?:torch\.ops\.)?(?P<name>[A-Za-z_][\w.:]*)\(\*")
_STATEMENT = Pattern(  # whose outermost call is an operator's, by its full name
    r"\s*(?:return |[^=(]{1,200}= )?(?P<name>torch\.ops\.[a-z_]\w*\.\w+(?:\.\w+)?)\("
)
_BUILTIN = Pattern(r"builtin:? `?(?P<name>[\w.]+?)\.?`?(?: \[|\(| This|`|$)")
_OLD_BUILTIN = Pattern(
    r"(?:unsupported builtin |builtin: |BuiltinVariable\(|UserDefinedObjectVariable\()(?P<name>[\w.]*\w)"
)
_ITEM_NAMES = ("Tensor.item", "aten::_local_scalar_dense")


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
    offending = offending_call(reason, lines) or _called_in(traceback)
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
    if any(_CHECKPOINT.match(line) for line in lines[:12]):
        yield event._replace(
            id="torch/checkpoint-eager",
            kind=Kind.EAGER_FRAME,
            scope=Scope.REGION,
            names=tuple(dict.fromkeys((*event.names, "torch.utils.checkpoint.checkpoint"))),
            reason=f"checkpoint() captures its function whole or not at all: the whole call runs in eager ({reason})",
        )
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
            hint=True,  # INFO names that frame, which may lie further out
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
    raised_at = [at for at in range(own, len(lines)) if RAISED.match(lines[at])]
    cause = lines[raised_at[0 if given_up else -1] :] if raised_at else []
    reason = said if said and not given_up else cause[0].partition(": ")[2] if cause else ""
    where = _broken(stack, lines[:own])
    called = _old_call(reason) or offending_call(reason, cause)
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


def offending_call(reason: str, lines: Iterable[str]) -> tuple[str, ...]:
    """The names of the call that broke the graph, as far as the record tells them."""
    if "Tensor.item" in reason:
        return _ITEM_NAMES
    text = "\n".join(line for line in islice(lines, 30) if not line.lstrip().startswith("Hint:"))
    if "torch._dynamo.graph_break()" in reason:
        return ("torch._dynamo.graph_break",)
    if ("disable" in reason or "function" in reason or "callable" in reason) and (
        found := _FUNCTION_OBJECT.search(text)
    ):
        return (found["name"].replace("<locals>.", ""),)
    if found := _SKIPPED_CALL.search(text):
        return (".".join(filter(None, (found["module"], found["name"]))),)
    if found := _METHOD.search(text):
        return (f"{found['owner']}.{found['name']}",)
    if "builtin" in reason and (found := _BUILTIN.search(text)):
        return (found["name"],)
    if called := failed_on_fake_tensors(f"{reason}\n{text}"):
        return called
    if ("perator" in reason or "fake" in reason.lower()) and (found := _OPERATOR.search(text)):
        return _spellings(found["spelled"] or found["name"])
    return ()


def failed_on_fake_tensors(text: str) -> tuple[str, ...]:
    """The names of the call that Dynamo could not run on fake tensors: `call_function serve.rope(*(FakeTensor...`."""
    found = _FAKE_CALL.search(text)
    return _spellings(found["name"]) if found else ()


def _spellings(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((operator(name), plain(name))))


def _called_in(traceback: list[str]) -> tuple[str, ...]:
    """The operator that the innermost line of code calls by its full name, in a library's code too."""
    at = max((i for i, line in enumerate(traceback) if 'File "' in line), default=len(traceback))
    found = _STATEMENT.match(traceback[at + 1]) if at + 1 < len(traceback) else None
    return _spellings(found["name"]) if found else ()


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
        hint=not stack.functions,  # in a library's code: the record of the break tells the user's function
    )


def untraceable_builtin(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The Python warning of a builtin or C function that Dynamo can't trace: it names no user code."""
    if parse(record.text):
        return
    name = match["op"].rstrip(".")
    yield base(rule, record, None, name, names=(name,), reason=f"Dynamo cannot trace {name}")
