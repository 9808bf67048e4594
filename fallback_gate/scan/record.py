"""Room 2: one hit, cut out of the log: the line, with its envelope off, and the lines that belong to it.

A record knows where it stands and who printed it. Lines of other streams (other ranks, containers) lie
between the lines of one record; `following` and `continued` leave them out. How far they look is bounded
by the window that the scan holds, so a record never costs more than its window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from fallback_gate.sources.envelope import Envelope, unwrap

LONGEST_LINE = 16 * 1024  # bytes of one line that patterns see
WIDEST_GAP = 64 * 1024  # bytes of other streams between two lines of one record


@dataclass(slots=True)
class View:
    """The bytes that the scan holds at the moment: valid in `buffer[:end]`."""

    buffer: bytearray
    end: int

    def line(self, at: int) -> tuple[int, int]:
        """Start and end (without its line feed) of the line that holds the byte `at`, both bounded."""
        start = self.buffer.rfind(b"\n", max(0, at - LONGEST_LINE), at) + 1
        if start == 0 and at > LONGEST_LINE:
            start = at - LONGEST_LINE
        end = self.buffer.find(b"\n", at, self.end)
        return start, self.end if end < 0 else end

    def text(self, start: int, end: int, at: int) -> str:
        """The line as text: at most `LONGEST_LINE` bytes of it, around the byte `at`."""
        if end - start > LONGEST_LINE:
            start = max(start, at - LONGEST_LINE // 4)
            end = min(end, start + LONGEST_LINE)
        return self.buffer[start:end].decode("utf-8", "replace")


class Line(NamedTuple):
    """One further line of a record: its text, unwrapped, and its position."""

    text: str
    position: int


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

    def position_at(self, start: int) -> int:
        """The position of a later line of the window, which starts at this byte of it."""
        if self.counts_lines:
            return self.position + self.view.buffer.count(b"\n", self.start, start)
        return self.position + start - self.start

    def following(self, limit: int) -> Iterator[str]:
        """The next lines of the same stream, unwrapped, at most `limit`."""
        at, skipped, given = self.end + 1, 0, 0
        while at < self.view.end and given < limit and skipped < WIDEST_GAP:
            start, end = at, self.view.buffer.find(b"\n", at, self.view.end)
            end = self.view.end if end < 0 else end
            text, envelope = unwrap(self.view.text(start, end, start))
            if envelope.stream == self.envelope.stream:
                given, skipped = given + 1, 0
                yield text
            else:
                skipped += end - start + 1
            at = end + 1

    def continued(self, prefix: str, limit: int) -> Iterator[Line]:
        """The next lines that hold `prefix`, from the prefix on, at most `limit`.

        For compilers that repeat the whole prefix on each physical line of a record.
        """
        literal = prefix.encode()
        at = self.end
        for _ in range(limit):
            hit = self.view.buffer.find(literal, at, min(self.view.end, at + WIDEST_GAP))
            if hit < 0:
                return
            start, at = self.view.line(hit)
            yield Line(self._from(prefix, start, hit, at), self.position_at(start))

    def _from(self, prefix: str, start: int, hit: int, end: int) -> str:
        """The text of a line from the prefix on, which starts at the byte `hit` of it."""
        raw = self.view.buffer[hit : min(end, hit + LONGEST_LINE)]
        if b"\x1b" not in raw and self.view.buffer[start : start + 1] != b"{":
            return raw.decode("utf-8", "replace").removesuffix("\r")
        text, _ = unwrap(self.view.text(start, end, hit))
        return text[max(0, text.find(prefix)) :]


def record_at(view: View, at: int, start: int, end: int, position: int, *, counts_lines: bool) -> Record:
    """Cut out the record whose line spans `start` to `end` and was hit at the byte `at`."""
    raw = view.buffer[start:end]
    if b"\r" in raw:
        cut = raw.rfind(b"\r", 0, max(at - start, 0)) + 1
        stop = raw.find(b"\r", max(at - start, 0))
        text, envelope = unwrap(view.text(start + cut, end if stop < 0 else start + stop, at))
        if cut:
            _, envelope = unwrap(view.text(start, start + cut, start))
    else:
        text, envelope = unwrap(view.text(start, end, at))
    return Record(text, position, envelope, view, start, end, counts_lines)
