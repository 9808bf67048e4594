"""Room 3: the frames that Dynamo leaves to eager: given up, over a limit, failed, or never traced.

Every function here turns one record into reports. The rules that call them, with the lines that they
match, stand in `dynamo_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from re import Match
from typing import Any

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch import own_graphs, unprefixed
from fallback_gate.compilers.torch.at_exit import stands_behind_an_exception
from fallback_gate.compilers.torch.breaking_call import failed_call, offending_call
from fallback_gate.compilers.torch.log import RAISED, LogRecord, base, messages, opened, parse
from fallback_gate.compilers.torch.user_stack import (
    UserStack,
    frames,
    is_library,
    is_standard_library,
    makes_kernels,
    told_by,
    user_stack,
)
from fallback_gate.model import Kind, Location, Report, Scope
from fallback_gate.model.names import function
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

LONGEST_ERROR = 450
_FRAME_SUMMARY = Pattern(r"<FrameSummary file (?P<file>.+), line (?P<line>\d{1,9}) in (?P<function>[^>]+)>")
_SKIPPED_FRAME = Pattern(r"to skip the frame (?P<function>\S+) \((?P<file>.+) line (?P<line>\d{1,9})\) and ")
_LIMITED_FUNCTION = Pattern(r"function: '(?P<function>.+)' \((?P<file>.+):(?P<line>\d{1,9})\)")
_LIMITS = ("recompile limit exceeded", "RecompileLimitExceeded", "cache_size_limit")  # 2.14, 2.7, before 2.6
_NO_PROGRAM = Pattern(r"Attempt to trace generator|\bexc\.Observed\w+: ")  # or it raises an exception
_CAPTURE = Pattern(r"!\d+$")  # compiled autograd captures a backward: its own frames, none of the program's
_LAST_REASON = Pattern(r"last reason: (?P<reason>.+)")


def of_frame(rule: Rule, record: Record, log: LogRecord, said: Match[str], **facts: Any) -> Report:
    """A report about the frame that a message names."""
    return base(rule, record, log, **told_by(UserStack().within(_named(said))), **facts)


def _named(said: Match[str]) -> Location:
    """The frame that a message names."""
    return Location(said["file"], int(said["line"]), function(said["function"]))


def wont_convert(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A frame that Dynamo gave up: at WARNING a swallowed error, at INFO after a break or a limit."""
    log = opened(record.text, match, None) or unprefixed.unprefixed(record, match, unprefixed.GIVEN_UP)
    if not log or (log.level == "I" and _CAPTURE.match(log.compile_id)):
        return
    said = list(_error(messages(record, log, LONGEST_ERROR, until="WON'T CONVERT")))
    at = next((i for i, message in enumerate(said) if RAISED.match(message)), None)
    cause = said[at].strip() if at is not None else ""
    if at is not None and cause.endswith(" raised:"):  # what the back end raised is on the next line
        cause = f"{cause} {''.join(said[at + 1 : at + 2])}".strip()
    if log.level == "I" and (
        makes_kernels(match["file"]) or (_NO_PROGRAM.search(cause) and is_standard_library(match["file"]))
    ):
        return  # it computes nothing: what it calls is a frame of its own
    called = failed_call("\n".join(said[at : at + 3])) if at is not None else ()
    limit = any(words in cause for words in _LIMITS)
    told = told_by(UserStack().within(_named(match)), *_traced_into(said), *called)
    if log.level == "I":
        kind = Kind.RECOMPILE_LIMIT if limit else Kind.EAGER_FRAME
        yield base(rule, record, log, **told, kind=kind, reason=cause or "the frame runs in eager")
    else:
        yield base(rule, record, log, **told, reason=cause or "compiling failed; the error was suppressed")


def _error(messages: Iterable[str]) -> Iterator[str]:
    """The lines of an error up to where it ends: behind the user's frames, or where it says how to have more
    of it printed. All of it may come once more."""
    quoting = False
    for message in messages:
        if (quoting and not message.strip()) or message.startswith("Set TORCH"):
            return
        quoting |= message.startswith("from user code")
        yield message


def _traced_into(said: list[str]) -> tuple[str, ...]:
    """The user's functions from the frame that was traced to the one that broke it."""
    at = next((i for i, message in enumerate(said) if message.startswith("from user code")), len(said))
    return user_stack(said[at + 1 :]).functions


