"""Room 7: what instruments measured, as rows of the text report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from fallback_gate.measures import Measured, State, amount
from fallback_gate.model import Verdict
from fallback_gate.reports import layout, safe
from fallback_gate.reports.sheet import Sheet

WORDS: Final[Mapping[State, str]] = {
    State.EXCEEDED: "over the limit",
    State.OPEN: "not comparable",
    State.MET: "within the limit",
    State.UNLIMITED: "",
}
MOST = 24


def rows(verdict: Verdict) -> list[tuple[str, str, str, str, State]]:
    """Each measurement: name, value, baseline and limit, what came of it first where it is over the limit."""
    return [_row(one) for one in verdict.measurements]


def _row(one: Measured) -> tuple[str, str, str, str, State]:
    said = one.measurement
    name = f"{said.name} of {said.subject}" if said.subject else said.name
    before = amount(said.baseline, said.unit) if said.baseline is not None else ""
    limit = f"{one.limit.text}, {WORDS[one.state]}" if one.limit else ""
    return safe.inline(name), amount(said.value, said.unit), before, safe.inline(limit), one.state


def section(sheet: Sheet, verdict: Verdict) -> Iterator[str]:
    """The rows of the text report, in columns."""
    found = rows(verdict)
    shown = found[: sheet.most(MOST)]
    has_baseline = any(before for _, _, before, _, _ in shown)
    wide = [max((len(row[column]) for row in shown), default=0) for column in range(3)]
    for name, value, before, limit, state in shown:
        cells = [f"{name:<{wide[0]}}", f"{value:>{wide[1]}}"]
        if has_baseline:
            cells.append(f"{f'was {before}' if before else '':<{wide[2] + 4}}")
        style = {State.EXCEEDED: "bold red", State.OPEN: "yellow"}.get(state)
        line = layout.cut("  ".join([*cells, limit]).rstrip(), sheet.width - 2)
        yield f"  {sheet.paint(line, style)}" if style else f"  {line}"
    yield from sheet.rest(len(found) - len(shown))
