"""The reading of logs on a Dask cluster: each is read where a worker is, and only what it says comes back.

A worker reads an object behind a URL with credentials of its own, and a file if it sees the very one (same
path, size and time of change); all else is read here, as is what a web server on this machine gives. What
comes back is joined in the order of the logs, so that the run is the one that reading here gives. A worker
that is lost is no loss: Dask gives its logs to others. A log that takes several workers down with it, and
does so again when it is read alone, proves nothing. Only workers with the same code take part.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from fallback_gate.compilers import READERS
from fallback_gate.compilers.book import Book
from fallback_gate.compilers.log import LogEvidence
from fallback_gate.compilers.rule import Marker, Rule
from fallback_gate.errors import InputError, MissingExtra, Unreadable
from fallback_gate.events.tally import Batch
from fallback_gate.reading.jobs import gathered, parted
from fallback_gate.reading.run import PartReading, Reading, Run, read
from fallback_gate.reading.workers import read_apart
from fallback_gate.scan.window import Extent
from fallback_gate.sources import Source
from fallback_gate.sources.parts import Part
from fallback_gate.sources.remote import Remote
from fallback_gate.sources.seal import KEY, key_of
from fallback_gate.sources.urls import sight_of

if TYPE_CHECKING:
    from distributed import Client, Future

PACKAGES = ("fallback-gate", "hyperscan", "regex", "backports.zstd", "distributed")  # that must be the same
WAIT = 30  # seconds for a scheduler to answer, and for a first worker
LOST = 120  # seconds without any worker after which nothing more is expected
_POLL = 5

Progress = Callable[[Source, int], None]


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker needs to read a log, or a part of it. `keyed`: seals are verified with a key, which is
    not sent."""

    source: Source
    part: Part | None
    sight: str
    own: tuple[Rule | Marker, ...]
    keyed: bool
    hash_logs: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What a task adds to a run, and the code that read it; no reading where the worker does not see the
    log, or its part can't be read without the rest."""

    code: str
    reports: list[bytes]  # in batches, packed
    reading: Reading | PartReading | None


def read_there(task: Task) -> Answer:
    """Read one log, on a worker. Raises `InputError` where it has no key for seals, and there is one here."""
    if sight(task.source) != task.sight:
        return Answer(code(), [], None)
    key = key_of(os.environ)
    if (key is not None) != task.keyed:
        where = "here and not on the workers" if task.keyed else "on the workers and not here"
        raise InputError(f"{KEY} is set {where}: seals are verified with the same key everywhere")
    packed: list[bytes] = []

    def keep(batch: Batch) -> None:
        packed.append(zlib.compress(pickle.dumps(batch), 1))

    try:
        reading = read_apart(task.source, task.part, _book(task.own), keep, key, task.hash_logs)
    except Unreadable:
        return Answer(code(), [], None)
    return Answer(code(), packed, reading)


@lru_cache(maxsize=1)
def _book(own: tuple[Rule | Marker, ...]) -> Book:
    return Book(READERS, own)


