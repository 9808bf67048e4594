"""Room 7: the verdict as GitLab's Code Quality report, which a merge request shows beside its changes.

GitLab reads `description`, `check_name`, `fingerprint`, `severity`, and `location` with a path from the
repository's root. Of two entries with one fingerprint it shows one, and it compares the report with that
of the target branch by them, so they hold no line number. What does not fit is counted by the last entry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from fallback_gate.model import Class, Decision, Finding, Outcome, Verdict
from fallback_gate.reports import safe, words
from fallback_gate.reports.dump import dump
from fallback_gate.reports.gaps import gaps
from fallback_gate.reports.groups import Group, by_operator
from fallback_gate.reports.places import NOWHERE, Place, place, policy_place

DESCRIPTION_CHARACTERS = 1_000
MOST = 5_000
SEVERITIES = ("minor", "major", "critical", "blocker")


def render(verdict: Verdict) -> str:
    """The report: an array, empty where nothing is to be told."""
    entries: dict[str, dict[str, Any]] = {}
    for entry in _entries(verdict):
        entries.setdefault(entry["fingerprint"], entry)
    found = list(entries.values())
    if len(found) > MOST:
        found[MOST - 1 :] = [_left_out(verdict, found[MOST - 1 :])]
    return dump(found)


def _left_out(verdict: Verdict, rest: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One entry for those that did not fit, as bad as the worst of them."""
    worst = max((entry["severity"] for entry in rest), key=SEVERITIES.index)
    text = f"{words.number(len(rest), 'more entry', 'more entries')} left out to keep this report small; "
    spot = policy_place(verdict) or NOWHERE
    return _entry("fallback-gate/left-out", text + "--format json has them all", worst, spot, "left out")


def _entries(verdict: Verdict) -> Iterator[dict[str, Any]]:
    waived = verdict.outcome is Outcome.WAIVED
    yield from _findings(verdict, Decision.BLOCKED, waived)
    spot = policy_place(verdict) or NOWHERE
    for reason in verdict.reasons:
        yield _entry("fallback-gate/verdict", words.sentence(reason), "minor" if waived else "critical", spot)
    for error in verdict.errors:
        yield _entry("fallback-gate/input", words.sentence(error), "critical", spot)
    for gap in gaps(verdict.processes):
        kinds = ", ".join(kind.value for kind in gap.kinds) or "every kind"
        setting = f"; set {words.sentence(gap.setting)}" if gap.setting else ""
        text = f"{kinds}: not proven by {gap.compiler or 'any compiler'}: {words.sentence(gap.why)}{setting}"
        yield _entry("fallback-gate/unproven", text, "minor" if waived else "major", spot)
    for log in verdict.logs:
        if log.problem and log.outcome is not None:
            text = f"{words.sentence(log.path)}: {words.sentence(log.problem)}"
            yield _entry("fallback-gate/log", text, "major", spot)
    yield from _findings(verdict, Decision.WARNED, waived)


def _findings(verdict: Verdict, decision: Decision, waived: bool) -> Iterator[dict[str, Any]]:
    for group in by_operator(verdict.decided(decision)):
        same: dict[str, list[Finding]] = {}
        for finding in group:
            same.setdefault(finding.event.fingerprint, []).append(finding)
        yield from (_finding(verdict, members, waived) for members in same.values())


def _finding(verdict: Verdict, group: Group, waived: bool) -> dict[str, Any]:
    first, event = group[0], group[0].event
    reason = f": {words.sentence(event.reason)}" if event.reason else ""
    step = f" Next: {words.sentence(event.help)}" if event.help else ""
    cost = f" Costs {told}." if (told := words.cost(event)) else ""
    waiver = ", waived" if waived and first.decision is Decision.BLOCKED else ""
    facts = f"{first.event_class.value}{waiver}, {words.how_often(group)}"
    text = f"{words.title_at(event)} ({facts}){reason}.{cost}{step}"
    if waiver or first.decision is Decision.WARNED:
        severity = "minor"
    else:
        severity = "blocker" if first.event_class is Class.HOT else "critical"
    spot = place(verdict, first) or NOWHERE
    return _entry(words.sentence(event.id) or "fallback", text, severity, spot, event.fingerprint)


def _entry(check: str, text: str, severity: str, spot: Place, identity: str | None = None) -> dict[str, Any]:
    told = "\n".join((check, identity or text, spot.file))
    return {
        "description": safe.shorten(text, DESCRIPTION_CHARACTERS) or check,
        "check_name": check,
        "fingerprint": hashlib.sha256(told.encode("utf-8", "backslashreplace")).hexdigest(),
        "severity": severity,
        "location": {"path": spot.file, "lines": {"begin": spot.line}},
    }
