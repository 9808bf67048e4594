"""Room 3: graphs that the back end could not take, and tensors that Dynamo has no stand-in for (quantised ones).

PyTorch warns of both at the default level: it adds a graph break, and what was traced there runs in eager.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from re import Match

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch.graph_breaks import LONGEST_BREAK, broken_frame
from fallback_gate.compilers.torch.log import NAME, base, messages, opened
from fallback_gate.compilers.torch.user_stack import told_by, user_stack
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_W = "W1130 22:03:38.504000 30035 torch/_dynamo/exc.py:514] [0/0] "
_WHY = Pattern(
    r"\s*Explanation: Backend compiler `[^`]{1,200}` (?P<reason>failed with .{1,400}?)(?:\.? Adding a graph break\.)?$"
)
_OPERATOR = Pattern(r"failed with (?P<full>(?P<name>[a-z]\w{0,40}\.\w{1,80})\.\w{1,40})$")
_EXECUTING = Pattern(
    r"\s*While executing .{0,200}call_\w{1,20}\[target=(?:torch\.ops\.)?(?P<name>[\w.]{1,200})\]"
)


def refused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The function whose graph it was, and the operator where the error is its name, or tells the call.

    A hint: the record of the break, where it is printed, tells the same, of another line of the function.
    """
    if not (log := opened(record.text, match, None)):
        return
    said = list(messages(record, log, LONGEST_BREAK, until="Backend compiler "))
    why = next((found["reason"] for line in said[:2] if (found := _WHY.match(line))), "")
    operator = _OPERATOR.match(why)
    executing = next((found["name"] for line in said[:8] if (found := _EXECUTING.match(line))), None)
    called = (
        *((operator["full"], operator["name"]) if operator else ()),
        *((executing,) if executing else ()),
    )
    place = _frame(said)
    stack = user_stack(place)
    told = told_by(stack._replace(innermost=broken_frame(stack, place)), *dict.fromkeys(called))
    yield base(rule, record, log, **told, hint=True, reason=f"the back end {why or 'failed on fake tensors'}")


def untraceable(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The warning names no code: where the break has a record of its own, that tells more."""
    if log := opened(record.text, match, None):
        yield base(rule, record, log, "*", reason=match["reason"], hint=True)


def _frame(said: Sequence[str]) -> Sequence[str]:
    """The lines that name the frame: behind the heading that 2.7 gave them, or up to the message's end."""
    heading = max((at for at, line in enumerate(said) if line.strip() == "Traceback:"), default=-1)
    end = next((at for at, line in enumerate(said) if line.startswith("Adding a graph break")), len(said))
    return said[heading + 1 : end if end > heading else len(said)]


REFUSED = Rule(
    id="torch/backend-refused",
    compiler=NAME,
    anchor=("Backend compiler ",),
    pattern=r"Backend compiler (?:failed with a fake tensor exception at\s*|(?:fake tensor )?exception)$",
    kind=Kind.GRAPH_BREAK,
    scope=Scope.SITE,
    meaning="The back end could not compile this graph: a break was added, and what was traced here runs in eager.",
    help="Give the operator that the reason names a fake implementation (torch.library.register_fake), or take it out.",
    seen_in="2.7 and 2.14 (run), 2.1 to 2.14 (source), 2.2 (public log), WARNING",
    matches=(
        _W + "Backend compiler exception",
        "[2024-04-17 17:27:11,806] [26/1] torch._dynamo.exc: [WARNING] Backend compiler failed with a fake tensor exception at ",
    ),
    ignores=(
        _W
        + "  Explanation: Backend compiler `inductor` failed with aten.nonzero.default. Adding a graph break.",
        "V1130 22:02:21.399000 29826 torch/_dynamo/symbolic_convert.py:5368] [0/0] [__graph_breaks] Backend compiler exception",
        "torch._dynamo.exc.Unsupported: Backend compiler exception",
    ),
    read=refused,
)

TENSOR = Rule(
    id="torch/untraceable-tensor",
    compiler=NAME,
    anchor=("fake tensor propagation.",),
    pattern=r"(?P<reason>Encountered exception \(.{1,400}\) during fake tensor propagation|Unsupported: .{1,400} with fake tensor propagation)\.$",
    kind=Kind.GRAPH_BREAK,
    scope=Scope.SITE,
    meaning="Dynamo can't trace a tensor of this sort: the graph breaks where it comes in, mostly at the frame's start.",
    help="Keep it out of the compiled region, or dequantise or densify it first; graph_breaks in TORCH_LOGS says where.",
    seen_in="2.7 and 2.14 (run), 2.0 to 2.14 (source), WARNING",
    matches=(
        "W1130 22:13:06.433000 4216 torch/_dynamo/utils.py:2646] [0/0] Encountered exception (quantized nyi in meta tensors) during fake tensor propagation.",
        "[2023-04-07 10:00:00,000] torch._dynamo.utils: [WARNING] Unsupported: quantized nyi in meta tensors with fake tensor propagation.",
    ),
    ignores=(
        "torch._dynamo.exc.Unsupported: Unsupported: quantized nyi in meta tensors with fake tensor propagation.",
        "V1130 22:13:26.692000 4619 torch/_dynamo/symbolic_convert.py:5368] [0/0] [__graph_breaks]   Explanation: Encountered exception (quantized nyi in meta tensors) during fake tensor propagation.",
    ),
    read=untraceable,
)
RULES = (REFUSED, TENSOR)
