"""Room 2: where the reading of one record stops: stale bytes, gaps to the byte, ends, and what it may cost."""

from __future__ import annotations

import json
import re

import pytest

from fallback_gate.scan.record import WIDEST_GAP, Record, record_at
from fallback_gate.scan.view import LONGEST_LINE, Exhausted, View


def held(text: bytes, stale: bytes = b"", allowance: int = 5000) -> Record:
    """The record of the line with OPEN, in a window of which only `text` is valid: `stale` was there before."""
    view = View(bytearray(text + stale), len(text), allowance=allowance)
    at = text.index(b"OPEN")
    return record_at(view, at, *view.line(at), text.count(b"\n", 0, at) + 1, counts_lines=True)


@pytest.mark.parametrize("text", [b"P] OPEN\nP] a\nP] b", b"P] OPEN\nP] a\nP] b\n"])
@pytest.mark.parametrize("stale", [b"", b"P] old\n", b"tail\nP] old\n", b"\nP] old"])
def test_bytes_that_were_there_before_are_no_part_of_it(text: bytes, stale: bytes) -> None:
    record = held(text, stale)
    assert [text for text, _ in record.continued("P]", 9)] == ["a", "b"]
    assert [line.text for line in record.following(9)] == ["P] a", "P] b"]
    assert record.view.line(text.index(b"b")) == (13, 17)


def test_nothing_follows_the_last_line_but_stale_bytes() -> None:
    for text in (b"P] OPEN\n", b"P] OPEN"):
        record = held(text, b"P] old\n")
        assert record.text == "P] OPEN"
        assert [*record.continued("P]", 9), *record.following(9)] == []


def test_an_empty_line_is_a_line() -> None:
    assert View(bytearray(b"\nabc"), 4).line(0) == (0, 0)
    assert [line.text for line in held(b"OPEN\n\nb\n").following(9)] == ["", "b"]
    assert [line.text for line in held(b"\nOPEN\n").preceding(9)] == [""]
    assert [line.text for line in held(b"\na\nOPEN\n").preceding(9)] == ["a", ""]


def test_the_first_line_of_a_window_is_looked_back_to_when_it_is_whole() -> None:
    for size, seen in ((LONGEST_LINE - 1, [LONGEST_LINE - 1]), (LONGEST_LINE, [])):
        assert [len(line.text) for line in held(b"x" * size + b"\nOPEN").preceding(9)] == seen


def test_a_byte_of_each_line_is_told() -> None:
    text = b"before\nOPEN\nafter\nlast\n"
    record = held(text)
    assert [(line.text, line.at) for line in record.preceding(9)] == [("before", 0)]
    assert [(line.text, record.position_at(line.at)) for line in record.following(9)] == [
        ("after", 3), ("last", 4),
    ]  # fmt: skip


