"""Room 7: findings put together by what they are about, the most important first; processes by their log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fallback_gate.model import Class, Decision, Finding, ProcessVerdict

_RANKING = (Decision.BLOCKED, Decision.WARNED, Decision.ALLOWED)

Group = Sequence[Finding]
"""Findings of one operator, compiler and kind; never empty."""


def by_operator(findings: Iterable[Finding]) -> list[Group]:
    """Findings of one operator, compiler and kind together.

    What blocks comes first, the hot path before the rest, then what costs most where that was measured, and
    then what was reported most often.
    """
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in sorted(findings, key=_weight):
        event = finding.event
        groups.setdefault((event.op, event.compiler, event.kind.value), []).append(finding)
    return sorted(groups.values(), key=lambda group: (*_weight(group[0]), -_share(group), -reports(group)))


def reports(group: Iterable[Finding]) -> int:
    """How often the compiler reported them."""
    return sum(finding.event.count for finding in group)


def _share(group: Group) -> float:
    """What the dearest of them takes of a step; nothing where nobody measured it."""
    return max(finding.event.cost.share if finding.event.cost else 0.0 for finding in group)


def _weight(finding: Finding) -> tuple[int, bool]:
    return _RANKING.index(finding.decision), finding.event_class is not Class.HOT


def by_log(processes: Iterable[ProcessVerdict]) -> dict[str, list[ProcessVerdict]]:
    """The processes of each log that has any."""
    found: dict[str, list[ProcessVerdict]] = {}
    for process in processes:
        found.setdefault(process.log, []).append(process)
    return found
