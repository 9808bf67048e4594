"""What the gate finds around it: full and read-only places, closed pipes, Ctrl-C, clocks and locales.

A report is written whole or not at all, and the exit code says so. Nothing around changes a verdict.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.bad_files import BLOCKING, CLEAN, put

POSIX = pytest.mark.skipif(os.name == "nt", reason="limits, signals and devices of POSIX")
GATE = [sys.executable, "-m", "fallback_gate"]


def run(
    folder: Path, *words: str, before: str = "", after: str = "", **environ: str
) -> subprocess.CompletedProcess[str]:
    """The real command; with `before` or `after` it runs in a shell."""
    (folder / ".git").mkdir(exist_ok=True)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FALLBACK_GATE", "LC_", "LANG"))}
    command: list[str] = [*GATE, *words]
    if before or after:
        command = ["sh", "-c", f'{before} "$@" {after}', "sh", *command]
    return subprocess.run(
        command,
        cwd=folder,
        env=kept | environ,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=120,
    )


FULL = "No space left on device"
PLACES: dict[str, tuple[list[str], str, str, int, str]] = {
    "standard output is full": ([], "", "> /dev/full", 2, f"standard output can't be written: {FULL}"),
    "a report's disk is full": (["-o", "json=/dev/full"], "", "", 2, f"/dev/full: {FULL}; name another place"),
    "a report is larger than a file may be": (["-o", "html=r.html", "-o", "json=s.json"], "ulimit -f 1;", "", 2, "r.html: File too large"),
    "a report's folder is a file": (["-o", "json=a.log/r.json"], "", "", 2, "cannot write the report"),
    "a report's place is a folder": (["-o", "json=folder"], "", "", 2, "cannot write the report"),
    "a folder that may not be written": (["-o", "json=/proc/self/r.json"], "", "", 2, "cannot write the report"),
    "two reports, the second without a place": (["-o", "json=r.json", "-o", "junit=/proc/self/x.xml"], "", "", 2, "cannot write the report"),
}  # fmt: skip


@POSIX
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full disk")
@pytest.mark.parametrize(("options", "before", "after", "code", "says"), PLACES.values(), ids=PLACES)
def test_a_report_that_cannot_be_written(
    options: list[str], before: str, after: str, code: int, says: str, tmp_path: Path
) -> None:
    put(tmp_path, "a.log", BLOCKING)
    (tmp_path / "folder").mkdir()
    put(tmp_path, "r.json", "the report of before")
    had = sorted(path.name for path in tmp_path.iterdir())
    done = run(tmp_path, "check", "a.log", *options, before=before, after=after)
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".git") == had
    assert (tmp_path / "r.json").read_text() == "the report of before"


@POSIX
@pytest.mark.parametrize(
    "command", [["baseline", "create", "a.log", "-o"], ["policy", "init", "a.log", "-o"]]
)
def test_a_file_of_the_user_that_cannot_be_written(command: list[str], tmp_path: Path) -> None:
    put(tmp_path, "a.log", BLOCKING)
    done = run(tmp_path, *command, "/proc/self/file")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "cannot write" in done.stderr
    assert "Traceback" not in done.stderr


@POSIX
@pytest.mark.parametrize(("content", "code"), [(CLEAN, 0), (BLOCKING, 1)], ids=["pass", "blocked"])
@pytest.mark.parametrize("closed", ["| head -c 9 >&2", ">&-", "<&-", "<&- >&- 2>&-"])
def test_a_closed_pipe_changes_no_verdict(closed: str, content: str, code: int, tmp_path: Path) -> None:
    put(tmp_path, "a.log", content)
    done = run(tmp_path, "check", "a.log", "-v", before="{", after=f"2>err; echo $? > code; }} {closed}")
    assert (tmp_path / "code").read_text() == f"{code}\n", done.stderr
    assert "Traceback" not in (tmp_path / "err").read_text()


@POSIX
def test_standard_input_that_is_closed_is_no_log(tmp_path: Path) -> None:
    done = run(tmp_path, "check", "-", after="<&-")
    assert (done.returncode, "standard input is closed" in done.stdout + done.stderr) == (2, True)


@POSIX
def test_ctrl_c_ends_with_one_line_and_without_a_report(tmp_path: Path) -> None:
    """At any moment once the interpreter has reached the command, which then says so; its log has no end yet."""
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # it may be ignored around here
    code += "from fallback_gate.__main__ import main; print(end='.', flush=True); main()"
    command = [sys.executable, "-c", code, "check", "-", "-o", "json=r.json"]
    chance = random.Random(7)
    for _ in range(8):
        with subprocess.Popen(
            command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as gate:
            assert gate.stdin is not None
            assert gate.stdout is not None
            assert gate.stderr is not None
            gate.stdin.write(BLOCKING.encode())
            gate.stdin.flush()
            gate.stdout.read(1)
            with suppress(subprocess.TimeoutExpired):
                gate.wait(chance.uniform(0, 1))
            gate.send_signal(signal.SIGINT)
            said = gate.stderr.read().decode().strip()
            assert said == "fallback-gate: interrupted; no verdict was reached"
            assert gate.wait(60) == 130
    assert list(tmp_path.iterdir()) == []


AROUND: dict[str, dict[str, str]] = {
    "the C locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "a Turkish locale": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    "an encoding of one byte": {"PYTHONIOENCODING": "latin-1"},
    "the day before": {"TZ": "Etc/GMT+12"},
    "the day after": {"TZ": "Pacific/Kiritimati"},
    "a time zone that is none": {"TZ": "No/Where"},
    "a clock before the epoch": {"SOURCE_DATE_EPOCH": "-86400"},
    "a clock beyond all years": {"SOURCE_DATE_EPOCH": "99999999999999"},
    "a clock that is none": {"SOURCE_DATE_EPOCH": "yesterday"},
    "another seed of hashes": {"PYTHONHASHSEED": "4711"},
    "no home": {"HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent"},
    "a narrow terminal": {"COLUMNS": "1", "LINES": "1"},
}


def judged(folder: Path, **environ: str) -> dict[str, Any]:
    """The JSON report, without the time at which it was made."""
    done = run(folder, "check", "ünï.log", "-f", "json", "--today", "2026-11-30", **environ)
    assert done.stderr == ""
    said: dict[str, Any] = json.loads(done.stdout)
    assert said["exit_code"] == done.returncode == 1
    return {key: value for key, value in said.items() if key not in ("run_at", "logs", "time")}


@POSIX
def test_neither_clock_nor_locale_changes_what_is_said(tmp_path: Path) -> None:
    put(tmp_path, "ünï.log", BLOCKING)
    usual = json.dumps(judged(tmp_path), sort_keys=True)
    for name, environ in AROUND.items():
        said = json.dumps(judged(tmp_path, **environ), sort_keys=True)
        if name != "the C locale":  # which has no name for the file but its bytes
            assert said == usual, name


def test_a_log_that_grows_while_it_is_read(tmp_path: Path) -> None:
    """Its writer goes on without a pause: there is an end, and what blocks is told."""
    put(tmp_path, "a.log", BLOCKING)
    code = "import time\nwith open('a.log', 'ab', buffering=0) as log:\n    while True: log.write(b'step\\n' * 1000)"
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path) as writer:
        done = run(tmp_path, "check", "a.log")
        assert writer.poll() is None
        writer.kill()
    assert done.returncode == 1
