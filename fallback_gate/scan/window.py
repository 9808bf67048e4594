"""Room 2: one pass over a source, in a window of bounded size.

The window is one buffer. New bytes are scanned as soon as they are in it, line by whole line; a hit is
handed out only when the bytes behind it, where the rest of its record may stand, are in the window too.
A line longer than the window is scanned in pieces that overlap, so that an anchor across two pieces is
found; its number is still right, since lines are counted by their line feeds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from fallback_gate.errors import Unreadable
from fallback_gate.scan import anchors, hidden
from fallback_gate.scan.integrity import Integrity
from fallback_gate.scan.record import Record, record_at
from fallback_gate.scan.view import ALLOWANCE_BYTES, LONGEST_LINE, Overlap, View
from fallback_gate.sources.envelope import branches, feeds, unwrap
from fallback_gate.sources.later import ACROSS, SIGNS
from fallback_gate.sources.parts import FIRST, HISTORY, STEP, Part

READ = STEP
BEHIND = 1 << 20  # bytes behind a hit that must be in the window before it is handed out
WINDOW = 6 << 20
ROOM = 64 << 10  # bytes that must be free for a read
HEAD = 64 << 10  # bytes in which a build announces its branches
LONG = 2 << 20  # bytes without a line feed after which a line is scanned in pieces
OVERLAP = LONGEST_LINE
KNOWN = 64  # bytes before what is new: a sign may stand across


class Stream(Protocol):
    """What the scan needs of an open source."""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer from the start; 0 at the end. Raises `Unreadable`."""


