"""Room 3: the shipped readers, each imported when a line asks for it.

A log speaks of one compiler or three, and a hundred modules take longer to import than a small log to read.
So `index.py` tells which reader waits for which literal and where it stands. It is written from the modules
by `make docs`, and the tests hold it to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from fallback_gate.compilers.rule import Reader

Names = tuple[str, ...]


class Library(Mapping[str, Reader]):
    """Readers by name. `anchors`: by literal, the names of those that wait for it, in their order.

    `places`: by name, the module of this package that lists the reader, and the one that lists what its
    closing records say, if there is one.
    """

    def __init__(self, places: Mapping[str, tuple[str, str | None]], anchors: Mapping[str, Names]) -> None:
        self.anchors = anchors
        self._places = places
        self._loaded: dict[str, Reader] = {}

    def __getitem__(self, name: str) -> Reader:
        if name not in self._loaded:
            family, hearings = self._places[name]
            self._loaded[name] = read_from(family, hearings)[name]
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places


def read_from(family: str, hearings: str | None) -> dict[str, Reader]:
    """The readers that a module lists, by name; with what their closing records say."""
    heard: Mapping[str, Any] = _module(hearings).HEARINGS if hearings else {}
    found = {}
    for reader in _module(family).READERS:
        if reader.name in heard:
            from fallback_gate.compilers import closing

            reader = closing.heard(reader, heard[reader.name])
        found[reader.name] = reader
    return found


def anchors_of(readers: Mapping[str, Reader]) -> Mapping[str, Names]:
    """By literal, the names of the readers that wait for it."""
    if isinstance(readers, Library):
        return readers.anchors
    found: dict[str, dict[str, None]] = {}
    for name, reader in readers.items():
        for entry in reader.entries:
            for anchor in entry.anchor:
                found.setdefault(anchor, {})[name] = None
    return {anchor: tuple(names) for anchor, names in found.items()}


def indexed(families: Names, hearings: Names) -> tuple[dict[str, tuple[str, str | None]], dict[str, Names]]:
    """What the index must say: the places and anchors of the readers that these modules list."""
    heard = {name: module for module in hearings for name in _module(module).HEARINGS}
    places: dict[str, tuple[str, str | None]] = {
        reader.name: (family, heard.get(reader.name))
        for family in families
        for reader in _module(family).READERS
    }
    readers = {name: read_from(*place)[name] for name, place in places.items()}
    return places, dict(anchors_of(readers))


def _module(name: str) -> Any:
    return import_module(f"fallback_gate.compilers.{name}")
