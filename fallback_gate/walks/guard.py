"""The side door for tests: watch the compilers of this process for the length of a `with`, then judge.

PyTorch writes its structured trace into a log of the guard's own, and the watchers of the recorder's hook
(`capture/hook`) tell the rest, as if the process had ended. What is judged is what was compiled inside: a
model that was compiled before proves nothing. All that was set is taken back.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from fallback_gate.gate import check
from fallback_gate.judging.surroundings import OFF
from fallback_gate.model import Outcome, Verdict

_HOOK = "_fallback_gate_hook"
_NOTHING = (
    "fallback-gate: no compiler that is watched compiled anything inside the guard. What was compiled before "
    "it is not judged: compile inside, after torch.compiler.reset() if need be. See docs/guard.md."
)


class FallbackError(AssertionError):
    """The verdict of a guard is not `pass`; the text is the report, and `verdict` all of it."""

    def __init__(self, verdict: Verdict, hint: str = "") -> None:
        from fallback_gate.reports import text

        super().__init__("\n".join(filter(None, (hint, text.render(verdict, color=False)))))
        self.verdict = verdict


class _Trace(logging.FileHandler):
    """The structured trace of PyTorch, in a file. The last one to end gives its logger back as it was."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, encoding="utf-8")
        self.setFormatter(import_module("torch._logging._internal").TorchLogsFormatter(trace=True))
        self._logger = logging.getLogger("torch.__trace")
        beside = self._beside()
        self._was: tuple[int, bool] = (
            beside[0]._was if beside else (self._logger.level, self._logger.propagate)
        )
        self._logger.setLevel(logging.DEBUG)
        self._logger.propagate = False  # nobody else asked for it
        self._logger.addHandler(self)

    def end(self) -> None:
        """Write no more."""
        self._logger.removeHandler(self)
        if not self._beside():
            self._logger.setLevel(self._was[0])
            self._logger.propagate = self._was[1]
        self.close()

    def _beside(self) -> list[_Trace]:
        return [other for other in self._logger.handlers if isinstance(other, _Trace)]


class Guard:
    """What `guard` returns. `verdict` is there once the block is left without an exception of its own."""

    def __init__(self, policy: str | os.PathLike[str] | None, raises: bool, allow_unproven: bool) -> None:
        self.verdict: Verdict | None = None
        self._policy, self._raises, self._allow_unproven = policy, raises, allow_unproven
        self._trace: _Trace | None = None

    def __enter__(self) -> Guard:
        self._folder = Path(tempfile.mkdtemp(prefix="fallback-gate-guard-"))
        self._hook = _hook()
        self._began = self._hook.record.now()
        self._entered = True
        self._hook.watch()
        self._hook.imports.after("torch._dynamo", self._watch_trace)
        self._before = self._hook.baseline()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        try:
            facts = self._hook.facts(self._before)
        finally:
            self._restore()
        try:
            if kind is None:
                self._judge(facts)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _watch_trace(self, dynamo: ModuleType) -> None:
        """Have PyTorch write its structured trace into the guard's log."""
        if self._entered and self._trace is None:
            self._trace = _Trace(self._folder / "guard.log")

    def _restore(self) -> None:
        self._entered = False
        self._hook.unwatch()
        if self._trace is not None:
            self._trace.end()

    def _judge(self, facts: dict[str, Any]) -> None:
        __tracebackhide__ = True
        log = self._folder / "guard.log"
        with log.open("a", encoding="utf-8") as file:
            file.write(self._hook.record.line(facts, self._began, ended=True))
        self.verdict = check([log], self._policy, environment=OFF, _closings={str(log): 1})
        allowed = {Outcome.PASS, *((Outcome.UNPROVEN,) if self._allow_unproven else ())}
        if self._raises and self.verdict.outcome not in allowed:
            raise FallbackError(self.verdict, "" if facts else _NOTHING)


def guard(
    policy: str | os.PathLike[str] | None = None, *, raises: bool = True, allow_unproven: bool = False
) -> Guard:
    """Watch this process's compilers in a `with` block, and judge by a policy what they compiled in it.

    `policy` as for `check`. At the end of the block `FallbackError` (an AssertionError) is raised unless the
    verdict is `pass`; with `allow_unproven` also not for `unproven`, which a block gets in which nothing is
    compiled. `raises=False` never raises: look at `verdict` of what the block is bound to. An exception
    out of the block is passed on, and nothing is judged. Guards may be nested; one sees what all threads of
    the process compile, and nothing of other processes.

    Raises `PolicyError` at the end of the block for an invalid policy.
    """
    return Guard(policy, raises, allow_unproven)


def _hook() -> Any:
    """The watchers of the recorder's hook, one for the process: a recorded run has loaded them already."""
    if _HOOK not in sys.modules:
        folder = str(Path(__file__).parents[1] / "capture" / "hook")
        sys.path.insert(0, folder)
        try:
            import_module(_HOOK)
        finally:
            sys.path.remove(folder)
    return sys.modules[_HOOK]
