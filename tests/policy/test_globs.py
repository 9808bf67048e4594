"""Room 5: what a glob is, which are refused, and what they match; how entries use them is in test_match.py."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.policy import globs

LIKELY = st.text("ab.*?[]!-", max_size=8)


@given(st.lists(LIKELY, max_size=4).map(tuple), LIKELY)
def test_globs_match_as_those_of_python_and_as_they_are_written(patterns: tuple[str, ...], text: str) -> None:
    expected = any(text == pattern or fnmatchcase(text, pattern) for pattern in patterns)
    assert globs.matches(patterns, text) is expected


@pytest.mark.parametrize(
    ("glob", "wild"),
    [
        ("*", True), ("?*", True), ("*.*", True), ("*::*", True), ("*/", True), ("*\\*", True), ("[ab]*", True),
        ("* *", True), ("[!_]", True), ("X", False), ("X*", False), ("*a*", False), ("[a]b", False), ("*.X", False),
    ],
)  # fmt: skip
def test_what_names_nothing(glob: str, wild: bool) -> None:
    assert globs.is_wild(glob) is wild


@pytest.mark.parametrize(
    "glob",
    [
        "a" * 1000,
        "[a-a]",
        "[a-c-e]",
        "[!a-z]",
        "[!- ]",
        "[-a]",
        "[a-]",
        "[]-a]",
        "(Unnamed Layer* 1) [Slice]",
    ],
)
def test_globs_without_a_flaw(glob: str) -> None:
    assert globs.flaw(glob) is None


@pytest.mark.parametrize(
    ("glob", "what"),
    [
        ("a" * 1001, "is longer than 1000 characters"),
        (" a", "has blanks around it"),
        ("a\t", "has blanks around it"),
        ("a\x1bb", "holds a control character"),
        ("a[b", "has a [ without its ]"),
        ("[b-a]", "has a range that runs backwards in [b-a]"),
        ("x[!b-a]", "has a range that runs backwards in [!b-a]"),
        ("[!-b-a]", "has a range that runs backwards in [!-b-a]"),
        ("[a-cz-x]", "has a range that runs backwards in [a-cz-x]"),
    ],
)
def test_flaws(glob: str, what: str) -> None:
    assert globs.flaw(glob) == what
