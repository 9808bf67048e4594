"""Room 3: ExecuTorch's partitioners for Apple's MLX and Metal Performance Shaders: what stays on the CPU.

    [INFO 2026-01-01 00:00:00,000 partitioner.py:223]   [UNSUPPORTED x3] aten.topk.default
    [WARNING 2026-01-01 00:00:00,000 partitioner.py:304] MLX: Nothing can be partitioned!

**At which setting it speaks.** By default: MLX's has a handler of its own for INFO. That of MPS (up to 1.4), and any
other that says no more than `Nothing can be partitioned!`, warns of a graph that it takes nothing of.

**When it is silent.** With a program that takes MLX's handler away, or raises its level; MPS on a graph that it takes in
part. `executorch` is the manual page.

Wording seen in ExecuTorch 0.4 to 1.5 (source).
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.runtimes.executorch_names import NAME
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import BEHIND, Pattern
from fallback_gate.scan.record import Record

_REASON = Pattern(r"\]\s{1,12}Reason: (?P<reason>.*\S)")


def with_reason(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The reason is on the next line."""
    report = by_groups(rule, record, match)
    below = next(record.following(1), None)
    reason = _REASON.search(below.text) if below else None
    yield report._replace(reason=reason["reason"] if reason else None)


NOT_DELEGATED = Rule(
    id="executorch-mlx/not-delegated",
    compiler=NAME,
    anchor=("[UNSUPPORTED x",),
    pattern=r"partitioner\.py:\d{1,6}\]\s{1,8}\[UNSUPPORTED x\d{1,9}\] (?P<op>[\w.:]{1,200})" + BEHIND,
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The MLX delegate has no handler for the operator: it runs on ExecuTorch's portable CPU kernel.",
    help="Rewrite the operator with ones that the delegate has; the line below gives the reason.",
    seen_in="1.1 to 1.5 (source), INFO",
    matches=("[INFO 2026-01-01 00:00:00,000 partitioner.py:223]   [UNSUPPORTED x3] aten.topk.default",),
    ignores=(
        "[INFO 2026-01-01 00:00:00,000 partitioner.py:223]   [UNSUPPORTED x3] <built-in function getitem>",
    ),
    read=with_reason,
)
NO_MLX_GRAPH = Rule(
    id="executorch-mlx/nothing-partitioned",
    compiler=NAME,
    anchor=("Nothing can be partitioned!",),
    pattern=r"(?P<reason>MLX: Nothing can be partitioned!)" + BEHIND,
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="The partitioner took no operator: the whole graph stays on the portable CPU kernels.",
    help="The summary above the line names what the delegate lacks.",
    seen_in="1.1 to 1.5 (source), WARNING",
    matches=("[WARNING 2026-01-01 00:00:00,000 partitioner.py:304] MLX: Nothing can be partitioned!",),
    ignores=("[INFO 2026-01-01 00:00:00,000 partitioner.py:306] MLX: Found 3 subgraphs to be partitioned.",),
)
NOTHING = Rule(
    id="executorch-mps/nothing-partitioned",
    compiler=NAME,
    anchor=("Nothing can be partitioned!",),
    pattern=r"(?:^|\] ?|WARNING:[\w.]{1,80}: ?)(?P<reason>Nothing can be partitioned!)" + BEHIND,
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning=NO_MLX_GRAPH.meaning,
    help="Log at DEBUG to see which operators were refused, or check that the partitioner fits the model's types.",
    seen_in="0.4 to 1.4 (source), WARNING",
    matches=("[WARNING] Nothing can be partitioned!", "WARNING:root:Nothing can be partitioned!"),
    ignores=("Found 3 subgraphs to be partitioned.", "he said: Nothing can be partitioned! And left."),
)

RULES = (NOT_DELEGATED, NO_MLX_GRAPH, NOTHING)
