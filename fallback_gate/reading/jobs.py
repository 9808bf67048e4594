"""The reading of the logs of a run: one after the other, or several at a time, each in a process of its own.

A large one is read in parts. What comes out is the same to the byte, since what the logs report is folded in
one place and in their order; a log of which the parts may say something else than the whole is read again
as a whole. Small logs are not worth a process.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from fallback_gate.compilers.book import Book
from fallback_gate.errors import Unreadable
from fallback_gate.events.tally import Batch
from fallback_gate.reading.run import PartReading, Reading, Run, joined, read
from fallback_gate.sources import Source
from fallback_gate.sources.parts import Part, split

WORTH_FORKING = 16 << 20  # bytes of logs in all from which several processes are faster
WORTH_SPAWNING = 256 << 20  # where a process must start from nothing
LEAST_PART = 64 << 20  # bytes of one part of a log
MOST_PART = 256 << 20
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
    """Read logs into the run, in their order, at most `jobs` at a time, and large ones in parts."""

    def here(source: Source) -> None:
        how = partial(read, key=run.key, hash_logs=hash_logs, progress=progress)
        run.take(source, how(source, book, run.fold.add))

    parts = _worthwhile(sources, jobs)
    count = sum(map(len, parts.values()))
    if min(jobs, count) < 2:
        for source in sources:
            here(source)
        return
    from fallback_gate.reading.workers import Task, Workers

    tasks = [Task(*task) for source in sources for task in parts.get(source.path, ())]
    with Workers(min(jobs, count), tasks, book, key=run.key, hash_logs=hash_logs, forks=_forks()) as workers:
        place = 0
        for source in sources:
            mine = range(place, place + len(parts.get(source.path, ())))
            place = mine.stop
            reading = gathered(source, mine, run, book, workers, hash_logs, progress) if mine else None
            if reading is None:
                here(source)
            else:
                run.take(source, reading)


def _worthwhile(sources: Sequence[Source], jobs: int) -> dict[str, list[tuple[Source, Part | None]]]:
    """What processes of their own are to read, by the log that it belongs to; none if that is not faster."""
    apart = [source for source in sources if not source.once and not source.problem]
    if jobs < 2 or sum(map(_weight, apart)) < (WORTH_FORKING if _forks() else WORTH_SPAWNING):
        return {}
    return {source.path: [(source, part) for part in parted(source, jobs)] for source in apart}


def parted(source: Source, readers: int) -> Sequence[Part | None]:
    """The parts in which so many readers should read a log; None stands for the whole."""
    size = max(LEAST_PART, min(MOST_PART, (source.size or 0) // readers))
    return split(source, size) or (None,)


class Elsewhere(Protocol):
    """What reads logs, or parts of them, in other processes; asked by the place of a task."""

    def batches_of(self, place: int, /) -> Iterable[Batch]:
        """What is reported there, in order."""

    def outcome_of(self, place: int, /) -> Reading | PartReading | None:
        """What else came of it; None where it could not be read there."""


def gathered(
    source: Source,
    places: Sequence[int],
    run: Run,
    book: Book,
    elsewhere: Elsewhere,
    hash_logs: bool,
    progress: Callable[[Source, int], None] | None = None,
) -> Reading | None:
    """What was read of a log, or its parts, elsewhere, with its reports folded; None, and nothing is folded,
    where it must be read here and as a whole."""
    before = run.fold.copy() if len(places) > 1 else None
    outcomes: list[Reading | PartReading | None] = []
    for done, place in enumerate(places, 1):
        for batch in elsewhere.batches_of(place):
            for report, process, times in batch:
                run.fold.add(report, process, times)
        try:
            outcomes.append(elsewhere.outcome_of(place))
        except Unreadable:
            if before is None:
                raise
        if progress:
            progress(source, (source.size or 0) * done // len(places))
    if before is None:
        (whole,) = outcomes
        return whole if isinstance(whole, Reading) else None
    read = [one for one in outcomes if isinstance(one, PartReading)]
    reading = joined(read, book, run.fold.add) if len(read) == len(places) else None
    if reading is None:
        run.fold = before
    elif hash_logs:
        reading.hash(source)
    return reading


def _weight(source: Source) -> int:
    packed = source.path.endswith((".gz", ".xz", ".bz2", ".zst", ".lzma"))
    return (source.size or 0) * (PACKED if packed else 1)


def _forks() -> bool:
    """Whether a process can be had by a fork, which is safe where no other thread holds a lock."""
    return sys.platform == "linux" and threading.active_count() == 1