@cache
def code() -> str:
    """A hash of this package's own code: two installations of one version may differ."""
    home = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(home.rglob("*.py")):
        digest.update(file.relative_to(home).as_posix().encode() + b"\0")
        digest.update(file.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


def sight(source: Source) -> str | None:
    """What a process sees of a log: equal in two that see the same; None where nobody else can read it."""
    if source.once or source.problem or source.file is None:
        return None
    if isinstance(source.file, Remote):
        return sight_of(source.file.url)
    try:
        status = source.file.stat()
    except OSError:
        return None
    return f"{status.st_size} {status.st_mtime_ns}"


class Cluster:
    """A cluster that takes part."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._tasks: list[Task] = []
        self._futures: list[Future] = []
        self._answers: dict[int, Answer] = {}

    def read_all(
        self,
        sources: Sequence[Source],
        run: Run,
        book: Book,
        *,
        hash_logs: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Read logs into the run, in their order. Raises `InputError` where the cluster is lost."""
        places: dict[tuple[str, str], range] = {}
        readers = max(1, len(self._client.scheduler_info()["workers"]))
        for source in sources:
            seen = sight(source)
            if seen is None or source.key in places:
                continue
            first = len(self._tasks)
            self._tasks += (
                Task(source, part, seen, book.own, run.key is not None, hash_logs)
                for part in parted(source, readers)
            )
            places[source.key] = range(first, len(self._tasks))
        mine = self._tasks[len(self._futures) :]
        self._futures += (self._client.submit(read_there, task, pure=False) for task in mine)
        self._watch(mine, self._futures[len(self._tasks) - len(mine) :], progress)
        for source in sources:
            there = places.pop(source.key, None)
            reading = gathered(source, there, run, book, self, hash_logs) if there is not None else None
            if reading is None:
                reading = read(
                    source, book, run.fold.add, key=run.key, hash_logs=hash_logs, progress=progress
                )
            run.take(source, reading)

    def batches_of(self, place: int, /) -> Iterator[Batch]:
        """What was reported there, in order."""
        self._answers[place] = answer = self._answer(self._futures[place], self._tasks[place])
        return (pickle.loads(zlib.decompress(packed)) for packed in answer.reports)

    def outcome_of(self, place: int, /) -> Reading | PartReading | None:
        """What else came of it."""
        return self._answers.pop(place).reading

    def _watch(self, tasks: Sequence[Task], futures: Sequence[Future], progress: Progress | None) -> None:
        """Wait until all is read, and tell of each."""
        ended: SimpleQueue[Future] = SimpleQueue()
        names = {future.key: task for task, future in zip(tasks, futures, strict=True)}
        for task, future in zip(tasks, futures, strict=True):
            if progress:
                progress(task.source, 0)
            future.add_done_callback(ended.put)
        left, idle = len(futures), 0
        while left:
            try:
                future = ended.get(timeout=_POLL)
            except Empty:
                idle = 0 if self._client.scheduler_info()["workers"] else idle + _POLL
                if idle >= LOST or self._client.status not in ("running", "connecting"):
                    raise InputError("the Dask cluster was lost, or has no workers any more") from None
                continue
            left, idle = left - 1, 0
            task = names[future.key]
            if progress and task.source.size:
                progress(task.source, (task.part and task.part.stop) or task.source.size)

    def _answer(self, future: Future, task: Task) -> Answer:
        from concurrent.futures import CancelledError

        from distributed.scheduler import KilledWorker

        try:
            try:
                answer: Answer = future.result()
            except KilledWorker:  # perhaps by a log that was read beside it: once more, alone
                again = self._client.submit(read_there, task, pure=False)
                self._watch([task], [again], None)
                answer = again.result()
        except KilledWorker:
            why = "reading it took several workers of the cluster down: too little memory for each?"
            answer = Answer(code(), [], Reading(LogEvidence(extent=Extent(problem=why)), True, True))
        except (CancelledError, OSError):
            raise InputError("the Dask cluster was lost: the connection to its scheduler broke") from None
        if answer.code != code():
            raise InputError(f"a worker has other code of fallback-gate than this command: {_SAME}")
        return answer


_SAME = "install the same version on all workers"


@contextmanager
def connected(address: str | None, jobs: int) -> Iterator[Cluster]:
    """A cluster at this address of its scheduler, or one of `jobs` local processes that ends with the block.

    Raises `InputError` where it can't be reached, has no worker, or has other versions; `MissingExtra`.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingExtra(
            "--engine dask needs packages that are not installed: pip install 'fallback-gate[dask]'"
        ) from None
    with ExitStack() as stack:
        stack.enter_context(_silence())
        try:
            if address is None:
                workers = LocalCluster(
                    n_workers=jobs,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.ERROR,
                )
                address = stack.enter_context(workers).scheduler_address
            client = stack.enter_context(Client(address, timeout=WAIT, set_as_default=False))
            client.wait_for_workers(1, timeout=WAIT)
            others = differences(client)
        except TimeoutError:
            raise InputError(f"no scheduler of Dask with a worker answers at {address}") from None
        except (OSError, ValueError) as error:
            raise InputError(f"the Dask cluster at {address} can't be reached: {error}") from None
        if others:
            raise InputError("\n".join((*others, f"the Dask cluster has other versions: {_SAME}")))
        yield Cluster(client)


@contextmanager
def _silence() -> Iterator[None]:
    """What Dask logs of a lost connection, with a traceback, is told as an error of ours."""
    loggers = [logging.getLogger(f"distributed.{name}") for name in ("client", "utils", "nanny", "comm")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def differences(client: Client) -> list[str]:
    """In which versions each worker differs from here, a sentence each."""

    def versions(packages: tuple[str, ...] = PACKAGES) -> dict[str, str | None]:
        from importlib import metadata
        from sys import version_info

        found: dict[str, str | None] = {"Python": f"{version_info[0]}.{version_info[1]}"}
        for package in packages:
            try:
                found[package] = metadata.version(package)
            except metadata.PackageNotFoundError:
                found[package] = None
        return found

    here = versions()
    return [
        f"worker {worker}: {name} {there[name] or 'is missing'}, and {version} here"
        for worker, there in client.run(versions).items()
        for name, version in here.items()
        if there[name] != version
    ]
