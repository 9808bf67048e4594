"""Room 6: which parts are one process, case by case, with evidence made by hand."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from fallback_gate.compilers.log import LogEvidence
from fallback_gate.compilers.rule import Evidence, Reader, Sighting
from fallback_gate.model import ProcessKey
from fallback_gate.scan.window import Extent
from fallback_gate.verdict.processes import MOST_RANKS, SLACK, processes

Who = tuple[int | None, int | None, str | None]  # rank, process id, host


def key(who: Who, log: str = "a") -> ProcessKey:
    return ProcessKey(log, *who)


def said(*keys: ProcessKey, compiler: str = "c", marker: str = "c/ran", **extent: set[int]) -> LogEvidence:
    """A log in which each of these says that the compiler ran."""
    log = LogEvidence(extent=Extent(**extent))
    for place, one in enumerate(keys):
        log.of(one, compiler).add(Sighting(marker, place))
    return log


def found(log: LogEvidence) -> list[ProcessKey]:
    return list(processes({"a": log}, {}).evidence)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([(None, 7, None), (0, 7, None)], [(0, 7, None)]),
        ([(0, 7, None), (None, 7, None)], [(0, 7, None)]),
        ([(None, 7, None), (0, 7, None), (1, 7, None)], [(None, 7, None), (0, 7, None), (1, 7, None)]),
        ([(None, 7, None), (0, 8, None)], [(None, 7, None), (0, 8, None)]),
        ([(None, 7, "x"), (0, 7, "y")], [(None, 7, "x"), (0, 7, "y")]),
        ([(None, 7, "x"), (0, 7, "x"), (1, 7, "y")], [(0, 7, "x"), (1, 7, "y")]),
        ([(0, None, None), (0, 7, None)], [(0, 7, None)]),
        ([(0, None, None), (0, 7, None), (0, 8, None)], [(0, None, None), (0, 7, None), (0, 8, None)]),
        ([(0, None, "x"), (0, 7, "y")], [(0, None, "x"), (0, 7, "y")]),
        ([(1, None, None), (0, 7, None)], [(1, None, None), (0, 7, None)]),
        ([(None, None, None), (None, 7, None)], [(None, 7, None)]),
        ([(None, None, None), (None, 7, None), (None, 8, None)], [(None, None, None), (None, 7, None), (None, 8, None)]),
        ([(None, None, None), (None, 7, None), (0, 7, None)], [(0, 7, None)]),
        ([(None, None, None), (0, 7, None)], [(None, None, None), (0, 7, None)]),
        ([(0, None, None), (None, 7, None), (0, 7, None)], [(0, 7, None)]),
        ([(0, 7, None), (1, 7, None)], [(0, 7, None), (1, 7, None)]),
    ],
)  # fmt: skip
def test_parts_of_one_log(told: list[Who], expected: list[Who]) -> None:
    log = said(*map(key, told))
    joined = processes({"a": log}, {})
    mine = [one for one in joined.evidence if joined.evidence[one]]
    assert set(mine) == set(map(key, expected))
    assert len(mine) == len(expected)
    assert sum(one["c"].counts["c/ran"] for one in joined.evidence.values() if one) == len(told)
    assert {joined.alias.get(one, one) for one in map(key, told)} == set(map(key, expected))


def test_the_parts_of_each_log_are_known_by_their_process() -> None:
    logs = {log: said(key((None, 7, None), log), key((0, 7, None), log)) for log in "ab"}
    joined = processes(logs, {})
    assert joined.alias == {key((None, 7, None), log): key((0, 7, None), log) for log in "ab"}
    assert [joined.by_log()[log] for log in "ab"] == [{key((0, 7, None), log)} for log in "ab"]


def test_what_compilers_say_is_pooled_by_compiler() -> None:
    log = said(key((0, 7, None)))
    log.of(key((None, 7, None)), "d").add(Sighting("d/ran", 4))
    log.of(key((None, 7, None)), "c").add(Sighting("c/more", 5))
    (evidence,) = processes({"a": log}, {}).evidence.values()
    assert {name: set(one.facts) for name, one in evidence.items()} == {
        "c": {"c/ran", "c/more"},
        "d": {"d/ran"},
    }


def test_lines_without_a_name_owe_no_proof_beside_named_ones() -> None:
    """They report and prove nothing: their events stand, but they are no process."""
    log = LogEvidence()
    log.of(key((None, None, None)), "c").reported.clear()
    for pid in (7, 8):
        log.of(key((None, pid, None)), "c").add(Sighting("c/ran", pid))
    assert found(log) == [key((None, 7, None)), key((None, 8, None))]
    log.of(key((None, None, None)), "d")
    joined = processes({"a": log}, {}).evidence
    assert list(joined[key((None, None, None))]) == ["d"]
    log.of(key((None, None, None)), "c").add(Sighting("c/ran", 9))
    assert set(processes({"a": log}, {}).evidence[key((None, None, None))]) == {"c", "d"}
    alone = LogEvidence()
    alone.of(key((None, None, None)), "c")
    assert found(alone) == [key((None, None, None))]
    ranked = said(key((1, 7, None)), key((1, 8, None)))
    ranked.of(key((1, None, None)), "c")
    assert key((1, None, None)) not in found(ranked)


@pytest.mark.parametrize(
    ("named", "extent", "expected"),
    [
        ([0], {}, [0]),
        ([3], {}, [3]),  # nobody says that it counts the ranks of the whole run
        ([0], {"ranks": {0, 1}}, [0, 1]),
        ([0], {"ranks": {2}}, [0, 2, 1]),
        ([2], {"ranks": {2}}, [2, 0, 1]),
        ([], {"ranks": {1}}, [1, 0]),
        ([0], {"local_ranks": {3}}, [0, 3]),  # on one host: none below it is owed
        ([0], {"ranks": {1}, "local_ranks": {3}}, [0, 1]),
        ([0], {"ranks": {0}}, [0]),
    ],
)
def test_ranks_that_are_owed(named: list[int], extent: dict[str, set[int]], expected: list[int]) -> None:
    log = said(*(key((rank, 70 + rank, None)) for rank in named), **extent)
    joined = processes({"a": log}, {}).evidence
    assert [one.rank for one in joined] == expected
    assert [one.rank for one in joined if joined[one]] == named
    assert all(one.pid is None and one.log == "a" for one in joined if not joined[one])


def test_ranks_are_owed_across_logs_and_at_most_so_many() -> None:
    logs = {"a": said(key((0, 7, None)), ranks={0}), "b": said(key((3, 8, None), "b"), ranks={3})}
    joined = processes(logs, {}).evidence
    assert [(one.rank, one.log) for one in joined] == [(0, "a"), (3, "b"), (1, "b"), (2, "b")]
    many = processes({"a": said(ranks={5000})}, {}).evidence
    assert {one.rank for one in many} == {*range(MOST_RANKS), 5000}
    trace = said(key((2, 7, None)), marker="torch-trace/x")
    assert [one.rank for one in processes({"a": trace}, {}).evidence] == [2, 0, 1]


def reader(joins: bool = True) -> Reader:
    def one_program(text: Evidence, trace: Evidence) -> bool:
        return joins and "c/ran" in text.facts and "torch-trace/x" in trace.facts

    return Reader("c", (), (), frozenset(), lambda evidence: {}, joins=one_program)


def spanned(log: LogEvidence, *span: float) -> LogEvidence:
    for evidence in log.all():
        evidence.span = (span[0], span[1]) if span else None
    return log


def joined(
    texts: Iterable[ProcessKey], traces: Iterable[ProcessKey], known: Reader | None = None
) -> list[ProcessKey]:
    """The traces that joined a text log's process."""
    logs: dict[str, LogEvidence] = {}
    for one in texts:
        logs[one.log] = spanned(said(one), 100, 200)
    for one in traces:
        logs[one.log] = spanned(said(one, marker="torch-trace/x"), 100, 200)
    run = processes(logs, {"c": known or reader()})
    assert run.alias == {trace: home for home, also in run.also.items() for trace in also}
    return list(run.alias)


