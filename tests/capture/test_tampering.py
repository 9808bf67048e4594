"""What the recorded command does to the recording itself: nothing of it hangs, gets lost or passes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from threading import Thread

import pytest

from fallback_gate import check
from fallback_gate.capture.log import Log
from fallback_gate.capture.streams import Streams
from fallback_gate.model import Outcome
from tests.capture.recording import CLEAN, PRINT_CLEAN, record

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="named pipes, and names of files in use")
_TRACES = "import os; d = os.environ['TORCH_TRACE']; os.makedirs(d, exist_ok=True); "
_TRACE = "d + '/dedicated_log_torch_trace_x.log'"


@POSIX
@pytest.mark.parametrize("make", [f"os.mkfifo({_TRACE})", f"os.symlink('/dev/zero', {_TRACE})"])
def test_a_trace_without_end_is_not_read(make: str, tmp_path: Path) -> None:
    done = record(tmp_path, f"{_TRACES}{make}; {PRINT_CLEAN}", "--check")
    assert done.returncode == 3
    assert b"dedicated_log_torch_trace_x.log is no plain file" in done.stderr


@POSIX
def test_a_user_s_own_trace_without_end_is_told_before_the_command_runs(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    os.mkfifo(tmp_path / "own" / "dedicated_log_torch_trace_x.log")
    done = record(tmp_path, "print('ran')", variables={"TORCH_TRACE": str(tmp_path / "own")})
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"no plain file; name another folder" in done.stderr


@pytest.mark.parametrize(
    "make",
    [
        pytest.param("os.mkfifo(d + '/closing-1-x.json')", marks=POSIX),
        "open(d + '/closing-1-x.json', 'w').write('{\"fallback_gate_closing\": 1, \"pid\"')",
    ],
)
def test_a_closing_record_that_cannot_be_read_never_passes(make: str, tmp_path: Path) -> None:
    program = f"import os; d = os.environ['FALLBACK_GATE_RECORD_DIR']; {make}; {PRINT_CLEAN}"
    assert record(tmp_path, program).returncode == 0
    verdict = check([tmp_path / "compile.log"], cwd=tmp_path, environ={})
    assert verdict.outcome is Outcome.UNPROVEN
    assert "1 closing record could not be read" in (verdict.logs[0].problem or "")


@POSIX
@pytest.mark.parametrize("then", ["", f"; import shutil; shutil.copyfile({str(CLEAN)!r}, 'compile.log')"])
def test_a_log_that_is_taken_away_is_missed(then: str, tmp_path: Path) -> None:
    program = f"import os; os.unlink('compile.log'){then}"
    done = record(tmp_path, program)
    assert b"compile.log is not sealed: something took the log away" in done.stderr
    judged = record(tmp_path, program, "--check")
    assert judged.returncode == (3 if then else 2)


def test_what_stood_in_the_pipe_is_not_lost_to_a_slow_reader(tmp_path: Path) -> None:
    printed = b"line of the command\n" * 20_000
    log = Log(tmp_path / "compile.log", None)
    streams = Streams(log)
    (tmp_path / "printed").write_bytes(printed)
    reading, writing = os.pipe()
    streams.start(os.open(tmp_path / "printed", os.O_RDONLY), writing)
    closed: list[bool] = []
    waiting = Thread(target=lambda: closed.append(streams.wait(0.2)))
    waiting.start()
    waiting.join(0.5)  # longer than the grace: nobody reads meanwhile
    shown = b""
    while len(shown) < len(printed):
        shown += os.read(reading, 1 << 16)
    waiting.join()
    log.close()
    assert (closed, shown) == ([True], printed)
    assert (tmp_path / "compile.log").read_bytes() == printed


def test_the_trailer_tells_how_many_closing_records_were_unread(tmp_path: Path) -> None:
    record(tmp_path, "print(1)")
    last = (tmp_path / "compile.log").read_bytes().splitlines()[-1]
    assert json.loads(last)["closings_unread"] == 0
