"""Room 3: what a partition of Relay left outside, in a module or a function that TVM printed in its text format.

    def @main(%x: Tensor[(1, 8, 24, 24), float32]) -> Tensor[(1, 10), float32] {
      %0 = nn.conv2d(%x, meta[relay.Constant][0], padding=[0, 0, 0, 0], channels=16);
      @tvmgen_default_arm_compute_lib_main_0(%0) /* ty=Tensor[(1, 10), float32] */
    }

A call of a partition bears the name of its compiler; operators beside it in the same function are TVM's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule, compiled
from fallback_gate.compilers.tvm.byoc_engines import NAME
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Line, Record

MOST_ABOVE = 400  # lines of the function above the first call of a partition
LONGEST = 5_000  # and below it

_HEAD = Pattern(r"(?:def @\w{1,200}|fn )\(%")
_PARTITION = (
    r"^  (?:%\d{1,6} = |let %\w{1,200} = )?@tvmgen_(?:default_)?(?P<target>\w{1,200}?)_main_\d{1,6}\("
)
_CALL = Pattern(
    r"^  (?:%\d{1,6} = |let %\w{1,200} = )?(?P<op>(?!on_device|annotation\.|vm\.|memory\.|device_copy)[a-z][\w.]{0,100})\("
)
_NO_CALLS = ("fn", "if", "match")


def left(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operators of the function, told at its first call of a partition."""
    before: list[Line] = []
    for line in record.preceding(MOST_ABOVE):
        if _HEAD.match(line.text):
            break
        if compiled(_PARTITION).match(line.text) or not line.text.startswith(" "):
            return
        before.append(line)
    else:
        return
    report = by_groups(rule, record, match)
    target = match["target"]
    for line in (*before[::-1], *_below(record)):
        call = _CALL.match(line.text)
        if call and call["op"] not in _NO_CALLS:
            op = call["op"]
            yield report._replace(
                op=op,
                names=tuple(dict.fromkeys((op, op.rpartition(".")[2]))),
                position=record.position_at(line.at),
                text=line.text,
                site=line.text.strip()[:200],
                reason=f"left beside the partitions for {target}",
            )


def _below(record: Record) -> Iterable[Line]:
    return takewhile(lambda line: not line.text.startswith("}"), record.following(LONGEST))


_PRINTED = (
    "def @main(%x: Tensor[(1, 8, 24, 24), float32]) -> Tensor[(1, 10), float32] {\n"
    "  %0 = nn.conv2d(%x, meta[relay.Constant][0], padding=[0, 0, 0, 0], channels=16) /* ty=Tensor[(1, 16, 20, 20), float32] */;\n"
    "  %1 = @tvmgen_default_clml_main_0(%0) /* ty=Tensor[(1, 10), float32] */;\n"
    "  nn.softmax(%1) /* ty=Tensor[(1, 10), float32] */\n}"
)
LEFT = Rule(
    id="tvm-byoc/left-beside",
    compiler=NAME,
    anchor=("@tvmgen_",),
    pattern=_PARTITION,
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The vendor's compiler did not take the operator: TVM compiles it, and tensors cross over and back.",
    help="Look in the partition's pattern table for the operator, its types and its attributes; rewrite what it lacks.",
    seen_in="0.16 (run), print(mod), mod.astext() and print(mod['main']) after a partition",
    matches=(_PRINTED, _PRINTED.replace("def @main(", "fn (")),
    ignores=(
        "def @main(%x: Tensor[(4, 4), float32]) -> Tensor[(4, 4), float32] {\n  @tvmgen_default_clml_main_0(%x)\n}",
        "  %1 = @tvmgen_default_clml_main_0(%0);",
    ),
    read=left,
)
