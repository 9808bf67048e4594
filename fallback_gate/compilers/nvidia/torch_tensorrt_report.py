r"""Room 3: Torch-TensorRT's blocks: rows of one shape that mean one thing or the other by the header above them.

    Supported Nodes:
    - torch.ops.aten.topk.default + Operator Count: 2

    Unsupported or Excluded Nodes:
    - torch.ops.acme.gate_attn.default + Operator Count: 2

The dry-run report (printed with `dryrun=True`, else at DEBUG) counts the operators of the graph, lists those
without a converter, then each node that stays in PyTorch with its place in the model, and closes with the
engines. The overview of the partitioner (DEBUG) lists operators with and without a converter; it is printed
by the check for support and again by the partitioner, so its rows only imply what the report lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Marker, Rule, Sighting
from fallback_gate.model import Report, Scope
from fallback_gate.model.names import operator
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

LONGEST = 20_000  # lines of one report
MOST_SITES = 1_000  # of one row
OP = r"[\w.:<> -]{1,200}?"

_COUNTED = Pattern(rf"^ ?(?P<op>{OP}): (?P<count>\d{{1,9}})\s*$")
_NODE = Pattern(rf"^Node: (?P<op>{OP}), with layer location: (?P<where>\S.{{0,400}})")
_OVERVIEW = Pattern(rf"^- (?P<op>{OP}) \+ Operator Count: (?P<count>\d{{1,9}})\s*$")
_TORCHSCRIPT = Pattern(r"^\s+- (?P<op>\w{1,80}::[\w.]{1,120})\(")
_BUILT_IN = Pattern(r"^<(?:built-in function|function|built-in method) (?P<name>\w+)")
_END = Pattern(
    r"^\s+(?:- The current level of graph segmentation is equivalent to|Aggregate stats not available since)"
)
_ENGINE = Pattern(r"^\s+Number of Operators in Engine: (?P<count>\d{1,9})\s*$")
_TOTAL = Pattern(
    r"The graph consists of (?P<total>\d{1,9}) Total Operators, of which (?P<supported>\d{1,9}) operators"
)


def named(report: Report, said: str) -> Report | None:
    """The report, for an operator as the block says it; None for taking a tuple apart, which computes nothing."""
    built_in = _BUILT_IN.match(said)
    name = built_in["name"] if built_in else said.removeprefix("_operator.")
    if name == "getitem":
        return None
    op = operator(name)
    return report._replace(op=op, names=tuple(dict.fromkeys((op, name, said))), scope=Scope.OPERATOR)


def without_converter(rule: Rule, record: Record, match: Match[str]) -> Iterator[Report]:
    """The rows under the dry run's header of operators that no converter takes."""
    report = by_groups(rule, record, match)
    for line in record.following(LONGEST):
        row = _COUNTED.match(line.text)
        if not row:
            return
        if said := named(report, row["op"]):
            yield said._replace(
                position=record.position_at(line.at),
                text=line.text,
                reason=f"no converter takes it, or it is excluded ({row['count']} in the graph)",
            )


def left_in_torch(rule: Rule, record: Record, match: Match[str]) -> Iterator[Report]:
    """The nodes under the dry run's header of what stays in PyTorch."""
    report = by_groups(rule, record, match)
    for line in record.following(LONGEST):
        row = _NODE.match(line.text)
        if not row:
            return
        for said in _node(report, row):
            yield said._replace(position=record.position_at(line.at), text=line.text)


def _node(report: Report, row: Match[str]) -> Iterator[Report]:
    if said := named(report, row["op"]):
        where = row["where"].strip()
        yield said._replace(
            names=(*said.names, where), layer=where, site=where, reason="set to run in PyTorch"
        )


def overview(rule: Rule, record: Record, match: Match[str]) -> Iterator[Report]:
    """The rows under the partitioner's header of operators that TensorRT does not get."""
    report = by_groups(rule, record, match)._replace(hint=True)
    for line in record.following(LONGEST):
        row = _OVERVIEW.match(line.text)
        if not row:
            return
        said = named(report, row["op"])
        for number in range(min(int(row["count"]), MOST_SITES) if said else 0):
            assert said
            yield said._replace(
                position=record.position_at(line.at),
                text=line.text,
                site=f"{number}",
                at_least=int(row["count"]) > MOST_SITES,
                reason="unsupported or excluded",
            )


def torchscript(rule: Rule, record: Record, match: Match[str]) -> Iterator[Report]:
    """The operators under the header of the TorchScript front end."""
    report = by_groups(rule, record, match)
    for line in record.following(LONGEST):
        row = _TORCHSCRIPT.match(line.text)
        if not row:
            return
        if said := named(report, row["op"]):
            yield said._replace(position=record.position_at(line.at), text=line.text)


def traced(rule: Rule, record: Record, match: Match[str]) -> Iterator[Report]:
    """An operator of the TorchScript front end, by its schema."""
    if said := named(by_groups(rule, record, match), match["op"]):
        yield said


def reported(marker: Marker, record: Record, match: Match[str]) -> Iterator[Sighting]:
    """Whether a dry-run report is whole: it ends, lists as many operators as it says are unsupported, and its
    engines have all operators, or nodes that stay in PyTorch stand under their header.

    These are fewer than the others at times: what takes a tuple apart has no row.
    """
    state, missing, listing, left, staying, stray = "cut", 1, False, 0, False, False
    for line in record.following(LONGEST):
        if total := _TOTAL.match(line.text):
            left = int(total["total"])
            missing = left - int(total["supported"])
            state = "empty" if int(total["total"]) == 0 else state
        elif line.text.startswith("The following ops are currently unsupported"):
            listing = True
        elif listing and (row := _COUNTED.match(line.text)):
            missing -= int(row["count"])
        elif line.text.startswith("The following nodes are currently set to run in Torch"):
            staying = True
        elif _NODE.match(line.text):
            stray = stray or not staying
            left = 0
        elif engine := _ENGINE.match(line.text):
            left -= int(engine["count"])
        elif _END.match(line.text):
            counted = missing <= 0 and left <= 0 and not stray
            state = "whole" if counted and state == "cut" else state
            break
        elif "Dry-Run Results for Graph" in line.text:
            break
        else:
            listing = False
    yield Sighting(marker.id, record.position, (state,))
