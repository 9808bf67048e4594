"""Room 7: a coverage matrix under a policy: for a terminal, as CSV, as Markdown and as JSON.

What is over the red line comes first, then what can't be told, then the matrix: fallbacks, what is unknown,
and the rest by the time that it takes. The JSON form has everything; its schema grows by adding keys only.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

from fallback_gate.model import Outcome
from fallback_gate.model.matrix import Cell, Column, Held, Read, Red
from fallback_gate.reports import layout, safe, words
from fallback_gate.reports.dump import dump
from fallback_gate.reports.sheet import STYLES, Sheet

SCHEMA: Final = "fallback-gate/coverage-1"
MOST_ROWS = 40
MOST_MARKDOWN_ROWS = 1000
HEADS: Final = ("operator", "shape", "type", "back end", "column", "us a step", "floor", "by")
BACKEND, BY = HEADS.index("back end"), HEADS.index("by")
WIDE = 120  # columns of a terminal that has room for the kernels
WIDTHS: Final = (36, 28, 8, 16, 18, 12, 26, 32)  # columns of the table in the text report, at most
_ORDER: Final = {Column.FALLBACK: 0, Column.UNKNOWN: 1}


def text(
    held: Held, *, color: bool = False, width: int = 100, verbose: bool = False, quiet: bool = False
) -> str:
    """The report for a terminal."""
    sheet = Sheet(color=color, width=width, everything=verbose)
    return layout.finish(list(_lines(sheet, held, quiet)))


def _lines(sheet: Sheet, held: Held, quiet: bool) -> Iterator[str]:
    yield from sheet.answer(held.outcome.value.upper(), held.exit_code, headline(held), STYLES[held.outcome])
    yield from sheet.row("policy", words.sentence(held.policy.path or held.policy.name))
    for one in held.read:
        yield from sheet.row("read", words.sentence(told(one)))
    yield from sheet.section("Over the red line", sheet.each(held.red, MOST_ROWS, partial(_red, sheet)))
    yield from sheet.section("Can't be told", sheet.bullets(held.open, sheet.most(10)))
    if quiet:
        return
    yield from sheet.section("Notes", sheet.bullets(held.notes, sheet.most(10)))
    if held.matrix.cells:
        yield ""
        if len(held.matrix.backends) == 1:
            yield f"Back end {safe.inline(held.matrix.backends[0])}"
        yield from _table(sheet, held)


def _red(sheet: Sheet, red: Red) -> Iterator[str]:
    cell = red.cell
    yield from sheet.head(f"{operator(cell)} on {safe.inline(cell.backend)}: {cell.column.value}", "bold red")
    yield from sheet.row("why", words.sentence(cell.reason) if cell.reason else None, indent=4)
    yield from sheet.row("by", safe.inline(", ".join(cell.by)) or None, indent=4)
    spent = f"{time(cell)} us a step" if cell.microseconds is not None else None
    yield from sheet.row("time", spent, indent=4)
    yield from sheet.row("rule", words.sentence(red.source or red.why or ""), indent=4)


def _table(sheet: Sheet, held: Held) -> Iterator[str]:
    cells = ranked(held)
    shown = cells[: sheet.most(MOST_ROWS)]
    rows = [HEADS, *(_shortened(row(held, cell), sheet) for cell in shown)]
    left_out = {BACKEND} if len(held.matrix.backends) == 1 else set()
    left_out |= set() if sheet.everything or sheet.width >= WIDE else {BY}
    filled = (at for at, column in enumerate(zip(*rows[1:], strict=True)) if any(column))
    told = [at for at in filled if at not in left_out]
    rows = [[texts[at] for at in told] for texts in rows]
    head, *body = layout.table(rows, 10_000 if sheet.everything else sheet.width)
    yield sheet.paint("  ".join(head).rstrip(), "bold")
    for cell, line in zip(shown, body, strict=True):
        style = "red" if cell.column is Column.FALLBACK else "yellow" if cell.column is Column.UNKNOWN else ""
        said = "  ".join(line).rstrip()
        yield sheet.paint(said, style) if style else said
    yield from sheet.rest(len(cells) - len(shown))
    if any(cell.shared and cell.microseconds is not None for cell in shown):
        yield "<= the time of kernels that compute other operators too"


def _shortened(texts: list[str], sheet: Sheet) -> list[str]:
    """The texts of a row, long ones cut to what a person needs to know it again."""
    return (
        texts
        if sheet.everything
        else [layout.cut(said, most) for said, most in zip(texts, WIDTHS, strict=True)]
    )


def headline(held: Held) -> str:
    """One sentence: what is over the red line, or what the matrix holds."""
    if held.red:
        ops = words.listed(words.distinct(operator(red.cell) for red in held.red))
        return f"{ops}: hot, and in the fallback column"
    counted = tally(held)
    if held.outcome is Outcome.UNPROVEN:
        return f"no hot operator was seen in the fallback column, but not all can be told ({counted})"
    return f"no hot operator is in the fallback column ({counted})"


def tally(held: Held) -> str:
    """`12 cells: 5 library, 4 generated, 3 fallback`."""
    cells = held.matrix.cells
    counts = ((column, sum(cell.column is column for cell in cells)) for column in Column)
    said = ", ".join(f"{count:,} {column.value}" for column, count in counts if count)
    return f"{words.number(len(cells), 'cell')}{': ' if said else ''}{said}"


def told(one: Read) -> str:
    """`decode.json.gz (pytorch-profiler, 113 cells)`."""
    return f"{one.path} ({one.format}, {words.number(one.cells, 'cell')})"


def ranked(held: Held) -> list[Cell]:
    """The cells as a person wants them: over the red line, fallbacks, unknown, then by time."""
    red = {one.cell.place for one in held.red}
    return sorted(
        held.matrix.cells,
        key=lambda cell: (
            cell.place not in red,
            _ORDER.get(cell.column, 2),
            -(cell.microseconds or 0.0),
            cell.place,
        ),
    )


def operator(cell: Cell) -> str:
    """The operator's name; in words where nothing names it."""
    return safe.inline(cell.op) if cell.op != "*" else "unnamed operator"


