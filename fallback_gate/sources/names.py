"""Room 1: the names of logs, as they are shown to people."""

from __future__ import annotations

from pathlib import Path


def shown(name: str | Path) -> str:
    """A name that is safe to print on one line: what is unprintable is escaped."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in str(name)
    )
