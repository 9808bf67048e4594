"""Room 3: what is kept of a process, counted by hand, and what a pattern's groups make."""

from __future__ import annotations

import re
import time
from io import BytesIO
from typing import Any

import pytest

from fallback_gate.compilers import matching, rule
from fallback_gate.compilers.matching import Budget, OutOfTime, by_groups, read_marker, read_rule
from fallback_gate.compilers.rule import Evidence, Marker, Rule, Sighting
from fallback_gate.model import Kind, Location, Report, Scope
from fallback_gate.scan.anchors import Anchors
from fallback_gate.scan.record import Record
from fallback_gate.scan.window import Scan


def seen(*sightings: Sighting) -> Evidence:
    evidence = Evidence()
    for one in sightings:
        evidence.add(one)
    return evidence


def reported(identifier: str, kind: Kind, when: float | None = None) -> Report:
    return Report(identifier, "c", kind, Scope.OPERATOR, "op", 1, "text", when=when)


def test_facts_are_kept_once_with_their_first_place_and_their_count() -> None:
    evidence = seen(
        Sighting("m", 5, ("a",)), Sighting("m", 9, ("b",)), Sighting("m", 7, ("a",)), Sighting("m", 11, ("a",)),
        Sighting("n", 3),
    )  # fmt: skip
    assert evidence.facts == {"m": {("a",): 5, ("b",): 9}, "n": {(): 3}}
    assert (evidence.first("m"), evidence.first("n"), evidence.first("o")) == (5, 3, None)
    assert evidence.last == {"m": 11, "n": 3}
    assert evidence.counts == {"m": 4, "n": 1}
    assert [evidence.times("m", (fact,)) for fact in "abc"] == [3, 1, 0]
    assert evidence.of("m") == {("a",), ("b",)}
    assert evidence.of("o") == set()


def test_the_last_place_is_the_largest() -> None:
    evidence = seen(Sighting("m", 0, ("a",)), Sighting("m", 9, ("b",)), Sighting("m", 4, ("c",)))
    assert evidence.last == {"m": 9}
    assert seen(Sighting("m", 0)).last == {"m": 0}
    assert evidence.first("m") == 0


def test_more_facts_than_are_kept_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule, "MOST_FACTS", 2)
    evidence = seen(*(Sighting("m", at, (str(at),)) for at in range(2)), Sighting("m", 5, ("0",)))
    assert evidence.trouble == []
    for at in (2, 3):
        evidence.add(Sighting("m", at, (str(at),)))
    assert len(evidence.facts["m"]) == 2
    assert evidence.counts["m"] == 5
    assert evidence.trouble == ["m tells more than 2 things, not all are kept"]


def test_when_it_was_written_and_how_far_the_clock_ran_back() -> None:
    evidence = seen(Sighting("m", 1))
    assert (evidence.span, evidence.back) == (None, 0.0)
    for when in (100.0, 130.0, None, 90.0, 90.0, 95.0, 85.0):
        evidence.add(Sighting("m", 1, when=when))
    assert (evidence.span, evidence.back, evidence.now) == ((85.0, 130.0), 40.0, 85.0)
    evidence.count(reported("r", Kind.OP_FALLBACK, when=200.0))
    assert evidence.span == (85.0, 200.0)
    evidence.add(Sighting("m", 1, when=210.0, since=20.0))
    assert (evidence.span, evidence.back) == ((20.0, 210.0), 40.0)
    evidence.add(Sighting("m", 1, when=220.0, since=50.0))
    assert evidence.span == (20.0, 220.0)
    assert seen(Sighting("m", 1, since=5.0)).span is None


def test_reports_are_counted_by_rule_and_kind() -> None:
    evidence = Evidence()
    for identifier, kind in (("a", Kind.OP_FALLBACK), ("b", Kind.GRAPH_BREAK), ("a", Kind.OP_FALLBACK)):
        evidence.count(reported(identifier, kind))
    assert evidence.reported == {Kind.OP_FALLBACK, Kind.GRAPH_BREAK}
    assert evidence.rules == {"a": 2, "b": 1}


