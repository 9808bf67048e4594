"""The vocabulary of the coverage matrix: which operator is computed by whose kernel, on which back end.

Beside `event`, whose words it shares. A `Cell` is one operator at one shape and type on one back end, and the
`Column` says whose kernel computes it. A `Matrix` is what is kept as a file in a repository; a `Held` is a
matrix under a policy; a `MatrixDiff` is two of them side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from fallback_gate.model import Kind, Outcome, PolicySummary, Scope

SCHEMA: Final = "fallback-gate/coverage-matrix-1"


class Column(str, Enum):
    """Whose kernel computes an operator."""

    LIBRARY = "library"  # the vendor's or the runtime's own library
    GENERATED = "generated"  # a compiler or a DSL wrote it for this program
    HAND_WRITTEN = "hand-written"  # written by hand outside of the vendor's library: a custom operator
    FALLBACK = "fallback"  # the framework's eager kernel, a reference kernel, or another device
    UNKNOWN = "unknown"  # it ran, and nothing tells whose kernel it is


COVERED: Final = frozenset({Column.LIBRARY, Column.GENERATED, Column.HAND_WRITTEN})


class Place(NamedTuple):
    """Where a cell stands: the row (operator, shape, type), the back end, and the column."""

    op: str
    shape: str
    dtype: str
    backend: str
    column: Column


@dataclass(frozen=True, slots=True)
class Cell:
    """One operator at one shape and type on one back end, and whose kernel computes it.

    `shape` and `dtype` are empty where the file does not tell them; `out` stands before the shape of a
    result. `by` names the kernels or the provider. `microseconds` is the time of its kernels in a step (a
    run, a request); `shared` says that these kernels compute other operators too. `floor` is the time that
    the reference implementation takes, in microseconds a step. `names` are further names, layers among them,
    and `functions` the user's, innermost first. `kind`, `scope` and `reason` tell more of a fallback.
    """

    op: str
    backend: str
    column: Column
    shape: str = ""
    dtype: str = ""
    by: tuple[str, ...] = ()
    microseconds: float | None = None
    shared: bool = False
    floor: float | None = None
    names: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    kind: Kind | None = None
    scope: Scope = Scope.OPERATOR
    reason: str | None = None

    @property
    def place(self) -> Place:
        """Where it stands."""
        return Place(self.op, self.shape, self.dtype, self.backend, self.column)

    @property
    def above_floor(self) -> bool:
        """Whether a kernel that replaces the reference implementation takes longer than that."""
        timed = self.microseconds is not None and self.floor is not None and not self.shared
        return timed and self.column in COVERED and (self.microseconds or 0.0) > (self.floor or 0.0)


@dataclass(frozen=True, slots=True)
class Matrix:
    """All cells, sorted by their places."""

    cells: tuple[Cell, ...] = ()

    @property
    def backends(self) -> tuple[str, ...]:
        """The back ends, sorted."""
        return tuple(sorted({cell.backend for cell in self.cells}))


class Read(NamedTuple):
    """One file that was read for a matrix: how many cells it gave; `problem` says why it proves less."""

    path: str
    format: str
    cells: int
    problem: str | None = None


class Red(NamedTuple):
    """A cell over the red line, the entry of the policy that names it, and why it counts."""

    cell: Cell
    source: str | None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """A matrix held against a policy: `red` blocks, `open` leaves it unproven, a sentence each.

    `hot` are the places of all cells that the hot list names. `notes` decide nothing.
    """

    matrix: Matrix
    outcome: Outcome
    exit_code: int
    policy: PolicySummary
    red: tuple[Red, ...] = ()
    hot: frozenset[Place] = frozenset()
    open: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    read: tuple[Read, ...] = ()


class Step(str, Enum):
    """What became of a row on one back end from the old matrix to the new one."""

    LOST = "lost"  # it is in the fallback column and was not
    UNSURE = "unsure"  # it is in the unknown column and was not
    MOVED = "moved"  # another column, neither better nor worse
    GAINED = "gained"  # it was in the fallback or unknown column and is in neither
    NEW = "new"
    GONE = "gone"
    SAME = "same"


class Change(NamedTuple):
    """One row on one back end, before and after: its cells, one for each column."""

    step: Step
    old: tuple[Cell, ...]
    new: tuple[Cell, ...]

    @property
    def shown(self) -> Cell:
        """The cell that names the row, of the new matrix where it is there."""
        return (self.new or self.old)[0]


@dataclass(frozen=True, slots=True)
class MatrixDiff:
    """Two matrices side by side. `exit_code`: 0 nothing worse, 1 something lost, 3 it can't be told."""

    old: str
    new: str
    changes: tuple[Change, ...]
    exit_code: int
    open: tuple[str, ...] = field(default=())

    def of(self, step: Step) -> tuple[Change, ...]:
        """The changes of one sort, in their order."""
        return tuple(change for change in self.changes if change.step is step)
