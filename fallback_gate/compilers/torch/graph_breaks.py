"""Room 3: Dynamo's graph breaks, read in each form that a version or level gives them.

Every function here turns one record into reports. The rules that call them, with the lines that they
match, stand in `dynamo_rules`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from re import Match
from typing import Any, NamedTuple

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch import unprefixed
from fallback_gate.compilers.torch.breaking_call import (
    ITEM_NAMES,
    called_in,
    hides_a_module,
    offending_call,
    old_call,
    public,
)
from fallback_gate.compilers.torch.log import RAISED, LogRecord, base, further, messages, opened, parse
from fallback_gate.compilers.torch.user_stack import (
    UserStack,
    frames,
    is_library,
    is_standard_library,
    library_frames,
    makes_kernels,
    runs_in_backward,
    told_by,
    user_stack,
)
from fallback_gate.model import Kind, Location, Report, Scope
from fallback_gate.model.names import function
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

LONGEST_BREAK = 400  # lines of one graph-break record
MOST_KEPT = 16 * 1024  # characters of a text whose facts are kept for when it comes back
HEADER = (
    r"Graph break (?:\(user stack suppressed due to duplicate graph break\) )?in user code at "
    r"(?P<file>.+?):(?P<line>\d{1,9})(?![\w/.:])"  # rich puts the file of the record behind it
)
MEANING = "Dynamo stopped tracing here: the call runs in the eager interpreter and the graph is cut in two."
HELP = (
    "Rewrite the call that breaks the graph, or move it out of the compiled region; fullgraph=True turns a break "
    "into an error while you work. https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html"
)

NEXT_BREAK = ("Graph break in user code at ", "Graph break (user stack suppressed ")
_TOLD_BEFORE = "user stack suppressed"
_ENVELOPING_REASON = Pattern(
    r"Encountered graph break when attempting|Failed to handle graph break gracefully"
    r"|Encountered graph break that we cannot resume from"
)
_CHECKPOINT = Pattern(r"\s*Higher Order Operator: torch\.utils\.checkpoint\.checkpoint\s*$")
_GAVE_UP = "Skipping the function and falling back to eager"
REST_IS_EAGER = "skipping the rest of the function"
REST_OF_FUNCTION = "torch/rest-of-function-eager"
_SKIPPED_FRAME = Pattern(r"frame skipped: (?P<function>\S+) \((?P<file>.+) line (?P<line>\d{1,9})\)")


def graph_break(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A graph-break record: the break, and the frame that was given up because of it, if any."""
    if log := opened(record.text, match, "graph_breaks"):
        lines = list(further(record, log, LONGEST_BREAK, NEXT_BREAK))
        if not log.prefix:
            lines = unprefixed.flush_left(lines)
    elif log := unprefixed.unprefixed(record, match, unprefixed.BREAK, "graph_breaks"):
        lines = list(unprefixed.rest_of_break(record, LONGEST_BREAK))
    else:
        return
    yield from break_reports(rule, record, log, match, lines)


def break_reports(
    rule: Rule, record: Record, log: LogRecord, match: Match[str], lines: Sequence[tuple[str, int]]
) -> Iterable[Report]:
    """The reports of a graph-break text, of which `match` is the header and `lines` the rest, as of `further`."""
    text = tuple(said for said, _ in lines)
    read = _told if sum(map(len, text)) <= MOST_KEPT else _told.__wrapped__
    told = read(match["file"], int(match["line"]), text)
    if not told:
        return
    first, *others = told
    event = base(rule, record, log, **first.facts)
    # in a library: the first time it was told with the user's function
    again = event.op == "*" and _TOLD_BEFORE in match[0] and is_library(match["file"])
    yield event._replace(hint=True) if again else event
    for facts, at in others:
        one = event._replace(**facts)
        yield one if at is None else one._replace(position=record.position_at(lines[at][1]), text=text[at])


class _Told(NamedTuple):
    """The facts of a report; of further ones those that differ, and the place in the text of the line that
    reports it, where it is not the record's first."""

    facts: dict[str, Any]
    at: int | None = None


