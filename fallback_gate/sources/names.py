"""Room 1: the names of logs: which are URLs, and how they are shown to people."""

from __future__ import annotations

import os
from pathlib import Path


def shown(name: str | Path) -> str:
    """A name that is safe to print on one line: what is unprintable is escaped."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in str(name)
    )


def is_url(argument: str) -> bool:
    """Whether an argument names something behind a URL rather than a file; `C://` is a drive."""
    scheme, mark, _ = argument.partition("://")
    return bool(mark) and len(scheme) > 1 and all(char.isalnum() or char in "+-." for char in scheme)


def real(path: Path) -> str:
    """The path with all links followed; as it stands where a link on it can't be read."""
    try:
        return os.path.realpath(path)
    except OSError:
        return os.path.abspath(path)
