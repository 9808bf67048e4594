"""The annex, the coverage matrix: cells from several files, those of one place made one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace

from fallback_gate.model import Scope
from fallback_gate.model.matrix import Cell, Matrix, Place
from fallback_gate.model.names import spellings

MOST_KERNELS = 8  # that one cell names
MOST_NAMES = 256  # that one cell keeps, of further names and of functions


def collected(cells: Iterable[Cell]) -> Matrix:
    """The matrix of these cells, sorted; the times of one place add up."""
    found: dict[Place, Cell] = {}
    for cell in cells:
        known = found.get(cell.place)
        found[cell.place] = cell if known is None else _joined(known, cell)
    return Matrix(tuple(found[place] for place in sorted(found)))


def _joined(one: Cell, other: Cell) -> Cell:
    times = [cell.microseconds for cell in (one, other) if cell.microseconds is not None]
    joined = replace(
        one,
        by=_union(one.by, other.by)[:MOST_KERNELS],
        microseconds=sum(times) if times else None,
        shared=one.shared or other.shared,
        floor=one.floor if one.floor is not None else other.floor,
        names=_union(one.names, other.names),
        functions=_union(one.functions, other.functions),
        kind=one.kind or other.kind,
        scope=one.scope if one.scope is other.scope else max(one.scope, other.scope, key=_WIDTH.index),
        reason=one.reason or other.reason,
    )
    return bounded(joined)


def bounded(cell: Cell) -> Cell:
    """The cell with so many names as are kept; one that had more may be about any: it is that of a region."""
    if max(len(cell.names), len(cell.functions)) <= MOST_NAMES:
        return cell
    wider = max(cell.scope, Scope.REGION, key=_WIDTH.index)
    return replace(cell, names=cell.names[:MOST_NAMES], functions=cell.functions[:MOST_NAMES], scope=wider)


_WIDTH = [Scope.OPERATOR, Scope.SITE, Scope.REGION, Scope.PROGRAM, Scope.UNKNOWN]  # how much one event covers


def _union(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def backend(cells: Iterable[Cell], name: str | None) -> list[Cell]:
    """The cells, as those of a back end that the user names; None leaves each its own."""
    return [replace(cell, backend=name) for cell in cells] if name else list(cells)


def with_floor(cells: Iterable[Cell], reference: Iterable[Cell]) -> list[Cell]:
    """The cells, each beside the time that the reference implementation takes for the same in a step.

    The same is the operator at this shape and type, or all of the operator, where it is one cell on its back
    end. A kernel that computes other operators too says nothing of one alone, and is no reference.
    """
    exact: dict[tuple[str, str, str], float] = defaultdict(float)
    whole: dict[str, float] = defaultdict(float)
    for cell in reference:
        if cell.microseconds is not None and not cell.shared:
            name = _comparable(cell.op)
            exact[name, cell.shape, cell.dtype] += cell.microseconds
            whole[name] += cell.microseconds
    cells = list(cells)
    spread = Counter((_comparable(cell.op), cell.backend) for cell in cells)

    def least(cell: Cell) -> float | None:
        name = _comparable(cell.op)
        if cell.shape and (name, cell.shape, cell.dtype) in exact:
            return exact[name, cell.shape, cell.dtype]
        return whole.get(name) if spread[name, cell.backend] == 1 else None

    floors = ((cell, least(cell)) for cell in cells)
    return [cell if floor is None else replace(cell, floor=floor) for cell, floor in floors]


def _comparable(op: str) -> str:
    """The operator without overload and without the mark of its in-place form."""
    return spellings(op)[-1].rstrip("_").lower()
