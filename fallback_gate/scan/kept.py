"""Room 2: what readers keep of lines that the window has left, for later lines of the same writer.

Bounded: of each thing one value for each writer, and in all those that were kept last.
"""

from __future__ import annotations

MOST = 16


class Kept:
    """The latest values, by what they are and who wrote them."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, tuple[str, ...]], object] = {}

    def put(self, what: str, writer: tuple[str, ...], value: object) -> None:
        """Keep this, and no longer the value before it."""
        self._values.pop((what, writer), None)
        self._values[what, writer] = value
        if len(self._values) > MOST:
            del self._values[next(iter(self._values))]

    def get(self, what: str, writer: tuple[str, ...]) -> object | None:
        """What was kept of it, if anything."""
        return self._values.get((what, writer))

    def copy(self) -> Kept:
        """The same values, to read ahead with."""
        copy = Kept()
        copy._values = dict(self._values)
        return copy
