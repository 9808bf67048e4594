"""Room 2: one pass over the bytes finds each anchor, wherever it stands, and says the right line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fallback_gate.errors import Unreadable
from fallback_gate.scan.anchors import ANY_RANK, MOST_RANKS, Anchors, database, expression, few, ranks_in
from fallback_gate.scan.view import FIRST_ALLOWANCE, LONGEST_LINE
from fallback_gate.scan.window import BEHIND, HEAD, LONG, OVERLAP, READ, WINDOW, Scan
from fallback_gate.sources import Source
from fallback_gate.sources.later import SIGNS

ANCHOR = "Using FallbackKernel: "
OTHER = "Graph break"
Search = Callable[..., Any]


def padded(size: int, line: bytes = b"noise noise noise\n") -> bytes:
    """Whole lines of `size` bytes in all."""
    lines = line * (size // len(line))
    return lines + b"." * (size - len(lines) - 1) + b"\n" if size > len(lines) else lines


EDGES = sorted(
    {READ, READ * 2, BEHIND + READ, WINDOW, WINDOW - LONGEST_LINE, WINDOW + READ, LONG, 2 * WINDOW}
)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("before", [0, 1, 11, len(ANCHOR), len(ANCHOR) + 1])
@pytest.mark.parametrize("count", [True, False], ids=["lines", "offsets"])
def test_an_anchor_across_two_reads_or_windows(scan: Search, edge: int, before: int, count: bool) -> None:
    start = edge - before
    text = padded(start) + ANCHOR.encode() + b"aten.topk\n" + padded(READ + 17)
    (hit,) = scan(text, [ANCHOR], count=count)
    assert hit.position == (text.count(b"\n", 0, start) + 1 if count else start)
    assert hit.text == ANCHOR + "aten.topk"


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
@pytest.mark.parametrize("count", [True, False], ids=["lines", "offsets"])
def test_the_very_start_and_the_very_end(scan: Search, ending: str, count: bool) -> None:
    text = f"{ANCHOR}a\r\nnoise\n{ANCHOR}z{ending}".encode()
    hits = scan(text, [ANCHOR], count=count)
    assert [hit.text for hit in hits] == [ANCHOR + "a", ANCHOR + "z"]
    assert [hit.position for hit in hits] == ([1, 3] if count else [0, len(ANCHOR) + 9])


def test_nothing_at_all(scan: Search) -> None:
    assert scan(b"", [ANCHOR]) == []
    assert scan(b"\n" * 100, [ANCHOR]) == []


def test_an_anchor_alone_is_a_line(scan: Search) -> None:
    assert [hit.position for hit in scan(OTHER.encode(), [OTHER])] == [1]


TEN_MB = 10_000_000


@pytest.mark.parametrize("at", [0, 5, LONG - 5, LONG, LONG - OVERLAP, TEN_MB // 2, WINDOW - 3, TEN_MB - 40])
@pytest.mark.parametrize("count", [True, False], ids=["lines", "offsets"])
def test_a_line_longer_than_the_window(scan: Search, at: int, count: bool) -> None:
    filler = bytes(at) + ANCHOR.encode() + b"aten.topk " + b"." * (TEN_MB - at - 32)
    text = b"first\n" + filler + b"\n" + ANCHOR.encode() + b"last\n"
    long, last = scan(text, [ANCHOR], count=count)
    assert ANCHOR + "aten.topk" in long.text
    assert len(long.text) <= LONGEST_LINE
    assert last.text == ANCHOR + "last"
    if count:
        assert (long.position, last.position) == (2, 3)
    else:
        assert text.count(b"\n", 0, long.position) == 1
        assert last.position == text.rindex(b"\n", 0, -1) + 1


def test_a_second_anchor_far_behind_in_a_long_line(scan: Search) -> None:
    text = b"x" * 100 + ANCHOR.encode() + b"y" * (3 * LONG) + OTHER.encode() + b"\n"
    hits = scan(text, [ANCHOR, OTHER])
    assert {at for hit in hits for at in hit.anchors} == {0, 1}
    assert {hit.position for hit in hits} == {1}


def test_anchors_of_one_line_come_together(scan: Search) -> None:
    (hit,) = scan(f"{OTHER} {ANCHOR} {OTHER}\n".encode(), [ANCHOR, OTHER, "absent"])
    assert hit.anchors == {0, 1}


def test_a_progress_bar_is_one_physical_line(scan: Search) -> None:
    bar = b"".join(b"%3d%%|####   | it\r" % n for n in range(100))
    text = b"begin\n" + bar + ANCHOR.encode() + b"aten.sort\rdone\n" + OTHER.encode() + b"\n"
    first, second = scan(text, [ANCHOR, OTHER])
    assert (first.position, second.position) == (2, 3)
    assert first.text == ANCHOR + "aten.sort"


def test_two_messages_in_one_progress_line(scan: Search) -> None:
    text = f"10%\r{ANCHOR}aten.sort\r20%\r{OTHER} here\n".encode()
    hits = scan(text, [ANCHOR, OTHER])
    assert {hit.position for hit in hits} == {1}
    assert {at: hit.text for hit in hits for at in hit.anchors} == {
        0: ANCHOR + "aten.sort",
        1: OTHER + " here",
    }


def test_nuls_and_broken_utf8_are_carried(scan: Search) -> None:
    text = (
        b"\x00" * 5000
        + b"\n\xff\xfe\xc3"
        + ANCHOR.encode()
        + b"\xe2\x82 aten.sort\x00\n\x80\n"
        + OTHER.encode()
    )
    first, second = scan(text, [ANCHOR, OTHER])
    assert (first.position, second.position) == (2, 4)
    assert first.text.endswith(ANCHOR + "\ufffd aten.sort\x00")


def test_what_other_readers_call_line_ends_are_none(scan: Search) -> None:
    text = "a\x0bb\x0cc\x1cd\x85e\u2028f\n".encode() * 3 + ANCHOR.encode()
    assert [hit.position for hit in scan(text, [ANCHOR])] == [4]


def test_a_number_in_an_anchor() -> None:
    numbered = expression(b"buf{n} = x.")
    lines = (b"buf3 = x.a", b"  buf123456 = x.", b"buf = x.a", b"buf3  = x.a", b"buf3 = xa", b"bufn = x.")
    assert [bool(re.search(numbered, line)) for line in lines] == [True, True, False, False, False, False]
    scanned = Scan(Anchors(["buf{n} = x."]), _Bytes(b"buf = x.\nbuf77 = x.y\n"), count_lines=True)
    assert [hit.record.position for hit in scanned] == [2]


LITERALS = [b"aba", b"ab", b"b'a\\x", b"[rank{n}", b"\n\xff\xfe", b"\0e\0", b"a{n} b", b"$^.*"]
ONCE = {place for place, literal in enumerate(LITERALS) if literal in (*ANY_RANK, *SIGNS)}


@given(
    st.lists(st.sampled_from([*LITERALS, b"a12 b", b"a1234567 b", b"[rank7", b"ab", b"a", b"b"]), max_size=40)
)
def test_a_short_text_is_searched_as_a_long_one_is(words: list[bytes]) -> None:
    text, found = b"".join(words), []
    for search in (few(LITERALS), database(LITERALS)):
        here: list[tuple[int, ...]] = []
        search(memoryview(text), match_event_handler=lambda *hit, into=here: into.append(hit))
        found.append({(place, 0 if place in ONCE else end) for place, _, end, *_ in here})
    assert found[0] == found[1]


@pytest.mark.parametrize("size", [0, 1 << 20], ids=["short", "long"])
def test_the_ranks_that_number_lines(size: int) -> None:
    text = (
        b"[rank0]: a\n[rank12]: b\n[default7]:c\n[rank012]: d\n[rank%d]: e\n[rank5] f\nrank6]:" % MOST_RANKS
    )
    assert ranks_in(memoryview(text + b"." * size)) == {(False, 0), (False, 12), (True, 7)}


@pytest.mark.parametrize(
    "literal", ["hit config.", "FallbackKernel(", "a+b", "T CONVERT ", "don't", "[x]{2}|^$", "a(b"]
)
def test_an_anchor_is_a_literal(scan: Search, literal: str) -> None:
    scanned = Scan(Anchors([literal]), _Bytes(f"x\n~{literal}~\n".encode()), count_lines=True)
    assert [hit.record.position for hit in scanned] == [2]


class _Bytes:
    """A stream that gives all it has, then fails if it is told to."""

    def __init__(self, text: bytes, failure: str = "") -> None:
        self._text, self._failure = text, failure

    def readinto(self, buffer: memoryview, /) -> int:
        if not self._text and self._failure:
            raise Unreadable(self._failure)
        count = min(len(self._text), len(buffer))
        buffer[:count], self._text = self._text[:count], self._text[count:]
        return count


def test_what_was_read_before_the_trouble_stands() -> None:
    text = f"{ANCHOR}a\nnoise\n{ANCHOR}cut".encode()
    scanned = Scan(Anchors([ANCHOR]), _Bytes(text, "truncated gzip data"), count_lines=True)
    assert [hit.record.position for hit in scanned] == [1, 3]
    assert scanned.extent.problem == "truncated gzip data"
    assert scanned.extent.bytes == len(text)


def test_branches_that_a_pipe_gives_bit_by_bit(scan: Search) -> None:
    """A Jenkins build names its branches in its first lines, which come in many reads."""
    text = (
        b"[Pipeline] parallel\n[Pipeline] { (Branch: gpu tests)\n"
        + b"noise\n" * 90
        + b"[gpu tests] NEEDLE here\n"
    )
    assert [hit.text for size in (7, 64, 1 << 20) for hit in scan(text, ["NEEDLE"], sizes=(size,))] == [
        "NEEDLE here"
    ] * 3


def test_ranks_that_name_themselves() -> None:
    text = b"".join(b"[rank%d]: hello\n[default%d]:[rank%d]: x\n" % (r, r % 8, r) for r in range(64))
    scanned = Scan(Anchors([ANCHOR]), _Bytes(text), count_lines=True)
    assert list(scanned) == []
    assert scanned.extent.ranks == set(range(64))
    assert scanned.extent.local_ranks == set(range(8))


def test_ranks_that_speak_late() -> None:
    text = padded(READ + 5) + b"[rank5]: hello\n"
    scanned = Scan(Anchors([ANCHOR]), _Bytes(text), count_lines=True)
    assert list(scanned) == []
    assert scanned.extent.ranks == {5}


def test_line_numbers_in_both_modes_are_the_naive_ones(tmp_path: Path, naive: Search, scan: Search) -> None:
    line = b"I1130 torch/_inductor/graph.py:947] [0/0] some noise that matters to nobody at all\n"
    parts = []
    for block in range(60):
        parts += [
            line * (block * 41 % 1999 + 1),
            b"\r\n\x00\n",
            f"[rank{block}]: {ANCHOR}op{block}\n".encode(),
        ]
    text = b"".join(parts)
    assert len(text) > 3 * READ
    path = tmp_path / "big.log"
    path.write_bytes(text)
    source = Source(str(path), True, len(text), path)
    expected = [number for number, _ in naive(text, [ANCHOR])]
    counted = scan(text, [ANCHOR], sizes=(70_001, 5, 400_000))
    offsets = scan(text, [ANCHOR], count=False)
    lines = source.lines_at(hit.position for hit in offsets)
    assert [hit.position for hit in counted] == expected
    assert [lines[hit.position] for hit in offsets] == expected
    assert [hit.rank for hit in counted] == list(range(60))


@pytest.mark.parametrize("count", [True, False], ids=["lines", "offsets"])
@pytest.mark.parametrize("length", [997, 40_009])
def test_dense_hits_keep_their_numbers_as_the_window_moves(scan: Search, length: int, count: bool) -> None:
    """Hits near to each other, of which some are handed out and some wait, each time that room is made."""
    line = ANCHOR.encode() + b"%7d " + b"." * (length - len(ANCHOR) - 10) + b"\n\n"
    lines = [line % number for number in range(2 * WINDOW // length)]
    hits = scan(b"".join(lines), [ANCHOR], count=count)
    unit = 2 if count else len(lines[0])
    assert [hit.position for hit in hits] == [number * unit + count for number in range(len(lines))]
    assert [int(hit.text[len(ANCHOR) :].split()[0]) for hit in hits] == list(range(len(lines)))


def test_what_the_head_announces_holds_to_the_end() -> None:
    """A build says once, at its start, which names in brackets are branches; the window moves on."""
    head = b"[Pipeline] { (Branch: gpu)\n" + padded(2 * WINDOW)
    scanned = Scan(Anchors([ANCHOR]), _Bytes(head + b"[gpu] " + ANCHOR.encode() + b"a\n"), count_lines=True)
    (hit,) = scanned
    assert (hit.record.text, hit.record.envelope.branch) == (ANCHOR + "a", "gpu")
    late = padded(HEAD) + b"[Pipeline] { (Branch: gpu)\n[gpu] " + ANCHOR.encode() + b"a\n"
    (hit,) = Scan(Anchors([ANCHOR]), _Bytes(late), count_lines=True)
    assert hit.record.envelope.branch is None


def test_a_log_allows_for_one_line_more_in_256_bytes() -> None:
    text = ANCHOR.encode() + b"a\n" + padded(256_000)
    (hit,) = Scan(Anchors([ANCHOR]), _Bytes(text), count_lines=True)
    assert hit.record.view.allowance == FIRST_ALLOWANCE + 1000


def test_a_hit_waits_for_the_lines_behind_it(chunked: Any) -> None:
    first = f"{ANCHOR}a\n".encode()
    stream = chunked(first + b"next\nlast\n", (len(first), 5))
    (hit,) = ((h.record.text, [line.text for line in h.record.following(2)]) for h in Scan(Anchors([ANCHOR]), stream, count_lines=True))  # fmt: skip
    assert hit == (ANCHOR + "a", ["next", "last"])


WORDS = st.sampled_from(
    ["Graph", " ", "Graph break", "break", "Using FallbackKernel: ", "x" * 50, "\r", "\x00", "é", "[rank1]: "]
)
LINES = st.lists(st.lists(WORDS, max_size=6).map("".join), max_size=40)


@settings(max_examples=150)
@given(lines=LINES, sizes=st.lists(st.integers(1, 300), min_size=1, max_size=5), ending=st.booleans())
@example(lines=["Graph", " break", "Graph break"], sizes=[1], ending=False)
def test_any_lines_in_any_reads_give_the_naive_hits(
    lines: list[str], sizes: list[int], ending: bool, scan: Search, naive: Search
) -> None:
    text = ("\n".join(lines) + "\n" * ending).encode()
    expected = dict(naive(text, [ANCHOR, OTHER]))
    found: dict[int, set[int]] = {}
    for hit in scan(text, [ANCHOR, OTHER], sizes=sizes):
        found.setdefault(hit.position, set()).update(hit.anchors)
    assert found == expected
