"""Room 3: what Dynamo captures whole or not at all: a checkpointed function, an autograd.Function, control flow.

A break inside leaves the whole call to eager, with all that it calls. INFO says so in every version, without a
place; from 2.11 the record of the break says it too (`graph_breaks`). Control flow has no such way out: there the
break is an error, which is reported by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch import graph_breaks
from fallback_gate.compilers.torch.log import NAME, base, opened
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

_ERROR_INSTEAD = frozenset(
    {"cond", "switch", "while_loop", "scan", "associative_scan", "map", "map_impl", "hints_wrapper"}
    | {"strict_mode", "flex_gemm"}
)


def not_captured(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A function that could not be captured whole: a hint, which the record of the break accounts for."""
    log = opened(record.text, match, None)
    by, name = match["by"], match["function"]
    if log and by.rpartition(".")[2] not in _ERROR_INSTEAD:
        reason = f"{by} could not capture {name} in one graph: the call runs in eager"
        yield base(rule, record, log, name, names=(name, by), stack=(name,), reason=reason, hint=True)


_INFO = "I1130 15:04:06.109000 15486 torch/_dynamo/variables/higher_order_ops.py:1999] [0/0] "
_SAID = (
    ", we were unable to trace function `expert` into a single graph. This means that Dynamo was unable to prove "
    "safety for this API and will fall back to eager-mode PyTorch, which could lead to a slowdown."
)

RULE = Rule(
    id="torch/higher-order-eager",
    compiler=NAME,
    anchor=("speculate_subgraph: while introspecting",),
    pattern=r"speculate_subgraph: while introspecting (?P<by>\S.{0,200}?), we were unable to trace function "
    r"`(?P<function>[^`]{1,200})` into a single graph",
    kind=Kind.EAGER_FRAME,
    scope=Scope.REGION,
    meaning="A checkpointed function (or another that is captured whole) holds a graph break: all of it runs in eager.",
    help=graph_breaks.HELP,
    seen_in="2.7 to 2.14, INFO of dynamo; from 2.11 also in the record of the break",
    matches=(
        _INFO + "speculate_subgraph: while introspecting torch.utils.checkpoint.checkpoint" + _SAID,
        _INFO + "speculate_subgraph: while introspecting autograd.Function" + _SAID,
    ),
    ignores=(
        _INFO + "speculate_subgraph: while introspecting torch.cond" + _SAID,
        "speculate_subgraph: while introspecting torch.utils.checkpoint.checkpoint" + _SAID,
    ),
    read=not_captured,
)