@pytest.mark.parametrize(
    ("texts", "traces", "count"),
    [
        ([(None, 7, None)], [(None, 7, None)], 1),
        ([(0, 7, None)], [(None, 7, None)], 1),
        ([(None, 7, None)], [(0, 7, None)], 1),
        ([(0, 7, None)], [(0, 7, None)], 1),
        ([(1, 7, None)], [(0, 7, None)], 0),
        ([(None, 8, None)], [(None, 7, None)], 0),
        ([(None, None, None)], [(None, 7, None)], 0),
        ([(None, 7, None), (None, 7, None)], [(None, 7, None)], 0),
        ([(0, 7, None), (1, 7, None)], [(0, 7, None), (1, 7, None)], 2),
        ([(0, 7, None), (1, 7, None)], [(None, 7, None)], 0),
        ([(None, 7, None)], [(None, 7, None), (None, 7, None)], 0),
        ([(0, 7, None)], [(0, 7, None), (0, 7, None)], 0),
        ([(0, 7, None)], [(0, 7, None), (None, 7, None)], 0),
        ([(None, 7, None)], [(None, 7, None), (None, 8, None)], 1),
        ([(None, 8, None)], [(None, 7, None), (None, 7, None), (None, 8, None)], 1),
        ([], [(None, 7, None)], 0),
    ],
)  # fmt: skip
def test_a_trace_joins_the_one_log_that_fits(texts: list[Who], traces: list[Who], count: int) -> None:
    text_keys = [key(who, f"text{at}") for at, who in enumerate(texts)]
    trace_keys = [key(who, f"trace{at}") for at, who in enumerate(traces)]
    assert len(joined(text_keys, trace_keys)) == count
    assert joined(text_keys, trace_keys, reader(joins=False)) == []


