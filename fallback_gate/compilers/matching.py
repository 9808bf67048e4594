"""Room 3: from a record to reports and sightings, for every rule and marker alike.

A pattern runs on the one line that was hit, and a user's on as many below it as the rule says. It runs
with a time limit a record and a budget a log: `OutOfTime` makes the log unproven, never silent.

What stands in an open double quote, in a comment or in a command that a shell shows is text about a message:
a request's prompt, a generated source, a `grep`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from re import Match

from fallback_gate.compilers.rule import Marker, Rule, Sighting, compiled, compiled_with_limit, searched
from fallback_gate.compilers.user_markers import OTHERWISE
from fallback_gate.model import Location, Report
from fallback_gate.model.names import operator
from fallback_gate.patterns import GLOG, Pattern
from fallback_gate.scan.anchors import expression
from fallback_gate.scan.record import Record

BUDGET_SECONDS = 10.0
_ASIDE = Pattern(rf"(?:{GLOG}.{{0,300}}?\] \[__\w{{1,40}}\] )?\s{{0,200}}(?:# |\+ |> |\$ )")


class OutOfTime(Exception):
    """A user's pattern reached its time limit; the text names the rule."""


@dataclass(slots=True)
class Budget:
    """CPU seconds that the user's patterns may still take in one log."""

    left: float = BUDGET_SECONDS


def read_rule(rule: Rule, record: Record, budget: Budget) -> Iterable[Report]:
    """The reports of one rule on one record; empty where its pattern does not match."""
    if rule.read:
        match = _first(rule, record, budget)
        return rule.read(rule, record, match) if match else ()
    found = {match.groups(): match for match in _matches(rule, record, budget)}
    return [by_groups(rule, record, match) for match in found.values()]


def read_marker(marker: Marker, record: Record, budget: Budget) -> Iterable[Sighting]:
    """The sightings of one marker on one record; empty where its pattern does not match.

    Each line of a user's marker is kept: in which order they come is what they prove.
    """
    match = _first(marker, record, budget)
    if marker.limit is not None and (match or _ends_otherwise(marker, record.text)):
        id = marker.id if match else marker.id + OTHERWISE
        return (Sighting(id, record.position, (str(record.position),)),)
    if match is None:
        return ()
    if marker.read:
        return marker.read(marker, record, match)
    return (Sighting(marker.id, record.position, tuple(str(group or "") for group in match.groups())),)


def _ends_otherwise(marker: Marker, text: str) -> bool:
    """Whether the line would end a compile and prove something, if it did not say it in other words."""
    return marker.ends and bool(marker.proves) and says_anchor(marker, text)


def says_anchor(entry: Rule | Marker, text: str) -> bool:
    """Whether the line says an anchor itself, rather than quoting it."""
    anchors = (compiled(expression(anchor.encode()).decode()).search(text) for anchor in entry.anchor)
    return any(anchor and is_said(text, anchor) for anchor in anchors)


def _first(rule: Rule | Marker, record: Record, budget: Budget) -> Match[str] | None:
    """The first of the matches."""
    if rule.limit is not None:
        return next(_matches(rule, record, budget), None)
    first = searched(rule.pattern, record.text)
    if first is None or is_said(record.text, first):
        return first
    later = compiled(rule.pattern).finditer(record.text, first.end())
    return next((match for match in later if is_said(record.text, match)), None)


def _matches(rule: Rule | Marker, record: Record, budget: Budget) -> Iterator[Match[str]]:
    """Where the pattern matches and the line is not telling of a message that somebody else may print."""
    text = record.text
    if rule.limit is None:
        return (match for match in compiled(rule.pattern).finditer(text) if is_said(text, match))
    below = record.following(rule.lines - 1) if isinstance(rule, Rule) else ()
    found = _within_limit(rule, rule.limit, "\n".join((text, *(line.text for line in below))), budget)
    return (match for match in found if match.start() <= len(text) and is_said(text, match))


def is_said(text: str, match: Match[str]) -> bool:
    """Whether the line says it itself, rather than quoting it."""
    if text.count('"', 0, match.start()) % 2:
        return False
    marked = "# " in text or "+ " in text or "> " in text or "$ " in text
    return not (marked and _ASIDE.match(text))


def _within_limit(rule: Rule | Marker, limit: float, text: str, budget: Budget) -> Iterator[Match[str]]:
    """The matches of a pattern that we do not trust, while its time lasts."""
    began = time.process_time()
    try:
        search = compiled_with_limit(rule.pattern)
        yield from search(text, timeout=min(limit, max(budget.left, 0.001)))
    except TimeoutError:
        if budget.left >= limit:
            raise OutOfTime(f"the pattern of rule {rule.id} took more than {limit} s on one line") from None
        budget.left = 0
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
        line = said.get("line")
        number = int(line) if line and line.isdecimal() and len(line) < 10 else None
        place = Location(said.get("file"), number, said.get("function"))
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
