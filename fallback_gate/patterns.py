"""Regular expressions that are compiled when they are first used: most runs need few of them."""

from __future__ import annotations

import re
from collections.abc import Callable

# What a viewer or a collector puts before each line: an indentation, a table's bar, a sign of a quotation;
BEFORE = r"[\s|+>]{0,64}"
# and behind it: a tag, a name in parentheses, the line feed as an escape, the sign of an end.
BEHIND = r"\s*(?:$|[<($\\\0])"

# How glog's records open, and those of PyTorch: the level's letter, month and day, the time of day.
GLOG_LEVEL = "[VDIWEC]"
GLOG_TIME = r"\d{4} \d\d:\d\d:\d\d"
GLOG = GLOG_LEVEL + GLOG_TIME


class Pattern:
    """A regular expression; `search`, `match` and `sub` are those of `re`."""

    search: Callable[[str], re.Match[str] | None]
    match: Callable[[str], re.Match[str] | None]
    sub: Callable[..., str]

    def __init__(self, pattern: str, flags: re.RegexFlag | int = 0) -> None:
        self._pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        if name not in ("search", "match", "sub"):
            raise AttributeError(name)
        compiled = re.compile(self._pattern, self._flags)
        self.search, self.match, self.sub = compiled.search, compiled.match, compiled.sub
        return getattr(self, name)
