"""The reading of the logs of a run, side by side where there are several."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fallback_gate.compilers.book import Book
from fallback_gate.run import Run, read
from fallback_gate.sources import Source


def read_all(
    sources: Iterable[Source],
    run: Run,
    book: Book,
    *,
    hash_logs: bool = False,
    progress: Callable[[Source, int], None] | None = None,
) -> None:
    """Read logs into the run, in their order."""
    for source in sources:
        run.take(
            source, read(source, book, run.fold.add, key=run.key, hash_logs=hash_logs, progress=progress)
        )
