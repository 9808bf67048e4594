"""Room 2: whether a text is as it was written: whole lines, and nothing within the words of a message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from fallback_gate.scan import hidden, torn
from fallback_gate.scan.anchors import Anchors
from fallback_gate.scan.view import View
from fallback_gate.sources.parts import FIRST


class Integrity:
    """What a scan finds of that; `torn` is why lines at the start or the end of the text are not whole."""

    def __init__(self, wanted: Anchors) -> None:
        self._messages = wanted.messages
        self._behind = wanted.behind
        self.torn: str | None = None

    def see_head(self, view: View) -> None:
        """Look at the first lines, as many whatever the reads are, while the window has them."""
        head = view.buffer[: view.buffer.rfind(b"\n", 0, min(view.end, FIRST)) + 1]
        self.torn = self.torn or torn.told(head.decode("utf-8", "replace"))

    def see_end(self, text: str) -> None:
        """Look at the last lines; the first of them may be cut by us."""
        self.torn = self.torn or torn.told(text.partition("\n")[2])

    def see_marks(
        self, marks: list[int], view: View, start: int, stop: int, search: Callable[..., None]
    ) -> None:
        """Look at the bytes where something may stand within words. Pieces of a long line tell some twice."""
        latest = view.marks[-1] if view.marks else -1
        new = sorted(mark for mark in marks if mark > latest)
        view.marks += new

        def anchors_in(text: bytes) -> Counter[int]:
            count = Counter[int]()

            def found(place: int, _start: int, end: int, _flags: int, _context: object) -> None:
                for before, literal, anchor in self._behind[place] if place < len(self._behind) else ():
                    count[anchor] += text.startswith(literal, end - before)

            search(memoryview(text), match_event_handler=found)
            return count

        if hidden.hides(list(hidden.excerpts(new, view.buffer, start, stop)), self._messages, anchors_in):
            view.spoilt = hidden.WHY
