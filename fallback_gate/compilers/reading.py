"""Room 3: from a record to reports and sightings, for every rule and marker alike.

A pattern runs on the one line that was hit. A user's pattern runs with a time limit a line and a budget a
log: `OutOfTime` makes the log unproven, never silent.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from re import Match

from fallback_gate.compilers.rule import Marker, Rule, Sighting, compiled, compiled_with_limit
from fallback_gate.events.names import operator
from fallback_gate.model import Location, Report
from fallback_gate.scan.record import Record

BUDGET_SECONDS = 20.0


class OutOfTime(Exception):
    """A user's pattern reached its time limit; the text names the rule."""


@dataclass(slots=True)
class Budget:
    """CPU seconds that the user's patterns may still take in one log."""

    left: float = BUDGET_SECONDS


def read_rule(rule: Rule, record: Record, budget: Budget) -> Iterable[Report]:
    """The reports of one rule on one record; empty where its pattern does not match."""
    match = _match(rule, record, budget)
    if match is None:
        return ()
    return rule.read(rule, record, match) if rule.read else (by_groups(rule, record, match),)


def read_marker(marker: Marker, record: Record, budget: Budget) -> Iterable[Sighting]:
    """The sightings of one marker on one record; empty where its pattern does not match."""
    match = _match(marker, record, budget)
    if match is None:
        return ()
    if marker.read:
        return marker.read(marker, record, match)
    return (Sighting(marker.id, record.position, tuple(str(group or "") for group in match.groups())),)


def _match(rule: Rule | Marker, record: Record, budget: Budget) -> Match[str] | None:
    if rule.limit is None:
        return compiled(rule.pattern).search(record.text)
    search = compiled_with_limit(rule.pattern)
    began = time.process_time()
    try:
        return search(record.text, timeout=min(rule.limit, max(budget.left, 0.001)))
    except TimeoutError:
        raise OutOfTime(f"the pattern of rule {rule.id} took more than {rule.limit} s on one line") from None
    finally:
        budget.left -= time.process_time() - began
        if budget.left <= 0:
            raise OutOfTime(f"the patterns of the policy took more than {BUDGET_SECONDS:.0f} s on this log")


def by_groups(rule: Rule, record: Record, match: Match[str]) -> Report:
    """A report from the pattern's named groups alone."""
    said = {name: value for name, value in match.groupdict().items() if value}
    op = said.get("op") or said.get("function") or "*"
    place = None
    if said.keys() & {"file", "line", "function"}:
        line = said.get("line", "")
        place = Location(
            said.get("file"), int(line) if line.isdecimal() and len(line) < 10 else None, said.get("function")
        )
    return Report(
        id=rule.id,
        compiler=rule.compiler,
        kind=rule.kind,
        scope=rule.scope,
        op=operator(op) if said.get("op") else op,
        position=record.position,
        text=record.text,
        names=tuple(dict.fromkeys((operator(op), op))) if op != "*" else (),
        stack=(said["function"],) if "function" in said else (),
        files=(said["file"],) if "file" in said else (),
        reason=said.get("reason"),
        location=place,
        layer=said.get("layer"),
        at_least=rule.at_least,
        help=rule.help,
    )
