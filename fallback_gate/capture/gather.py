"""The side door: what the command's processes left beside the log: structured traces and closing records."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fallback_gate.sources import seal
from fallback_gate.sources.traces import FOLDER

CLOSING = "fallback_gate_closing"
LONGEST = 4 << 20  # bytes of one closing record
_TRACE = "dedicated_log_torch_trace_*"
_READ = 1 << 20

Listed = dict[str, Any]  # name, bytes and sha256 of a trace
Marks = Mapping[str, tuple[int, int]]  # size and time of change of each file, by name


class Closings(NamedTuple):
    """The closing records, each as one line, and how many files were none."""

    lines: list[bytes]
    unread: int


def folder_of(log: Path) -> Path:
    """Where the traces of a log stand: beside it, under its name."""
    return log.with_name(log.name + FOLDER)


def clear(log: Path) -> None:
    """Take away the traces of an earlier recording under the same name."""
    for trace in folder_of(log).glob(_TRACE):
        trace.unlink()


def marks(folder: Path) -> Marks:
    """What a user's own folder of traces holds before the command runs. Raises `OSError`."""
    found = {}
    for trace in _plain_files(folder):
        told = trace.stat()
        found[trace.name] = (told.st_size, told.st_mtime_ns)
    return found


def take_in(folder: Path, before: Marks, log: Path) -> None:
    """Copy what the command wrote into the user's own folder of traces to the log's. Raises `OSError`."""
    if folder.resolve() == folder_of(log).resolve():
        return
    new = [name for name, mark in marks(folder).items() if before.get(name) != mark]
    if new:
        folder_of(log).mkdir(exist_ok=True)
    for name in new:
        shutil.copyfile(folder / name, folder_of(log) / name)


def traces(log: Path) -> list[Listed]:
    """Each trace of the log by its name from the log's folder, with its size and hash. Raises `OSError`.

    On disk it is packed with gzip, which leaves an eighth of it; name, size and hash are those of the text.
    """
    found = []
    for trace in _plain_files(folder_of(log)):
        digest, size = hashlib.sha256(), 0
        packed = trace.with_name(trace.name + ".gz")
        with open(trace, "rb") as file, gzip.open(packed, "wb", compresslevel=6) as text:
            while block := file.read(_READ):
                digest.update(block)
                size += len(block)
                text.write(block)
        trace.unlink()
        name = f"{folder_of(log).name}/{trace.name}"
        found.append({"name": name, "bytes": size, "sha256": digest.hexdigest()})
    return found


def _plain_files(folder: Path) -> Iterator[Path]:
    """The traces in a folder, in order. Raises `OSError` for one that could be read without end."""
    for trace in sorted(folder.glob(_TRACE)):
        if not _is_plain_file(trace):
            raise OSError(f"{trace.name} is no plain file")
        yield trace


def _is_plain_file(path: Path) -> bool:
    return stat.S_ISREG(path.lstat().st_mode)


def closings(folder: Path) -> Closings:
    """The closing records that processes left in the folder."""
    lines, unread = [], 0
    for record in sorted(folder.glob("closing-*.json")):
        try:
            if not _is_plain_file(record) or record.stat().st_size > LONGEST:
                raise ValueError
            said = json.loads(record.read_bytes())
            if not isinstance(said, dict) or next(iter(said), None) != CLOSING:
                raise ValueError
            lines.append(seal.line(said).encode())
        except (OSError, ValueError, RecursionError):
            unread += 1
    return Closings(lines, unread)


def hook() -> Path | None:
    """The folder of the hook that Python processes load, where it is installed."""
    folder = Path(__file__).parent / "hook"
    return folder if (folder / "sitecustomize.py").is_file() else None


def with_hook(environ: Mapping[str, str], folder: str) -> dict[str, str]:
    """The variables that load the hook and tell it where to leave its records."""
    place = hook()
    if place is None:
        return {}
    own = environ.get("PYTHONPATH")
    path = f"{place}{os.pathsep}{own}" if own else str(place)
    return {"PYTHONPATH": path, "FALLBACK_GATE_RECORD_DIR": folder}
