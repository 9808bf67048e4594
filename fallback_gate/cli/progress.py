"""The front door: a progress bar on standard error, for long work at a terminal; none in CI or a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

    bar = None
    shown: Source | None = None

    def moved(source: Source, done: int) -> None:
        nonlocal bar, shown
        if not source.size or source.size < WORTH_SHOWING:
            return
        if source is not shown:
            if bar is not None:
                bar.__exit__(None, None, None)
            bar = click.progressbar(length=source.size, label=source.path[-40:], file=sys.stderr)
            bar.__enter__()
            shown = source
        assert bar is not None
        bar.update(max(0, min(done, source.size) - bar.pos))

    try:
        yield moved
    finally:
        if bar is not None:
            bar.__exit__(None, None, None)
