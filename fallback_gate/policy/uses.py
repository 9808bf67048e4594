"""Room 5: what became of each entry of a policy in one run, for the reports that show the policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date

from fallback_gate.model import Finding
from fallback_gate.model.inputs import EntryUse
from fallback_gate.policy.entry import Entry, Policy


def uses(policy: Policy, findings: Sequence[Finding], today: date) -> tuple[EntryUse, ...]:
    """Each entry in the order of the policy: hot, then cold, then unhot."""
    decided = Counter(id(finding.rule) for finding in findings if finding.rule is not None)

    def use(section: str, entry: Entry, expired: bool = False) -> EntryUse:
        events = decided[id(entry.rule)]
        return EntryUse(section, entry.rule.entry, entry.rule.source, events > 0, expired, events)

    return (
        *(use("hot", hot) for hot in policy.hot),
        *(use("cold", cold, cold.expired(today)) for cold in policy.cold),
        *(
            EntryUse("unhot", unhot.rule.entry, unhot.rule.source, unhot.used, unhot.expired(today))
            for unhot in policy.unhot
        ),
    )
