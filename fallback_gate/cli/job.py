"""The front door: the job beside which logs are watched, and its end.

A number of a process may be given to another one when the first has ended, so a job is known by when it
began too, where the system tells (Linux). Only the process that was named is ever signalled, or its group
where that was asked for.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import click


class Job:
    """A running process. `group`: it is ended with all of its process group."""

    def __init__(self, pid: int, *, group: bool) -> None:
        if pid == os.getpid() or pid < 2:
            raise click.UsageError(f"--stop-pid {pid}: this is no job that may be ended")
        self.pid, self._group = pid, group
        self._began = _began(pid)
        if group and sys.platform == "win32":
            raise click.UsageError("--stop-group: there are no process groups here; use --stop-pid alone")
        if self.is_gone:
            return
        if group and os.getpgid(pid) == os.getpgrp():
            raise click.UsageError(
                f"--stop-group: process {pid} is in the group of this command, which would end too; start it "
                "with setsid, or leave --stop-group away"
            )

    @property
    def is_gone(self) -> bool:
        """The process has ended. Never known on Windows."""
        if sys.platform == "win32":
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            raise click.UsageError(
                f"--stop-pid {self.pid}: the process belongs to somebody else, and can't be ended"
            ) from None
        return _began(self.pid) != self._began or self._began == "ended"

    def end(self) -> str:
        """Ask it to end (SIGTERM); what was done, in a sentence."""
        if self.is_gone:
            return f"process {self.pid} had ended already"
        try:
            if self._group and sys.platform != "win32":
                os.killpg(os.getpgid(self.pid), signal.SIGTERM)
                return f"ended the process group of {self.pid}"
            os.kill(self.pid, signal.SIGTERM)
        except OSError as error:
            return f"process {self.pid} could not be ended: {error.strerror or error}"
        return f"ended process {self.pid}"


def _began(pid: int) -> str | None:
    """What tells a process from a later one of the same number; `ended` for one that only waits to be
    reaped, None where the system does not tell."""
    try:
        said = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return "ended" if said[0] in "ZX" else said[19]
