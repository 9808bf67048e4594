"""Room 3: graphs that PyTorch gives to the back end eager by itself, for an operator that takes functions.

`torch.cond`, `while_loop`, `scan`, `map` and `flex_attention`, called outside of compiled code, are traced to be checked
and then run operator by operator, as the code around them does: nobody asked to compile it. Only of
`flex_attention` that is worth a word, since its unfused form is a reference implementation.
"""

from __future__ import annotations

from fallback_gate.compilers.torch.log import LogRecord, parse
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

UNFUSED = "flex_attention"
HELP_UNFUSED = "Compile the caller, or call torch.compile(flex_attention); look for a graph break above it."
_OWN = Pattern(r"[\\/]torch[\\/](?:_higher_order_ops|nn[\\/]attention)[\\/](?P<module>\w+)\.py\b")
_FRAME = Pattern(
    r"Step 1: torchdynamo start tracing \S+ (?P<traced>\S.*:\d+)\s*$"
    r"|COMPILING GRAPH due to GraphCompileReason\(reason='return_value', user_stack=\[<FrameSummary file (?P<compiled>.+?), line "
)
_FURTHEST = 400  # lines


def operator_of(place: str) -> str | None:
    """The operator whose own frame stands at this place, by its module; None for any other frame."""
    found = _OWN.search(place)
    return found["module"] if found else None


def operator_before(record: Record, log: LogRecord) -> str | None:
    """The same, for the frame whose graph a record is about: what is traced stands before it."""
    if not log.prefix:
        return None
    for text, _ in record.preceding(_FURTHEST):
        before = parse(text) if "torchdynamo start" in text or "COMPILING GRAPH" in text else None
        if before and (before.pid, before.compile_id) == (log.pid, log.compile_id):
            found = _FRAME.match(before.message)
            return operator_of(found["traced"] or found["compiled"]) if found else None
    return None


def as_unfused(report: Report) -> Report:
    """A graph of `flex_attention` that ran in eager, whose warning may be hushed."""
    return report._replace(
        id="torch/unfused-attention",
        kind=Kind.REFERENCE_KERNEL,
        scope=Scope.OPERATOR,
        op=UNFUSED,
        names=(UNFUSED,),
        reason="called outside of compiled code: the back end eager runs it unfused",
        at_least=True,
        help=HELP_UNFUSED,
    )
