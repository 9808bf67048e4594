"""Room 2: the lines that belong to one hit, whoever writes between them."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.compilers import READERS
from fallback_gate.compilers.book import Book
from fallback_gate.compilers.log import read_log
from fallback_gate.model import ProcessKey, Report
from fallback_gate.scan.anchors import Anchors
from fallback_gate.scan.record import WIDEST_GAP, Record
from fallback_gate.scan.view import LONGEST_LINE, View
from fallback_gate.scan.window import Scan

ANCHOR = "OPEN"


def records(text: str, chunked: Any, count: bool = True) -> list[Record]:
    """The first record's hit, while the window still holds it."""
    scan = Scan(Anchors([ANCHOR]), chunked(text.encode("utf-8", "surrogateescape")), count_lines=count)
    return [next(iter(scan)).record]


def test_the_lines_that_follow_are_those_of_the_same_stream(chunked: Any) -> None:
    text = "[rank0]: OPEN\n[rank1]: other\n[rank0]: a\r\nloose\n[rank0]: \x1b[31mb\x1b[0m\n[rank0]: c"
    (record,) = records(text, chunked)
    assert record.rank == 0
    assert [line.text for line in record.following(2)] == ["a", "b"]
    assert [line.text for line in record.following(9)] == ["a", "b", "c"]


