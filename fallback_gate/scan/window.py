"""Room 2: one pass over a source, in a window of bounded size.

The window is one buffer. New bytes are scanned as soon as they are in it, line by whole line; a hit is
handed out only when the bytes behind it, where the rest of its record may stand, are in the window too.
A line longer than the window is scanned in pieces that overlap, so that an anchor across two pieces is
found; its number is still right, since lines are counted by their line feeds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from fallback_gate.errors import Unreadable
from fallback_gate.scan import anchors
from fallback_gate.scan.record import ALLOWANCE_BYTES, LONGEST_LINE, Record, View, record_at
from fallback_gate.sources.envelope import branches

READ = 1 << 20  # bytes a read
BEHIND = 1 << 20  # bytes behind a hit that must be in the window before it is handed out
WINDOW = 6 << 20
HEAD = 64 << 10  # bytes in which a build announces its branches
LONG = 2 << 20  # bytes without a line feed after which a line is scanned in pieces
OVERLAP = LONGEST_LINE


class Stream(Protocol):
    """What the scan needs of an open source."""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer from the start; 0 at the end. Raises `Unreadable`."""
        ...


@dataclass(slots=True)
class Extent:
    """How much was read: bytes, ranks that named themselves (`local_ranks`: by their number on one host),
    and the reason why reading ended early, if it did."""

    bytes: int = 0
    ranks: set[int] = field(default_factory=set)
    local_ranks: set[int] = field(default_factory=set)
    problem: str | None = None


class Hit(NamedTuple):
    """A line and the anchors that stand in it, by index."""

    record: Record
    anchors: tuple[int, ...]


class Scan:
    """One pass: iterate for the hits in order; then `extent` tells how much was read.

    A hit's record is good until the next one is asked for: the window moves on.

    `count_lines`: positions are line numbers, counted on the way; else they are byte offsets of line
    starts, to be turned into numbers later by the source. `rests`: what must follow a match of the first
    expressions, one for each.
    """

    def __init__(
        self, expressions: Sequence[bytes], stream: Stream, *, count_lines: bool, rests: Sequence[bytes] = ()
    ) -> None:
        self._scan: Callable[..., None] = anchors.database([*expressions, *anchors.ANY_RANK])
        self._any_rank = len(expressions)  # reported at most a few times, then each rank is looked for
        self._scan_ranks: Callable[..., None] | None = None
        self._rests = rests
        self._stream = stream
        self._count_lines = count_lines
        self._view = View(bytearray(WINDOW), 0)
        self._base = 0  # offset in the stream of the first byte of the buffer
        self._scanned = 0  # bytes of the buffer that have been scanned
        self._counted = 0  # bytes of the buffer whose line feeds are in `_feeds`
        self._feeds = 0
        self._pending: deque[tuple[int, int]] = deque()  # (offset of the match's last byte, anchor)
        self._latest = (-1, -1)  # the last hit that was found, since pieces of a long line overlap
        self.extent = Extent()

    def __iter__(self) -> Iterator[Hit]:
        more = True
        while more:
            self._make_room()
            more = self._read()
            self._scan_new(last=not more)
            yield from self._hand_out(last=not more)

    def _make_room(self) -> None:
        """Move what is still needed to the front when the next read would not fit."""
        view = self._view
        if view.end + READ <= WINDOW:
            return
        needed = self._scanned
        if self._pending:
            needed = min(needed, self._pending[0][0] - self._base)
        keep = max(0, min(needed, view.end) - LONGEST_LINE)
        if self._count_lines and keep > self._counted:
            self._feeds += view.buffer.count(b"\n", self._counted, keep)
            self._counted = keep
        view.buffer[: view.end - keep] = view.buffer[keep : view.end]
        self._base += keep
        self._scanned -= keep
        self._counted = max(0, self._counted - keep)
        view.end -= keep

    def _read(self) -> bool:
        view = self._view
        try:
            with memoryview(view.buffer) as whole, whole[view.end : view.end + READ] as free:
                got = self._stream.readinto(free)
        except Unreadable as problem:
            self.extent.problem = str(problem)
            got = 0
        if got and not self.extent.bytes:
            view.branches = branches(bytes(view.buffer[: min(got, HEAD)]))
        view.end += got
        view.allowance += got // ALLOWANCE_BYTES
        self.extent.bytes += got
        return got > 0

    def _scan_new(self, *, last: bool) -> None:
        """Scan the whole lines that are new; of a line without end, a piece."""
        view = self._view
        stop = view.end if last else view.buffer.rfind(b"\n", self._scanned, view.end) + 1
        piece = False
        if stop <= self._scanned:
            if last or view.end - self._scanned < LONG:
                return
            stop, piece = view.end, True
        start, base, pending, known = self._scanned, self._base + self._scanned, self._pending, self._latest
        rests = self._rests

        def found(anchor: int, _start: int, end: int, _flags: int, _context: object) -> None:
            if anchor >= self._any_rank:
                self._scan_ranks = self._scan_ranks or anchors.database(anchors.rank_expressions(), once=True)
                return
            if anchor < len(rests) and not view.buffer.startswith(rests[anchor], start + end):
                return
            hit = (base + end - 1, anchor)
            if hit > known:
                pending.append(hit)

        with memoryview(view.buffer) as whole, whole[start:stop] as new:
            self._scan(new, match_event_handler=found)
            if self._scan_ranks:
                self._scan_ranks(new, match_event_handler=self._rank_found)
        if pending:
            self._latest = max(self._latest, pending[-1])
        self._scanned = max(start, stop - OVERLAP) if piece else stop

    def _rank_found(self, rank: int, _start: int, _end: int, _flags: int, _context: object) -> None:
        if rank < anchors.MOST_RANKS:
            self.extent.ranks.add(rank)
        else:
            self.extent.local_ranks.add(rank - anchors.MOST_RANKS)

    def _hand_out(self, *, last: bool) -> Iterator[Hit]:
        """Hand out the hits whose records are in the window, the anchors of one part of a line together."""
        view, pending = self._view, self._pending
        ready = view.end if last else view.end - BEHIND
        line_end = -1  # of the last hit's line: a long one is not measured again
        while pending:
            offset, anchor = pending[0]
            at = offset - self._base
            if at > ready:
                return
            pending.popleft()
            if not at <= line_end:
                line_end = -1
            start, end = view.line(at, line_end)
            line_end = end
            rewritten = view.buffer.find(b"\r", at, min(end, at + LONGEST_LINE))
            part = min(end, at + LONGEST_LINE // 2) if rewritten < 0 else rewritten
            here = [anchor]
            while pending and pending[0][0] - self._base < part:
                here.append(pending.popleft()[1])
            position = self._position(start) if self._count_lines else self._base + start
            yield Hit(record_at(view, at, start, end, position, counts_lines=self._count_lines), tuple(here))

    def _position(self, start: int) -> int:
        if start > self._counted:
            self._feeds += self._view.buffer.count(b"\n", self._counted, start)
            self._counted = start
        return self._feeds + 1
