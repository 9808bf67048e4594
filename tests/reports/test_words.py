"""The small parts: counts and ranks in words, merged gaps, settings, wrapping."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.model import Kind, Outcome, State
from fallback_gate.reports import layout, words
from fallback_gate.reports.gaps import Gap, gaps, next_settings
from tests.reports import sample


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((), None),
        ((3,), "rank 3"),
        (range(64), "ranks 0-63"),
        ((7, 0, 1, 2, 2), "ranks 0-2, 7"),
        (range(0, 40, 2), "ranks 0, 2, 4, 6, 8, 10, 12, 14, ..."),
    ],
)
def test_ranks(numbers: tuple[int, ...], text: str | None) -> None:
    assert words.ranks(numbers) == text


@pytest.mark.parametrize(
    ("count", "at_least", "text"),
    [
        (1, False, "once"),
        (1, True, "at least once"),
        (2, False, "2 times"),
        (5000, True, "at least 5,000 times"),
    ],
)
def test_times(count: int, at_least: bool, text: str) -> None:
    assert words.times(count, at_least) == text


@pytest.mark.parametrize(
    ("items", "text"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c", "d", "e"], "a, b, c and 2 more")],
)
def test_listed(items: list[str], text: str) -> None:
    assert words.listed(items) == text


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("policies/x.yaml:4", ("policies/x.yaml", 4)),
        (r"C:\policies\x.yaml:12", (r"C:\policies\x.yaml", 12)),
        ("builtin:llm-serving:4", None),
        ("x.yaml", None),
    ],
)
def test_rule_place(source: str, place: tuple[str, int] | None) -> None:
    assert words.rule_place(source) == place


def test_each_kind_has_its_words() -> None:
    assert set(words.KIND_WORDS) == set(Kind)


def test_gaps_merge_kinds_and_processes() -> None:
    level = sample.proof(State.UNPROVEN, "level", setting="A=1", line=None)
    other = sample.proof(State.UNPROVEN, "cut", setting=None, line=9)
    found = gaps(
        (
            sample.process(Outcome.UNPROVEN, rank=0, graph_break=level, eager_frame=level, op_fallback=other),
            sample.process(Outcome.UNPROVEN, rank=1, graph_break=level, eager_frame=level),
            sample.process(Outcome.PASS, rank=2, graph_break=level),
        )
    )
    assert [(gap.kinds, gap.why, gap.line, [p.rank for p in gap.processes]) for gap in found] == [
        ((Kind.GRAPH_BREAK, Kind.EAGER_FRAME), "level", None, [0, 1]),
        ((Kind.OP_FALLBACK,), "cut", 9, [0]),
    ]


@pytest.mark.parametrize(
    ("settings", "lines"),
    [
        ((), ()),
        (("TORCH_LOGS=a,b", "TORCH_LOGS=b,c X=1"), ("TORCH_LOGS=a,b,c X=1",)),
        (("X=1", "X=1"), ("X=1",)),
        (("X=1", "X=2"), ("X=1", "X=2")),
        (("build with --verbose", "X=1"), ("X=1", "build with --verbose")),
        (("X=a, and a marker for the end", "X=b Y=2"), ("X=a,b Y=2", "a marker for the end")),
        (("X=a, and a marker", "Y=2, and a marker"), ("X=a Y=2", "a marker")),
        (("--log-level info, and X=1",), ("--log-level info, and X=1",)),
    ],
)
def test_next_settings(settings: tuple[str, ...], lines: tuple[str, ...]) -> None:
    made = [Gap(None, State.UNPROVEN, (), "", setting, None, ()) for setting in settings]
    assert next_settings(made) == lines


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("  a   b ", 80, ["a b"]),
        ("", 80, [""]),
        ("src/models/decoder.py", 12, ["src/models/", "decoder.py"]),
        ("演算子演算子", 6, ["演算子", "演算子"]),
    ],
)
def test_wrap(text: str, width: int, lines: list[str]) -> None:
    assert layout.wrap(text, width) == lines


def test_wrap_cuts_after_the_last_line() -> None:
    assert layout.wrap("one two three four", 9, 2) == ["one two", "three ..."]


@given(st.text("ab /:演e\u0301", max_size=200), st.integers(2, 40))
def test_wrap_loses_nothing_but_blanks(text: str, width: int) -> None:
    lines = layout.wrap(text, width)
    assert "".join(lines).replace(" ", "") == "".join(text.split())
    assert all(layout.columns(line) <= width for line in lines)


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("演算", 4), ("e\u0301", 1), ("ｱ", 1), ("Ａ", 2), ("\U0001f680", 2)]
)
def test_columns(text: str, columns: int) -> None:
    assert layout.columns(text) == columns
