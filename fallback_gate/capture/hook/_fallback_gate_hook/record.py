"""The side door: the closing record of one process, written whole or not at all, however the process ends.

The first use of a compiler writes it with `"ended": false`, and the end of the process replaces it: whoever
is killed in between leaves a record that says so. A fork starts a record of its own, about what comes after
it. `os._exit` and `os.exec*`, which run no exit handler, write it first; a signal that Python does not handle
can't.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is slow to load
    from typing import Any, Callable

FORM = 1
LARGEST = 512 << 10  # bytes of a record


def line(facts: dict[str, Any], began: str, ended: bool, status: int | None = None) -> str:
    """A closing record: one line of JSON in ASCII, in which no CI runner that shows it finds a command.

    Times are local, as in PyTorch's log records, so that they can be compared with those.
    """
    import json

    said = {
        "fallback_gate_closing": FORM,
        "pid": os.getpid(),
        "rank": _rank(),
        "ended": ended,
        "status": status,
        "exception": getattr(getattr(sys, "last_type", None), "__name__", None),
        "began": began,
        "wrote": now(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "argv0": (sys.argv[0] if getattr(sys, "argv", None) else "")[:300],
        "compilers": facts,
    }
    written = json.dumps(said, ensure_ascii=True, default=str)
    if len(written) > LARGEST:
        said["compilers"] = {name: {"problem": "its facts are too many for a record"} for name in facts}
        written = json.dumps(said, ensure_ascii=True)
    return written.replace("##", "#\\u0023") + "\n"


def now() -> str:
    """The local time, to the second."""
    return time.strftime("%Y-%m-%d %H:%M:%S")


def _rank() -> int | None:
    """The rank that torch.distributed has, or that torchrun gave."""
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return int(distributed.get_rank())
        return int(os.environ["RANK"])
    except Exception:
        return None


class Record:
    """The closing record of this process, and of each process that is forked from it."""

    def __init__(
        self,
        folder: str,
        facts: Callable[[dict[str, Any] | None], dict[str, Any]],
        baseline: Callable[[], dict[str, Any]],
    ) -> None:
        self._opened = False
        self._folder, self._facts, self._baseline = folder, facts, baseline
        self._since: dict[str, Any] | None = None
        self._start()

    def begin(self) -> None:
        """From here on the process can't end in order without its record."""
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)
        for name in ("_exit", "execv", "execve"):
            _before(name, self.close)

    def used(self) -> None:
        """A compiler is put to use: whatever happens, there must be a record."""
        if not self._opened:
            self._opened = True
            self._write(line(self._told(), self._began, ended=False))

    def close(self, status: int | None = None) -> None:
        """The process ends: its facts, if it has any."""
        if os.getpid() != self._pid:  # a fork that told nobody
            return
        facts = self._told()
        if facts or self._opened:
            self._write(line(facts, self._began, ended=True, status=status))

    def _start(self) -> None:
        self._pid = os.getpid()
        self._began = now()
        self._name = f"closing-{self._pid}-{os.urandom(6).hex()}.json"
        self._opened = False

    def _forked(self) -> None:
        self._start()
        self._since = self._baseline()

    def _told(self) -> dict[str, Any]:
        return self._facts(self._since)

    def _write(self, text: str) -> None:
        passing = os.path.join(self._folder, f".{self._name}.tmp")
        try:
            with os.fdopen(os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write(text)
            os.replace(passing, os.path.join(self._folder, self._name))
        except OSError as problem:
            if sys.stderr is not None:
                sys.stderr.write(f"fallback-gate: no closing record of process {self._pid}: {problem}\n")


def _before(name: str, close: Callable[[int | None], None]) -> None:
    """Have a function of `os` that ends the process at once write the record first."""
    original = getattr(os, name)

    @functools.wraps(original)
    def ending(*arguments: Any, **named: Any) -> Any:
        with contextlib.suppress(Exception):
            close((arguments[0] if arguments else named.get("status")) if name == "_exit" else None)
        return original(*arguments, **named)

    setattr(os, name, ending)
