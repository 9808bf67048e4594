"""Room 7: two coverage matrices side by side, for a person and for programs: what was lost comes first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from fallback_gate.model.matrix import Cell, Change, MatrixDiff, Step
from fallback_gate.reports import layout, safe, words
from fallback_gate.reports.coverage_report import operator, time
from fallback_gate.reports.diff_report import RESULTS, STYLES
from fallback_gate.reports.dump import dump
from fallback_gate.reports.sheet import Sheet

SCHEMA: Final = "fallback-gate/coverage-diff-1"
MOST_ROWS = 40
_HEADINGS: Final[Mapping[Step, str]] = {
    Step.LOST: "Now in the fallback column",
    Step.UNSURE: "Now unknown",
    Step.MOVED: "In another column",
    Step.GAINED: "Covered now",
    Step.NEW: "New",
    Step.GONE: "Gone",
    Step.SAME: "Unchanged",
}


def text(compared: MatrixDiff, *, color: bool = False, width: int = 100, verbose: bool = False) -> str:
    """The comparison for a terminal; `verbose` shows what is unchanged too."""
    sheet = Sheet(color=color, width=width, everything=verbose)
    return layout.finish(list(_lines(sheet, compared)))


def _lines(sheet: Sheet, compared: MatrixDiff) -> Iterator[str]:
    code = compared.exit_code
    yield from sheet.answer(RESULTS[code].upper(), code, _headline(compared), STYLES[code])
    yield from sheet.row("old", words.sentence(compared.old))
    yield from sheet.row("new", words.sentence(compared.new))
    yield from sheet.section("Can't be told", sheet.bullets(compared.open, sheet.most(10)))
    for step, heading in _HEADINGS.items():
        if step is not Step.SAME or sheet.everything:
            changes = sheet.each(compared.of(step), MOST_ROWS, partial(_change, sheet))
            yield from sheet.section(heading, changes)


def _headline(compared: MatrixDiff) -> str:
    counts = (f"{len(compared.of(step)):,} {step.value}" for step in Step if compared.of(step))
    return ", ".join(counts) or "both are empty"


def _change(sheet: Sheet, change: Change) -> Iterator[str]:
    cell = change.shown
    row = " ".join(filter(None, (operator(cell), safe.inline(cell.shape), safe.inline(cell.dtype))))
    told = f"{row} on {safe.inline(cell.backend)}: {_columns(change.old)} -> {_columns(change.new)}"
    yield from sheet.paragraph(told, "red" if change.step is Step.LOST else None)


def _columns(cells: tuple[Cell, ...]) -> str:
    """`library (92.9 us)`, or `none`."""
    return (
        " and ".join(
            f"{cell.column.value}{f' ({time(cell)} us)' if cell.microseconds is not None else ''}"
            for cell in cells
        )
        or "none"
    )


def as_json(compared: MatrixDiff) -> str:
    """The comparison for programs: ASCII, every key always there."""
    return dump(
        {
            "schema": SCHEMA,
            "result": RESULTS[compared.exit_code],
            "exit_code": compared.exit_code,
            "old": compared.old,
            "new": compared.new,
            "summary": {step.value: len(compared.of(step)) for step in Step},
            "open": list(compared.open),
            "changes": [_data(change) for change in compared.changes],
        }
    )


def _data(change: Change) -> dict[str, Any]:
    cell = change.shown
    return {
        "step": change.step.value,
        "op": cell.op,
        "shape": cell.shape,
        "dtype": cell.dtype,
        "backend": cell.backend,
        "old": [_side(one) for one in change.old],
        "new": [_side(one) for one in change.new],
    }


def _side(cell: Cell) -> dict[str, Any]:
    return {
        "column": cell.column.value,
        "by": list(cell.by),
        "microseconds": cell.microseconds,
        "shared": cell.shared,
        "reason": cell.reason,
    }
