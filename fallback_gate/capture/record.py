"""The side door: one recording, from the header to the trailer."""

from __future__ import annotations

import secrets
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from fallback_gate.capture import found, gather, machine, ranks
from fallback_gate.capture.log import Log
from fallback_gate.capture.plan import Plan, chosen, plan
from fallback_gate.capture.process import GRACE, Command, Ended
from fallback_gate.errors import InputError, reason
from fallback_gate.model.environment import as_data
from fallback_gate.sources import seal

_LONGEST_COMMAND = 4000  # characters
_NO_CLOSING = "no process left a closing record: none used a compiler that the hook knows, or it did not load"


@dataclass(frozen=True, slots=True)
class Recording:
    """What became of it: how the command ended, and why the log has no seal, if it has none. `notes` are
    for the user, a sentence each."""

    ended: Ended
    problem: str | None
    notes: tuple[str, ...]


def record(
    command: Sequence[str],
    log: Path,
    environ: Mapping[str, str],
    *,
    tool: str = "",
    compilers: Sequence[str] = (),
    strict_modes: bool = False,
    expect_ranks: int | None = None,
    mask: Callable[[str], str] = str,
    tell: Callable[[str], None] = lambda note: None,
) -> Recording:
    """Run a command so that its log proves something.

    `tool` is our version, `mask` takes secrets out of what the header repeats, and `tell` gets each note
    before the command starts. Raises `InputError` where the log can't be written, or the command
    can't be started.
    """
    log = log.absolute()
    key = seal.key_of(environ)
    inherited = {name: value for name, value in environ.items() if name != seal.KEY}
    python, installed = found.installed(command, inherited, machine.asked())
    versions = {name: one.version for name, one in installed.items()}
    settings = plan(
        chosen(compilers, versions),
        inherited,
        str(gather.folder_of(log)),
        versions,
        strict=strict_modes,
    )
    for note in (*settings.weaker, *settings.cold):
        tell(mask(note))
    secret = secrets.token_hex(16)
    header = {
        "tool": tool,
        "time": _now(),
        "host": socket.gethostname(),
        "command": mask(" ".join(command))[:_LONGEST_COMMAND],
        "rank": ranks.own(inherited),
        "expect_ranks": ranks.expected(expect_ranks, command, inherited),
        "compilers": versions,
        "environment": as_data(machine.environment(inherited, python, installed)),
        **_told(settings, mask),
        "commitment": seal.commitment(secret),
    }
    written = _opened(log, key)
    written.header(header)
    own_traces = settings.respected.get("TORCH_TRACE")
    try:
        before = gather.marks(Path(own_traces)) if own_traces else {}
    except OSError as error:
        written.close()
        raise InputError(f"TORCH_TRACE={own_traces}: {reason(error)}; name another folder") from None
    ended, closings = _run(command, {**inherited, **settings.variables}, written)
    notes = _notes(closings, ended)
    count = written.finish(closings.lines)
    problem = None
    try:
        if own_traces:
            gather.take_in(Path(own_traces), before, log)
        traces = gather.traces(log)
    except OSError as error:
        problem = f"a structured trace could not be read: {reason(error)}"
    else:
        counts = {"closings": count, "closings_unread": closings.unread}
        written.seal(_end(ended, written) | counts | {"traces": traces, "notes": notes, "secret": secret})
    written.close()
    return Recording(ended, problem or written.problem, tuple(notes))


def _run(command: Sequence[str], environ: Mapping[str, str], written: Log) -> tuple[Ended, gather.Closings]:
    """Run the command into the log; how it ended, and what its processes left for the end of the log."""
    with tempfile.TemporaryDirectory(prefix="fallback-gate-", ignore_cleanup_errors=True) as folder:
        try:
            ended = Command(command, {**environ, **gather.with_hook(environ, folder)}).run(written)
        except BaseException:
            written.close()
            raise
        return ended, gather.closings(Path(folder))


def _end(ended: Ended, written: Log) -> dict[str, Any]:
    """What the trailer says of the command and of what it printed."""
    return {
        "exit_status": ended.exit_status,
        "signal": ended.signal,
        "time": _now(),
        "left_open": ended.left_open,
        "lines": written.lines,
        "bytes": written.bytes,
        "line_feeds_added": written.added,
    }


def _told(settings: Plan, mask: Callable[[str], str]) -> dict[str, Any]:
    """What the header says of the settings, without secrets."""
    return {
        "settings": {name: mask(value) for name, value in settings.in_force.items()},
        "respected": {name: mask(value) for name, value in settings.respected.items()},
        "strict_modes": settings.strict,
        "weaker": [mask(note) for note in settings.weaker],
        "off": [mask(note) for note in settings.off],
        "cold": settings.cold,
    }


def _notes(closings: gather.Closings, ended: Ended) -> list[str]:
    """What the end of the run leaves open, a sentence each."""
    notes = []
    if gather.hook() is not None and not closings.lines:
        notes.append(_NO_CLOSING)
    if closings.unread:
        notes.append(f"{closings.unread} closing record(s) could not be read: a process may have been killed")
    if ended.left_open:
        notes.append(f"a process that the command left behind still held its output {GRACE:.0f} s later")
    return notes


def _opened(log: Path, key: bytes | None) -> Log:
    """The new log, with the traces of an earlier one of its name taken away."""
    try:
        gather.clear(log)
        return Log(log, key)
    except OSError as error:
        raise InputError(
            f"{log}: the log can't be written: {reason(error)}; name another with --log FILE"
        ) from None


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
