"""Room 3: which rules wait for a line, who said it, and what a log leaves behind, with rules of our own."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from typing import Any

import pytest

from fallback_gate.compilers import READERS, near_miss, shared
from fallback_gate.compilers.book import Book
from fallback_gate.compilers.library import Library, anchors_of
from fallback_gate.compilers.log import LogEvidence, read_log, read_waiting
from fallback_gate.compilers.matching import Budget
from fallback_gate.compilers.near_miss import NearMiss
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
from fallback_gate.errors import Unreadable
from fallback_gate.model import Kind, ProcessKey, Report, Scope, State
from fallback_gate.scan.window import Scan
from fallback_gate.sources import seal


def rule(identifier: str = "acme/fell", anchor: tuple[str, ...] = ("acme fell",), **said: Any) -> Rule:
    values: dict[str, Any] = {
        "id": identifier, "compiler": "acme", "anchor": anchor, "pattern": r"acme fell (?P<op>\w+)",
        "kind": Kind.GRAPH_BREAK, "scope": Scope.OPERATOR, "meaning": "", "help": "", "seen_in": "", "matches": (),
        "limit": 1.0,
    }  # fmt: skip
    return Rule(**{**values, **said})


def marker(identifier: str = "acme/done", **said: Any) -> Marker:
    values: dict[str, Any] = {
        "id": identifier, "compiler": "acme", "anchor": ("acme done",), "pattern": "acme done", "shows": "",
        "seen_in": "", "matches": (),
    }  # fmt: skip
    return Marker(**{**values, **said})


FELL, DONE = rule(), marker()
BETA = rule(
    "beta/fell", ("beta fell",), compiler="beta", pattern=r"beta fell (?P<op>\w+)", kind=Kind.UNTUNED_CONFIG
)


class Read:
    """A log of these lines, read with a book."""

    def __init__(self, book: Book, *lines: str, budget: Budget | None = None) -> None:
        self.reports: list[Report] = []
        self.who: list[ProcessKey] = []
        text = "".join(f"{line}\n" for line in lines).encode()
        scan = Scan(book.anchors, BytesIO(text), count_lines=True)
        self.said = read_log("a.log", scan, book, self._tell, budget)

    def _tell(self, report: Report, process: ProcessKey) -> None:
        self.reports.append(report)
        self.who.append(process)

    def evidence(self, compiler: str = "acme") -> Evidence:
        (found,) = (one[compiler] for one in self.said.processes.values() if compiler in one)
        return found


def test_own_rules_make_a_reader_of_a_compiler_that_nobody_knows() -> None:
    other = rule("acme/other", ("acme other",), pattern="acme other", kind=Kind.UNTUNED_CONFIG)
    lone = marker("gamma/done", compiler="gamma")
    book = Book({}, [FELL, other, DONE, lone, BETA])
    assert book.own == (FELL, other, DONE, lone, BETA)
    assert book.own_markers == {"acme": {"acme/done": DONE}, "gamma": {"gamma/done": lone}}
    assert {name: one.required for name, one in book.readers.items()} == {
        "acme": {Kind.GRAPH_BREAK, Kind.UNTUNED_CONFIG}, "beta": {Kind.UNTUNED_CONFIG}, "gamma": {Kind.OP_FALLBACK},
    }  # fmt: skip
    assert (book.readers["acme"].name, book.readers["acme"].rules, book.readers["acme"].markers) == (
        "acme",
        (),
        (),
    )
    proof = book.readers["acme"].prove(Evidence(reported={Kind.COMPILE_ERROR}))
    assert {kind: one.state for kind, one in proof.items()} == dict.fromkeys(
        (Kind.GRAPH_BREAK, Kind.UNTUNED_CONFIG, Kind.COMPILE_ERROR), State.UNPROVEN
    )
    known = Reader("acme", (), (), frozenset({Kind.SLOWER_KERNEL}), lambda evidence: {})
    assert Book({"acme": known}, [FELL]).readers["acme"] is known


@pytest.mark.parametrize(
    ("line", "reports", "markers"),
    [
        ("acme fell sort", ["sort"], []),
        ("acme done", [], ["acme/done"]),
        ("acme fell sort, acme done", ["sort"], ["acme/done"]),
        ("beta fell x, acme fell y", ["x", "y"], []),
        ("nothing", [], []),
    ],
)
def test_what_a_line_says_by_own_rules(line: str, reports: list[str], markers: list[str]) -> None:
    found = Read(Book({}, [FELL, DONE, BETA]), "first", line)
    assert sorted(report.op for report in found.reports) == reports
    assert sorted(m for one in found.said.all() for m in one.facts) == markers
    assert all(report.position == 2 for report in found.reports)


def test_an_entry_with_two_anchors_in_a_line_is_read_once() -> None:
    both = rule(anchor=("acme fell", "fell sort"))
    found = Read(Book({}, [both]), "acme fell sort")
    assert len(found.reports) == 1
    assert found.evidence().rules == {"acme/fell": 1}
    shipped = Reader(
        "acme", (both,), (marker(anchor=("acme fell",), pattern="acme"),), frozenset(), lambda evidence: {}
    )
    found = Read(Book({"acme": shipped}, [BETA]), "acme fell sort", "beta fell x")
    assert [report.op for report in found.reports] == ["sort", "x"]
    assert found.evidence().counts == {"acme/done": 1}


def test_shipped_and_own_rules_read_one_line() -> None:
    mine = rule("generic/mine", ("fallback to eager",), compiler="generic", pattern=r"op=(?P<op>\w+)")
    found = Read(Book(READERS, [mine]), "fallback to eager: op=gate_attn")
    assert sorted(report.id for report in found.reports) == ["generic/fallback-to-eager", "generic/mine"]
    assert found.evidence("generic").reported == {Kind.OP_FALLBACK, Kind.GRAPH_BREAK}


def test_who_said_it() -> None:
    lines = ("[rank3]: acme fell a", "acme fell b", "decode-1  | acme fell c", "[gpu] [rank0]: acme fell d")
    assert Read(Book({}, [FELL]), *lines).who == [
        ProcessKey("a.log", 3), ProcessKey("a.log"), ProcessKey("a.log", None, None, "decode-1"),
        ProcessKey("a.log", 0, None, "gpu"),
    ]  # fmt: skip
    ray = "(RayTrainWorker pid=4456, ip=10.0.0.7) acme fell e"
    assert [one.host for one in Read(Book({}, [FELL]), ray).who] == ["10.0.0.7"]

    def told(rule: Rule, record: Any, match: Any) -> Iterable[Report]:
        yield Report(rule.id, "delta", rule.kind, rule.scope, "x", 1, "", pid=9, rank=0)

    found = Read(
        Book({}, [rule(read=told), rule("delta/x", compiler="delta", pattern="never")]),
        "[rank3]: acme fell a",
    )
    assert found.who == [ProcessKey("a.log", 0, 9)]
    assert [list(one) for one in found.said.processes.values()] == [["delta"]]
    seen = marker(read=lambda marker, record, match: [Sighting(marker.id, 1, (), pid=7, rank=2)])
    assert list(Read(Book({}, [seen]), "[rank3]: acme done").said.processes) == [ProcessKey("a.log", 2, 7)]


def test_own_markers_are_given_to_each_process() -> None:
    found = Read(Book({}, [FELL, DONE]), "[rank0]: acme fell a", "[rank1]: acme done")
    assert [one["acme"].markers for one in found.said.processes.values()] == [{"acme/done": DONE}] * 2
    assert [one["acme"].trouble for one in found.said.processes.values()] == [[], []]


@pytest.mark.parametrize(
    ("ops", "told"),
    [
        ("sort, aten::topk", [("sort", Scope.OPERATOR), ("aten::topk", Scope.OPERATOR)]),
        ("7 of them", [("of", Scope.OPERATOR), ("them", Scope.OPERATOR)]),
        ("[]", [("*", Scope.UNKNOWN)]),
    ],
)
def test_a_list_that_names_nothing_names_no_operator(ops: str, told: list[tuple[str, Scope]]) -> None:
    read = rule(pattern="acme fell: (?P<ops>.*)", limit=None, read=shared.listed)
    assert [(one.op, one.scope) for one in Read(Book({}, [read]), f"acme fell: {ops}").reports] == told


def test_what_only_the_whole_log_tells() -> None:
    def conclude(evidence: Evidence) -> Iterable[Report]:
        if evidence.facts:
            yield Report("acme/end", "acme", Kind.EAGER_FRAME, Scope.PROGRAM, "*", 1, "")

    known = Reader("acme", (), (DONE,), frozenset(), lambda evidence: {}, conclude=conclude)
    found = Read(Book({"acme": known}, [BETA]), "[rank4]: acme done", "beta fell x")
    assert [(report.id, who.rank) for report, who in zip(found.reports, found.who, strict=True)] == [
        ("beta/fell", None), ("acme/end", 4),
    ]  # fmt: skip
    assert found.evidence().reported == {Kind.EAGER_FRAME}


def test_a_pattern_out_of_time_leaves_no_proof() -> None:
    slow = rule(pattern="(acme|a|aa| fell )+$", limit=0.01)
    found = Read(Book({}, [slow, DONE]), "acme done", "acme fell " + "a" * 60 + "!", "acme done")
    assert found.said.extent.problem
    assert "rule acme/fell took more than 0.01 s" in found.said.extent.problem
    assert found.evidence().trouble == [found.said.extent.problem]
    assert found.evidence().counts == {"acme/done": 1}
    slow = rule(pattern="(acme|a|aa| fell )+$", limit=60)  # what is left for the log ends it
    found = Read(Book({}, [slow]), "acme fell " + "a" * 60 + "!", budget=Budget(left=0.01))
    assert "took more than 10 s on this log" in (found.said.extent.problem or "")
    slow = rule(pattern=slow.pattern, limit=0.01)
    found = Read(Book({}, [slow]), "acme fell " + "a" * 60 + "!", budget=Budget(left=0.01))
    assert "rule acme/fell took more than 0.01 s" in (found.said.extent.problem or "")
    left = Read(Book({}, [FELL]), "acme fell a", budget=Budget(left=0.9))
    assert (len(left.reports), left.said.extent.problem) == (1, None)
    spent = Read(Book({}, [FELL]), "acme fell a", budget=Budget(left=0.0))
    assert "took more than 10 s on this log" in (spent.said.extent.problem or "")


class Cut:
    """A stream that fails behind its text."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    def readinto(self, buffer: memoryview, /) -> int:
        if not self._text:
            raise Unreadable("truncated gzip data")
        count = len(self._text)
        buffer[:count], self._text = self._text, b""
        return count