def time(cell: Cell) -> str:
    """`92.9`, `<= 4.1` for kernels that compute other operators too; empty where it was not measured."""
    if cell.microseconds is None:
        return ""
    return f"{'<= ' if cell.shared else ''}{cell.microseconds:,.1f}"


def floor(cell: Cell) -> str:
    """The reference implementation's time; marked where a kernel that replaces it takes longer."""
    if cell.floor is None:
        return ""
    return f"{cell.floor:,.1f}{' (slower than it)' if cell.above_floor else ''}"


def row(held: Held, cell: Cell) -> list[str]:
    """The texts of one cell, below `HEADS`."""
    hot = " (hot)" if cell.place in held.hot else ""
    return [
        operator(cell), safe.inline(cell.shape), safe.inline(cell.dtype), safe.inline(cell.backend),
        f"{cell.column.value}{hot}", time(cell), floor(cell), safe.inline(", ".join(cell.by)),
    ]  # fmt: skip


def as_csv(held: Held) -> str:
    """All cells, one a line, sorted by their places; the first line names the columns."""
    red = {one.cell.place for one in held.red}
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(
        ("op", "shape", "dtype", "backend", "column", "hot", "red", "microseconds", "shared", "floor",
         "by", "names", "functions", "kind", "scope", "reason")
    )  # fmt: skip
    for cell in held.matrix.cells:
        texts: Sequence[object] = (
            cell.op, cell.shape, cell.dtype, cell.backend, cell.column.value,
            "yes" if cell.place in held.hot else "no", "yes" if cell.place in red else "no",
            _number(cell.microseconds), "yes" if cell.shared else "no", _number(cell.floor),
            "; ".join(cell.by), "; ".join(cell.names), "; ".join(cell.functions),
            cell.kind.value if cell.kind else "", cell.scope.value, cell.reason or "",
        )  # fmt: skip
        writer.writerow([safe.csv_cell(str(said)) for said in texts])
    return output.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def markdown(held: Held) -> str:
    """The report as GitHub-flavoured Markdown."""
    return layout.finish(list(_markdown(held)))


def _markdown(held: Held) -> Iterator[str]:
    yield f"### {words.SIGNS[held.outcome]}: {safe.markdown(headline(held))}"
    yield ""
    yield f"Policy {safe.code(held.policy.path or held.policy.name)}. {safe.markdown(tally(held))}."
    if held.open:
        yield from (
            "",
            "#### Can't be told",
            "",
            *(f"- {safe.markdown(words.sentence(one))}" for one in held.open),
        )
    if held.notes:
        yield from ("", "#### Notes", "", *(f"- {safe.markdown(words.sentence(one))}" for one in held.notes))
    if not held.matrix.cells:
        return
    cells = ranked(held)
    yield from ("", f"| {' | '.join(HEADS)} |", f"|{' --- |' * len(HEADS)}")
    red = {one.cell.place for one in held.red}
    for cell in cells[:MOST_MARKDOWN_ROWS]:
        op, shape, dtype, backend, column, spent, least, by = row(held, cell)
        codes = [safe.code_cell(said) if said else "" for said in (op, shape, dtype, backend)]
        mark = "**red line:** " if cell.place in red else ""
        yield (
            f"| {' | '.join(codes)} | {mark}{column} | {spent} | {least} | "
            f"{safe.code_cell(safe.shorten(by, 120)) if by else ''} |"
        )
    if len(cells) > MOST_MARKDOWN_ROWS:
        yield from ("", f"And {len(cells) - MOST_MARKDOWN_ROWS:,} more; the CSV has them all.")
    if any(cell.shared and cell.microseconds is not None for cell in cells):
        yield from ("", safe.markdown("<= the time of kernels that compute other operators too."))


def as_json(held: Held) -> str:
    """The report for programs: ASCII, every key always there."""
    document = {
        "schema": SCHEMA,
        "verdict": held.outcome.value,
        "exit_code": held.exit_code,
        "policy": {"name": held.policy.name, "path": held.policy.path, "sha256": held.policy.sha256},
        "backends": list(held.matrix.backends),
        "summary": {
            column.value: sum(cell.column is column for cell in held.matrix.cells) for column in Column
        },
        "red": [{**_place(red.cell), "source": red.source, "why": red.why} for red in held.red],
        "open": list(held.open),
        "notes": list(held.notes),
        "read": [
            {"path": one.path, "format": one.format, "cells": one.cells, "problem": one.problem}
            for one in held.read
        ],
        "cells": [_cell(held, cell) for cell in held.matrix.cells],
    }
    return dump(document)


def _place(cell: Cell) -> dict[str, Any]:
    return {**cell.place._asdict(), "column": cell.column.value}


def _cell(held: Held, cell: Cell) -> dict[str, Any]:
    return {
        **_place(cell),
        "hot": cell.place in held.hot,
        "by": list(cell.by),
        "microseconds": cell.microseconds,
        "shared": cell.shared,
        "floor": cell.floor,
        "above_floor": cell.above_floor,
        "names": list(cell.names),
        "functions": list(cell.functions),
        "kind": cell.kind.value if cell.kind else None,
        "scope": cell.scope.value,
        "reason": cell.reason,
    }
