"""Room 6: a waiver: one person, one release, until one day, in spite of what is blocked.

It never helps a run that is unproven: a waiver overrides a known risk, not an unknown one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from fallback_gate.errors import PolicyError, reason
from fallback_gate.model import Decision, Finding, Outcome, WaiverSummary
from fallback_gate.policy import HERE, Shelf, checks, document
from fallback_gate.policy.globs import slashed
from fallback_gate.policy.mistaken import is_another
from fallback_gate.policy.page import BROKEN, Page, shown

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
        why = f"can't be read ({reason(error)}); name a readable file"
        raise PolicyError([f"the waiver {shown(path)} {why}"]) from None
    page = document.read(data, shelf.named(slashed(path)))
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
    if is_another(page, "waiver"):
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
    release: str,
    today: date,
    outcome: Outcome,
    findings: Sequence[Finding],
    limit_exceeded: bool,
) -> WaiverSummary:
    """Whether a waiver overrides this outcome, and if not, why; all that blocks must be covered."""
    problem = None
    if release != waiver.release:
        problem = f"the waiver is for release {shown(waiver.release)}, and this release is {shown(release)}"
    elif today > waiver.expires:
        problem = f"the waiver expired on {waiver.expires}"
    elif outcome is Outcome.UNPROVEN:
        problem = "a waiver covers what is blocked, never what is unproven"
    elif outcome is not Outcome.BLOCKED:
        problem = "nothing is blocked, so there is nothing to waive"
    elif waiver.events is not None:
        problem = _uncovered(waiver.events, findings, limit_exceeded)
    return WaiverSummary(
        path=waiver.path,
        release=waiver.release,
        who=waiver.who,
        why=waiver.why,
        expires=waiver.expires,
        applied=problem is None,
        problem=problem,
    )


def _uncovered(waived: frozenset[str], findings: Sequence[Finding], limit_exceeded: bool) -> str | None:
    """What blocks and is not among the fingerprints."""
    if limit_exceeded:
        return "a limit is exceeded, which only `events: all` covers"
    blocked = [finding.event for finding in findings if finding.decision is Decision.BLOCKED]
    left = [event for event in blocked if event.fingerprint not in waived]
    if not left:
        return None
    more = f" and {len(left) - 1} more" if left[1:] else ""
    return f"the waiver does not cover {shown(left[0].op)} ({left[0].fingerprint}){more}"