@pytest.mark.parametrize(
    ("trace", "fits"),
    [
        ((100, 200), True), ((120, 130), True), ((0, 900), True),
        ((200 + SLACK, 900), True), ((201 + SLACK, 900), False),
        ((-200, 100 - SLACK), True), ((-200, 99 - SLACK), False), ((), False),
    ],
)  # fmt: skip
def test_a_trace_was_written_at_the_same_time(trace: tuple[float, ...], fits: bool) -> None:
    text_key, trace_key = key((None, 7, None), "text"), key((None, 7, None), "trace")
    text = spanned(said(text_key), 100, 200)
    logs = {"text": text, "trace": spanned(said(trace_key, marker="torch-trace/x"), *trace)}
    run = processes(logs, {"c": reader()})
    assert run.alias == ({trace_key: text_key} if fits else {})
    assert run.also == ({text_key: [trace_key]} if fits else {})
    assert run.by_log()["text"] == {text_key}
    assert run.by_log()["trace"] == {text_key if fits else trace_key}
    assert "other" not in run.by_log()


def test_the_whole_span_of_a_process_counts() -> None:
    """A process of two compilers was at work from the first line of one to the last line of the other."""
    text_key, trace_key = key((None, 7, None), "text"), key((None, 7, None), "trace")
    for late, fits in ((500.0, True), (150.0, False)):
        text = said(text_key)
        text.of(text_key, "d").span = (late, late)
        text.of(text_key, "e").span = None
        text.of(text_key, "c").span = (100, 110)
        trace = spanned(said(trace_key, marker="torch-trace/x"), 450, 460)
        assert bool(processes({"text": text, "trace": trace}, {"c": reader()}).alias) is fits
        trace = said(trace_key, marker="torch-trace/x")
        trace.of(trace_key, "d").span = (late - 400, late - 400)
        trace.of(trace_key, "c").span = (-100, -90)
        text = spanned(said(text_key), 100, 110)
        assert bool(processes({"text": text, "trace": trace}, {"c": reader()}).alias) is fits


def test_a_trace_of_another_compiler_joins_nothing() -> None:
    text = spanned(said(key((None, 7, None), "text"), compiler="d"), 1, 2)
    trace = spanned(said(key((None, 7, None), "trace"), marker="torch-trace/x"), 1, 2)
    assert processes({"text": text, "trace": trace}, {"c": reader(), "d": reader()}).alias == {}
    text = spanned(said(key((None, 7, None), "text")), 1, 2)
    assert processes({"text": text, "trace": trace}, {}).alias == {}
