"""The file that keeps a matrix, and two of them side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.coverage import collected, compare, load, merged
from fallback_gate.coverage.store import parse
from fallback_gate.errors import InputError
from fallback_gate.model import Kind, Scope
from fallback_gate.model.matrix import SCHEMA, Cell, Column, Matrix, Step
from fallback_gate.reports import coverage_file

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TIMES = st.none() | st.floats(0, 1e9)
CELLS = st.builds(
    Cell,
    op=TEXT,
    backend=TEXT,
    column=st.sampled_from(Column),
    shape=TEXT,
    dtype=TEXT,
    by=st.lists(TEXT, max_size=3, unique=True).map(tuple),
    microseconds=TIMES,
    shared=st.booleans(),
    floor=TIMES,
    names=st.lists(TEXT, max_size=3, unique=True).map(tuple),
    functions=st.lists(TEXT, max_size=3, unique=True).map(tuple),
    kind=st.none() | st.sampled_from(Kind),
    scope=st.sampled_from(Scope),
    reason=st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12),
)


def rounded(cell: Cell) -> Cell:
    def three(value: float | None) -> float | None:
        return None if value is None else float(f"{value:.3g}")

    return replace(cell, microseconds=three(cell.microseconds), floor=three(cell.floor))


@given(st.lists(CELLS, max_size=6))
def test_what_is_written_is_read_again(cells: list[Cell]) -> None:
    matrix = collected(cells)
    text = coverage_file.render(matrix)
    assert text.isascii()
    found = parse(text, "m")
    assert [rounded(cell) for cell in matrix.cells] == [rounded(cell) for cell in found.cells]
    assert coverage_file.render(found) == text


def test_one_cell_a_line_sorted_and_nothing_else() -> None:
    rows = [Cell("b", "y", Column.LIBRARY), Cell("a", "x", Column.FALLBACK, microseconds=12.3456), Cell("a", "w", Column.UNKNOWN)]  # fmt: skip
    lines = coverage_file.render(collected(rows)).splitlines()
    assert [json.loads(line.rstrip(","))["op"] for line in lines[2:-1]] == ["a", "a", "b"]
    assert lines[0] == f'{{"schema": "{SCHEMA}",'
    assert json.loads(lines[3].rstrip(",")) == {
        "op": "a", "shape": "", "dtype": "", "backend": "x", "column": "fallback", "microseconds": 12.3,
    }  # fmt: skip


def test_a_secret_in_a_name_is_not_kept() -> None:
    text = coverage_file.render(Matrix((Cell("ghp_" + "a" * 36, "b", Column.LIBRARY),)))
    assert "ghp_a" not in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no coverage matrix"),
        ("[]", "no coverage matrix"),
        ('{"schema": "fallback-gate/coverage-matrix-2", "cells": []}', "coverage-matrix-2"),
        (f'{{"schema": "{SCHEMA}"}}', "`cells` must be a list"),
        (f'{{"schema": "{SCHEMA}", "cells": [7]}}', "cell 1"),
        (f'{{"schema": "{SCHEMA}", "cells": [{{"op": "a"}}]}}', "cell 1"),
        (
            f'{{"schema": "{SCHEMA}", "cells": [{{"op": "a", "shape": "", "dtype": "", "backend": "b", "column": "slow"}}]}}',
            "slow",
        ),
        (
            f'{{"schema": "{SCHEMA}", "cells": [{{"op": "a", "shape": "", "dtype": "", "backend": "b", "column": "library", "microseconds": -1}}]}}',
            "microseconds",
        ),
    ],
)
def test_a_file_that_is_not_valid_is_an_error(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(text, "utf-8")
    with pytest.raises(InputError, match=said):
        load(str(tmp_path / "m.json"))


@given(st.text(max_size=80) | st.binary(max_size=80).map(lambda data: data.decode("latin-1")))
def test_no_text_breaks_the_reader(text: str) -> None:
    with pytest.raises(InputError):
        parse(text, "m")


def test_a_key_that_is_not_known_is_ignored() -> None:
    row = '{"op": "a", "shape": "", "dtype": "", "backend": "b", "column": "library", "new": 1}'
    found = parse(f'{{"schema": "{SCHEMA}", "cells": [{row}], "more": 2}}', "m")
    assert [cell.op for cell in found.cells] == ["a"]


def test_merged_keeps_the_back_ends_that_were_not_read() -> None:
    old = Matrix((Cell("a", "x", Column.LIBRARY), Cell("a", "y", Column.FALLBACK)))
    new = Matrix((Cell("b", "y", Column.LIBRARY),))
    assert [(cell.op, cell.backend) for cell in merged(old, new).cells] == [("a", "x"), ("b", "y")]


F, L, G, U = Column.FALLBACK, Column.LIBRARY, Column.GENERATED, Column.UNKNOWN


@pytest.mark.parametrize(
    ("old", "new", "step", "exit_code"),
    [
        ([L], [F], Step.LOST, 1),
        ([L], [L, F], Step.LOST, 1),
        ([], [F], Step.LOST, 1),
        ([U], [F], Step.LOST, 1),
        ([L], [U], Step.UNSURE, 3),
        ([], [U], Step.UNSURE, 3),
        ([L], [G], Step.MOVED, 0),
        ([L, G], [G], Step.MOVED, 0),
        ([F], [G], Step.GAINED, 0),
        ([F, G], [G], Step.GAINED, 0),
        ([U], [L], Step.GAINED, 0),
        ([F, G], [F], Step.MOVED, 0),
        ([], [L], Step.NEW, 0),
        ([L], [], Step.GONE, 0),
        ([F], [], Step.GONE, 0),
        ([F], [F], Step.SAME, 0),
    ],
)
def test_steps(old: list[Column], new: list[Column], step: Step, exit_code: int) -> None:
    stay = Cell("stays", "b", L)
    sides = [Matrix((stay, *(Cell("a", "b", column) for column in side))) for side in (old, new)]
    compared = compare("old", sides[0], "new", sides[1])
    assert {change.shown.op: change.step for change in compared.changes} == {"a": step, "stays": Step.SAME}
    assert compared.exit_code == exit_code


def test_a_shape_is_a_row_of_its_own() -> None:
    old = Matrix((Cell("mm", "b", L, shape="8x8"),))
    new = Matrix((Cell("mm", "b", L, shape="8x8"), Cell("mm", "b", F, shape="8x9")))
    compared = compare("old", old, "new", new)
    assert [(change.shown.shape, change.step) for change in compared.changes] == [
        ("8x8", Step.SAME),
        ("8x9", Step.LOST),
    ]


def test_a_back_end_that_is_gone_leaves_the_comparison_open() -> None:
    old = Matrix((Cell("a", "x", L), Cell("a", "y", L)))
    compared = compare("old", old, "new", Matrix((Cell("a", "x", L),)))
    assert compared.exit_code == 3
    assert compared.open == ("new says nothing of the back end y",)
    assert compare("old", old, "new", Matrix()).exit_code == 3
    assert compare("old", Matrix(), "new", Matrix()).exit_code == 3
