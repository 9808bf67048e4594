"""Room 5: a file of ours that was given in another one's place: one line says what it is."""

from __future__ import annotations

from collections.abc import Mapping

from fallback_gate.policy.page import Page

_OPTIONS = {
    "policy": "give it with --policy",
    "baseline": "give it with --baseline",
    "waiver": "give it with --waiver",
    "report": "commands such as `diff`, `baseline` and `waiver new` read it",
}
_POLICY = {"hot", "cold", "unhot", "unlisted", "extends", "budgets", "proof", "expect", "rules"}


def is_another(page: Page, wanted: str) -> bool:
    """Whether the page is one of our files, but no `wanted` one: a policy, baseline or waiver; complains."""
    is_ = _what(page.value)
    if is_ is None or is_ == wanted:
        return False
    kind = "JSON report of fallback-gate" if is_ == "report" else is_
    page.complain_line(1, f"this is a {kind}, no {wanted}; {_OPTIONS[is_]}")
    return True


def _what(value: object) -> str | None:
    """What a file is, by the keys that no other one has."""
    if not isinstance(value, Mapping):
        return None
    schema = value.get("schema")
    if isinstance(schema, str) and schema.startswith("fallback-gate/"):
        return "baseline" if schema.startswith("fallback-gate/baseline") else "report"
    if value.keys() >= {"release", "who", "why"}:
        return "waiver"
    if "version" in value and not value.keys().isdisjoint(_POLICY):
        return "policy"
    return None
