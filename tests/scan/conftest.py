"""What the tests of this room share: streams of every temper, a scan of text, and the naive search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

import pytest

from fallback_gate.scan.anchors import Anchors
from fallback_gate.scan.window import Scan


class Chunked:
    """A stream that gives its bytes in reads of the given sizes, over and over."""

    def __init__(self, text: bytes, sizes: Sequence[int] = (1 << 20,)) -> None:
        self._text, self._at, self._sizes = text, 0, cycle(sizes)

    def readinto(self, buffer: memoryview, /) -> int:
        part = self._text[self._at : self._at + min(next(self._sizes), len(buffer))]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)


@dataclass(frozen=True)
class Found:
    """One hit, kept after the window has moved on."""

    position: int
    text: str
    anchors: frozenset[int]
    rank: int | None


def _scan(
    text: bytes, anchors: Sequence[str], *, sizes: Sequence[int] = (1 << 20,), count: bool = True
) -> list[Found]:
    """The hits of a scan over the text; of a short text, those of both ways to search it."""

    def found() -> list[Found]:
        hits = Scan(Anchors(anchors), Chunked(text, sizes), count_lines=count)
        return [Found(h.record.position, h.record.text, frozenset(h.anchors), h.record.rank) for h in hits]

    hits = found()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fallback_gate.scan.anchors.SHORT", 0)
        assert found() == hits
    return hits


def _naive(text: bytes, anchors: Sequence[str]) -> Iterator[tuple[int, frozenset[int]]]:
    """The line numbers of the lines that hold an anchor, and which."""
    for number, line in enumerate(text.split(b"\n"), 1):
        here = frozenset(at for at, anchor in enumerate(anchors) if anchor.encode() in line)
        if here:
            yield number, here


@pytest.fixture(scope="session")
def scan() -> Callable[..., list[Found]]:
    return _scan


@pytest.fixture(scope="session")
def naive() -> Callable[..., Iterator[tuple[int, frozenset[int]]]]:
    return _naive


@pytest.fixture(scope="session")
def chunked() -> type[Chunked]:
    return Chunked
