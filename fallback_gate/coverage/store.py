"""The annex, the coverage matrix: the file that keeps one, read. `reports.coverage_file` writes it.

A file is checked whole: a cell that is not valid is an error, never left out. Keys that are not known are
ignored, since the schema grows by adding some.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from fallback_gate.coverage.collect import collected
from fallback_gate.errors import InputError, Unreadable
from fallback_gate.instruments.text import document
from fallback_gate.model import Kind, Scope
from fallback_gate.model.matrix import SCHEMA, Cell, Column, Matrix

MOST_CELLS: Final = 500_000


def load(path: str) -> Matrix:
    """Read a file that keeps a matrix. Raises `InputError` for one that is missing or not valid."""
    try:
        return parse(document(path), path)
    except Unreadable as wrong:
        raise InputError(f"{path}: {wrong}") from None


def parse(said: str, path: str) -> Matrix:
    """The matrix in a text; `path` is its name for people. Raises `InputError`."""
    try:
        document = json.loads(said)
    except (ValueError, RecursionError) as wrong:
        raise InputError(f"{path}: no coverage matrix: {wrong}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        found = document.get("schema") if isinstance(document, dict) else None
        raise InputError(f"{path}: no coverage matrix of the schema {SCHEMA} (its schema is {found!r})")
    rows = document.get("cells")
    if not isinstance(rows, list) or len(rows) > MOST_CELLS:
        raise InputError(f"{path}: `cells` must be a list of at most {MOST_CELLS:,} cells")
    return collected(_cells(rows, path))


def _cells(rows: list[Any], path: str) -> Iterator[Cell]:
    for at, row in enumerate(rows, 1):
        try:
            yield _cell(row)
        except (KeyError, TypeError, ValueError) as wrong:
            raise InputError(f"{path}: cell {at} of `cells` is not valid: {wrong}") from None


def _cell(row: Any) -> Cell:
    if not isinstance(row, dict):
        raise TypeError("it is no object")
    return Cell(
        op=_string(row, "op"),
        backend=_string(row, "backend"),
        column=Column(row["column"]),
        shape=_string(row, "shape"),
        dtype=_string(row, "dtype"),
        by=_strings(row, "by"),
        microseconds=_number(row, "microseconds"),
        shared=row.get("shared") is True,
        floor=_number(row, "floor"),
        names=_strings(row, "names"),
        functions=_strings(row, "functions"),
        kind=Kind(row["kind"]) if row.get("kind") is not None else None,
        scope=Scope(row.get("scope", Scope.OPERATOR.value)),
        reason=_string(row, "reason") if row.get("reason") is not None else None,
    )


def _string(row: dict[str, Any], key: str) -> str:
    value = row[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} must be a text")
    return value


def _strings(row: dict[str, Any], key: str) -> tuple[str, ...]:
    values = row.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{key} must be a list of texts")
    return tuple(values)


def _number(row: dict[str, Any], key: str) -> float | None:
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e15:
        raise TypeError(f"{key} must be a number of microseconds")
    return float(value)


def merged(old: Matrix, new: Matrix) -> Matrix:
    """The new cells, and the old ones of back ends that the new matrix does not speak of."""
    read = set(new.backends)
    return collected([*new.cells, *(cell for cell in old.cells if cell.backend not in read)])
