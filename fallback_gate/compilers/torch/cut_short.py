"""Room 3: functions that Dynamo leaves to eager because it can't resume behind a graph break in them.

The whole frame, where it was not traced at all; or the rest of it, behind a last graph. Up to 2.8 the latter is told
at DEBUG only (`left_open` keeps such a frame from passing at INFO), later in the record of the break.

That record tells the function that broke. Where Dynamo was inside of another one, which it had begun with, the rest of
that one is left to eager: its start tells which.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from re import Match

from fallback_gate.compilers.rule import Evidence, Marker, Rule, Sighting
from fallback_gate.compilers.torch.frames import LONGEST_ERROR, of_frame
from fallback_gate.compilers.torch.graph_breaks import (
    HEADER,
    HELP,
    LONGEST_BREAK,
    NEXT_BREAK,
    REST_IS_EAGER,
    REST_OF_FUNCTION,
    left_the_rest,
)
from fallback_gate.compilers.torch.log import NAME, RAISED, base, messages, opened, parse
from fallback_gate.compilers.torch.trace import Metrics, compile_id_of, metadata, rank_of
from fallback_gate.compilers.torch.user_stack import UserStack, makes_kernels, told_by, user_stack
from fallback_gate.compilers.torch.wrapper import payload
from fallback_gate.model import Kind, Location, Report, Scope
from fallback_gate.model.names import function
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_LEFT = Pattern(r"will skip tracing the frame (?P<function>\S+) \((?P<file>.+) line (?P<line>\d{1,9})\)")


def stopped_short(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """DEBUG: a graph that ends at a break which Dynamo can't resume behind; up to 2.8 no other level tells of it."""
    log = opened(record.text, match, None)
    if log:
        reason = "Dynamo cannot resume here: the rest of the function runs in eager"
        report = of_frame(rule, record, log, match, reason=reason, hint=True)
        yield report
        yield report._replace(
            id="torch/graph-break", kind=Kind.GRAPH_BREAK, scope=Scope.SITE, reason="step_unsupported"
        )


