"""Room 5: which entry covers another one. The index that a long policy needs finds what comparing all pairs does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.policy.cover import Asked, Covers, covers

GLOBS = st.sampled_from(
    [
        "*",
        "aten::sort",
        "aten.sort.stable",
        "torch.ops.aten.sort",
        "SORT",
        "aten::so*",
        "stable",
        "a?",
        "[ab]",
    ]
)
KEYS = st.sampled_from(["op", "function", "file", "layer", "compiler"])
ASKED = st.dictionaries(KEYS, st.lists(GLOBS, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3)


@given(st.lists(ASKED, max_size=8), ASKED, st.booleans())
def test_each_covering_entry_is_found_in_order(entries: list[Asked], narrow: Asked, hot: bool) -> None:
    expected = [at for at, wide in enumerate(entries) if covers(wide, narrow, hot=hot)]
    assert list(Covers(entries, hot=hot).of(narrow)) == expected


def test_one_of_many_names_is_found() -> None:
    entries: list[Asked] = [{"op": (f"lib::op{number}",)} for number in range(2_000)]
    index = Covers([*entries, {"op": ("lib::op7*",)}], hot=False)
    assert list(index.of({"op": ("lib::op71.out",)})) == [71, 2_000]
    assert list(index.of({"op": ("lib::op7*",)})) == [2_000]
    assert list(index.of({"function": ("lib::op71",)})) == []