def test_a_log_that_could_not_be_read_to_its_end_is_trouble_for_all() -> None:
    book = Book({}, [FELL, DONE])
    scan = Scan(book.anchors, Cut(b"[rank0]: acme done\n[rank1]: acme done\n"), count_lines=True)
    said = read_log("a.log", scan, book, lambda report, process: None)
    assert [one.trouble for one in said.all()] == [["truncated gzip data"]] * 2
    said.distrust("broken seal")
    assert said.extent.problem == "truncated gzip data"
    assert [one.trouble for one in said.all()] == [["truncated gzip data", "broken seal"]] * 2
    fine = Read(book, "acme done").said
    fine.distrust("broken seal")
    assert fine.extent.problem == "broken seal"


@pytest.mark.parametrize(
    ("written", "lines", "sealed"), [(1, 1, True), (0, 1, False), (2, 1, False), (1, 2, False), (0, 0, True)]
)
def test_closing_records_count_if_there_are_as_many_as_were_written(
    written: int, lines: int, sealed: bool
) -> None:
    """One more is what somebody else printed."""
    record = '{"fallback_gate_closing": 1, "pid": 7, "compilers": {}}'
    found = Read(Book(READERS, [DONE]), "acme done", *[record] * lines, f"echo {record}")
    assert found.said.closings == lines
    found.said.attest(written)
    assert {one.sealed for one in found.said.all()} == {sealed}


