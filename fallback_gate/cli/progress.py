"""The front door: a progress bar on standard error, for long work at a terminal; none in CI or a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fallback_gate.sources import Source

WORTH_SHOWING = 64 << 20  # bytes of one log


@contextmanager
def progress() -> Iterator[Callable[[Source, int], None] | None]:
    """Give the gate's progress callback, or None where no person is watching."""
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield None
        return
    import click

    bar = click.progressbar(length=0)
    shown: Source | None = None
    with ExitStack() as stack:

        def moved(source: Source, done: int) -> None:
            nonlocal bar, shown
            if not source.size or source.size < WORTH_SHOWING:
                return
            if source is not shown:
                stack.close()
                made = click.progressbar(length=source.size, label=source.path[-40:], file=sys.stderr)
                bar, shown = stack.enter_context(made), source
            bar.update(max(0, min(done, source.size) - bar.pos))

        yield moved


@contextmanager
def progress_of_many() -> Iterator[Callable[[Source, int], None] | None]:
    """The same for logs that are read side by side: one bar for all, which counts those that are done."""
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield None
        return
    import click

    done: dict[tuple[str, str], int] = {}  # bytes of each log
    whole: dict[tuple[str, str], int] = {}

    def counts(_: object) -> str:
        return f"{sum(done[log] >= whole[log] for log in whole)}/{len(whole)} logs"

    with click.progressbar(length=0, label="Reading", file=sys.stderr, item_show_func=counts) as bar:

        def moved(source: Source, read: int) -> None:
            size = source.size or 0
            whole[source.key] = size
            bar.length = sum(whole.values())
            before, done[source.key] = done.get(source.key, 0), min(read, size)
            bar.update(done[source.key] - before, current_item=None)

        yield moved
