"""Room 3: what is kept of a log that is read in parts is what one reading keeps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.compilers import near_miss
from fallback_gate.compilers.log import LogEvidence
from fallback_gate.compilers.rule import MOST_FACTS, Evidence, Marker, Sighting
from fallback_gate.model import Kind, ProcessKey, Report, Scope
from fallback_gate.scan.window import Extent

SAID = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]),
        st.sampled_from([("x",), ("y",), ("z", "z")]),
        st.none() | st.integers(0, 5).map(float),
    ),
    max_size=9,
)


def evidence(said: list[tuple[str, tuple[str, ...], float | None]], first: int = 0) -> Evidence:
    """What is kept of markers that were seen one behind the other."""
    made = Evidence()
    for at, (marker, facts, when) in enumerate(said, first):
        made.add(Sighting(marker, at, facts, when=when))
    return made


@given(SAID, st.integers(0, 9))
def test_what_follows_is_kept_as_if_it_were_read_in_one_go(
    said: list[tuple[str, tuple[str, ...], float | None]], cut: int
) -> None:
    whole = evidence(said)
    begun, rest = evidence(said[:cut]), evidence(said[cut:], len(said[:cut]))
    begun.follow(rest)
    assert begun == whole
    assert all(begun.times(marker, facts) == whole.times(marker, facts) for marker, facts, _ in said)


def test_what_is_not_kept_is_trouble_that_is_told_once() -> None:
    most = [("a", (str(number),), None) for number in range(MOST_FACTS)]
    assert evidence(most).trouble == []
    found = evidence([*most, ("a", ("0",), None), ("a", ("more",), None), ("a", ("still more",), None)])
    assert found.trouble == [f"a tells more than {MOST_FACTS} things, not all are kept"]
    assert len(found.of("a")) == MOST_FACTS


def test_the_time_of_a_report_counts_as_that_of_a_sighting() -> None:
    found = Evidence()
    for when in (5.0, None, 3.0, 7.0):
        found.count(Report("a/x", "a", Kind.OP_FALLBACK, Scope.OPERATOR, "op", 1, "", when=when))
    assert (found.span, found.first_time, found.now, found.back) == ((3.0, 7.0), 5.0, 7.0, 2.0)
    assert (found.reported, found.rules) == ({Kind.OP_FALLBACK}, {"a/x": 4})


def test_what_two_parts_of_a_process_say_is_pooled() -> None:
    def report(id: str, kind: Kind) -> Report:
        return Report(id, "a", kind, Scope.OPERATOR, "op", 1, "")

    marker = Marker("m/x", "a", ("x",), "x", "", "", ())
    one, other = evidence([("a", ("x",), 5.0)], 9), evidence([("a", ("y",), 3.0), ("b", ("z", "z"), 8.0)], 2)
    for id, kind in (("a/x", Kind.OP_FALLBACK), ("a/x", Kind.OP_FALLBACK), ("a/y", Kind.GRAPH_BREAK)):
        one.count(report(id, kind))
    for id in ("a/x", "a/z"):
        other.count(report(id, Kind.EAGER_FRAME))
    one.trouble, other.trouble = ["cut"], ["more"]
    one.settings, other.markers, one.sealed = {"A": "1"}, {"m/x": marker}, True
    one.merge(other)
    assert one.facts == {"a": {("x",): 9, ("y",): 2}, "b": {("z", "z"): 3}}
    assert (one.counts, one.last) == ({"a": 2, "b": 1}, {"a": 9, "b": 3})
    assert one.reported == {Kind.OP_FALLBACK, Kind.GRAPH_BREAK, Kind.EAGER_FRAME}
    assert one.rules == {"a/x": 3, "a/y": 1, "a/z": 1}
    assert one.trouble == ["cut", "more"]
    assert (one.settings, one.markers, one.sealed) == ({"A": "1"}, {"m/x": marker}, False)
    assert one.span == (3.0, 8.0)
    late = Evidence(settings={"B": "2"}, sealed=True)
    late.merge(Evidence(sealed=True, markers={"m/x": marker}, settings={"A": "1"}))
    assert (late.settings, late.markers, late.sealed) == ({"B": "2"}, {"m/x": marker}, True)
    assert (one.first("a"), one.first("b"), one.first("c")) == (2, 3, None)


def test_what_began_before_it_was_written_is_in_the_span_of_time() -> None:
    found = Evidence()
    assert found.times("a", ("x",)) == 0
    for when, since, span in ((5.0, None, (5.0, 5.0)), (9.0, 6.0, (5.0, 9.0)), (8.0, 2.0, (2.0, 9.0))):
        found.add(Sighting("a", 1, ("x",), when=when, since=since))
        assert found.span == span
    assert found.times("a", ("x",)) == 3
    found.add(Sighting("b", 5))
    found.add(Sighting("b", 3))
    assert found.last == {"a": 1, "b": 5}


def near(count: int, at: int = 1) -> near_miss.NearMiss:
    return near_miss.NearMiss("text", at, None, count)


def test_what_the_next_part_of_a_log_adds() -> None:
    one, other = ProcessKey("x", 0, 1, None), ProcessKey("x", 1, 2, None)
    first = LogEvidence({one: {"a": evidence([("a", ("x",), 1.0)])}}, Extent(10, {0}, {3}), closings=2)
    second = LogEvidence(
        {one: {"a": evidence([("a", ("y",), 3.0)], 5)}, other: {"b": evidence([("b", ("x",), None)], 6)}},
        Extent(30, {1}, {4}),
        closings=3,
        inner=True,
    )
    first.near, second.near = {"v": near(2), "w": near(1)}, {"w": near(4, 9), "u": near(1, 8)}
    assert first.follow(second)
    assert first.extent == Extent(30, {0, 1}, {3, 4})
    assert (first.closings, first.inner) == (5, True)
    assert first.near == {"v": near(2), "w": near(5), "u": near(1, 8)}
    both = evidence([("a", ("x",), 1.0)])
    both.add(Sighting("a", 5, ("y",), when=3.0))
    assert first.processes == {one: {"a": both}, other: {"b": evidence([("b", ("x",), None)], 6)}}


def test_parts_that_may_have_kept_more_than_the_whole_are_no_whole() -> None:
    def full(count: int) -> LogEvidence:
        made = LogEvidence()
        made.near = {str(number): near(1) for number in range(count)}
        return made

    most = near_miss.MOST
    assert full(most - 1).follow(full(most - 1))
    assert not full(most).follow(LogEvidence())
    assert not LogEvidence().follow(full(most))
    half = full(most - 1)
    other = LogEvidence()
    other.near = {"another": near(1)}
    assert half.follow(other)
    last = LogEvidence()
    last.near = {"one more": near(1), "and one": near(1)}
    assert not half.follow(last)
    for facts, whole in ((MOST_FACTS - 1, True), (MOST_FACTS, False)):
        said = evidence([("a", (str(number),), None) for number in range(facts)])
        many = LogEvidence({ProcessKey("x", 0, 1, None): {"a": said}})
        assert LogEvidence().follow(many) is whole
