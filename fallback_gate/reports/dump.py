"""Room 7: data as JSON text, valid for strict parsers, redacted, and obeyed by no CI runner."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date
from typing import Any

from fallback_gate.reports import safe


def dump(data: Any) -> str:
    """ASCII text, two blanks an indent, with a line feed at its end.

    No CI runner that prints it finds a command: of `##[name]`, which they obey anywhere in a line, the
    second character is written as an escape, which parsers turn back.
    """
    text = json.dumps(_safe(data), indent=2, ensure_ascii=True, allow_nan=False)
    return text.replace("##", "#\\u0023") + "\n"


def _safe(value: Any) -> Any:
    """The same value with every string redacted, and in types that JSON has."""
    if isinstance(value, str):
        return safe.json_text(safe.redact(value))
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
    return safe.json_text(safe.redact(str(value)))
