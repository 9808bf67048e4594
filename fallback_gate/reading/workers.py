"""The reading of several logs, or parts of one, at a time: the processes, and what they send.

A worker sends what its log reports as it reads, and a mere repetition as a count; what comes of a later one
waits until all of those before it are folded. If too much waits, its workers do too, so memory stays
bounded.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, NamedTuple

from fallback_gate.compilers import READERS
from fallback_gate.compilers.book import Book
from fallback_gate.compilers.rule import Marker, Rule
from fallback_gate.errors import InputError
from fallback_gate.events.tally import Batch, Tally
from fallback_gate.reading.run import PartReading, Reading, read, read_part
from fallback_gate.sources import Source
from fallback_gate.sources.parts import Part

Outcome = Reading | PartReading
MOST_HELD = 20_000  # reports of later logs that wait


class Task(NamedTuple):
    """A log to read, or one part of it."""

    source: Source
    part: Part | None = None


@dataclass(slots=True)
class _Result:
    """What came of one task so far."""

    batches: list[Batch] = field(default_factory=list)
    outcome: Outcome | BaseException | None = None


class Workers:
    """Processes that read logs, each one task at a time. What comes of a task is asked for by its place.

    `forks`: they are forked, and start with all that is here; else each starts from nothing.
    """

    def __init__(
        self,
        count: int,
        tasks: Sequence[Task],
        book: Book,
        *,
        key: bytes | None,
        hash_logs: bool,
        forks: bool,
    ) -> None:
        self._context: Any = multiprocessing.get_context("fork" if forks else "spawn")
        make = (lambda: book) if forks else partial(_book, book.own)
        self._work = partial(_work, make=make, key=key, hash_logs=hash_logs)
        self._forks = forks
        self._count = count
        self._left: Iterator[tuple[int, Task]] = iter(enumerate(tasks))
        self._results = {place: _Result() for place in range(len(tasks))}
        self._at: dict[Connection, tuple[int, Task] | None] = {}  # what each worker reads
        self._held = 0
        self._processes: list[Any] = []

    def __enter__(self) -> Workers:
        try:
            with _uninterrupted():
                for _ in range(self._count):
                    self._start()
        except BaseException:
            self._end(at_once=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(at_once=kind is not None)

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        inherited = [*self._at, ours] if self._forks else []
        process = self._context.Process(target=self._work, args=(theirs, inherited), daemon=True)
        process.start()
        theirs.close()
        self._processes.append(process)
        self._at[ours] = None
        self._next(ours)

    def _end(self, *, at_once: bool) -> None:
        for connection in self._at:
            connection.close()
        for process in self._processes:
            if at_once:
                process.terminate()
            process.join()

    def batches_of(self, place: int) -> Iterator[Batch]:
        """What a task's log reports, as it comes; until all is there."""
        result = self._results[place]
        while True:
            while result.batches:
                batch = result.batches.pop(0)
                self._held -= len(batch)
                yield batch
            if result.outcome is not None:
                return
            self._receive(place)

    def outcome_of(self, place: int) -> Outcome:
        """What else came of a task. Raises what its worker raised."""
        outcome = self._results.pop(place).outcome
        if not isinstance(outcome, Outcome):
            raise outcome or RuntimeError("a worker sent nothing")
        return outcome

    def _receive(self, first: int) -> None:
        """Wait for what workers send; where too much waits already, only for that of the first task."""
        free = self._held < MOST_HELD
        for ready in wait([at for at, now in self._at.items() if now and (free or now[0] == first)]):
            assert isinstance(ready, Connection)
            place, task = self._at[ready] or (0, None)
            try:
                came = ready.recv()
            except (EOFError, OSError):
                raise InputError(
                    f"{task.source.path if task else 'a log'}: the process that read it was ended "
                    "(out of memory?); try again with --jobs 1"
                ) from None
            result = self._results[place]
            if isinstance(came, list):
                result.batches.append(came)
                self._held += len(came)
            else:
                result.outcome = came
                self._next(ready)

    def _next(self, worker: Connection) -> None:
        """Give a worker its next task."""
        self._at[worker] = following = next(self._left, None)
        if following:
            worker.send(following[1])


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C, which a process inherits, until it has said what it does about it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _book(own: tuple[Rule | Marker, ...]) -> Book:
    return Book(READERS, own)


def _work(
    parent: Connection,
    inherited: Sequence[Connection],
    make: Callable[[], Book],
    key: bytes | None,
    hash_logs: bool,
) -> None:
    """The life of a worker: read what it is given, until its parent has gone or needs it no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent ends its workers
    for connection in inherited:
        connection.close()
    book = make()
    try:
        while True:
            task = parent.recv()
            try:
                outcome: Outcome | Exception = read_apart(
                    task.source, task.part, book, parent.send, key, hash_logs
                )
            except (EOFError, OSError):
                raise
            except Exception as failure:
                outcome = failure
            parent.send(outcome)
    except (EOFError, OSError):
        return


def read_apart(
    source: Source,
    part: Part | None,
    book: Book,
    send: Callable[[Batch], None],
    key: bytes | None,
    hash_logs: bool,
) -> Outcome:
    """Read one log, or a part of it: `send` gets what it reports, for a fold elsewhere; the rest, with the
    numbers of a whole log's lines, is what comes back. Raises `Unreadable` for a part that can't be read
    without the rest."""
    tally = Tally(send)
    if part:
        of_part = read_part(source, part, book, tally.add)
        tally.end()
        return of_part
    reading = read(source, book, tally.add, key=key, hash_logs=hash_logs)
    tally.end()
    if not reading.counted:
        reading.number(source, tally.positions)
    return reading
