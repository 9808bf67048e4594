"""Room 5: a policy as it judges, as plain data: what is left after all that it extends, and from where."""

from __future__ import annotations

from datetime import date
from typing import Any

from fallback_gate.compilers.rule import Rule
from fallback_gate.model import Kind
from fallback_gate.model.claims import METRICS, Claim
from fallback_gate.policy.entry import ColdEntry, Entry, HotEntry, Policy, UnhotEntry


def as_data(policy: Policy, today: date) -> dict[str, Any]:
    """The whole policy; each entry with its `source` (`path:line`), an expired one with `expired: true`."""
    return {
        "version": 1,
        "name": policy.name,
        "path": policy.summary.path,
        "sha256": policy.summary.sha256,
        "unlisted": (
            policy.unlisted
            if policy.unlisted_share is None
            else {"block_if_share_above": percentage(policy.unlisted_share)}
        ),
        "hot": [_entry(entry, today) for entry in policy.hot],
        "unhot": [_entry(entry, today) for entry in policy.unhot],
        "cold": [_entry(entry, today) for entry in policy.cold],
        "budgets": dict(policy.budgets),
        "proof": {
            "required": None if policy.required is None else _kinds(policy.required),
            "accept_unobservable": _kinds(policy.accept_unobservable),
        },
        "expect": {
            "compilers": list(policy.expect_compilers),
            "ranks": policy.expect_ranks,
            "instruments": list(policy.expect_instruments),
        },
        "instruments": _bounds(policy),
        "claims": [_claim(claim) for claim in policy.claims],
        "rollback": _rollback(policy),
        "logs": list(policy.logs),
        "rules": [
            {
                "id": rule.id,
                "compiler": rule.compiler,
                "reports": rule.kind.value if isinstance(rule, Rule) else None,
                "proves": None if isinstance(rule, Rule) else _kinds(rule.proves),
                "source": rule.seen_in,
            }
            for rule in policy.rules
        ],
        "tests": [
            {"name": case.name, "verdict": case.verdict.value, "source": case.source} for case in policy.tests
        ],
    }


def percentage(share: float) -> str:
    """A share as a policy says it: `2%`, `0.25%`."""
    return f"{share:.6%}".rstrip("0%").rstrip(".") + "%"


def _bounds(policy: Policy) -> dict[str, dict[str, str]]:
    """The limits of what instruments measure, by instrument."""
    found: dict[str, dict[str, str]] = {}
    for bound in policy.bounds:
        found.setdefault(bound.instrument, {})[bound.name] = bound.limit.text
    return found


def _claim(claim: Claim) -> dict[str, Any]:
    return {
        "metric": claim.metric,
        "value": claim.value,
        "unit": METRICS[claim.metric],
        **claim.conditions,
        "claimed_by": claim.source,
        "at_least": claim.at_least,
        "source": claim.place,
    }


def _rollback(policy: Policy) -> dict[str, Any] | None:
    back = policy.rollback
    if back is None:
        return None
    built = back.built.isoformat() if back.built else None
    said = {key: value for key, value in back._asdict().items() if key != "place"}
    return {**said, "built": built, "source": back.place}


def _kinds(kinds: frozenset[Kind]) -> list[str]:
    return [kind.value for kind in Kind if kind in kinds]


def _entry(entry: Entry, today: date) -> dict[str, Any]:
    said: dict[str, Any] = {key: list(globs) for key, globs in entry.asks().items()}
    if isinstance(entry, HotEntry):
        said["why"] = entry.why
        said["share_of_step"] = entry.share_of_step.text if entry.share_of_step else None
    if isinstance(entry, (ColdEntry, UnhotEntry)):
        said |= {"reason": entry.reason, "owner": entry.owner, "ticket": entry.ticket}
        said["expires"] = entry.expires.isoformat() if entry.expires else None
        said["expired"] = entry.expired(today)
    if isinstance(entry, ColdEntry):
        said["max_count"] = entry.max_count
    said["source"] = entry.rule.source
    return said