Look = Callable[[bytes, int], int]


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
    starts, to be turned into numbers later by the source. `look`: told of `later.SIGNS`, as `Stream.look`.
    `part`: the stream is one of that part, and only its own lines are of interest; `extent.bytes` is then
    the offset in the whole up to which was read.
    """

    def __init__(
        self,
        wanted: anchors.Anchors,
        stream: Stream,
        *,
        count_lines: bool,
        look: Look = lambda data, known: 0,
        part: Part | None = None,
    ) -> None:
        self._integrity = Integrity(wanted)
        self._wanted = (*wanted.pieces, *anchors.SEEN_ONCE, *hidden.SIGNS)
        self._scan: Callable[..., None] | None = None
        self._behind = wanted.behind
        self._look = look
        self._stream = stream
        self._count_lines = count_lines
        self._view = View(bytearray(WINDOW if part else FIRST), 0)
        self._base = 0  # offset in the stream of the first byte of the buffer
        self._scanned = 0  # bytes of the buffer that have been scanned
        self._counted = 0  # bytes of the buffer whose line feeds are in `_feeds`
        self._feeds = 0
        self._pending: deque[tuple[int, int]] = deque()  # (offset of the match's last byte, anchor)
        self._latest = (-1, -1)  # the last hit that was found, since pieces of a long line overlap
        self._stop = part.stop if part else None  # offset at which hits are of no interest any more
        self.extent = Extent()
        if part:
            self._base = self.extent.bytes = max(0, part.begin - HISTORY)
            self._latest = (part.first, -1)
            self._view.branches = part.branches
            self._view.late = part.begin > 0

    def __iter__(self) -> Iterator[Hit]:
        more = True
        while more:
            self._make_room()
            more = self._read()
            more |= self._scan_new(last=not more)
            yield from self._hand_out(last=not more)
            if self._stop is not None and self._base + self._view.end >= self._stop + BEHIND:
                return

    def _make_room(self) -> None:
        """Move what is still needed to the front when the next read would not fit."""
        view = self._view
        if view.end + READ <= WINDOW:
            if len(view.buffer) < min(view.end + ROOM, WINDOW):
                view.buffer += bytes(WINDOW - len(view.buffer))
            return
        if self._base == 0:
            self._integrity.see_head(view)
        needed = self._scanned
        if self._pending:
            needed = min(needed, self._pending[0][0] - self._base)
        keep = max(0, min(needed, view.end) - LONGEST_LINE)
        if self._count_lines and keep > self._counted:
            keep = max(0, keep - view.buffer.startswith(b"\n", keep))  # what it ends tells whether it counts
            self._feeds += feeds(view.buffer, self._counted, keep)
            self._counted = keep
        with memoryview(view.buffer) as whole:
            whole[: view.end - keep] = whole[keep : view.end]
        self._base += keep
        self._scanned -= keep
        self._counted = max(0, self._counted - keep)
        view.end -= keep
        view.moved(keep)

    def _read(self) -> bool:
        view = self._view
        try:
            with memoryview(view.buffer) as whole, whole[view.end : view.end + READ] as free:
                got = self._stream.readinto(free)
        except Unreadable as problem:
            self.extent.problem = str(problem)
            got = 0
        if got and self.extent.bytes < HEAD:  # a pipe gives little at a time
            view.branches = branches(bytes(view.buffer[: min(view.end + got, HEAD)]))
        view.end += got
        view.lowest = min(view.lowest, view.allowance)
        view.allowance += got // ALLOWANCE_BYTES
        self.extent.bytes += got
        return got > 0

    def _scan_new(self, *, last: bool) -> bool:
        """Scan the whole lines that are new; of a line without end, a piece.

        Returns whether the source was told of a sign: it may have more to say, at the end too.
        """
        view = self._view
        stop = view.end if last else view.buffer.rfind(b"\n", self._scanned, view.end) + 1
        piece = False
        if stop <= self._scanned:
            if last or view.end - self._scanned < LONG:
                return False
            stop, piece = view.end, True
        start, known = self._scanned, self._latest
        first = max(0, start - ACROSS)
        base = self._base + first
        behind, most, begins = self._behind, len(self._behind), view.buffer.startswith
        marked = most + len(anchors.SEEN_ONCE)
        hits: list[tuple[int, int]] = []
        seen_once, marks = set[bytes](), list[int]()

        def found(place: int, _start: int, end: int, _flags: int, _context: object) -> None:
            if place >= most:
                if place < marked:
                    seen_once.add(self._wanted[place])
                else:
                    marks.append(first + end - 1)
                return
            for before, literal, anchor in behind[place]:
                if begins(literal, first + end - before):
                    hits.append((base + end - 1, anchor))

        with memoryview(view.buffer) as whole, whole[first:stop] as new:
            self._search()(new, match_event_handler=found)
            if not seen_once.isdisjoint(anchors.ANY_RANK):
                for is_local, rank in anchors.ranks_in(new):
                    (self.extent.local_ranks if is_local else self.extent.ranks).add(rank)
        signs = not seen_once.isdisjoint(SIGNS)
        if signs:
            stop = min(stop, self._looked(start))
        if marks and not view.spoilt:
            self._integrity.see_marks(marks, view, start, stop, self._search())
        until = self._base + stop if self._stop is None else min(self._base + stop, self._stop)
        new_hits = sorted(hit for hit in hits if known < hit < (until,))
        if new_hits:
            self._pending.extend(new_hits)
            self._latest = new_hits[-1]
        self._scanned = max(start, stop - OVERLAP) if piece else stop
        return signs

    def _search(self) -> Callable[..., None]:
        """What looks for all that is wanted."""
        if self._scan is None:
            if self.extent.bytes <= anchors.SHORT:
                return anchors.few(self._wanted)
            self._scan = anchors.database(self._wanted)
        return self._scan

    def _looked(self, start: int) -> int:
        """Let the source look at what is new: a sign stands in it. Returns where the window ends then."""
        view, known = self._view, min(start, KNOWN)
        back = self._look(bytes(view.buffer[start - known : view.end]), known)
        view.end -= back
        self.extent.bytes -= back
        return view.end

    @property
    def spoilt(self) -> str | None:
        """Why a message, or a part of one, could not be seen so far."""
        return self._view.spoilt

    @property
    def torn(self) -> str | None:
        """Why the lines at the start or at the end are not whole: of a part, those that are the text's."""
        if self._base == 0:
            self._integrity.see_head(self._view)
        if self._stop is None:
            self._integrity.see_end(self._end())
        return self._integrity.torn

    def _end(self) -> str:
        end = self._view.end
        return self._view.text(max(0, end - LONGEST_LINE), end, end)

    @property
    def overlap(self) -> Overlap:
        """How much of the allowance was used so far."""
        return self._view.overlap

    def last_lines(self) -> list[list[str]]:
        """Some lines at the end, without their envelopes: those of each writer, the last one first."""
        by_writer = dict[tuple[str, ...], list[str]]()
        for line in reversed(self._end().split("\n")):
            said, envelope = unwrap(line, self._view.branches)
            by_writer.setdefault(envelope.stream, []).append(said)
        return list(by_writer.values())

    def waiting(self) -> Iterator[Hit]:
        """The hits that wait for what stands behind them, as of what the window holds. They come again."""
        view = self._view
        was = self._counted, self._feeds, view.allowance, view.kept
        view.kept = view.kept.copy()
        try:
            yield from self._cut_out(self._pending.copy(), view.end)
        finally:
            self._counted, self._feeds, view.allowance, view.kept = was

    def _hand_out(self, *, last: bool) -> Iterator[Hit]:
        """Hand out the hits whose records are in the window."""
        end = self._view.end
        return self._cut_out(self._pending, end if last else end - BEHIND)

    def _cut_out(self, pending: deque[tuple[int, int]], ready: int) -> Iterator[Hit]:
        """Take hits from the left, the anchors of one part of a line together."""
        view = self._view
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
            self._feeds += feeds(self._view.buffer, self._counted, start)
            self._counted = start
        return self._feeds + 1
