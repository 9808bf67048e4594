"""Where the logs of a run are read: here, or on a Dask cluster. Each way gives the same run.

A way to read is a function `(sources, run, book, hash_logs, progress)`, which reads logs into the run in
their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from fallback_gate.compilers.book import Book
from fallback_gate.errors import InputError
from fallback_gate.reading.jobs import read_all
from fallback_gate.reading.run import Run
from fallback_gate.sources import Source

DASK = "dask"
_SCHEMES = {"dask": "tcp", "dask+tls": "tls"}


class Reader(Protocol):
    """Reads logs into a run, in their order."""

    def __call__(
        self,
        sources: list[Source],
        run: Run,
        book: Book,
        *,
        hash_logs: bool = False,
        progress: Callable[[Source, int], None] | None = None,
    ) -> None:
        """Read them all, with the bytes read so far told as `gate.check` does."""


@contextmanager
def reader_of(engine: str | None, jobs: int) -> Iterator[Reader]:
    """The way to read that an engine stands for: None, `dask`, `dask://HOST:PORT` or `dask+tls://HOST:PORT`.

    `jobs`: how many logs are read at a time on this machine.

    Raises `InputError` for another engine, or a cluster that can't do it; `MissingExtra` without Dask.
    """
    if engine is None:
        yield partial(read_all, jobs=jobs)
        return
    scheme, mark, place = engine.partition("://")
    if engine != DASK and not (scheme in _SCHEMES and place.strip("/")):
        raise InputError(f"no engine is named {engine!r}: take `dask`, or dask://HOST:PORT of a scheduler")
    from fallback_gate.reading.cluster import connected

    with connected(f"{_SCHEMES[scheme]}://{place.strip('/')}" if mark else None, jobs) as cluster:
        yield cluster.read_all