def test_two_parts_of_a_process_are_pooled() -> None:
    one = seen(Sighting("m", 5, ("a",), when=100.0), Sighting("m", 6, ("a",), when=90.0), Sighting("n", 2))
    other = seen(
        Sighting("m", 3, ("a",), when=40.0), Sighting("m", 9, ("b",), when=35.0), Sighting("m", 4, ("b",), when=300.0),
        Sighting("o", 1, ("c",)), Sighting("m", 8, ("a",), when=300.0),
    )  # fmt: skip
    one.count(reported("r", Kind.OP_FALLBACK))
    other.count(reported("r", Kind.OP_FALLBACK))
    other.count(reported("s", Kind.GRAPH_BREAK))
    one.trouble, other.trouble = ["x"], ["y"]
    one.merge(other)
    assert one.facts == {"m": {("a",): 5, ("b",): 9}, "n": {(): 2}, "o": {("c",): 1}}
    assert [one.times("m", (fact,)) for fact in "ab"] == [4, 2]
    assert (one.times("o", ("c",)), one.times("n", ())) == (1, 1)
    assert one.counts == {"m": 6, "n": 1, "o": 1}
    assert one.last == {"m": 9, "n": 2, "o": 1}
    assert one.rules == {"r": 2, "s": 1}
    assert one.reported == {Kind.OP_FALLBACK, Kind.GRAPH_BREAK}
    assert one.trouble == ["x", "y"]
    assert (one.span, one.back) == ((35.0, 300.0), 10.0)


def test_what_is_pooled_with_nothing_stays() -> None:
    one, nothing = seen(Sighting("m", 5, ("a",), when=100.0)), Evidence()
    one.merge(Evidence())
    nothing.merge(one)
    for evidence in (one, nothing):
        assert (evidence.facts, evidence.span, evidence.back) == ({"m": {("a",): 5}}, (100.0, 100.0), 0.0)
    back = Evidence(back=7.0)
    nothing.merge(back)
    assert nothing.back == 7.0


