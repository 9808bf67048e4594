"""Room 1: a text whose form was told from few first bytes, since its log was still growing.

What must be undone in a text is decided once. Where more of it would have decided otherwise, what was read
can't be trusted: such a text ends in `Unreadable`. A text that is simply short ends as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fallback_gate.errors import Unreadable
from fallback_gate.sources import binary, reassembly
from fallback_gate.sources.joining import Step
from fallback_gate.sources.reader import Buffer, Reader


class Grown:
    """The reader of such a text: `taken` are the steps that its first bytes asked for."""

    def __init__(self, text: Reader, taken: Sequence[Step], *, console: bool) -> None:
        self._text, self._taken, self._console = text, _names(taken), console
        self._head: bytearray | None = bytearray()
        self._failure: Unreadable | None = None

    def readinto(self, buffer: Buffer, /) -> int:
        """As the text's; raises `Unreadable` at the end where its form was another."""
        count = self._text.readinto(buffer)
        if self._head is not None:
            self._head += memoryview(buffer)[: min(count, binary.HEAD - len(self._head))]
            if not count or len(self._head) >= binary.HEAD:
                self._failure = self._judged(bytes(self._head))
                self._head = None
        if not count and self._failure is not None:
            raise self._failure
        return count

    def _judged(self, head: bytes) -> Unreadable | None:
        try:
            binary.refuse(head)
        except Unreadable as failure:
            return failure
        if _names(reassembly.steps(head, console=self._console)) == self._taken:
            return None
        return Unreadable(
            "its first lines came late, and only they tell how its lines are to be put together: "
            "check the whole log with `fallback-gate check`"
        )


def _names(steps: Sequence[Step]) -> list[object]:
    return [(step.func, step.keywords) if isinstance(step, partial) else step for step in steps]
