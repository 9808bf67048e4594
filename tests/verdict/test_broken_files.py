"""Room 6: a report or a baseline that is broken in any way is read, or refused in words; nothing else comes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fallback_gate.errors import GateError
from fallback_gate.verdict import baseline_file, past_report

UPGRADE = Path(__file__).parents[1] / "data" / "upgrade" / "8a0ec82"
REPORT = json.loads((UPGRADE / "report.json").read_bytes()) | {
    "measurements": [
        {"instrument": "trace", "name": "kernels", "value": 2, "unit": "1", "state": "exceeded"}
    ],
    "environment": {
        "devices": ["H200"],
        "compilers": {"torch": "2.9.1"},
        "caches": [{"path": "/c", "files": 2}],
    },
}
BASELINE = json.loads((UPGRADE / "baseline.json").read_bytes())
WHOLE: list[tuple[Callable[[str], object], Any]] = [
    (past_report.read, REPORT),
    (baseline_file.load, BASELINE),
]
NESTED = "nested"  # stands for as many brackets as JSON's reader just takes, or just refuses
HOSTILE = st.one_of(
    st.sampled_from(
        [None, True, False, {}, [], [[]], "", " ", "\0", "\ud800", "\x1b[2J", "x" * 5000, NESTED]
    ),
    st.integers(0, 4299).map(lambda digits: 10**digits),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where anything stands in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key)
        yield from places(one, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    """The document with something else in one place."""
    if not path:
        return other
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], other)
    return copy


def is_answered(read: Callable[[str], object], path: Path) -> None:
    """Read, or refused with each mistake in a line."""
    try:
        read(str(path))
    except GateError as wrong:
        for line in str(wrong).split("\n"):
            assert path.name in line
            assert line.isprintable(), line


@pytest.mark.parametrize(("read", "whole"), WHOLE, ids=["report", "baseline"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_value_in_any_place_is_answered(
    read: Callable[[str], object], whole: Any, data: st.DataObject, tmp_path: Path
) -> None:
    place = data.draw(st.sampled_from([(), *places(whole)]))
    text = json.dumps(replaced(whole, place, data.draw(HOSTILE)))
    depth = data.draw(st.integers(1, 2000))
    text = text.replace(f'"{NESTED}"', "[" * depth + "]" * depth)
    (tmp_path / "broken.json").write_text(text, encoding="utf-8")
    is_answered(read, tmp_path / "broken.json")


@pytest.mark.parametrize(("read", "whole"), WHOLE, ids=["report", "baseline"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_bytes_are_answered(
    read: Callable[[str], object], whole: Any, data: st.DataObject, tmp_path: Path
) -> None:
    text = json.dumps(whole).encode()
    at = data.draw(st.integers(0, len(text)))
    kept = data.draw(st.sampled_from([text[at:], b"", text]))
    (tmp_path / "broken.json").write_bytes(text[:at] + data.draw(st.binary(max_size=8)) + kept)
    is_answered(read, tmp_path / "broken.json")


@pytest.mark.parametrize("read", [one for one, _ in WHOLE], ids=["report", "baseline"])
@pytest.mark.parametrize("name", ["missing.json", "a\0b", ".", "x" * 5000])
def test_a_file_that_is_none_is_named(read: Callable[[str], object], name: str) -> None:
    with pytest.raises(GateError):
        read(name)
