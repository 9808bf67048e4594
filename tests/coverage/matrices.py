"""Matrices for the tests: of files, under a policy that stands in the test."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

from fallback_gate.model.matrix import Cell, Column, Held
from fallback_gate.walks.cover import cover

ROOT = Path(__file__).parents[2]
TRACES, LOGS, PROFILES = ROOT / "sample_traces", ROOT / "sample_logs", ROOT / "sample_profiles"
TODAY = date(2026, 11, 30)


def held(folder: Path, *logs: Path | str, hot: list[dict[str, Any]] | None = None, **asked: Any) -> Held:
    """The matrix of these files under a hot list; None is the strict rule."""
    policy = "builtin:strict"
    if hot is not None:
        file = folder / "policy.yaml"
        said = {"version": 1, "name": "test", "unlisted": "warn", "hot": hot}
        file.write_text(json.dumps(said), "utf-8")
        policy = str(file)
    return cover([str(log) for log in logs], policy=policy, today=TODAY, cwd=folder, environ={}, **asked)


def columns(found: Held, backend: str | None = None) -> dict[str, set[Column]]:
    """The columns of each operator."""
    told: dict[str, set[Column]] = {}
    for cell in found.matrix.cells:
        if backend in (None, cell.backend):
            told.setdefault(cell.op, set()).add(cell.column)
    return told


def cells(found: Held, op: str) -> list[Cell]:
    """The cells of an operator."""
    return [cell for cell in found.matrix.cells if cell.op == op]
