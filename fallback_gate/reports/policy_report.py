"""Room 7: a policy as it judges, as YAML with the place of each entry behind it, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fallback_gate.reports import layout, safe
from fallback_gate.reports.dump import dump

_SECTIONS = ("hot", "unhot", "cold", "rules", "tests")
_BESIDE = ("source", "expired")  # told in a comment


def as_json(policy: Mapping[str, Any]) -> str:
    """All of it, every key always there."""
    return dump(policy)


def text(policy: Mapping[str, Any]) -> str:
    """What there is of it; lists that are empty and keys that say nothing are left out."""
    return layout.finish([safe.inline(line) for line in _lines(policy)])


def _lines(policy: Mapping[str, Any]) -> Iterator[str]:
    digest = policy["sha256"]
    yield f"# {policy['path'] or 'no policy file: the strict rule'}{f', SHA-256 {digest}' if digest else ''}"
    for key, value in policy.items():
        if key in ("path", "sha256"):
            continue
        if key in _SECTIONS:
            if value:
                yield f"{key}:"
                yield from (_entry(entry) for entry in value)
            continue
        said = _said(value)
        if said not in (None, [], {}):
            yield f"{key}: {_flow(said)}"


def _said(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            k: inner for k, inner in value.items() if inner is not None and (inner != [] or k == "required")
        }
    return value


def _entry(entry: Mapping[str, Any]) -> str:
    expired = ", expired: as if it were not there" if entry.get("expired") else ""
    said = {key: _one(value) for key, value in entry.items() if key not in _BESIDE}
    return f"  - {_flow(_said(said))}   # {entry['source']}{expired}"


def _one(value: Any) -> Any:
    """A list of one as its item: so people write a glob."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _flow(value: Any) -> str:
    """A value in YAML's flow form."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