def test_a_stream_that_falls_silent_is_not_waited_for(chunked: Any) -> None:
    other = "[rank1]: " + "y" * 1000 + "\n"
    near = "[rank0]: OPEN\n" + other * (WIDEST_GAP // len(other) - 1) + "[rank0]: mine\n"
    far = "[rank0]: OPEN\n" + other * (WIDEST_GAP // len(other) + 2) + "[rank0]: mine\n"
    assert [line.text for line in records(near, chunked)[0].following(5)] == ["mine"]
    assert list(records(far, chunked)[0].following(5)) == []


@pytest.mark.parametrize("count", [True, False], ids=["lines", "offsets"])
def test_continued_lines_say_where_they_stand(chunked: Any, count: bool) -> None:
    text = "noise\nP1] OPEN\nP2] other\nP1]  a\nx P1] b\n"
    (record,) = records(text, chunked, count)
    lines = list(record.continued("P1]", 10))
    assert [text for text, _ in lines] == [" a", "b"]
    positions = [record.position_at(at) for _, at in lines]
    numbers = positions if count else [text.count("\n", 0, position) + 1 for position in positions]
    assert numbers == [4, 5]


def test_continued_lines_are_bounded(chunked: Any) -> None:
    text = "P] OPEN\n" + "P] more\n" * 100
    (record,) = records(text, chunked)
    assert len(list(record.continued("P]", 7))) == 7
    (record,) = records("P] OPEN\nP] " + "z" * 3 * LONGEST_LINE + "\n", chunked)
    ((text, _),) = record.continued("P]", 9)
    assert LONGEST_LINE - 10 < len(text) <= LONGEST_LINE


def test_continued_lines_lose_their_colour_and_their_docker_quotes(chunked: Any) -> None:
    (record,) = records("P] OPEN\n\x1b[2mP] pl\x1b[0main\r\n", chunked)
    assert [text for text, _ in record.continued("P]", 9)] == ["plain"]
    quoted = '{"log":"P] %s\\n","stream":"stderr"}\n'
    (record,) = records(quoted % "OPEN" + quoted % '\\"quoted\\"', chunked)
    assert [text for text, _ in record.continued("P]", 9)] == ['"quoted"']


OPENS = re.compile(rb"P\d\] NEW ")


@pytest.mark.parametrize(
    "around",
    [
        "%s",
        "2026-11-29T12:00:00.0005305Z %s",
        "[rank0]: %s",
        "\x1b[36m(Worker pid=7)\x1b[0m %s",
        '{"log":"%s\\n","stream":"stderr"}',
    ],
)
def test_a_record_ends_where_its_writer_opens_another(chunked: Any, around: str) -> None:
    for between, wanted in (
        (["noise"], ["a", "b"]),
        (["P2] NEW record"], ["a"]),
        (["noise", "P2] NEW record", "noise"], ["a"]),
        (["noise that says P2] NEW record"], ["a", "b"]),
        (["P2] NEW record that says P1] c"], ["a"]),
    ):
        lines = ["P1] OPEN", "P1] a", *between, "P1] b"]
        (record,) = records("".join(around % line + "\n" for line in lines), chunked)
        assert [text for text, _ in record.continued("P1]", 9, None, OPENS)] == wanted, between


def test_another_writer_may_open_a_record_in_between(chunked: Any) -> None:
    (record,) = records("[rank0]: P1] OPEN\n[rank1]: P1] NEW x\n[rank0]: P1] a\n", chunked)
    assert [text for text, _ in record.continued("P1]", 9, None, OPENS)] == ["a"]


@pytest.mark.parametrize(
    "line", ["OPEN" + "x" * 50_000, "x" * 50_000 + "OPEN", "x" * 50_000 + "OPEN" + "x" * 50_000]
)
def test_a_long_line_is_cut_around_its_hit(chunked: Any, line: str) -> None:
    (record,) = records(f"before\n{line}\nafter\n", chunked)
    assert "OPEN" in record.text
    assert len(record.text) <= LONGEST_LINE
    assert [line.text for line in record.following(5)] == ["after"]


@pytest.mark.parametrize(
    ("line", "text", "rank"),
    [
        ("[rank2]: 10%|#  |\r 20%|## |\rOPEN here", "OPEN here", 2),
        ("10%|#  |\r[rank3]: OPEN here\r30%", "OPEN here", 3),
        ("OPEN here\r", "OPEN here", None),
        ("2026-11-29T12:00:00.0005305Z OPEN\r50%\r", "OPEN", None),
    ],
)
def test_the_part_of_a_progress_line_that_was_hit(
    chunked: Any, line: str, text: str, rank: int | None
) -> None:
    (record,) = records(line + "\n", chunked)
    assert (record.text, record.rank) == (text, rank)


def break_record(rank: int) -> list[str]:
    """A graph break of one rank, with a stack of its own."""
    prefix = f"[rank{rank}]:V1130 00:29:06.251000 {5000 + rank} torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks] "
    return [
        prefix + said
        for said in (
            f"Graph break in user code at /app/r{rank}.py:{100 + rank}",
            "Graph Break Reason: Data-dependent branching",
            f"  Explanation: of rank {rank}",
            "User code traceback:",
            f'  File "/app/main{rank}.py", line 9, in main_{rank}',
            "    model(x)",
            f'  File "/app/r{rank}.py", line {100 + rank}, in attn_{rank}',
            "    if x.sum() > 0:",
            "",
        )
    ]


@pytest.mark.parametrize("around", ["", "2026-11-29T12:00:00.0005305Z "])
def test_64_ranks_interleaved_line_by_line(chunked: Any, around: str) -> None:
    columns = [break_record(rank) for rank in range(64)]
    lines = [around + line for row in itertools.zip_longest(*columns) for line in row if line is not None]
    book = Book(READERS)
    told: dict[ProcessKey, Report] = {}
    scan = Scan(book.anchors, chunked(("\n".join(lines) + "\n").encode()), count_lines=True)
    evidence = read_log("x", scan, book, lambda report, process: told.setdefault(process, report) and None)
    assert evidence.extent.ranks == set(range(64))
    assert len(told) == 64
    for process, report in told.items():
        rank = process.rank
        assert rank is not None
        assert process.pid == 5000 + rank
        assert report.stack == (f"attn_{rank}", f"main_{rank}")
        assert report.files == (f"/app/r{rank}.py", f"/app/main{rank}.py")
        assert report.op == f"attn_{rank}"
        assert report.location
        assert report.location.line == 100 + rank
        assert report.position == rank + 1
        assert report.reason
        assert re.fullmatch("Data-dependent branching", report.reason)


def test_the_lines_before_are_those_of_the_same_stream_nearest_first(chunked: Any) -> None:
    text = (
        "[rank0]: first\n[rank1]: other\n[rank0]: \x1b[31ma\x1b[0m\r\nloose\n[rank0]: OPEN\n[rank0]: after\n"
    )
    (record,) = records(text, chunked)
    assert [line.text for line in record.preceding(9)] == ["a", "first"]
    assert [line.text for line in record.preceding(1)] == ["a"]
    assert [record.position_at(line.at) for line in record.preceding(0)] == []
    (record,) = records("OPEN\n", chunked)
    assert list(record.preceding(5)) == []


def test_looking_back_is_bounded(chunked: Any) -> None:
    line = "y" * 999 + "\n"
    (record,) = records(line * 100 + "OPEN\n", chunked)
    seen = list(record.preceding(100))
    assert len(seen) == LONGEST_LINE // len(line)
    assert {found.text for found in seen} == {line.strip()}


@given(st.binary(max_size=60).map(lambda data: bytes(b"\nVx"[b % 3] for b in data)), st.data())
def test_the_last_mark_before_a_hit_is_found_however_many_ask(text: bytes, data: st.DataObject) -> None:
    """Asked in any order, and after what the window holds was moved, as `bytes.rfind` says."""
    view = View(bytearray(text), len(text))
    base = 0
    for at in data.draw(st.lists(st.integers(0, len(text)), max_size=8)):
        if at >= base:
            assert view.before(at - base, b"\nV") == max(-1, text.rfind(b"\nV", base, at) - base)
        if data.draw(st.booleans()) and at > base:
            del view.buffer[: at - base]
            view.moved(at - base)
            base = at
