"""Room 7: data as JSON text, valid for strict parsers, redacted, and obeyed by no CI runner."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date
from typing import Any

from fallback_gate.reports import safe


def dump(data: Any) -> str:
    """ASCII text, two blanks an indent, with a line feed at its end; no CI runner finds a command in it."""
    return without_commands(json.dumps(_safe(data), indent=2, ensure_ascii=True, allow_nan=False)) + "\n"


def without_commands(text: str) -> str:
    """JSON in which no CI runner finds a command.

    Of `##[name]`, which they obey anywhere in a line, the second character is written as an escape, which
    parsers turn back.
    """
    return text.replace("##", "#\\u0023")


def plain(text: str) -> str:
    """A string for JSON: redacted, and without what strict parsers refuse."""
    return safe.json_text(safe.redact(text))


def _safe(value: Any) -> Any:
    """The same value with every string redacted, and in types that JSON has."""
    if isinstance(value, str):
        return plain(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {_safe(str(key)): _safe(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(_safe(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [_safe(item) for item in value]
    return plain(str(value))
