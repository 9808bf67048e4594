"""Room 7: the JSON report of one instrument's own command, schema `fallback-gate/INSTRUMENT-1`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fallback_gate.model import Verdict
from fallback_gate.reports import json_report
from fallback_gate.reports.dump import dump


def render(verdict: Verdict, instrument: str, details: Mapping[str, Any]) -> str:
    """The report of one instrument: its own `details` at the top, and what the gate made of them."""
    whole = json_report.document(verdict)
    first = {name: whole[name] for name in ("tool", "verdict", "exit_code", "today", "policy")}
    last = {name: whole[name] for name in ("measurements", "reasons", "notes", "events", "claims")}
    return dump({"schema": f"fallback-gate/{instrument}-1", **first, **details, **last})
