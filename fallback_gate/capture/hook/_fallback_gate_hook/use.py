"""The side door: whom to tell when a compiler is put to use."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is slow to load
    from typing import Callable

TELL: list[Callable[[], None]] = []


def used() -> None:
    """A compiler is put to use."""
    for tell in TELL:
        tell()
