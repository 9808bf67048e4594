"""Room 7: a coverage matrix as one HTML file: operators down, back ends across, a field says whose kernel.

The colour of a field is never all that tells it: its word stands in it, a sign before the word, and what is
over the red line has a frame. The file loads nothing and runs no script.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from markupsafe import Markup

from fallback_gate.model.matrix import Cell, Column, Held
from fallback_gate.reports import coverage_report as told
from fallback_gate.reports import html_page, words

MOST_ROWS = 5_000
MOST_SENTENCES = 200
SIGNS: Final = {
    Column.LIBRARY: "\u25a0",  # filled square
    Column.GENERATED: "\u25b2",  # triangle
    Column.HAND_WRITTEN: "\u25c6",  # diamond
    Column.FALLBACK: "\u2715",  # cross
    Column.UNKNOWN: "?",
}
MEANINGS: Final = {
    Column.LIBRARY: "a kernel of the vendor's or the runtime's library",
    Column.GENERATED: "a kernel that a compiler or a DSL generated for this program",
    Column.HAND_WRITTEN: "a kernel written by hand: a plugin, a custom operator",
    Column.FALLBACK: "the framework's eager kernel, a reference kernel, or another device",
    Column.UNKNOWN: "it ran, and nothing tells whose kernel it is",
}


def render(held: Held) -> str:
    """The page, in UTF-8: dark and light, for screens from 320 pixels and for paper."""
    pages = html_page.environment()
    style = html_page.part(pages, "style.css") + html_page.part(pages, "coverage.css")
    page = pages.get_template("coverage.html.j2").render(
        content_security_policy=html_page.policy(style),
        style=Markup(style),
        tone=html_page.TONES[held.outcome],
        answer=held.outcome.value.upper(),
        exit_code=held.exit_code,
        headline=told.headline(held),
        tally=told.tally(held),
        policy=held.policy,
        open=held.open[:MOST_SENTENCES],
        notes=held.notes[:MOST_SENTENCES],
        read=[{"told": told.told(one), "problem": one.problem} for one in held.read],
        backends=held.matrix.backends,
        **_rows(held),
        legend=[
            {"name": column.value, "sign": SIGNS[column], "css": _css(column), "meaning": MEANINGS[column]}
            for column in Column
        ],
    )
    return page.lstrip() + "\n"


def _css(column: Column) -> str:
    return column.value.replace("-", "_")


def _rows(held: Held) -> dict[str, Any]:
    """One row for each operator, shape and type, in the order of the text report."""
    fields: dict[tuple[str, str, str], dict[str, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for cell in told.ranked(held):
        fields[cell.op, cell.shape, cell.dtype][cell.backend].append(cell)
    red = {one.cell.place for one in held.red}
    rows = [
        {
            "op": told.operator(next(iter(by_backend.values()))[0]),
            "shape": shape,
            "dtype": dtype,
            "hot": any(cell.place in held.hot for cells in by_backend.values() for cell in cells),
            "fields": [
                {
                    "backend": name,
                    "cells": [_field(cell, cell.place in red) for cell in by_backend.get(name, ())],
                }
                for name in held.matrix.backends
            ],
        }
        for (_, shape, dtype), by_backend in list(fields.items())[:MOST_ROWS]
    ]
    return {"rows": rows, "row_count": len(fields)}


def _field(cell: Cell, red: bool) -> dict[str, Any]:
    spent, least = told.time(cell), told.floor(cell)
    return {
        "name": cell.column.value,
        "sign": SIGNS[cell.column],
        "css": _css(cell.column),
        "red": red,
        "time": f"{spent} us a step" if spent else "",
        "floor": f"floor {least} us" if least else "",
        "by": words.listed(list(cell.by), 2),
        "reason": cell.reason or "",
    }
