"""Room 3: who speaks and what is meant, in the logs of Huawei's Ascend stack.

Its parts name their process in three ways: the plog line `[INFO] GE(4711,atc):2026-01-01-00:00:00.000.001`
(MindSpore and torchair write theirs after it), the error block `[PID: 4711]`, and torch_npu's
`(PID:4711, Device:0, RankID:-1)`. A graph's node is named after its type and a number, or as the model
names it: `Index2`, `/model.23/Mod`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Marker, Rule, Sighting
from fallback_gate.model import Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_PROCESS = Pattern(
    r"^\[(?:ERROR|WARNING|INFO|DEBUG|EVENT|TRACE)\] \w{1,32}\((?P<plog>\d{1,9}),[^)]{0,128}\):"
    r"|\[PID: (?P<block>\d{1,9})\]|\(PID:(?P<adapter>\d{1,9}), Device:"
)
_NUMBERED = Pattern(r"^(?P<type>[A-Z][A-Za-z0-9]*?[A-Za-z])\d+$")

Read = Callable[[Rule, Record, "Match[str]"], Iterable[Report]]


def process_id(record: Record) -> int | None:
    """The id of the process that the line names, or None."""
    found = _PROCESS.search(record.text)
    return int(found["plog"] or found["block"] or found["adapter"]) if found else None


def node_type(node: str) -> str | None:
    """The operator type in a node's name, where the name is a type and a number: `Index` of `Index2`."""
    found = _NUMBERED.match(node)
    return found["type"] if found else None


def named(rule: Rule, record: Record, match: Match[str], *names: str | None) -> Report:
    """The report, for these names of one thing, of which the first is reported; none: it names nothing."""
    report = by_groups(rule, record, match)._replace(pid=process_id(record))
    told = tuple(dict.fromkeys(name for name in names if name))
    return report._replace(op=told[0], names=told) if told else report


def fixed(*names: str) -> Read:
    """The reading of a message that is about one thing, whatever it says."""
    return lambda rule, record, match: (named(rule, record, match, *names),)


def of_op(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A message that names a kernel, a layer or a node in its group `op`: taken as it stands."""
    yield named(rule, record, match, match["op"], node_type(match["op"]))._replace(site=match["op"])


def of_aten(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A message that names an operator of PyTorch: `aten.div.Tensor` is `aten::div`."""
    yield by_groups(rule, record, match)._replace(pid=process_id(record))


def of_layer(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A message that names a layer of the model."""
    layer = match["layer"]
    yield named(rule, record, match, layer)._replace(layer=layer, site=layer, scope=Scope.OPERATOR)


def sighted(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """A sighting of the process that the line names, with the pattern's groups as its facts."""
    yield Sighting(marker.id, record.position, match.groups(), process_id(record))