@pytest.mark.parametrize(
    ("one", "other", "both"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_a_part_that_is_not_sealed_breaks_the_seal(one: bool, other: bool, both: bool) -> None:
    """And settings, which only a whole seal gives, are those of either."""
    evidence = Evidence(sealed=one)
    evidence.merge(Evidence(sealed=other, settings={"A": "1"}))
    assert (evidence.sealed, evidence.settings) == (both, {"A": "1"})
    evidence.merge(Evidence(settings={"A": "2"}))
    assert evidence.settings == {"A": "1"}


MARKER = Marker("m/x", "acme", ("acme",), "acme", "", "", ())


def test_the_user_s_markers_are_those_of_either_part() -> None:
    for one, other in (({"m/x": MARKER}, {}), ({}, {"m/x": MARKER})):
        evidence = Evidence(markers=one)
        evidence.merge(Evidence(markers=other))
        assert evidence.markers == {"m/x": MARKER}


PATTERN = r"acme(?: op=(?P<op>\S+))?(?: fn=(?P<function>\S+))?(?: file=(?P<file>\S+))?(?: line=(?P<line>\S+))?(?: layer=(?P<layer>\S+))?(?: why=(?P<reason>.*))?"


def acme(**said: Any) -> Rule:
    values: dict[str, Any] = {
        "id": "acme/x", "compiler": "acme", "anchor": ("acme",), "pattern": PATTERN, "kind": Kind.OP_FALLBACK,
        "scope": Scope.OPERATOR, "meaning": "", "help": "ask", "seen_in": "", "matches": (),
    }  # fmt: skip
    return Rule(**{**values, **said})


def record(line: str) -> Record:
    scan = Scan(Anchors(["acme"]), BytesIO(f"first\n{line}\n".encode()), count_lines=True)
    (hit,) = scan
    return hit.record


def grouped(line: str, **said: Any) -> Report:
    match = re.search(PATTERN, line)
    assert match
    return by_groups(acme(**said), record(line), match)


def test_all_groups_of_a_pattern() -> None:
    line = "acme op=torch.ops.aten.sort.stable fn=route file=/app/m.py line=42 layer=l.3 why=no lowering"
    assert grouped(line, at_least=True) == Report(
        id="acme/x", compiler="acme", kind=Kind.OP_FALLBACK, scope=Scope.OPERATOR, op="aten::sort", position=2,
        text=line, names=("aten::sort", "torch.ops.aten.sort.stable"), stack=("route",), files=("/app/m.py",),
        reason="no lowering", location=Location("/app/m.py", 42, "route"), layer="l.3", at_least=True, help="ask",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "op", "names", "location"),
    [
        ("acme", "*", (), None),
        ("acme layer=x", "*", (), None),
        ("acme fn=a.b.c", "a.b.c", None, Location(None, None, "a.b.c")),
        ("acme file=m.py", "*", (), Location("m.py", None, None)),
        ("acme line=7", "*", (), Location(None, 7, None)),
        ("acme line=x7", "*", (), Location(None, None, None)),
        ("acme line=²", "*", (), Location(None, None, None)),
        ("acme line=123456789", "*", (), Location(None, 123456789, None)),
        ("acme line=1234567890", "*", (), Location(None, None, None)),
        ("acme op=sort", "sort", ("sort",), None),
    ],
)
def test_some_groups_of_a_pattern(
    line: str, op: str, names: tuple[str, ...] | None, location: Location | None
) -> None:
    report = grouped(line)
    assert (report.op, report.location) == (op, location)
    assert names is None or report.names == names


def test_a_line_may_report_more_than_once() -> None:
    found = read_rule(acme(), record("acme op=a acme op=b acme op=a"), Budget())
    assert [report.op for report in found] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("acme op=a", True), ('say "acme op=a"', False), ('say "x" acme op=a', True), ('"acme op=a', False),
        ("# acme op=a", False), ("+ acme op=a", False), ("> acme op=a", False), ("$ acme op=a", False),
        ("   # acme op=a", False), ("x # acme op=a", True), ("#acme op=a", True), ("a + acme op=a", True),
        ("V1130 00:40:28.873000 1495 torch/a.py:5] [0/0] [__output_code] # acme op=a", False),
        ("V1130 00:40:28.873000 1495 torch/a.py:5] [0/0] [__output_code] acme op=a", True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("limit", [None, 5.0])
def test_what_a_line_quotes_it_does_not_say(line: str, said: bool, limit: float | None) -> None:
    at = record(line)
    assert bool(list(read_rule(acme(limit=limit), at, Budget()))) is said
    marker = Marker("m/x", "acme", ("acme",), r"acme op=(\w+)( never)?", "", "", (), limit=limit)
    facts = ("a", "") if limit is None else ("2",)  # of a user's, the order of lines is what counts
    assert list(read_marker(marker, at, Budget())) == ([Sighting("m/x", 2, facts)] if said else [])
    told = acme(limit=limit, read=lambda rule, record, match: [reported(match[0], Kind.OP_FALLBACK)])
    assert [report.id for report in read_rule(told, at, Budget())] == (["acme op=a"] if said else [])


def test_the_first_match_that_is_not_quoted_counts() -> None:
    marker = Marker("m/x", "acme", ("acme",), r"acme op=(\w+)", "", "", ())
    assert [one.facts for one in read_marker(marker, record('"acme op=a" acme op=b'), Budget())] == [("b",)]
    marker = Marker("m/x", "acme", ("acme",), "bcme", "", "", ())
    assert list(read_marker(marker, record("acme"), Budget())) == []
    assert list(read_rule(acme(pattern="bcme"), record("acme"), Budget())) == []
    told = acme(pattern="bcme", read=lambda rule, record, match: [reported("x", Kind.OP_FALLBACK)])
    assert list(read_rule(told, record("acme"), Budget())) == []


def test_a_marker_with_a_reader_of_its_own() -> None:
    marker = Marker("m/x", "acme", ("acme",), "acme", "", "", (),
                    read=lambda marker, record, match: [Sighting(marker.id, record.position, (match[0],))])  # fmt: skip
    assert list(read_marker(marker, record("acme"), Budget())) == [Sighting("m/x", 2, ("acme",))]


def test_a_pattern_that_we_do_not_trust_has_a_budget() -> None:
    """What it took goes off the budget of the log; one that is spent ends the reading."""
    slow = acme(pattern=r"acme op=(?P<op>\w+)", limit=5.0)
    budget = Budget(left=3.0)
    began = time.process_time()
    assert [report.op for report in read_rule(slow, record("acme op=a"), budget)] == ["a"]
    assert 3.0 - (time.process_time() - began) <= budget.left <= 3.0
    with pytest.raises(OutOfTime, match="the patterns of the policy took more than 10 s on this log"):
        list(read_rule(slow, record("acme op=a"), Budget(left=0.0)))
    with pytest.raises(OutOfTime, match=r"the pattern of rule acme/x took more than 0.01 s on one line"):
        list(read_rule(acme(pattern="(acme|a|aa)+$", limit=0.01), record("acme" + "a" * 60 + "!"), Budget()))
    budget = Budget(left=0.01)
    with pytest.raises(OutOfTime, match="the patterns of the policy took more than 10 s on this log"):
        list(read_rule(acme(pattern="(acme|a|aa)+$", limit=600.0), record("acme" + "a" * 60 + "!"), budget))
    assert budget.left <= 0.0
    assert Budget().left == matching.BUDGET_SECONDS == 10.0