def others(size: int) -> bytes:
    """Lines of another rank, `size` bytes in all."""
    line = b"[rank1]: " + b"y" * 54 + b"\n"
    return line * (size // len(line) - 1) + line[:-1] + b"y" * (size % len(line)) + b"\n"


@pytest.mark.parametrize(("gap", "seen"), [(WIDEST_GAP - 1, ["a", "b"]), (WIDEST_GAP, ["a"])])
def test_the_widest_gap_to_the_byte(gap: int, seen: list[str]) -> None:
    between = others(gap)
    assert len(between) == gap
    record = held(b"[rank0]: OPEN\n[rank0]: a\n" + between + b"[rank0]: b\n")
    assert [line.text for line in record.following(9)] == seen
    record = held(b"[rank0]: OPEN\n" + between + b"[rank0]: b\n")
    assert [line.text for line in record.following(9)] == seen[1:]


@pytest.mark.parametrize(("gap", "seen"), [(WIDEST_GAP - 2, ["a", "b"]), (WIDEST_GAP - 1, ["a"])])
def test_the_widest_gap_before_a_prefix_that_comes_again(gap: int, seen: list[str]) -> None:
    """The prefix itself is two bytes: it ends within the gap, or is not looked for."""
    record = held(b"P] OPEN\nP] a\n" + others(gap) + b"P] b\n")
    assert [text for text, _ in record.continued("P]", 9)] == seen


def test_whether_the_window_ran_out() -> None:
    """Only a reader that wanted more lines than the window holds: what comes next may be of the record."""
    record = held(b"OPEN\na\nb\n")
    assert (len(list(record.following(1))), record.view.ran_out) == (1, False)
    assert (len(list(record.following(2))), record.view.ran_out) == (2, False)
    assert (len(list(record.following(3))), record.view.ran_out) == (2, True)
    assert (len(list(record.following(1))), record.view.ran_out) == (1, True)
    record = held(b"[rank0]: OPEN\n" + others(WIDEST_GAP) + b"[rank0]: b\n")
    assert (list(record.following(3)), record.view.ran_out) == ([], False)


def test_whether_the_window_ran_out_of_continued_lines() -> None:
    record = held(b"P] OPEN\nP] a\n")
    assert (len(list(record.continued("P]", 1))), record.view.ran_out) == (1, False)
    assert (len(list(record.continued("P]", 2))), record.view.ran_out) == (1, True)
    assert (len(list(record.continued("P]", 1))), record.view.ran_out) == (1, True)
    for size, ran_out in ((WIDEST_GAP - 1, True), (WIDEST_GAP, False)):
        record = held(b"P] OPEN\n" + others(size))
        assert (list(record.continued("P]", 2)), record.view.ran_out) == ([], ran_out)
        record.view.ran_out = True
        assert (list(record.continued("P]", 2)), record.view.ran_out) == ([], True)


def test_a_record_ends_where_another_opens() -> None:
    text = b"P1] OPEN\nP1] a\nP2] other\nP1] b\n"
    opens = re.compile(rb"P\d\]")
    assert [text for text, _ in held(text).continued("P1]", 9)] == ["a", "b"]
    record = held(text)
    assert [text for text, _ in record.continued("P1]", 9, opens=opens)] == ["a"]
    assert not record.view.ran_out
    record = held(b"P1] OPEN\nP1] a\n", b"P2] old\n")
    assert [text for text, _ in record.continued("P1]", 9, opens=opens)] == ["a"]
    assert record.view.ran_out
    assert [text for text, _ in held(b"P1] OPEN\nP1] a\nP1] new b\nP1] c").continued("P1]", 9, "new")] == [
        "a"
    ]


def test_one_prefix_in_two_ranks_is_two_records() -> None:
    """Two containers: both are process 1, so both print the same prefix."""
    said = ("[rank0]: P] OPEN", "[rank1]: P] other", "[rank0]: P] a", "[rank1]: P] more", "[rank0]: P] b")
    plain = "\n".join(said).encode()
    assert [text for text, _ in held(plain).continued("P]", 9)] == ["a", "b"]
    stamped = [f"2026-11-29T12:00:0{at}.0005305Z {line}" for at, line in enumerate(said)]
    assert [text for text, _ in held("\n".join(stamped).encode()).continued("P]", 9)] == ["a", "b"]
    docker = "\n".join(json.dumps({"log": line + "\n", "stream": "stderr"}) for line in stamped).encode()
    assert [text for text, _ in held(docker).continued("P]", 9)] == ["a", "b"]


def test_each_line_that_is_read_costs_one_of_the_allowance() -> None:
    view = View(bytearray(), 0, allowance=2)
    view.spend()
    view.spend()
    with pytest.raises(Exhausted, match="overlap so much"):
        view.spend()
    assert len(list(held(b"a\nb\nOPEN\nc\nd\n", allowance=2).following(2))) == 2
    assert len(list(held(b"a\nb\nOPEN\nc\nd\n", allowance=2).preceding(2))) == 2
    assert len(list(held(b"OPEN\nOPEN c\nOPEN d\n", allowance=2).continued("OPEN", 2))) == 2
    with pytest.raises(Exhausted):
        list(held(b"OPEN\nc\nd\n", allowance=1).following(2))
    with pytest.raises(Exhausted):
        list(held(b"a\nb\nOPEN\n", allowance=1).preceding(2))
    with pytest.raises(Exhausted):
        list(held(b"OPEN\nOPEN c\nOPEN d\n", allowance=1).continued("OPEN", 2))


def test_a_line_up_to_the_limit_is_read_whole_wherever_it_was_hit() -> None:
    line = b"a" * (LONGEST_LINE - 1) + b"z"
    view = View(bytearray(b"first\n" + line + b"\n"), LONGEST_LINE + 7)
    assert view.text(6, LONGEST_LINE + 6, LONGEST_LINE + 5) == line.decode()
    assert view.text(6, 16, 15) == "a" * 10
    view = View(bytearray(b"\n" + b"x" * 3 * LONGEST_LINE), 3 * LONGEST_LINE + 1)
    assert view.line(LONGEST_LINE) == (1, view.end)
    assert view.line(2 * LONGEST_LINE) == (LONGEST_LINE, view.end)


def test_a_whole_line_has_no_limit_and_no_envelope() -> None:
    said = b"OPEN" + b"x" * 2 * LONGEST_LINE + b"\xffend"
    record = held(b"first\n[rank3]: " + said + b"\nlast\n")
    assert len(record.text) <= LONGEST_LINE
    assert record.whole_line() == said.decode("utf-8", "replace")


def test_broken_utf8_in_the_lines_around_is_carried() -> None:
    record = held(b"\xff0\nP] OPEN\nP] \xff1\nP] \xff2\x1b[0m\n")
    assert [line.text for line in record.preceding(1)] == ["\ufffd0"]
    assert [line.text for line in record.following(1)] == ["P] \ufffd1"]
    assert [text for text, _ in record.continued("P]", 9)] == ["\ufffd1", "\ufffd2"]


def test_a_following_line_is_cut_at_the_limit() -> None:
    (line,) = held(b"OPEN\n" + b"x" * 2 * LONGEST_LINE + b"\n").following(1)
    assert len(line.text) == LONGEST_LINE


def test_a_branch_is_an_envelope_for_the_lines_around_too() -> None:
    """Announced by the log, or told by the record's own line: `[gpu] ` before text that torchrun numbered."""
    text = b"[gpu] before\n[gpu] [rank0]: OPEN\n[gpu] after\n[cpu] other\n[gpu] [rank0]: mine\n"
    for branches in ((), ("gpu", "cpu"), ("gpu",)):
        record = held(text)
        record.view.branches = branches
        assert record.envelope.branch == "gpu"
        assert [line.text for line in record.following(9)] == ["mine"]
    view = View(bytearray(b"[gpu] before\n[gpu] OPEN\n[cpu] other\n[gpu] P] a\n"), 46, ("gpu", "cpu"))
    record = record_at(view, 20, *view.line(20), 2, counts_lines=True)
    assert (record.text, record.envelope.branch) == ("OPEN", "gpu")
    assert [line.text for line in record.preceding(9)] == ["before"]
    assert [line.text for line in record.following(9)] == ["P] a"]
    assert [text for text, _ in record.continued("P]", 9)] == ["a"]
    assert record.whole_line() == "OPEN"


def test_the_branch_of_a_record_that_nobody_announced_holds_for_its_own_lines() -> None:
    """Jenkins' head is out of reach: a torch line tells the branch, a line of free text does not."""
    torch = "V1130 00:29:06.251000 4674 torch/a.py:1] [__x] "
    record = held(f"[gpu] {torch}OPEN\n[gpu] free text\n[cpu] other\n".encode())
    assert record.envelope.branch == "gpu"
    assert [line.text for line in record.following(9)] == ["free text"]


def test_what_rewrites_a_continued_line_is_cut_off() -> None:
    record = held(b"P] OPEN\nP] a\r 10%|#  |\r 20%\nP] b\r\nP] c\n")
    assert [text for text, _ in record.continued("P]", 9)] == ["a", "b", "c"]


def test_the_prefix_may_be_in_the_text_of_a_coloured_line() -> None:
    record = held(b"P] OPEN\nP] \x1b[2ma P] b\x1b[0m\n")
    assert [text for text, _ in record.continued("P]", 9)] == ["a P] b"]


def test_a_carriage_return_beyond_the_line_changes_nothing() -> None:
    for text in (b"\rx\nOPEN here\ny\rz\n", b"OPEN here"):
        record = held(text, b"more\r")
        assert record.text == "OPEN here"
    record = held(b"first\r[rank1]: x\r[rank2]: OPEN\x1b[0m\rlast\r\n")
    assert (record.text, record.rank) == ("OPEN", 2)
    record = held(b"\rOPEN")
    assert record.text == "OPEN"


def test_a_line_at_the_limit_is_a_record_whole() -> None:
    for size in (LONGEST_LINE, LONGEST_LINE + 1):
        line = b"OPEN" + b"x" * (size - 4)
        assert held(b"first\n" + line + b"\n").text == line[:LONGEST_LINE].decode()
    line = b"x" * (LONGEST_LINE - 4) + b"OPEN"
    assert held(b"first\n" + line + b"\n").text == line.decode()


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b"[gpu] 10%|#  |\rOPEN here", "OPEN here"),
        (b"10%|#  |\r[gpu] OPEN here", "OPEN here"),
        (b"[gpu] OPEN here\r50%", "OPEN here"),
        (b"[gpu] 10%\r[gpu] OPEN here\r[gpu] 50%", "OPEN here"),
    ],
)
def test_a_progress_bar_in_a_branch(line: bytes, text: str) -> None:
    view = View(bytearray(b"first\n" + line + b"\nlast\n"), 12 + len(line), ("gpu",))
    at = view.buffer.index(b"OPEN")
    record = record_at(view, at, *view.line(at), 2, counts_lines=True)
    assert (record.text, record.envelope.branch) == (text, "gpu")


def test_a_long_part_of_a_progress_bar_is_cut_around_its_hit() -> None:
    record = held(b"[rank2]: 1%\r" + b"x" * 100 + b"OPEN" + b"y" * 2 * LONGEST_LINE + b"\rlast\n")
    assert record.text.startswith("x" * 100 + "OPENyyy")
    assert len(record.text) == LONGEST_LINE
    assert record.rank == 2


def test_what_a_part_of_a_text_can_not_see_is_no_absence() -> None:
    view = View(bytearray(b"a\nV mark\n\tpayload\n"), 18, late=True)
    assert view.before(10, b"\nV") == 1
    view = View(bytearray(b"..\n\tpayload\n"), 13, late=True)
    with pytest.raises(Exhausted, match="before this part"):
        view.before(4, b"\nV")
