"""Room 3: functions that Dynamo leaves to eager because it can't resume behind a graph break in them.

The whole frame, where it was not traced at all; or the rest of it, behind a last graph. Up to 2.8 the latter is told
at DEBUG only (`left_open` keeps such a frame from passing at INFO), later in the record of the break.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from re import Match

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch.frames import LONGEST_ERROR, of_frame
from fallback_gate.compilers.torch.graph_breaks import HELP
from fallback_gate.compilers.torch.log import NAME, RAISED, base, messages, opened
from fallback_gate.compilers.torch.user_stack import told_by, user_stack
from fallback_gate.model import Kind, Report, Scope
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

RULES = (LEFT_TO_EAGER, STOPPED_SHORT)
