"""Room 6: a baseline and a waiver that excuse more than they did, or less, each in its words."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from fallback_gate.model.history import Baseline, Held
from fallback_gate.verdict.changes import baselines, waivers
from fallback_gate.verdict.waiver import Waiver

OLD = Waiver("w.yaml", "1.0", "me", "soon", date(2026, 12, 24), frozenset({"aa", "bb"}))


def held(op: str, sites: int, **said: str) -> Held:
    """An entry of a baseline."""
    at: dict[str, str] = {"file": "m.py", "function": "f", "held_as": "cold", "fingerprint": op, **said}
    return Held("torch.compile", "op_fallback", op, sites=sites, **at)


def told(changes: Any) -> list[tuple[str, str, str, str | None, str | None]]:
    return [(one.direction.value, one.key, one.what, one.old, one.new) for one in changes]


def test_what_became_of_a_baseline() -> None:
    old = Baseline("old.json", (held("same", 2), held("less", 3), held("gone", 1, file="", function="")))
    new = Baseline("new.json", (held("same", 2), held("less", 1), held("more", 4, file="")))
    assert told(baselines(old, new)) == [
        ("tightened", "baseline", "less (op_fallback, m.py in f): 3 -> 1 sites", "old.json", "new.json"),
        ("tightened", "baseline", "gone (op_fallback, torch.compile): 1 -> 0 sites", "old.json", None),
        ("loosened", "baseline", "more (op_fallback, f): 0 -> 4 sites", None, "new.json"),
    ]
    assert told(baselines(new, old))[0] == (
        *("loosened", "baseline", "less (op_fallback, m.py in f): 1 -> 3 sites", "new.json", "old.json"),
    )


def test_one_fallback_may_be_held_twice_in_a_baseline() -> None:
    """Once as cold and once as unlisted: those are two entries."""
    old = Baseline("old.json", (held("a", 1), held("a", 5, held_as="unlisted")))
    new = Baseline("new.json", (held("a", 2), held("a", 5, held_as="unlisted")))
    assert [what for _, _, what, _, _ in told(baselines(old, new))] == [
        "a (op_fallback, m.py in f): 1 -> 2 sites"
    ]


def test_of_one_baseline_alone_nothing_is_said() -> None:
    one = Baseline("b.json", (held("a", 1),))
    assert [*baselines(None, one), *baselines(one, None), *baselines(None, None), *baselines(one, one)] == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"path": "v.yaml"}, []),
        ({"release": "2.0"}, [("loosened", "for release 1.0 -> 2.0")]),
        ({"expires": date(2026, 12, 25)}, [("loosened", "until 2026-12-24 -> 2026-12-25")]),
        ({"expires": date(2026, 12, 23)}, [("tightened", "until 2026-12-24 -> 2026-12-23")]),
        ({"events": None}, [("loosened", "covers more: 2 events -> all events")]),
        ({"events": frozenset({"aa"})}, [("tightened", "covers less: 2 events -> 1 event")]),
        ({"events": frozenset({"aa", "bb", "cc"})}, [("loosened", "covers more: 2 events -> 3 events")]),
        (
            {"events": frozenset({"cc"})},
            [
                ("loosened", "covers more: 2 events -> 1 event"),
                ("tightened", "covers less: 2 events -> 1 event"),
            ],
        ),
        (
            {"who": "you", "why": "later"},
            [("neutral", "who 'me' -> 'you'"), ("neutral", "why 'soon' -> 'later'")],
        ),
    ],
)
def test_what_became_of_a_waiver(change: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    new = replace(OLD, **change)
    assert told(waivers(OLD, new)) == [
        (direction, "waiver", what, "w.yaml", new.path) for direction, what in expected
    ]


def test_a_waiver_for_all_events_that_names_them_now() -> None:
    everything = replace(OLD, events=None)
    assert told(waivers(everything, OLD)) == [
        ("tightened", "waiver", "covers less: all events -> 2 events", "w.yaml", "w.yaml")
    ]


def test_a_waiver_that_is_there_now_or_gone() -> None:
    assert told(waivers(None, OLD)) == [
        ("loosened", "waiver", "for release 1.0 until 2026-12-24, of 2 events, added", None, "w.yaml")
    ]
    assert told(waivers(OLD, None)) == [
        ("tightened", "waiver", "for release 1.0 until 2026-12-24, of 2 events, removed", "w.yaml", None)
    ]
    assert list(waivers(None, None)) == []