def left_to_eager(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A frame that was given up before or without a trace that could be resumed, in a record of graph_breaks."""
    log = opened(record.text, match, "graph_breaks")
    if not log:
        return
    said = list(messages(record, log, LONGEST_ERROR, until="Graph break"))
    named = next((found for line in said[:3] if (found := _LEFT.search(line))), None)
    cause = next((line.partition(": ")[2].strip() for line in said if RAISED.match(line)), "")
    reason = f"the whole frame runs in eager ({cause})" if cause else "the whole frame runs in eager"
    if named:
        report = of_frame(rule, record, log, named, reason=reason)
    else:
        report = base(rule, record, log, "*", Scope.UNKNOWN, reason=reason)
    yield report
    stack = user_stack(takewhile(lambda line: not line.startswith("Traceback "), said))
    if stack.innermost:
        yield report._replace(
            id="torch/graph-break",
            kind=Kind.GRAPH_BREAK,
            scope=Scope.SITE,
            **told_by(stack),
            reason=cause or "torch.compile cannot resume from this graph break",
        )


def _rest_left(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """The frame that was traced, and the function that broke: the break's first line stands before the reason."""
    log = opened(record.text, match, "graph_breaks")
    if not log or not log.prefix:
        return
    for line in record.before(_OPENS):
        before = parse(line.text)
        header = _HEADER.match(before.message) if before and before.prefix == log.prefix else None
        if header:
            said = (log.message, *messages(record, log, LONGEST_BREAK, NEXT_BREAK))
            if broke := left_the_rest(header["file"], int(header["line"]), said):
                at = record.position_at(line.at)
                yield Sighting(marker.id, at, (log.frame, broke), log.pid, None, log.when)
            return


def _rest_left_in_trace(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """The same, of a structured trace, whose payload is the text of the log."""
    found = metadata(record) if record.is_followed_by(_LEAVES, _SHORTLY) else None
    lines = tuple(line.text for line in payload(record, LONGEST_BREAK)) if found else ()
    header = _HEADER.match(lines[0]) if lines else None
    broke = left_the_rest(header["file"], int(header["line"]), lines[1:]) if header else None
    if found and broke:
        log, said = found
        facts = (compile_id_of(said), broke)
        yield Sighting(marker.id, record.position, facts, log.pid, rank_of(said), log.when)


def conclude(evidence: Evidence) -> Iterable[Report]:
    """The functions whose rest runs in eager since Dynamo can't resume in what they called."""
    begun = {cid.split("_")[0]: (name, place) for cid, name, place in evidence.of("torch/trace-started")}
    for facts in evidence.of("torch-trace/frame-done"):
        of = Metrics(*facts)
        if of.name:
            begun.setdefault(of.compile_id.split("_")[0], (of.name, f"{of.file}:{of.line}"))
    for (frame, broke), at in evidence.facts.get(_REST_LEFT, {}).items():
        name, place = begun.get(frame, (broke, ""))
        if broke not in ("*", function(name)) and not makes_kernels(place):
            yield _rest_of(function(name), place, broke, at, frame)


def _rest_of(name: str, place: str, broke: str, at: int, frame: str) -> Report:
    file, _, line = place.rpartition(":")
    where = Location(file, int(line) if line.isdecimal() and len(line) < 10 else None, name)
    return Report(
        id=REST_OF_FUNCTION,
        compiler=NAME,
        kind=Kind.EAGER_FRAME,
        scope=Scope.REGION,
        position=at,
        text=f"[{frame}] {name}: Dynamo cannot resume behind the break in {broke}",
        reason=f"Dynamo cannot resume behind the break in {broke}: the rest of the function runs in eager",
        help=HELP,
        compile_id=frame,
        **told_by(UserStack().within(where)),
    )


_PREFIX = "V1130 15:14:37.112000 19357 torch/_dynamo/convert_frame.py:2409] [2/0] "

LEFT_TO_EAGER = Rule(
    id="torch/frame-skipped",
    compiler=NAME,
    anchor=("Graph break",),
    pattern=r"Graph break: torch\.compile cannot properly resume from this graph break, which results in a skip",
    kind=Kind.EAGER_FRAME,
    shared_anchor=True,
    scope=Scope.REGION,
    meaning="Dynamo could not trace the frame at all, so it runs in eager.",
    help=HELP,
    seen_in="2.10 to 2.14, artifact graph_breaks",
    matches=(
        _PREFIX
        + "[__graph_breaks] "
        + "Graph break: torch.compile cannot properly resume from this graph break, which results in a skip.",
    ),
    ignores=(
        "Graph break: torch.compile cannot properly resume from this graph break, which results in a skip.",
    ),
    read=left_to_eager,
)

STOPPED_SHORT = Rule(
    id="torch/rest-of-function-eager",
    compiler=NAME,
    anchor=("step_unsupported",),
    pattern=r"COMPILING GRAPH due to GraphCompileReason\(reason='step_unsupported', user_stack=\[<FrameSummary file "
    r"(?P<file>.{1,400}?), line (?P<line>\d{1,9}) in (?P<function>[^>]{1,200})>",
    kind=Kind.EAGER_FRAME,
    shared_anchor=True,
    scope=Scope.REGION,
    meaning="A graph ends at a break that Dynamo can't resume behind: the rest of the function runs in eager.",
    help=HELP,
    seen_in="2.7 to 2.14, DEBUG of dynamo",
    matches=(
        _PREFIX
        + "COMPILING GRAPH due to GraphCompileReason(reason='step_unsupported', user_stack=[<FrameSummary file /app/speech.py, line 17 in forward>], graph_break=True)",
    ),
    ignores=(
        _PREFIX
        + "COMPILING GRAPH due to GraphCompileReason(reason='return_value', user_stack=[<FrameSummary file /app/speech.py, line 17 in forward>], graph_break=False)",
    ),
    read=stopped_short,
)

_REST_LEFT = "torch/rest-left"
_HEADER = Pattern(HEADER)
_OPENS = b"Graph break "
_LEAVES, _SHORTLY = REST_IS_EAGER.encode(), 8 << 10  # bytes in which the first lines of a break stand
_IN_TRACE = "V1130 00:27:53.046000 4423 torch/_dynamo/symbolic_convert.py:5098] "
_SHOWS = "The rest of a function runs in eager, perhaps of one that called the one that broke."
MARKERS = (
    Marker(
        id=_REST_LEFT,
        compiler=NAME,
        anchor=(REST_IS_EAGER,),
        pattern=rf"Graph Break Reason: .{{0,300}}{REST_IS_EAGER}",
        shows=_SHOWS,
        seen_in="2.11 (run), 2.10 to 2.14, artifact graph_breaks",
        matches=(
            f"{_PREFIX}[__graph_breaks] Graph break in user code at /app/moe/breaks.py:64\n"
            f"{_PREFIX}[__graph_breaks] Graph Break Reason: Encountered graph break that we cannot resume from. "
            "Compiling up to the previous resumable state, then skipping the rest of the function. Graph break "
            "encountered:",
        ),
        ignores=("it says: Graph Break Reason: none, skipping the rest of the function",),
        read=_rest_left,
    ),
    Marker(
        id=_REST_LEFT,
        compiler=NAME,
        anchor=("dynamo_graph_break_reason",),
        pattern=r'\{"artifact": \{"name": "dynamo_graph_break_reason"',
        shows=_SHOWS,
        seen_in="2.11 (run), structured trace",
        matches=(
            f'{_IN_TRACE}{{"artifact": {{"name": "dynamo_graph_break_reason"}}, "frame_id": 0, "frame_compile_id": 0}}\n'
            "\tGraph break in user code at /app/moe/breaks.py:64\n"
            "\tGraph Break Reason: Encountered graph break that we cannot resume from. Compiling up to the previous "
            "resumable state, then skipping the rest of the function. Graph break encountered:",
        ),
        read=_rest_left_in_trace,
    ),
)

RULES = (LEFT_TO_EAGER, STOPPED_SHORT)
