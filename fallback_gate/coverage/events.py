"""The annex, the coverage matrix: what a log reported as fallen back, as cells of the fallback column."""

from __future__ import annotations

from collections.abc import Iterable

from fallback_gate.coverage.collect import MOST_NAMES
from fallback_gate.model import Event, Finding
from fallback_gate.model.matrix import Cell, Column, Place


def of_events(
    findings: Iterable[Finding], backend: str | None = None
) -> tuple[list[Cell], dict[Place, Finding]]:
    """A cell for each event, and by its place the finding that the policy made of it, the hot ones first.

    `backend` is the name that the user gives the back end; else it is the compiler that reported the event.
    """
    cells, told = [], dict[Place, Finding]()
    for finding in findings:
        cell = _cell(finding.event, backend)
        cells.append(cell)
        known = told.get(cell.place)
        if known is None or (finding.event_class.value == "hot" and known.event_class.value != "hot"):
            told[cell.place] = finding
    return cells, told


def _cell(event: Event, backend: str | None) -> Cell:
    at = event.location.function if event.location else None
    functions = dict.fromkeys(filter(None, (at, *event.stack)))
    cost = event.cost
    return Cell(
        op=event.op,
        backend=backend or event.compiler,
        column=Column.FALLBACK,
        by=(event.kind.value,),
        microseconds=cost.microseconds if cost else None,
        names=event.names[:MOST_NAMES],
        functions=tuple(functions)[:MOST_NAMES],
        kind=event.kind,
        scope=event.scope,
        reason=event.reason,
    )
