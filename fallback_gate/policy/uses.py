"""Room 5: what became of each entry of a policy in one run, for the reports that show the policy."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from fallback_gate.inputs import EntryUse
from fallback_gate.model import Finding
from fallback_gate.policy.entry import Policy


def uses(policy: Policy, findings: Sequence[Finding], today: date) -> tuple[EntryUse, ...]:
    """Each entry in the order of the policy: hot, then cold, then unhot."""
    used = [finding.rule for finding in findings if finding.rule is not None]
    return (
        *(EntryUse("hot", hot.rule.entry, hot.rule.source, hot.rule in used) for hot in policy.hot),
        *(
            EntryUse("cold", cold.rule.entry, cold.rule.source, cold.rule in used, cold.expired(today))
            for cold in policy.cold
        ),
        *(
            EntryUse("unhot", unhot.rule.entry, unhot.rule.source, unhot.used, unhot.expired(today))
            for unhot in policy.unhot
        ),
    )
