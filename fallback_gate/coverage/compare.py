"""The annex, the coverage matrix: two matrices side by side, row by row on each back end.

What is in the fallback column and was not is lost, whether the row is new or not. A row that is gone decides
nothing, since shapes change with the model; a back end that is gone leaves the comparison open.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from fallback_gate.model.matrix import Cell, Change, Column, Matrix, MatrixDiff, Step

LOST_EXIT, UNPROVEN_EXIT = 1, 3
_Row = tuple[str, str, str, str]


def compare(old_name: str, old: Matrix, new_name: str, new: Matrix) -> MatrixDiff:
    """Compare two matrices."""
    before, after = _rows(old.cells), _rows(new.cells)
    changes = tuple(
        Change(_step(before.get(row, ()), after.get(row, ())), before.get(row, ()), after.get(row, ()))
        for row in sorted({**before, **after})
    )
    missing = sorted(set(old.backends) - set(new.backends))
    open_ = [f"{new_name} says nothing of the back end {name}" for name in missing]
    if not new.cells:
        open_ = [f"{new_name} holds no cell"]
    steps = {change.step for change in changes}
    exit_code = LOST_EXIT if Step.LOST in steps else UNPROVEN_EXIT if open_ or Step.UNSURE in steps else 0
    return MatrixDiff(old_name, new_name, changes, exit_code, tuple(open_))


def _rows(cells: Iterable[Cell]) -> dict[_Row, tuple[Cell, ...]]:
    found: dict[_Row, list[Cell]] = defaultdict(list)
    for cell in cells:
        found[cell.op, cell.shape, cell.dtype, cell.backend].append(cell)
    return {row: tuple(same) for row, same in found.items()}


def _step(old: tuple[Cell, ...], new: tuple[Cell, ...]) -> Step:
    before, after = {cell.column for cell in old}, {cell.column for cell in new}
    if Column.FALLBACK in after - before:
        return Step.LOST
    if not new:
        return Step.GONE
    if Column.UNKNOWN in after - before:
        return Step.UNSURE
    if not old:
        return Step.NEW
    if before & {Column.FALLBACK, Column.UNKNOWN} and not after & {Column.FALLBACK, Column.UNKNOWN}:
        return Step.GAINED
    return Step.SAME if before == after else Step.MOVED
