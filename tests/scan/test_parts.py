"""Room 2: one text in parts, what the scan spends, what waits in it, and what its source is told of."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from fallback_gate.scan.anchors import Anchors
from fallback_gate.scan.view import ALLOWANCE_BYTES, FIRST_ALLOWANCE, Exhausted, Overlap
from fallback_gate.scan.window import BEHIND, KNOWN, READ, Hit, Scan
from fallback_gate.sources.parts import FIRST, HISTORY, Part

ANCHOR, OTHER, MARK = "OPEN", "Graph break", b"\n## "
SIGN = b"\x1b[0"
CHUNK = 64 << 10


class Said(NamedTuple):
    """A hit with the lines around it, kept after the window has moved on."""

    position: int
    text: str
    anchors: tuple[int, ...]
    before: list[str]
    after: list[str]
    mark: int | str


def said(hit: Hit, back: int = 2, on: int = 2) -> Said:
    """What a hit says; its mark by how far before it that stands."""
    record = hit.record
    try:
        mark: int | str = record.start - record.view.before(record.start, MARK)
    except Exhausted as problem:
        mark = str(problem)
    before = [line.text for line in record.preceding(back)]
    after = [line.text for line in record.following(on)]
    return Said(record.position, record.text, hit.anchors, before, after, mark)


def log(size: int, every: int = 40_000) -> bytes:
    """A text of numbered lines with a hit at intervals, and on both sides of each of its reads' ends."""
    lines: list[bytes] = []
    total = due = 0
    edges = {FIRST + step * READ for step in range(size // READ + 1)}
    while total < size:
        near = any(0 <= edge - total < 90 for edge in edges)
        line = b"%d noise noise noise noise noise" % len(lines)
        if total >= due or near:
            line, due = b"%d OPEN Graph break" % len(lines), total + every
        if len(lines) % 700 == 3:
            line = b"## %d" % len(lines)
        lines.append(line)
        total += len(line) + 1
    return b"\n".join(lines) + b"\n"


TEXT = log(6 << 20)


def line_from(offset: int) -> int:
    """Where the first line starts behind an offset."""
    return TEXT.index(b"\n", offset) + 1


def reads(text: bytes, first: int, chunked: Any) -> Any:
    """The stream of a text whose first read is of that size, and all others of a step."""
    sizes = iter([first])
    stream = chunked(text, (READ,))
    stream._sizes = (next(sizes, READ) for _ in iter(int, 1))
    return stream


@pytest.mark.parametrize("begins", [(), (1,), (2, 3), (1, 2, 3, 4, 5)])
def test_the_parts_say_what_the_whole_says(chunked: Any, begins: tuple[int, ...]) -> None:
    anchors = Anchors([ANCHOR, OTHER])
    whole = [said(hit) for hit in Scan(anchors, reads(TEXT, FIRST, chunked), count_lines=False)]
    starts = [(0, 0), *((at, line_from(at)) for step in begins for at in [FIRST + step * READ])]
    found: list[Said] = []
    for (begin, first), stop in zip(starts, [*(first for _, first in starts[1:]), None], strict=True):
        stream = reads(TEXT[max(0, begin - HISTORY) :], HISTORY if begin else FIRST, chunked)
        scan = Scan(anchors, stream, count_lines=False, part=Part(begin, first, stop, ("left",)))
        mine = [said(hit) for hit in scan]
        assert all(first <= one.position for one in mine)
        assert scan._view.branches == (() if begin == 0 else ("left",))
        read = max(0, begin - HISTORY) + stream._at
        assert scan.extent.bytes == read
        end = len(TEXT) if stop is None else min(len(TEXT), stop + BEHIND)
        assert end <= read < end + READ
        found += mine
    assert len(found) > 150
    unknown = [one for one in found if isinstance(one.mark, str)]
    assert {one.mark for one in unknown} <= {"what stands before this part of it decides"}
    assert [one._replace(mark=0) for one in found] == [one._replace(mark=0) for one in whole]
    assert [one for one in found if one not in unknown] == [one for one in whole if one in found]
    assert len(unknown) <= len(begins)


@pytest.mark.parametrize(("bytes_", "lines"), [(200, 3), (25_600, 60), (25_600, 140)])
def test_what_is_spent_is_what_the_size_does_not_allow_for(chunked: Any, bytes_: int, lines: int) -> None:
    text = b"OPEN\n" + b"x\n" * lines
    text += b"." * (bytes_ - len(text) - 1) + b"\n"
    scan = Scan(Anchors([ANCHOR]), chunked(text), count_lines=True)
    (hit,) = [said(hit, on=lines) for hit in scan]
    assert hit.after == ["x"] * lines
    spent, allowed = lines + 1, len(text) // ALLOWANCE_BYTES  # one for the line before, which there is not
    assert scan.overlap == Overlap(spent - allowed, max(0, spent - allowed))


def test_the_most_that_was_spent_is_remembered(chunked: Any) -> None:
    """It is spent at the first hits, and the bytes that allow for it come later."""
    text = b"OPEN\n" + b"x\n" * 9000 + b"." * (BEHIND - 10_000) + b"\n" + b"y\n" * (2 << 20)
    scan = Scan(Anchors([ANCHOR]), chunked(text, (CHUNK,)), count_lines=True)
    seen: list[Overlap] = []
    for hit in scan:
        assert len(list(hit.record.following(9000))) == 9000
        seen.append(scan.overlap)
    first = 9000 - (BEHIND + CHUNK) // ALLOWANCE_BYTES
    assert seen == [Overlap(first, first)]
    assert scan.overlap == Overlap(
        9000 - len(text) // CHUNK * (CHUNK // ALLOWANCE_BYTES) - len(text) % CHUNK // ALLOWANCE_BYTES, first
    )


def test_lines_may_be_read_until_the_allowance_is_spent(chunked: Any) -> None:
    scan = Scan(Anchors([ANCHOR]), chunked(b"OPEN\n" + b"x\n" * 5), count_lines=True)
    scan._view.allowance = 5
    (hit,) = list(scan)
    assert len(list(hit.record.following(5))) == 5
    with pytest.raises(Exhausted, match="overlap so much"):
        list(hit.record.following(1))
    assert scan.overlap == Overlap(FIRST_ALLOWANCE + 1, FIRST_ALLOWANCE + 1)


class Asking:
    """A stream that asks the scan what waits in it before each read."""

    def __init__(self, *texts: bytes) -> None:
        self.texts = [*texts]
        self.told: list[list[Said]] = []
        self.scan: Scan | None = None

    def readinto(self, buffer: memoryview, /) -> int:
        if self.scan:
            self.told.append([said(hit) for hit in self.scan.waiting()])
        text = self.texts.pop(0) if self.texts else b""
        buffer[: len(text)] = text
        return len(text)


@pytest.mark.parametrize("count", [True, False], ids=["lines", "offsets"])
def test_what_waits_may_be_asked_for_and_comes_again(count: bool) -> None:
    texts = b"a\nOPEN 1\nb\n", b"OPEN 2\nGraph", b" break\nOPEN 3\n"
    stream = Asking(*texts)
    stream.scan = scan = Scan(Anchors([ANCHOR, OTHER]), stream, count_lines=count)
    hits = [said(hit) for hit in scan]
    where = [2, 4, 5, 6] if count else [2, 11, 18, 30]
    assert [hit.position for hit in hits] == where
    assert [hit.after for hit in hits] == [
        ["b", "OPEN 2"],
        ["Graph break", "OPEN 3"],
        ["OPEN 3"],
        [],
    ]
    told = [[(hit.position, hit.text, hit.after) for hit in waiting] for waiting in stream.told]
    assert told == [
        [],
        [(where[0], "OPEN 1", ["b"])],
        [(where[0], "OPEN 1", ["b", "OPEN 2"]), (where[1], "OPEN 2", ["Graph"])],
        [(hit.position, hit.text, hit.after) for hit in hits],
    ]
    alone = Scan(Anchors([ANCHOR, OTHER]), Asking(*texts), count_lines=count)
    assert [said(hit) for hit in alone] == hits
    assert alone.overlap == scan.overlap


def test_the_source_is_told_of_a_sign_and_may_take_back_what_is_behind_it() -> None:
    texts = [b"OPEN 1\n" + b"x" * 90 + b"\n", b"OPEN 2\n" + SIGN + b"2mOPEN 3\n", b"OPEN 4\nOPEN 5\n"]
    told: list[tuple[bytes, int]] = []

    def look(data: bytes, known: int) -> int:
        told.append((data, known))
        return 12 if len(told) == 1 else 0

    scan = Scan(Anchors([ANCHOR]), Asking(*texts), count_lines=False, look=look)
    hits = [said(hit) for hit in scan]
    assert told[0] == (texts[0][-KNOWN:] + texts[1], KNOWN)
    assert [(hit.position, hit.text) for hit in hits] == [
        (0, "OPEN 1"), (98, "OPEN 2"), (105, "OPEN 4"), (112, "OPEN 5"),
    ]  # fmt: skip
    assert scan.extent.bytes == sum(map(len, texts)) - 12
    assert len(told) == 1


def test_a_sign_in_the_first_lines_and_at_the_very_end() -> None:
    """The end without a line feed is scanned when nothing more comes; then the source may have more to say."""
    told: list[tuple[bytes, int]] = []
    stream = Asking(b"a\n" + SIGN + b"mb\n", b"OPEN 1 " + SIGN)

    def look(data: bytes, known: int) -> int:
        told.append((data, known))
        if len(told) == 2:
            stream.texts.append(b"\nOPEN 2")
        return 0

    hits = [said(hit) for hit in Scan(Anchors([ANCHOR]), stream, count_lines=True, look=look)]
    assert told == [(b"a\n" + SIGN + b"mb\n", 0), (b"a\n" + SIGN + b"mb\nOPEN 1 " + SIGN, 8)]
    assert [(hit.position, hit.text.partition(" ")[2][:1]) for hit in hits] == [(3, "1"), (4, "2")]