def skipped_in_loop(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Up to 2.12, at INFO: a frame given up for a break in a loop; the frame is on the next line."""
    log = opened(record.text, match, None)
    if not log:
        return
    for message in messages(record, log, 3):
        if found := _FRAME_SUMMARY.search(message) or _SKIPPED_FRAME.search(message):
            reason = "graph break in a loop: the whole frame runs in eager"
            yield of_frame(rule, record, log, found, reason=reason)
            return
    yield base(rule, record, log, "*", reason="graph break in a loop: a whole frame runs in eager")


def recompile_limit(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The recompile or cache-size limit: from then on the function runs in eager for new inputs."""
    log = opened(record.text, match, None) or unprefixed.unprefixed(record, match, unprefixed.LIMIT)
    if not log:
        return
    reason, scope = match["limit"], Scope.UNKNOWN
    lines = list(messages(record, log, 12, until="torch._dynamo hit"))
    stack = user_stack(lines)._replace(innermost=None)  # which of them, the message says
    for line in lines:
        if found := _LIMITED_FUNCTION.search(line):
            stack, scope = stack.within(_named(found)), rule.scope
        elif found := _LAST_REASON.search(line):
            reason = f"{match['limit']}: {found['reason'].strip()}"
    yield base(rule, record, log, **told_by(stack), scope=scope, reason=reason)


_CODE_FOLLOWS = (  # in an exception's text, the fullest first: Dynamo's, and those of a guard on data
    "from user code",
    "User Stack (most recent call last):",
    "The following call raised this error:",
)


def raised(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """An exception of the compiler that ended the program: the last lines of a Python traceback."""
    if parse(record.text) or unprefixed.of_old_break(record):
        return
    error, said = match["error"], match["reason"].strip()
    if "recompile limit exceeded" in said or error.endswith(
        ("FailOnRecompileLimitHit", "RecompileLimitExceeded")
    ):
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
        if said.endswith(" raised:"):  # what the back end raised is on the next line
            said = f"{said} {line.strip()}"
        elif RAISED.match(line) or line.startswith("Traceback "):
            break
        lines.append(line)
    follows = (i for words in _CODE_FOLLOWS for i, line in enumerate(lines) if line.startswith(words))
    stack = user_stack(lines[next(follows, len(lines)) + 1 :])
    if not stack.innermost and (quoted := frames(_quoted_frames(lines))):
        stack = stack.within(quoted[0])
    called = offending_call(said, lines)
    if "disable" in said and called:
        told = told_by(stack, *called, *stack.functions[:1], op=called[0])
    else:
        told = told_by(stack, *called, op=None if stack.innermost else next(iter(called), None))
    yield base(rule, record, None, **told, reason=f"{error.rsplit('.', 1)[-1]}: {said}")


def guard_failed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A compile that failed as its guards were made, at ERROR: the reason, and the user's code that asks for them."""
    log = opened(record.text, match, None)
    if not log:
        return
    said = list(messages(record, log, LONGEST_ERROR, until="Created at:"))
    reason = next(
        (message.strip() for message in said if RAISED.match(message)), "its guards could not be made"
    )
    at = next((i for i, message in enumerate(said) if message.startswith("User stack:")), len(said))
    yield base(rule, record, log, **told_by(user_stack(said[at + 1 :])), reason=reason)


def _quoted_frames(lines: Iterable[str]) -> Iterator[str]:
    """Frames that an explanation quotes in a comment: `# File "f.py", line 29, in g, code: ...`."""
    for line in lines:
        if found := re.search(r'# (File "[^"]+", line \d+, in \w+)', line):
            yield found[1]


def backend(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A graph handed to a back end that generates no code: all of it runs operator by operator."""
    log = opened(record.text, match, None)
    if not log:
        return
    name = match["backend"]
    own = own_graphs.operator_before(record, log) if name == "eager" else None
    report = base(rule, record, log, "*", reason=f"backend={name}: the graph runs in eager")
    if own == own_graphs.UNFUSED:
        yield own_graphs.as_unfused(report)
    elif not own:
        yield report


def nothing_traced(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The list of frames at exit, empty: torch.compile was switched off or never reached.

    Not where a graph was made beside Dynamo's frames (torch.export, AOTInductor), or one that was made before is loaded
    (aot_compile), as the times behind the list tell. Nor where an exception ended the program, perhaps before it
    compiled. A frame that was given up before its trace accounts for it, too.
    """
    log = opened(record.text, match, None)
    if not log or not _names_none(record, log) or _compiler_ran(record, log):
        return
    if not stands_behind_an_exception(record):
        yield base(
            rule,
            record,
            log,
            "*",
            reason="no frame was traced: compiling was switched off (TORCHDYNAMO_DISABLE, a stance, a disabled forward)",
            hint=True,
        )


def _names_none(record: Record, log: LogRecord) -> bool:
    """Whether the list of frames is empty."""
    return next(filter(str.strip, messages(record, log, 3)), "").startswith("]")


def _compiler_ran(record: Record, log: LogRecord) -> bool:
    """Whether the table of times at exit, which stands behind the list of frames, has those of a trace or of Inductor's
    code."""
    others = (parse(line.text) for line in record.following(MOST_TIMES))
    return any(other and other.pid == log.pid and _AT_WORK.match(other.message) for other in others)


MOST_TIMES = 1_000  # lines
_AT_WORK = Pattern(  # a list, or a table where `tabulate` is installed
    r"(?:GraphLowering\.run|AotCodeCompiler\.compile|fullgraph_capture|bytecode_tracing|PyCodeCache\.load_by_key_path)"
    r"(?:,| ) "
)


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
    """A frame that exists only because a graph broke: all that INFO shows of a break.

    A function of PyTorch's own, or of code that it generates, is no name to judge by: what it calls broke.
    """
    log = opened(record.text, match, None)
    if log:
        reason = "the function was resumed after a graph break"
        if is_library(match["file"]):
            yield base(
                rule, record, log, "*", Scope.UNKNOWN, files=(match["file"],), reason=reason, hint=True
            )
        else:
            yield of_frame(rule, record, log, match, reason=reason, hint=True)
