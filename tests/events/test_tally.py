"""Room 4: what a tally sends makes the same fold as every report would."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fallback_gate.events import fold as folding
from fallback_gate.events import tally as tallying
from fallback_gate.events import variants
from fallback_gate.events.fold import Fold
from fallback_gate.events.gathered import MOST_LINES
from fallback_gate.events.tally import Tally
from fallback_gate.model import Event, ProcessKey, Report
from tests.events.test_fold import lines, report

REPORTS = st.builds(
    report,
    op=st.sampled_from(["aten::topk", "aten::sort.stable", "aten::sort", "*"]),
    position=st.integers(0, 400),
    at=st.sampled_from([None, ("a.py", 3, "f"), ("a.py", 3, None), ("b.py", 9, "g")]),
    reason=st.sampled_from([None, "short", "a longer reason"]),
    layer=st.sampled_from([None, "0", "1"]),
    stack=st.sampled_from([(), ("f",), ("f", "g")]),
    site=st.sampled_from([None, "x", "y"]),
    hint=st.booleans(),
    at_least=st.booleans(),
    when=st.sampled_from([None, 1.0, 2.0]),
)
LOGS = st.lists(st.lists(st.tuples(REPORTS, st.integers(0, 1), st.integers(1, 40)), max_size=25), max_size=3)


def told(logs: list[list[tuple[Report, int, int]]]) -> list[list[tuple[Report, ProcessKey]]]:
    """The reports of each log: each so many times, at one position after the other."""
    return [
        [
            (one._replace(position=one.position + 10 * again), ProcessKey(f"{name}.log", rank, 7))
            for one, rank, times in log
            for again in range(times)
        ]
        for name, log in enumerate(logs)
    ]


def straight(logs: list[list[tuple[Report, ProcessKey]]]) -> list[Event]:
    fold = Fold()
    for log in logs:
        for one, process in log:
            fold.add(one, process)
    return fold.events(lines, {})


def tallied(logs: list[list[tuple[Report, ProcessKey]]]) -> list[Event]:
    fold = Fold()
    for log in logs:
        batches: list[tallying.Batch] = []
        tally = Tally(batches.append)
        for one, process in log:
            tally.add(one, process)
        tally.end()
        for batch in batches:
            for one, process, times in batch:
                fold.add(one, process, times)
    return fold.events(lines, {})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(logs=LOGS, bounds=st.sampled_from([(10_000, 5_000, 10_000), (3, 2, 10_000), (2, 1, 3)]))
def test_a_fold_of_what_is_sent_is_the_fold_of_all(
    logs: list[list[tuple[Report, int, int]]],
    bounds: tuple[int, int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as bounded:
        bounded.setattr(folding, "MOST_EVENTS", bounds[0])
        bounded.setattr(variants, "MOST_VARIANTS", bounds[1])
        bounded.setattr(tallying, "MOST_KEPT", bounds[2])
        assert tallied(told(logs)) == straight(told(logs))


def test_repetitions_are_a_few_reports_and_a_count() -> None:
    batches: list[tallying.Batch] = []
    tally = Tally(batches.append)
    for position in range(30_000):
        tally.add(report(position=position, when=float(position)), ProcessKey("a.log", None, 1))
    tally.end()
    sent = [times for batch in batches for _, _, times in batch]
    assert sent == [1] * MOST_LINES + [30_000 - MOST_LINES]
    assert tally.positions == set(range(MOST_LINES))
