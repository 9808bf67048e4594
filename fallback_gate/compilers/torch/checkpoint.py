"""Room 3: a checkpointed function, which Dynamo captures whole or not at all.

A graph break inside leaves the whole call to eager, with all that it calls: checkpoint() itself is out of bounds for
the compiler. INFO says so in every version, without a place; from 2.11 the record of the break says it too
(`graph_breaks`). It says the same of others that are captured whole: what an autograd.Function calls is then
traced by itself, and control flow has no way out, its break is an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch import graph_breaks
from fallback_gate.compilers.torch.log import NAME, base, opened
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

CHECKPOINT = "torch.utils.checkpoint.checkpoint"


def not_captured(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A function that could not be captured whole: a hint, which the record of the break accounts for."""
    log = opened(record.text, match, None)
    name = match["function"]
    if log and match["by"] == CHECKPOINT:
        reason = "checkpoint() could not capture it in one graph: the whole call runs in eager"
        if name.endswith("Variable"):  # Dynamo's own class: the function has no name
            yield base(rule, record, log, "*", names=(CHECKPOINT,), reason=reason, hint=True)
        else:
            yield base(
                rule, record, log, name, names=(name, CHECKPOINT), stack=(name,), reason=reason, hint=True
            )


_INFO = "I1130 15:04:06.109000 15486 torch/_dynamo/variables/higher_order_ops.py:1999] [0/0] "
_SAID = (
    ", we were unable to trace function `expert` into a single graph. This means that Dynamo was unable to prove "
    "safety for this API and will fall back to eager-mode PyTorch, which could lead to a slowdown."
)

RULE = Rule(
    id="torch/checkpoint-eager",
    compiler=NAME,
    anchor=("speculate_subgraph: while introspecting",),
    pattern=r"speculate_subgraph: while introspecting (?P<by>\S.{0,200}?), we were unable to trace function "
    r"`(?P<function>[^`]{1,200})` into a single graph",
    kind=Kind.EAGER_FRAME,
    scope=Scope.REGION,
    meaning="A checkpointed function holds a graph break: all of it runs in eager, with all that it calls.",
    help=graph_breaks.HELP,
    seen_in="2.7 to 2.14, INFO of dynamo; from 2.11 also in the record of the break",
    matches=(_INFO + "speculate_subgraph: while introspecting torch.utils.checkpoint.checkpoint" + _SAID,),
    ignores=(
        _INFO + "speculate_subgraph: while introspecting autograd.Function" + _SAID,
        _INFO + "speculate_subgraph: while introspecting torch.cond" + _SAID,
        "speculate_subgraph: while introspecting torch.utils.checkpoint.checkpoint" + _SAID,
    ),
    read=not_captured,
)
