"""Room 7: what instruments measured, as rows of a table, and as the text report shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from fallback_gate.model import Verdict
from fallback_gate.model.measures import Measured, State, amount
from fallback_gate.reports import layout, safe
from fallback_gate.reports.sheet import Sheet

WORDS: Final[Mapping[State, str]] = {
    State.EXCEEDED: "over the limit",
    State.OPEN: "not comparable",
    State.MET: "within the limit",
    State.UNLIMITED: "",
}
MOST = 24
LEAST = 24  # columns of a name, however long the rest is


class Row(NamedTuple):
    """One measurement in words that no output has been made safe for yet."""

    file: str
    name: str
    value: str
    before: str
    limit: str
    source: str
    state: State
    number: float


def rows(verdict: Verdict) -> list[Row]:
    """Each measurement, in the order of the instruments."""
    return [_row(one) for one in verdict.measurements]


def pressing(verdict: Verdict) -> list[Row]:
    """The same, for tables that may be cut: what is over its limit first, then what has one."""
    order = (State.EXCEEDED, State.OPEN, State.MET, State.UNLIMITED)
    return sorted(rows(verdict), key=lambda row: order.index(row.state))


def _row(one: Measured) -> Row:
    said = one.measurement
    return Row(
        file=said.path,
        name=f"{said.instrument}.{said.name}" + (f" of {said.subject}" if said.subject else ""),
        value=amount(said.value, said.unit),
        before=amount(said.baseline, said.unit) if said.baseline is not None else "",
        limit=one.limit.text if one.limit else "",
        source=(one.source or "by default") if one.limit else "",
        state=one.state,
        number=said.value,
    )


def section(sheet: Sheet, verdict: Verdict) -> Iterator[str]:
    """The rows of the text report, in columns."""
    found = rows(verdict)
    shown = [
        (safe.inline(row.name.partition(".")[2]), row.value, row.before, _held(row), row.state)
        for row in found[: sheet.most(MOST)]
    ]
    has_baseline = any(before for _, _, before, _, _ in shown)
    wide = [max((len(cells[column]) for cells in shown), default=0) for column in range(4)]
    beside = wide[1] + (wide[2] + 6 if has_baseline else 0) + wide[3] + 6
    wide[0] = min(wide[0], max(LEAST, sheet.width - beside))
    for name, value, before, limit, state in shown:
        cells = [f"{layout.cut(name, wide[0]):<{wide[0]}}", f"{value:>{wide[1]}}"]
        if has_baseline:
            cells.append(f"{f'was {before}' if before else '':<{wide[2] + 4}}")
        style = {State.EXCEEDED: "bold red", State.OPEN: "yellow"}.get(state)
        line = layout.cut("  ".join([*cells, limit]).rstrip(), sheet.width - 2)
        yield f"  {sheet.paint(line, style)}" if style else f"  {line}"
    yield from sheet.rest(len(found) - len(shown))


def _held(row: Row) -> str:
    return f"{safe.inline(row.limit)}, {WORDS[row.state]}" if row.limit else ""
