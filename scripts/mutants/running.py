"""The hunt: one pytest session that collects the tests once, and forks a process for each mutant.

In the fork the code of the changed function is put in the place of the old one, so that nothing is imported
or collected anew; then those tests run that reach the changed lines, as coverage told before, the quickest
first, until one fails. A fork that takes much longer than its tests did, or much more memory, is killed too.
Processes that a test starts from nothing don't know of the change: what only they would notice survives.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import os
import resource
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import coverage
import pytest
from making import Mutant

MEMORY = 4 << 30  # bytes
SURVIVED, KILLED, UNREACHED = "survived", "killed", "unreached"
UNFIT = "unfit"  # it can't be put in the place of the function while that is loaded


class Result(NamedTuple):
    """What became of a mutant: `by` names the test that failed, or how the process ended."""

    name: str
    line: int
    state: str
    by: str = ""
    tests: int = 0


class Hunt:
    """A pytest plugin that tries mutants in the place of a plain run; `tell` gets each result.

    Tests in the folder `own` come first, then the others, the quickest first. `seconds` bounds what the tests
    of one mutant may take together, as measured without it: those beyond are left out. `until`: when to stop,
    as of `time.time()`.
    """

    def __init__(
        self,
        mutants: Sequence[Mutant],
        package: Path,
        tell: Callable[[Result], None],
        *,
        own: str,
        seconds: float,
        until: float,
    ) -> None:
        self._mutants, self._package, self._tell = mutants, package, tell
        self._own, self._seconds, self._until = own, seconds, until
        self._failed: list[str] = []
        self._lately: dict[tuple[Path, tuple[str, ...]], list[str]] = {}  # the killers, by function

    def pytest_configure(self) -> None:
        """Let hypothesis choose the same examples each time, and not look for smaller ones."""
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", derandomize=True, database=None, deadline=None, phases=phases)
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what failed."""
        if report.failed:
            self._failed.append(report.nodeid)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Measure which test reaches which line, then try each mutant."""
        items = {item.nodeid: item for item in session.items}
        if session.testsfailed:
            raise pytest.UsageError("the tests could not be collected")
        for file in {mutant.file for mutant in self._mutants}:  # some are imported late
            import_module(".".join(file.relative_to(self._package.parent).with_suffix("").parts))
        functions = _functions(self._package)
        caches = [one for one in gc.get_objects() if isinstance(one, functools._lru_cache_wrapper)]
        caches = [one for one in caches if one.__module__.startswith(self._package.name + ".")]
        gc.collect()
        gc.freeze()  # a fork copies only what it touches
        folders = session.config._tmp_path_factory  # type: ignore[attr-defined]
        status, measured = _forked(lambda: self._measure(session, caches), 3600, folders)
        if status or measured is None:
            raise pytest.UsageError(f"the tests fail without a change: {measured or status}")
        took, reach = measured["took"], measured["reach"]
        for mutant in self._mutants:
            if time.time() > self._until:
                break
            lines = reach.get(str(mutant.file), {})
            names = {name for line in mutant.lines for name in lines.get(str(line), ())}
            lately = self._lately.setdefault((mutant.file, mutant.function), [])
            order = sorted(
                names, key=lambda name: (name not in lately, not name.startswith(self._own), took[name])
            )
            seconds, chosen = 0.0, []
            for name in order:
                seconds += took[name]
                if seconds > self._seconds:
                    break
                chosen.append(items[name])
            self._tell(self._try(mutant, chosen, seconds, functions, caches, lately, folders))
        return True

    def _measure(self, session: pytest.Session, caches: Sequence[Any]) -> dict[str, Any]:
        """Run all tests: how long each takes, and the lines that each reaches."""
        meter = coverage.Coverage(data_file=None, source=[str(self._package)], config_file=False)
        took = {}
        meter.start()
        for at, item in enumerate(session.items):
            for cache in caches:
                cache.cache_clear()
            meter.switch_context(item.nodeid)
            start = time.process_time()
            self._run(session.items[at : at + 1], session.items[at + 1 : at + 2])
            took[item.nodeid] = time.process_time() - start
        meter.stop()
        if self._failed:
            raise AssertionError(f"without a change, these fail: {self._failed}")
        data = meter.get_data()
        files = {mutant.file for mutant in self._mutants}
        reach = {str(file): data.contexts_by_lineno(str(file)) for file in files}
        return {"took": took, "reach": reach}

    def _run(self, items: Sequence[pytest.Item], then: Sequence[pytest.Item] = ()) -> str | None:
        """Run tests until one fails: its name."""
        for item, following in zip(items, [*items[1:], *then, None], strict=False):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed:
                return self._failed[0]
        return None

    def _try(
        self,
        mutant: Mutant,
        items: Sequence[pytest.Item],
        seconds: float,
        functions: dict[tuple[str, tuple[str, ...]], list[FunctionType]],
        caches: Sequence[Any],
        lately: list[str],
        folders: pytest.TempPathFactory,
    ) -> Result:
        if not items:
            return Result(mutant.name, mutant.line, UNREACHED)
        own, depth = mutant.function, len(mutant.function)
        found = [  # with the functions that it made when it was imported, as decorators do
            (path, function)
            for (file, path), several in functions.items()
            if file == str(mutant.file) and path[:depth] == own
            for function in several
        ]

        def work() -> dict[str, str | None]:
            whole = compile(mutant.source(), str(mutant.file), "exec")
            for path, function in found:
                changed = _code_of(whole, path, function.__code__)
                if changed is not None:
                    function.__code__ = changed
                elif path == own:
                    return {"by": UNFIT}
            for cache in caches:
                cache.cache_clear()
            return {"by": self._run(items)}

        if not found:
            raise LookupError(f"{mutant.name}: no such function was loaded")
        status, told = _forked(work, 5 + 2 * seconds, folders)
        if told is None:
            return Result(mutant.name, mutant.line, KILLED, f"ended by {status}", len(items))
        if told["by"] == UNFIT:
            return Result(mutant.name, mutant.line, UNFIT)
        if told["by"] is None:
            return Result(mutant.name, mutant.line, SURVIVED, tests=len(items))
        if told["by"] not in lately:
            lately.insert(0, told["by"])
        return Result(mutant.name, mutant.line, KILLED, told["by"], len(items))


def _functions(package: Path) -> dict[tuple[str, tuple[str, ...]], list[FunctionType]]:
    """The functions and methods of the package that are loaded, by file and path."""
    found: dict[tuple[str, tuple[str, ...]], list[FunctionType]] = {}
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(str(package)):
            path = tuple(part for part in one.__qualname__.split(".") if part != "<locals>")
            found.setdefault((one.__code__.co_filename, path), []).append(one)
    return found


def _code_of(code: CodeType, path: Sequence[str], old: CodeType) -> CodeType | None:
    """The code of a function in that of its changed module, that may stand in the place of the old one."""
    codes = [code]
    for name in path:
        inner = (one for code in codes for one in code.co_consts if isinstance(one, CodeType))
        codes = [one for one in inner if one.co_name == name]
    fitting = [one for one in codes if len(one.co_freevars) == len(old.co_freevars)]
    return min(fitting, key=lambda one: abs(one.co_firstlineno - old.co_firstlineno), default=None)


def _forked(
    work: Callable[[], dict[str, Any]], seconds: float, folders: pytest.TempPathFactory
) -> tuple[str, dict[str, Any] | None]:
    """Do the work in a fork with a folder of its own: how that ended (empty when well), and what it told."""
    room = Path(tempfile.mkdtemp(prefix="mutant-"))
    told = room / "told.json"
    process = os.fork()
    if not process:
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            signal.setitimer(signal.ITIMER_REAL, 10 * seconds + 60)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            silence = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silence, stream)
            folders._basetemp = room  # the factory was made before the fork
            os.environ["TMPDIR"] = tempfile.tempdir = str(room)
            told.write_text(json.dumps(work()), encoding="utf-8")
        except BaseException as error:
            (room / "error").write_text(repr(error), encoding="utf-8")
        finally:
            os._exit(0)
    try:
        _, status = os.waitpid(process, 0)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)  # what it left running
    try:
        if told.exists():
            return "", json.loads(told.read_text(encoding="utf-8"))
        error = room / "error"
        return error.read_text(encoding="utf-8") if error.exists() else f"status {status}", None
    finally:
        shutil.rmtree(room, ignore_errors=True)
