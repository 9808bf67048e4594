"""Room 6: a waiver: one person, one release, until one day, in spite of what is blocked.

It never helps a run that is unproven: a waiver overrides a known risk, not an unknown one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from fallback_gate.errors import PolicyError
from fallback_gate.model import Decision, Finding, Outcome, WaiverSummary
from fallback_gate.policy import HERE, Shelf, checks, document
from fallback_gate.policy.document import BROKEN, Page, shown

KEYS = ("release", "who", "why", "expires", "events")
ALL = "all"


@dataclass(frozen=True, slots=True)
class Waiver:
    """A waiver file: `events` are fingerprints, or None for all; `expires` is inclusive, UTC."""

    path: str
    release: str
    who: str
    why: str
    expires: date
    events: frozenset[str] | None


def load(path: str, shelf: Shelf = HERE) -> Waiver:
    """Read a waiver file. Raises PolicyError with all of its problems."""
    try:
        data = shelf.read(path, document.LARGEST + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise PolicyError([f"the waiver {shown(path)} can't be read ({why}); name a readable file"]) from None
    page = document.read(data, shelf.named(path.replace("\\", "/")))
    waiver = _checked(page, shelf.named(path))
    problems = tuple(page.told())
    if problems or waiver is None:
        raise PolicyError(problems)
    return waiver


def _checked(page: Page, path: str) -> Waiver | None:
    if page.value is BROKEN or (page.value is None and page.problems):
        return None
    if page.value is None:
        page.complain((), "the file is empty", f"give it {', '.join(KEYS)}")
        return None
    said = checks.mapping(page, (), page.value, KEYS, KEYS)
    words = {key: checks.text(page, (key,), said[key]) for key in ("release", "who", "why") if key in said}
    release, who, why = words.get("release"), words.get("who"), words.get("why")
    expires = checks.day(page, ("expires",), said["expires"]) if "expires" in said else None
    events = _events(page, said["events"]) if "events" in said else None
    if release is None or who is None or why is None or expires is None:
        return None
    return Waiver(path, release, who, why, expires, events)


def _events(page: Page, value: object) -> frozenset[str] | None:
    if value == ALL:
        return None
    if isinstance(value, str):
        page.complain(
            ("events",), f"{shown(value)} is no list", "list fingerprints of the report, or write `all`"
        )
        return None
    found = checks.texts(page, ("events",), value)
    if value == []:
        page.complain(("events",), "an empty list waives nothing", "list fingerprints, or write `all`")
    if ALL in found:
        page.complain(("events",), "`all` stands in a list", "write `events: all`, or list fingerprints only")
    return frozenset(found)


def apply(
    waiver: Waiver,
    release: str | None,
    today: date,
    outcome: Outcome,
    findings: Sequence[Finding],
    budget_exceeded: bool,
) -> WaiverSummary:
    """Whether a waiver overrides this outcome, and if not, why; all that blocks must be covered."""
    problem = _refused(waiver, release, today, outcome, findings, budget_exceeded)
    return WaiverSummary(
        path=waiver.path,
        release=waiver.release,
        who=waiver.who,
        why=waiver.why,
        expires=waiver.expires,
        applied=problem is None,
        problem=problem,
    )


def _refused(
    waiver: Waiver,
    release: str | None,
    today: date,
    outcome: Outcome,
    findings: Sequence[Finding],
    budget_exceeded: bool,
) -> str | None:
    if release != waiver.release:
        asked = "no release was named" if release is None else f"this release is {shown(release)}"
        return f"the waiver is for release {shown(waiver.release)}, and {asked}"
    if today > waiver.expires:
        return f"the waiver expired on {waiver.expires}"
    if outcome is Outcome.UNPROVEN:
        return "a waiver covers what is blocked, never what is unproven"
    if outcome is not Outcome.BLOCKED:
        return "nothing is blocked, so there is nothing to waive"
    if waiver.events is None:
        return None
    if budget_exceeded:
        return "a limit is exceeded, which only `events: all` covers"
    blocked = [finding.event for finding in findings if finding.decision is Decision.BLOCKED]
    open_ = [event for event in blocked if event.fingerprint not in waiver.events]
    if open_:
        first = f"{shown(open_[0].op)} ({open_[0].fingerprint})"
        return f"the waiver does not cover {first}" + (f" and {len(open_) - 1} more" if open_[1:] else "")
    return None
