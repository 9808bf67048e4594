"""Room 2: one hit, cut out of the log: the line, with its envelope off, and the lines that belong to it.

A record knows where it stands and who printed it. Lines of other streams (other ranks, containers) lie
between the lines of one record; `following` and `continued` leave them out. How far they look is bounded
by the window that the scan holds, so a record never costs more than its window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from re import Pattern
from typing import NamedTuple

from fallback_gate.scan import hidden
from fallback_gate.scan.view import LONGEST_LINE, View
from fallback_gate.sources.envelope import FILLER, GOES_ON, RESETS, Envelope, feeds, unwrap

_FILLER = FILLER.decode()
_GOES_ON = GOES_ON.decode()
BLOCK = 4 * 1024  # bytes of which plain lines are taken at once
_RESET_ENDS = b"0m\n"  # a line with one of `RESETS` at its end, perhaps
WIDEST_GAP = 64 * 1024  # bytes of other streams between two lines of one record


class Line(NamedTuple):
    """One further line of a record: its text, unwrapped, and a byte of the window that it holds."""

    text: str
    at: int


@dataclass(slots=True)
class Record:
    """One line that was hit.

    `text` is the line without envelope; where a progress bar rewrote it with carriage returns, the part
    that was hit. `position` is in the unit of the source. `rank` is None where the line does not tell it.
    """

    text: str
    position: int
    envelope: Envelope
    view: View
    start: int
    end: int
    counts_lines: bool

    @property
    def rank(self) -> int | None:
        """The rank that the envelope names."""
        return self.envelope.rank

    def whole_line(self) -> str:
        """The line without its envelope, and without the limit that `text` has."""
        return self._unwrap(self.view.buffer[self.start : self.end].decode("utf-8", "replace"))[0]

    def position_at(self, at: int) -> int:
        """The position of another line of the window, by its first byte, or any byte of a later one."""
        if self.counts_lines and at < self.start:
            return self.position - feeds(self.view.buffer, at, self.start)
        if self.counts_lines:
            return self.position + feeds(self.view.buffer, self.start, at)
        return self.position + at - self.start

    def following(self, limit: int) -> Iterator[Line]:
        """The next lines of the same stream, unwrapped, at most `limit`."""
        view, buffer, stop, mine = self.view, self.view.buffer, self.view.end, self.envelope.stream
        branches = self._branches()
        at, skipped, given = self.end + 1, 0, 0
        while at < stop and given < limit and skipped < WIDEST_GAP:
            view.spend()
            start, end = at, buffer.find(b"\n", at, stop)
            end = stop if end < 0 else end
            text, envelope = unwrap(view.text(start, end, start), branches)
            if envelope.stream == mine and text != _FILLER:
                given, skipped = given + 1, 0
                if view.marks and view.marks_in(start, end) and hidden.is_spoilt(text):
                    view.spoilt = view.spoilt or hidden.WHY
                yield Line(text, start)
            else:
                skipped += end - start + 1
            at = end + 1
        view.ran_out |= at >= stop and given < limit

    def preceding(self, limit: int, *, ranks: bool = False) -> Iterator[Line]:
        """The lines before it of the same stream, unwrapped, nearest first, at most `limit`.

        `ranks`: where its own line has no envelope, also those that bear a rank and nothing else.
        Looks back no further than `LONGEST_LINE` bytes, which the window is sure to hold.
        """
        end = self.start - 1
        for _ in range(limit):
            while True:
                self.view.spend()
                if end < 0:
                    return
                start = self.view.buffer.rfind(b"\n", max(0, self.start - LONGEST_LINE), end) + 1
                if start == 0 and self.start > LONGEST_LINE:
                    return
                text, envelope = self._unwrap(self.view.text(start, end, start))
                end = start - 1
                mine = envelope.stream == self.envelope.stream
                mine |= ranks and not self.envelope.stream and envelope.stream == (str(envelope.rank),)
                if mine and text != _FILLER:
                    break
            yield Line(text, start)

    def is_near(self, literal: bytes, *, behind: bool = True) -> bool:
        """Whether this stands shortly before its line, or `behind` it: a cheap look before lines are read."""
        view, start = self.view, max(0, self.start - LONGEST_LINE)
        return view.buffer.find(literal, start, min(view.end, self.start + LONGEST_LINE * behind)) >= 0

    def is_followed_by(self, literal: bytes, reach: int) -> bool:
        """Whether this stands at most so many bytes behind its line, in whichever stream: as cheap a look."""
        view, start = self.view, self.end
        return view.buffer.find(literal, start, min(view.end, start + reach)) >= 0

    def before(self, literal: bytes) -> Iterator[Line]:
        """The lines of its stream before it that hold this, nearest first, as far as `preceding` looks."""
        view, at, furthest = self.view, self.start, max(0, self.start - LONGEST_LINE)
        while (at := view.buffer.rfind(literal, furthest, at)) >= 0:
            view.spend()
            line = view.line(at)
            text, envelope = self._unwrap(view.text(*line, at))
            if envelope.stream == self.envelope.stream:
                yield Line(text, line[0])

    def holds(self, wanted: Pattern[bytes]) -> bool:
        """Whether its line, however long and as it stands in the text, has a match."""
        return wanted.search(self.view.buffer, self.start, self.end) is not None

    def around(self, wanted: Pattern[bytes], reach: int) -> Iterator[Line]:
        """The lines of the same stream that hold a match: those behind it, at most so many bytes away, and
        those before it, no further than `preceding` looks."""
        view, start, end = self.view, self.start, self.end
        for begin, stop in ((end, min(view.end, end + reach)), (max(0, start - LONGEST_LINE), start)):
            for match in wanted.finditer(view.buffer, begin, stop):
                view.spend()
                line = view.line(match.start())
                text, envelope = self._unwrap(view.text(*line, match.start()))
                if envelope.stream == self.envelope.stream:
                    yield Line(text, line[0])

    def continued(
        self,
        prefix: str,
        limit: int,
        until: str | tuple[str, ...] | None = None,
        opens: Pattern[bytes] | None = None,
    ) -> Iterator[tuple[str, int]]:
        """What stands behind `prefix` and a blank on the next lines that hold it, at most `limit` of them.

        Each as in a `Line`, but no `Line`: there are many. For compilers that repeat the whole prefix on each
        physical line of a record. A line that starts with `until` (or one of these) opens the next record, as
        does one that `opens` matches with another prefix: a writer ends a record before the next one.
        """
        view, buffer, stop, literal = self.view, self.view.buffer, self.view.end, prefix.encode()
        begins = 0 if buffer.startswith(literal, self.start) else buffer.find(literal, self.start, self.end)
        own = bytes(buffer[self.start : begins]) if begins > self.start else b""
        at = mine = self.end + 1
        given = 0
        while given < limit:
            if not own and buffer.startswith(literal, at, stop):
                for said in self._bare(prefix, at, BLOCK if given else BLOCK // 4):
                    view.spend()
                    text = said[1:] if said.startswith(" ") else said
                    if until and text.startswith(until):
                        return
                    yield text, at
                    at = mine = at + len(prefix) + len(said) + 1
                    given += 1
                    if given == limit:
                        return
            view.spend()
            hit, before = at, b""
            if not buffer.startswith(literal, at, stop):
                if opens and not self.envelope.stream and opens.match(buffer, at, stop):
                    return
                reach = min(stop, mine + WIDEST_GAP)
                hit = buffer.find(literal, at, reach)
                if opens and self._opens_another(opens, at, hit if hit >= 0 else reach):
                    return
                if hit < 0:
                    view.ran_out |= stop < mine + WIDEST_GAP
                    return
                before = bytes(buffer[max(buffer.rfind(b"\n", at, hit) + 1, at, hit - LONGEST_LINE) : hit])
            at = buffer.find(b"\n", hit, stop) + 1 or stop + 1
            quoted = before != b"" and b'{"' in before
            if before != own and not self._is_mine(before + literal + (b'"}' if quoted else b"")):
                continue
            raw = buffer[hit + len(literal) : min(at - 1, hit + LONGEST_LINE)]
            if quoted or b"\x1b" in raw or raw.endswith(RESETS):
                text = self._unwrap(view.text(*view.line(hit), hit))[0].partition(prefix)[2]
            else:
                text = raw.decode("utf-8", "replace")
                if "\r" in text:
                    text = text.partition("\r")[0]
            text = text.removeprefix(" ").removesuffix(_GOES_ON)
            if until and text.startswith(until):
                return
            given, mine = given + 1, at
            yield text, hit

    def _bare(self, prefix: str, at: int, size: int) -> list[str]:
        """What stands behind the prefix on the next whole lines, from the one at the byte `at` on, that open
        with it and need no closer look."""
        block = bytes(self.view.buffer[at : min(self.view.end, at + size)])
        lines = block[: max(0, block.rfind(b"\n"))]
        if not lines or not lines.isascii() or b"\r" in lines or b"\x1b" in lines or GOES_ON in lines:
            return []
        if _RESET_ENDS in block:
            return []
        said = lines.decode()[len(prefix) :].split(f"\n{prefix}")
        for i, text in enumerate(said):
            if "\n" in text:  # a line without the prefix follows
                return [*said[:i], text.partition("\n")[0]]
        return said

    def _opens_another(self, opens: Pattern[bytes], at: int, stop: int) -> bool:
        """Whether the record's writer opens another record on one of the lines between these bytes."""
        buffer = self.view.buffer
        for match in opens.finditer(buffer, at, stop):
            start = max(buffer.rfind(b"\n", at, match.start()) + 1, at)
            before = bytes(buffer[start : match.start()])
            if not before and not self.envelope.stream:
                return True
            line = before + match[0] + (b'"}' if b'{"' in before else b"")
            text, envelope = self._unwrap(line.decode("utf-8", "replace"))
            if envelope.stream == self.envelope.stream and before and text == match[0].decode():
                return True
        return False

    def _is_mine(self, opening: bytes) -> bool:
        """Whether a line that opens like this is of the record's writer."""
        return self._unwrap(opening.decode("utf-8", "replace"))[1].stream == self.envelope.stream

    def _unwrap(self, line: str) -> tuple[str, Envelope]:
        """A line near the record without its envelope."""
        return unwrap(line, self._branches())

    def _branches(self) -> tuple[str, ...]:
        """The names of branches that are envelopes near the record."""
        branch = self.envelope.branch
        return (branch, *self.view.branches) if branch else self.view.branches


def record_at(view: View, at: int, start: int, end: int, position: int, *, counts_lines: bool) -> Record:
    """Cut out the record whose line spans `start` to `end` and was hit at the byte `at`."""
    if end - start > LONGEST_LINE or view.buffer.find(b"\r", start, end) >= 0:
        text, envelope = _rewritten(view, at, start, end)
    else:
        text, envelope = unwrap(view.buffer[start:end].decode("utf-8", "replace"), view.branches)
    return Record(text, position, envelope, view, start, end, counts_lines)


def _rewritten(view: View, at: int, start: int, end: int) -> tuple[str, Envelope]:
    """Of a very long line, or one that carriage returns rewrite, the part that was hit."""
    stop = view.buffer.find(b"\r", at, end)
    stop = end if stop < 0 else stop
    text, envelope = unwrap(view.text(start, stop, at), view.branches)
    cut = view.buffer.rfind(b"\r", start, at) + 1
    if cut > start and "\r" in text:
        text, own = unwrap(view.text(cut, stop, at), view.branches)
        envelope = own if own.stream else unwrap(view.text(start, cut, start), view.branches)[1]
    return text, envelope