@lru_cache(maxsize=64)
def _told(file: str, line: int, text: tuple[str, ...]) -> list[_Told]:
    """What a break's text reports, whoever printed it: a break comes back with each compile."""
    reason, nested = _reason(text)
    traceback = _traceback_after("User code traceback:", text)
    stack = user_stack(traceback)
    backward = runs_in_backward(traceback)
    if reason == _RAISES and is_standard_library(file) and (backward or not stack.functions):
        return []  # Python's own code, called by no function of the program's: it computes nothing
    broken = broken_frame(stack, traceback)
    if not is_library(file) and (compiled := _compiled_there(file, line, broken, text)):
        stack, broken = stack.within(compiled), compiled
    where = Location(file, line, broken.function if broken else None)
    inside = library_frames(traceback) if is_library(file) else ()
    if is_library(file) and stack.functions:
        where = stack.innermost or where  # the user's line, as it is the user's function that is named
    offending = offending_call(reason, text) or called_in(traceback)
    disabled = ("disable" in reason or reason.endswith("(delayed)")) and offending
    called = tuple(dict.fromkeys((*offending, *(frame.function for frame in inside if frame.function))))
    around = UserStack(stack.functions, stack.files or (file,), where)
    facts = told_by(around, *called, op=called[0] if disabled else None)
    facts["reason"] = reason or None
    if hides_a_module(reason, text):
        facts["scope"] = Scope.REGION
    told = [_Told(facts)]
    if any(map(_CHECKPOINT.match, text[:12])):
        names = dict.fromkeys((*facts["names"], "torch.utils.checkpoint.checkpoint"))
        why = (
            f"checkpoint() captures its function whole or not at all: the whole call runs in eager ({reason})"
        )
        told.append(_Told(_in_eager("torch/checkpoint-eager", why, names=tuple(names))))
    told_of = None if backward or makes_kernels(file) else _given_up(text, facts, nested or "graph break")
    if told_of and not makes_kernels((told_of.facts.get("location") or where).file or ""):
        told.append(told_of)
    return told


def left_the_rest(file: str, line: int, text: tuple[str, ...]) -> str | None:
    """The function that a break's text says to leave the rest of to eager; None where it says no such thing."""
    if not any(REST_IS_EAGER in said for said in text[:3]):
        return None
    told = (one.facts for one in _told(file, line, text))
    return next((facts["op"] for facts in told if facts.get("id") == REST_OF_FUNCTION), None)


def _given_up(text: tuple[str, ...], broke: dict[str, Any], why: str) -> _Told | None:
    """The frame that a break's text gives up: which one, or how much of the function that broke."""
    reason = broke["reason"] or ""
    giving_up = (at for at, said in enumerate(text) if "frame skipped: " in said)
    skipped = next(((at, found) for at in giving_up if (found := _SKIPPED_FRAME.search(text[at]))), None)
    if skipped:
        at, named = skipped
        frame = function(named["function"])
        facts = _in_eager(
            "torch/frame-skipped",
            f"{why}; the whole frame runs in eager ({reason})",
            op=frame,
            names=(frame,),
            stack=_from(broke["stack"], frame),
            files=(named["file"], *(f for f in broke["files"] if f != named["file"])),
            location=Location(named["file"], int(named["line"]), frame),
        )
        return _Told(facts, at)
    if any(_GAVE_UP in said for said in text[:3]):  # INFO names that frame, which may lie further out
        why = f"the frame that was traced here runs in eager ({reason})"
        return _Told(_in_eager("torch/frame-skipped", why, hint=True))
    if any(REST_IS_EAGER in said for said in text[:3]):
        why = f"Dynamo cannot resume here: the rest of the function runs in eager ({reason})"
        op = broke["location"].function or "*"
        return _Told(_in_eager(REST_OF_FUNCTION, why, op=op))
    return None


def _in_eager(id: str, reason: str, **facts: Any) -> dict[str, Any]:
    return {"id": id, "kind": Kind.EAGER_FRAME, "scope": Scope.REGION, "reason": reason, **facts}


