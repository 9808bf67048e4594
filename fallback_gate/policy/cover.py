"""Room 5: which entry of a policy covers another one, whatever a log may hold.

Only what is certain counts: each glob of the narrow entry is matched by the wide one. A long policy compares
each of its entries with few others: those that ask for the same name, and those that ask by wildcards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from fallback_gate.model import Kind
from fallback_gate.policy import globs

NAMING = ("op", "function", "file", "layer")
Asked = Mapping[str, tuple[str, ...]]  # what an entry asks for: globs by key


class Covers:
    """Entries, to be asked which of them cover another one. Hot ones are read more widely than cold ones."""

    def __init__(self, asked: Sequence[Asked], *, hot: bool) -> None:
        self._asked, self._hot = asked, hot
        self._named: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self._wild: list[int] = []  # may cover any name
        self._any: list[int] = []  # may cover any entry
        for at, wide in enumerate(asked):
            key = next((key for key in NAMING if key in wide), None)
            if key is None or "*" in wide[key]:
                self._any.append(at)
                continue
            for glob in wide[key]:
                self._named[key, _comparable(key, glob)].append(at)
            if not all(map(globs.is_literal, wide[key])):
                self._wild.append(at)

    def of(self, narrow: Asked) -> Iterator[int]:
        """The places of the entries that match each event which this one matches, in their order."""
        near = set(self._any)
        for key in NAMING:
            if key in narrow:
                first = narrow[key][0]
                near.update(at for name in _names(key, first) for at in self._named.get((key, name), ()))
                near.update(self._wild if globs.is_literal(first) else ())
        return (at for at in sorted(near) if covers(self._asked[at], narrow, hot=self._hot))


def _comparable(key: str, glob: str) -> str:
    return globs.comparable(glob) if key == "op" else glob


def _names(key: str, glob: str) -> set[str]:
    """All names under which an entry may stand that matches this glob by a name."""
    if key != "op":
        return {glob}
    said = {globs.comparable(glob), *globs.wide_forms(glob)}
    return said | {name.rpartition(".")[2] for name in said}


def covers(wide: Asked, narrow: Asked, *, hot: bool) -> bool:
    """Whether the wide keys match each event that the narrow ones match."""
    for key, patterns in wide.items():
        asked = narrow.get(key)
        if asked is None:
            if key != "kinds" or _kinds(patterns) != frozenset(Kind):
                return False
        elif not all(_covered(key, patterns, glob, hot) for glob in asked):
            return False
    return True


@lru_cache(maxsize=1024)
def _kinds(patterns: tuple[str, ...]) -> frozenset[Kind]:
    return frozenset(kind for kind in Kind if globs.matches(patterns, kind.value))


def _covered(key: str, patterns: tuple[str, ...], glob: str, hot: bool) -> bool:
    """Whether the patterns match all that the glob matches, as far as that is certain."""
    if key == "kinds":
        return _kinds((glob,)) <= _kinds(patterns)
    if glob in patterns or "*" in patterns:
        return True
    if not globs.is_literal(glob):
        return False
    if key == "op":
        return globs.operator_bare(patterns, glob) if hot else globs.operator(patterns, glob)
    return globs.matches(patterns, glob)
