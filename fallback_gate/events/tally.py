"""Room 4: the reports of one log on their way to a fold elsewhere, without what would not change it.

A fold keeps the first `MOST_LINES` positions of an event, and of reports that say the same only how many
there were. So a repetition, once those positions are on their way, is counted and sent at the end. A fold
that takes what is sent is the same as one that took every report.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

from fallback_gate.events.fold import key_of
from fallback_gate.events.gathered import MOST_LINES
from fallback_gate.model import ProcessKey, Report

Batch = list[tuple[Report, ProcessKey, int]]

MOST_KEPT = 10_000  # different reports of which repetitions are counted
MOST_POSITIONS = 50_000
SENT_AT_ONCE = 500

_OWN = ("position", "text", "when")  # of each record; the rest is what it says
_said = itemgetter(*(at for at, name in enumerate(Report._fields) if name not in _OWN))


class Tally:
    """Takes the reports of one log as `Fold.add` does; `send` gets them in batches, with a count each.

    `positions` are those that were sent, as far as there is room for them.
    """

    def __init__(self, send: Callable[[Batch], None]) -> None:
        self._send = send
        self._batch: Batch = []
        self._again: dict[tuple[object, ProcessKey], int] = {}  # how often each that is kept came again
        self._kept: list[tuple[Report, ProcessKey]] = []
        self._of_event: dict[object, set[int]] = {}
        self.positions: set[int] = set()

    def add(self, report: Report, process: ProcessKey) -> None:
        """Take one report."""
        same = _said(report), process
        event = key_of(report), report.hint
        positions = self._of_event.get(event)
        again = self._again.get(same)
        if again is not None and positions and len(positions) >= MOST_LINES:
            self._again[same] = again + 1
            return
        if again is None and len(self._kept) < MOST_KEPT:
            self._again[same] = 0
            self._kept.append((report._replace(position=0, text="", when=None), process))
            self._of_event.setdefault(event, set())
        if (positions := self._of_event.get(event)) is not None and len(positions) < MOST_LINES:
            positions.add(report.position)
        if len(self.positions) < MOST_POSITIONS:
            self.positions.add(report.position)
        self._batch.append((report, process, 1))
        if len(self._batch) >= SENT_AT_ONCE:
            self._flush()

    def end(self) -> None:
        """Send what is left: the last reports, then the counts."""
        for (report, process), times in zip(self._kept, self._again.values(), strict=True):
            if times:
                self._batch.append((report, process, times))
        self._flush()

    def _flush(self) -> None:
        if self._batch:
            self._send(self._batch)
            self._batch = []
