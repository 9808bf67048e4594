"""Room 7: the file that keeps a coverage matrix: one cell a line, sorted, so that a diff of it can be read.

    {"schema": "fallback-gate/coverage-matrix-1",
     "cells": [
    {"op": "aten::topk", "shape": "24x16", "dtype": "f32", "backend": "h200", "column": "fallback", ...},

`op`, `shape`, `dtype`, `backend` and `column` are always there, other keys where they say something. Times
have three digits, since more is noise. No paths, dates or versions: the file changes when the coverage does.
The schema grows by adding keys only.
"""

from __future__ import annotations

import json
from typing import Any

from fallback_gate.model import Scope
from fallback_gate.model.matrix import SCHEMA, Cell, Matrix
from fallback_gate.reports.dump import plain


def render(matrix: Matrix) -> str:
    """The file as ASCII, with a line feed at its end."""
    cells = ",\n".join(json.dumps(_data(cell)) for cell in matrix.cells)
    return f'{{"schema": "{SCHEMA}",\n "cells": [\n{cells}\n]}}\n'


def _data(cell: Cell) -> dict[str, Any]:
    further = {
        "by": [plain(name) for name in cell.by],
        "microseconds": _rounded(cell.microseconds),
        "shared": cell.shared,
        "floor": _rounded(cell.floor),
        "names": [plain(name) for name in cell.names],
        "functions": [plain(name) for name in cell.functions],
        "kind": cell.kind.value if cell.kind else None,
        "scope": cell.scope.value if cell.scope is not Scope.OPERATOR else None,
        "reason": plain(cell.reason) if cell.reason else None,
    }
    place = {key: plain(value) for key, value in cell.place._asdict().items() if key != "column"}
    said = {
        key: value
        for key, value in further.items()
        if value is not None and value is not False and value != []
    }
    return {**place, "column": cell.column.value, **said}


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")
