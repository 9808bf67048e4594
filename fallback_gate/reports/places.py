"""Room 7: where in the user's repository a finding is shown: at their own code, else at the policy.

Consumers take paths from the repository's root only, slashes forward; one that leads elsewhere makes some
of them refuse the whole report.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from fallback_gate.model import Finding, Verdict
from fallback_gate.reports import words


class Place(NamedTuple):
    """A line of a file in the repository; `of_user`: it is their code, not their policy."""

    file: str
    line: int
    of_user: bool = False


NOWHERE = Place("fallback-gate.yaml", 1)
"""For formats in which a result needs a place: where a policy would stand."""


def place(verdict: Verdict, finding: Finding) -> Place | None:
    """The user's source frame where the log tells it, else the entry that decided, else the policy."""
    spot = finding.event.location
    file = in_repository(verdict, spot.file) if spot and spot.file else None
    if spot and file:
        return Place(file, max(spot.line or 1, 1), True)
    entry = words.rule_place(finding.rule.source) if finding.rule else None
    file = in_repository(verdict, entry[0]) if entry else None
    if entry and file:
        return Place(file, max(entry[1], 1))
    return policy_place(verdict)


def policy_place(verdict: Verdict) -> Place | None:
    """The first line of the policy; None for a shipped one and the strict rule."""
    file = in_repository(verdict, verdict.policy.path) if verdict.policy.path else None
    return Place(file, 1) if file else None


def in_repository(verdict: Verdict, path: str) -> str | None:
    """The path from the repository's root; None where it is not, or may not be, in there."""
    if path.startswith("builtin:"):
        return None
    if verdict.repository is not None:
        return verdict.repository.files.get(path)
    clean = path.replace("\\", "/").removeprefix("./")
    outside = not clean or clean.startswith(("/", "~")) or ":" in clean or ".." in clean.split("/")
    return clean if not outside and clean.isprintable() else None


def link(verdict: Verdict, spot: Place | None) -> str | None:
    """The address at which the CI system's site shows the line, where it is known."""
    if spot is None or verdict.repository is None or verdict.repository.link is None:
        return None
    path, line = uri(spot.file), str(spot.line)
    return verdict.repository.link.replace("{path}", path).replace("{line}", line)


def uri(path: str) -> str:
    """A path as a relative URI."""
    return quote(path.encode("utf-8", "backslashreplace"), safe="/._-~+")
