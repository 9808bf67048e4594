"""Room 2: the window of a scan as its records see it: the bytes that are there, and what is known of them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

from fallback_gate.scan.kept import Kept

LONGEST_LINE = 16 * 1024  # bytes of one line that patterns see
FIRST_ALLOWANCE = 300_000  # lines
ALLOWANCE_BYTES = 256  # bytes of a log that allow for one line more


class Overlap(NamedTuple):
    """Lines around hits that were read, less those that the size of the text allows for (it may be
    negative): at the end, and the most that it ever was."""

    lines: int
    most: int


@dataclass(slots=True)
class View:
    """The bytes that the scan holds: valid in `buffer[:end]`. `branches` as of `unwrap`.

    `allowance`: lines around hits that may still be read. It grows with the log, so that a log of nothing
    but openings of long records can't cost the square of its size; `lowest` is the least that it was before
    it grew. `ran_out`: a record's reader asked for lines beyond the end. `marks`: the bytes, in order, where
    something may stand within words; `spoilt` is then why a message is not as it was written.
    """

    buffer: bytearray
    end: int
    branches: tuple[str, ...] = ()
    allowance: int = FIRST_ALLOWANCE
    lowest: int = FIRST_ALLOWANCE
    ran_out: bool = False
    marks: list[int] = field(default_factory=list)
    spoilt: str | None = None
    late: bool = False  # it began in the middle of a text
    kept: Kept = field(default_factory=Kept)
    _sought: int = 0  # up to where `before` has looked
    _found: int = -1

    def before(self, at: int, mark: bytes) -> int:
        """Where the last `mark` before the byte `at` begins in the window; -1 where there is none.

        One mark in all may be asked for. Hits come in order, so that each byte is looked at once,
        however many ask.
        """
        if at < self._sought:
            self._sought, self._found = 0, -1
        found = self.buffer.rfind(mark, max(0, self._sought - len(mark) + 1), at)
        self._found = found if found >= 0 else self._found
        self._sought = at
        if self._found < 0 and self.late:
            raise Exhausted("what stands before this part of it decides")
        return self._found

    def marks_in(self, start: int, end: int) -> list[int]:
        """The marks between these bytes."""
        return self.marks[bisect_left(self.marks, start) : bisect_left(self.marks, end)]

    def moved(self, by: int) -> None:
        """What the window holds was moved to the front."""
        self.marks = [mark - by for mark in self.marks if mark >= by]
        self._sought, self._found = max(0, self._sought - by), max(-1, self._found - by)

    @property
    def overlap(self) -> Overlap:
        """How much of the allowance was used so far."""
        most = FIRST_ALLOWANCE - min(self.lowest, self.allowance)
        return Overlap(FIRST_ALLOWANCE - self.allowance, most)

    def spend(self, lines: int = 1) -> None:
        """So many lines more were read. Raises `Exhausted`."""
        self.allowance -= lines
        if self.allowance < 0:
            raise Exhausted("its records overlap so much that reading them all would take too long")

    def line(self, at: int, known_end: int = -1) -> tuple[int, int]:
        """Start and end (without its line feed) of the line that holds the byte `at`.

        The start is at most `LONGEST_LINE` before; `known_end` is the end where it is known already.
        """
        start = self.buffer.rfind(b"\n", max(0, at - LONGEST_LINE), at) + 1
        if start == 0 and at > LONGEST_LINE:
            start = at - LONGEST_LINE
        end = known_end if known_end >= 0 else self.buffer.find(b"\n", at, self.end)
        return start, self.end if end < 0 else end

    def text(self, start: int, end: int, at: int) -> str:
        """The line as text: at most `LONGEST_LINE` bytes of it, around the byte `at`."""
        if end - start > LONGEST_LINE:
            start = max(start, at - LONGEST_LINE // 4)
            end = min(end, start + LONGEST_LINE)
        return self.buffer[start:end].decode("utf-8", "replace")


class Exhausted(Exception):
    """The records of a log were read over and over, far beyond its size; the text says so."""
