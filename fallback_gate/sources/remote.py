"""Room 1: the name of an object behind a URL.

It is known by its URL alone, so that it can be sent to another process or machine, which opens it with
credentials of its own. Nothing that reads URLs is imported before there is one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, repr=False)
class Remote:
    """One object, or what may be a folder of them. The URL may hold credentials: show `str` of this."""

    url: str

    def __str__(self) -> str:
        from fallback_gate.sources.urls import masked

        return masked(self.url)

    __repr__ = __str__

    @property
    def folder(self) -> str:
        """The name of the folder in which it stands."""
        return self.url.partition("?")[0].rpartition("/")[0].rpartition("/")[2]

    def beside(self, relative: str) -> Remote:
        """The object at a path from this one's folder."""
        place, mark, query = self.url.partition("?")
        return Remote(f"{place.rpartition('/')[0]}/{relative}{mark}{query}")