def test_a_header_of_a_seal_among_the_lines() -> None:
    book = Book({}, [DONE])
    inner = Read(book, "acme done", seal.OPENING + " x").said
    assert (inner.inner, inner.near) == (True, {})
    assert not Read(book, "acme done", "x " + seal.OPENING).said.inner


SMELL = "operator {} will fall back to the CPU"


def test_lines_that_smell_and_that_no_rule_knew() -> None:
    found = Read(
        Book({}, [FELL]), "first", SMELL.format("'a'"), SMELL.format("'b'"), SMELL.format("c"), "quiet"
    )
    assert list(found.said.near.values()) == [
        NearMiss(SMELL.format("'a'"), 2, None, 2), NearMiss(SMELL.format("c"), 4, None, 1),
    ]  # fmt: skip
    known = Read(
        Book({}, [FELL, DONE]), "acme fell x, it will fall back to the CPU", "acme done: fall back to the CPU"
    )
    assert known.said.near == {}


def test_a_line_that_an_own_rule_waits_for_and_does_not_match() -> None:
    mine = rule(ignores=("acme fell: 7 of 9",), pattern=r"acme fell (?P<op>[a-z]+)$")
    found = Read(Book({}, [mine]), "acme fell: 3 of 9", "acme fell: none", "acme fell: none", "acme fell x")
    assert list(found.said.near.values()) == [NearMiss("acme fell: none", 2, "acme/fell", 2)]
    shipped = Read(Book({}, [rule(limit=None, pattern="never")]), "acme fell: none")
    assert list(shipped.said.near.values()) == [NearMiss("acme fell: none", 1, "acme/fell", 1)]
    shared = Read(Book({}, [rule(limit=None, pattern="never", shared_anchor=True)]), "acme fell: none")
    assert shared.said.near == {}


