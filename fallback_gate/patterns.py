"""Regular expressions that are compiled when they are first used: most runs need few of them."""

from __future__ import annotations

import re
from collections.abc import Callable


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
