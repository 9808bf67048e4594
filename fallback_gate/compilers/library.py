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
Place = tuple[str, str | None]
"""The module that declares a reader, and the one that says what its closing records tell, if there is one."""


class Library(Mapping[str, Reader]):
    """Readers by name. `anchors`: by literal, the names of those that wait for it, in their order.

    `places`: by name, where the reader stands in this package.
    """

    def __init__(self, places: Mapping[str, Place], anchors: Mapping[str, Names]) -> None:
        self.anchors = anchors
        self._places = places
        self._loaded: dict[str, Reader] = {}

    def __getitem__(self, name: str) -> Reader:
        if name not in self._loaded:
            self._loaded[name] = _reader(name, *self._places[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places


def _reader(name: str, module: str, closing: str | None) -> Reader:
    """One of the readers that a module declares, with what its closing records say."""
    reader = next(one for one in declared(module) if one.name == name)
    if closing is None:
        return reader
    from fallback_gate.compilers.closing.records import heard

    return heard(reader, _module(closing).HEARINGS[name])


def declared(module: str) -> tuple[Reader, ...]:
    """The `READERS` of a module, or its one `READER`."""
    found = _module(module)
    readers: tuple[Reader, ...] = getattr(found, "READERS", None) or (found.READER,)
    return readers


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


def indexed(modules: Names, closings: Names) -> tuple[dict[str, Place], dict[str, Names]]:
    """What the index must say: the places and anchors of the readers that these modules declare."""
    heard = {name: module for module in closings for name in _module(module).HEARINGS}
    places: dict[str, Place] = {
        reader.name: (module, heard.get(reader.name)) for module in modules for reader in declared(module)
    }
    readers = {name: _reader(name, *place) for name, place in places.items()}
    return places, dict(anchors_of(readers))


def _module(name: str) -> Any:
    return import_module(f"fallback_gate.compilers.{name}")