def test_so_many_wordings_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_miss, "MOST", 2)
    found = Read(Book({}, [FELL]), *(SMELL.format("abc"[at] * 3) for at in (0, 1, 2, 0)))
    assert [(one.position, one.count) for one in found.said.near.values()] == [(1, 2), (2, 1)]


def waiting(book: Book, text: bytes, settled: bool) -> list[tuple[str, int | None]]:
    """What is told of hits whose records may go on: the window holds no more."""
    scan = Scan(book.anchors, BytesIO(text), count_lines=True)
    scan._make_room()
    scan._read()
    scan._scan_new(last=False)
    return [(report.op, who.rank) for report, who in read_waiting("a.log", scan, book, settled=settled)]


def follows(rule: Rule, record: Any, match: Any) -> Iterable[Report]:
    lines = [line.text for line in record.following(1)]
    yield Report(rule.id, rule.compiler, rule.kind, rule.scope, " ".join(lines) or "open", 1, "")


def test_what_waits_is_told_when_it_is_whole_or_nothing_more_comes() -> None:
    book = Book({}, [rule(read=follows), DONE, BETA])
    text = b"[rank2]: acme fell x\n[rank2]: more\nacme done\nbeta fell y\nacme fell z\n"
    assert waiting(book, text, settled=True) == [("more", 2), ("y", None), ("open", None)]
    assert waiting(book, text, settled=False) == [("more", 2), ("y", None)]
    slow = Book({}, [rule(pattern="(acme|a|aa| fell )+$", limit=0.01), BETA])
    assert waiting(slow, b"beta fell y\nacme fell " + b"a" * 60 + b"!\n", settled=True) == [("y", None)]


def test_evidence_is_made_once() -> None:
    said, me = LogEvidence(), ProcessKey("a.log", 1)
    first = said.of(me, "acme")
    assert said.of(me, "acme") is first
    assert said.of(me, "beta") is not first
    assert list(said.all()) == [first, said.of(me, "beta")]
    assert list(said.processes) == [me]


def test_a_library_gives_its_readers_when_they_are_asked_for() -> None:
    known = Library({"generic": ("generic", None)}, {"x": ("generic",)})
    assert (list(known), len(known), "generic" in known, "tvm" in known) == (["generic"], 1, True, False)
    assert known["generic"].name == "generic"
    assert known["generic"] is known["generic"]
    with pytest.raises(KeyError):
        known["tvm"]
    assert anchors_of(known) == {"x": ("generic",)}
    two = {
        "b": Reader("b", (BETA,), (), frozenset(), dict),
        "a": Reader("a", (FELL, rule("z")), (DONE, BETA), frozenset(), dict),
    }  # type: ignore[arg-type]
    assert anchors_of(two) == {"beta fell": ("b", "a"), "acme fell": ("a",), "acme done": ("a",)}
