"""The reading of the logs of a run: one after the other, or several at a time, each in a process of its own.

What comes out is the same to the byte, since what the logs report is folded in one place and in their
order. Small logs are not worth a process.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial

from fallback_gate.compilers.book import Book
from fallback_gate.run import Run, read
from fallback_gate.sources import Source

WORTH_FORKING = 16 << 20  # bytes of logs in all from which several processes are faster
WORTH_SPAWNING = 256 << 20  # where a process must start from nothing
PACKED = 10  # text over packed bytes, about


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def read_all(
    sources: Sequence[Source],
    run: Run,
    book: Book,
    *,
    jobs: int = 1,
    hash_logs: bool = False,
    progress: Callable[[Source, int], None] | None = None,
) -> None:
    """Read logs into the run, in their order, at most `jobs` at a time."""
    apart = [source for source in sources if not source.once and not source.problem]
    jobs = min(jobs, len(apart))
    if jobs < 2 or sum(map(_weight, apart)) < (WORTH_FORKING if _forks() else WORTH_SPAWNING):
        for source in sources:
            here = partial(read, key=run.key, hash_logs=hash_logs, progress=progress)
            run.take(source, here(source, book, run.fold.add))
        return
    from fallback_gate.workers import Workers

    with Workers(jobs, apart, book, key=run.key, hash_logs=hash_logs, forks=_forks()) as workers:
        for source in sources:
            if source.once or source.problem:
                run.take(source, read(source, book, run.fold.add, key=run.key, hash_logs=hash_logs))
                continue
            for batch in workers.batches_of(source):
                for report, process, times in batch:
                    run.fold.add(report, process, times)
            run.take(source, workers.reading_of(source))
            if progress:
                progress(source, source.size or 0)


def _weight(source: Source) -> int:
    packed = source.path.endswith((".gz", ".xz", ".bz2", ".zst", ".lzma"))
    return (source.size or 0) * (PACKED if packed else 1)


def _forks() -> bool:
    """Whether a process can be had by a fork, which is safe where no other thread holds a lock."""
    return sys.platform == "linux" and threading.active_count() == 1
