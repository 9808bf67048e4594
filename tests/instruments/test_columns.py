"""Columns answer as a plain search would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.instruments.trace.columns import MOST_FRAMES, Frames, Index


@given(st.lists(st.integers(-3, 9), max_size=20), st.integers(-4, 10))
def test_an_index_finds_the_last_row_of_a_key(keys: list[int], wanted: int) -> None:
    index = Index()
    index.keys.extend(keys)
    rows = [row for row, key in enumerate(keys) if key == wanted]
    assert index.row(wanted) == (rows[-1] if rows else None)


def calls(depth: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Calls that nest, each a start and an end."""
    return st.recursive(st.just([]), lambda inner: st.lists(inner, max_size=3), max_leaves=depth).map(laid)


def laid(tree: list[object]) -> list[tuple[int, int]]:
    """Times for a tree of calls: each point in time is its own."""
    found: list[tuple[int, int]] = []

    def lay(node: object, clock: int) -> int:
        at = clock + 1
        for child in node if isinstance(node, list) else []:
            at = lay(child, at)
        found.append((clock, at))
        return at + 1

    lay(tree, 0)
    return found


@given(calls(12), st.integers(0, 60), st.randoms(use_true_random=False))
def test_the_calls_around_a_time_innermost_first(
    spans: list[tuple[int, int]], when: int, random: object
) -> None:
    shuffled = sorted(spans, key=lambda span: hash((span, str(random))))
    frames = Frames()
    for name, (start, end) in enumerate(shuffled):
        frames.add(1, name, start, end)
    running = [name for name, (start, end) in enumerate(shuffled) if start <= when <= end]
    running.sort(key=lambda name: -shuffled[name][0])
    assert frames.around(1, when) == tuple(running[:MOST_FRAMES])
    assert frames.around(2, when) == ()