def old_graph_break(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A graph-break record of 2.0 to 2.7: the user's frames, then PyTorch's own traceback with the reason.

    From 2.4 the same words close the warning of `Tensor.item()`, which has no artifact.
    """
    log = opened(record.text, match, "graph_breaks", None)
    if log and (log.artifact is not None or log.pid is None):
        more = messages(record, log, LONGEST_BREAK, until="Graph break")
    elif not log and (log := unprefixed.unprefixed(record, match, unprefixed.FRAME, "graph_breaks")):
        more = unprefixed.rest_of_old_break(record, LONGEST_BREAK)
    else:
        return
    lines = [match["rest"] or "", *more]
    own = next((i for i, line in enumerate(lines) if line.startswith("Traceback ")), len(lines))
    stack = user_stack(lines[:own])
    said = match["reason"].strip()
    given_up = said == "skip:"  # 2.3 to 2.7: the frame, for what was raised first
    raised_at = [at for at in range(own, len(lines)) if RAISED.match(lines[at])]
    cause = lines[raised_at[0 if given_up else -1] :] if raised_at else []
    reason = said if said and not given_up else cause[0].partition(": ")[2] if cause else ""
    where = broken_frame(stack, lines[:own])
    called = old_call(reason) or offending_call(reason, cause)
    op = called[0] if "disable()" in reason and called else None
    told = told_by(stack._replace(innermost=where), *called, op=op)
    scope = Scope.REGION if hides_a_module(reason, (reason,)) else None
    report = base(rule, record, log, **told, scope=scope, reason=reason or None)
    yield report
    outermost = [line for line in lines[:own] if 'File "' in line][:1] if given_up else []
    for frame in frames(outermost):
        why = f"the whole frame runs in eager ({reason})" if reason else "the whole frame runs in eager"
        name = frame.function or "*"
        facts = _in_eager("torch/frame-skipped", why, hint=True, op=name, names=(name,))
        yield report._replace(**facts, stack=_from(report.stack, name), location=frame)


def _reason(lines: Sequence[str]) -> tuple[str, str | None]:
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


def _traceback_after(opening: str, lines: Sequence[str]) -> Sequence[str]:
    at = next((i for i, line in enumerate(lines) if line.startswith(opening)), len(lines))
    return lines[at + 1 :]


def broken_frame(stack: UserStack, traceback: Sequence[str]) -> Location | None:
    """The frame that broke: the user's innermost; where a library's object was compiled, the library's."""
    if not stack.functions and (inside := library_frames(traceback)):
        return inside[0]
    return stack.innermost


def _compiled_there(file: str, line: int, innermost: Location | None, text: Sequence[str]) -> Location | None:
    """The frame at the place of the header, where the stack does not have it: the back end failed on its graph.

    The stack is then that of its caller, and a node of the graph tells where it comes from.
    """
    if innermost and (innermost.file, innermost.line) == (file, line):
        return None
    said = _traceback_after(_OF_NODE, [one.strip() for one in text])
    node = user_stack(takewhile(bool, said))
    return node.innermost if node.innermost and node.innermost.file == file else None


_RAISES = "Observed exception"
_OF_NODE = "Original traceback:"


def _from(stack: tuple[str, ...], frame: str) -> tuple[str, ...]:
    """The part of a stack from a frame outwards; the frame alone if the stack lacks it."""
    return stack[stack.index(frame) :] if frame in stack else (frame,)


def item_warning(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The default level's warning of `Tensor.item()`: the user's frames follow in the same record."""
    log = opened(record.text, match, None)
    if not log:
        return
    traceback = list(messages(record, log, 60, until="Graph break from "))
    stack = user_stack(traceback)
    where = broken_frame(stack, traceback)
    op = (where.function if where else None) or ITEM_NAMES[0]
    told = told_by(stack._replace(innermost=where), *ITEM_NAMES, op=op)
    inside = not stack.functions  # a library's code: the record of the break tells the user's function
    yield base(
        rule, record, log, **told, reason="Tensor.item() while capture_scalar_outputs is off", hint=inside
    )


def untraceable_builtin(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The Python warning of a builtin or C function that Dynamo can't trace: it names no user code, as a break does."""
    if parse(record.text):
        return
    name = public(match["op"].rstrip("."))
    yield base(rule, record, None, name, names=(name,), reason=f"Dynamo cannot trace {name}", hint=True)
