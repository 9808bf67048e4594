"""Room 5: what a policy's owner should know: exceptions that rot, and hot entries that are misspelled.

An expired entry is as if it were not there, so it must be named; one that nothing needs any more, or
that lets everything go, should not stay. Shipped entries are ours to keep tidy and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from fallback_gate.model import Decision, Finding
from fallback_gate.policy.entry import ColdEntry, Policy, UnhotEntry
from fallback_gate.policy.globs import is_wild
from fallback_gate.policy.near import Near, matches_none
from fallback_gate.policy.shipped import PREFIX

SOON = timedelta(days=14)


def notes(policy: Policy, findings: Sequence[Finding], today: date, ran: bool = True) -> tuple[str, ...]:
    """Notes on a policy after a run, a sentence each; they decide nothing.

    `ran`: whether the logs show anything that ran; else no entry is called idle.
    """
    return tuple(_notes(policy, findings, today, ran))


def _notes(policy: Policy, findings: Sequence[Finding], today: date, ran: bool) -> Iterator[str]:
    used = [finding.rule for finding in findings if finding.rule is not None]
    near_by = Near([finding for finding in findings if finding.decision is not Decision.BLOCKED])
    for hot in policy.hot:
        if hot.rule in used or hot.rule.source.startswith(PREFIX):
            continue
        if (hint := near_by.hot_hint(hot)) and matches_none(hot, findings):
            yield f"the hot entry {hot} matched nothing in this run: {hint}"
    near = Near(findings)
    for cold in policy.cold:
        yield from _dates("cold", cold, today)
        if _too_wide(cold):
            yield f"the cold entry {cold} names nothing and lets everything go: name what it is for"
        if ran and cold.expires is not None and not cold.expired(today) and cold.rule not in used:
            hint = near.cold_hint(cold, findings) or "take it out if that stays so"
            yield f"the cold entry {cold} allowed nothing in this run: {hint}"
    for unhot in policy.unhot:
        yield from _dates("unhot", unhot, today)
        if unhot.expires is not None and not unhot.expired(today) and not unhot.used:
            yield f"the unhot entry {unhot} takes no inherited hot entry off: name one as it is written there"
    if policy.required is not None and not policy.required:
        yield "proof.required is empty: no kind of fallback has to be proven absent"


def _dates(section: str, entry: ColdEntry | UnhotEntry, today: date) -> Iterator[str]:
    if entry.expires is None:
        return
    of = f", owner {entry.owner}" if entry.owner else ""
    if entry.expired(today):
        yield f"the {section} entry {entry}{of} expired on {entry.expires} and is as if it were not there"
    elif entry.expires - today <= SOON:
        yield f"the {section} entry {entry}{of} expires on {entry.expires}"


def _too_wide(entry: ColdEntry) -> bool:
    """Whether an entry narrows nothing: no name, file or kind that is more than wildcards."""
    return all(is_wild(glob) for globs in entry.asks().values() for glob in globs)
