"""The recorder, by its front door: output and exit code are the command's, whatever happens to either."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fallback_gate import check
from fallback_gate.capture.log import Log
from fallback_gate.capture.process import Command
from fallback_gate.model import Outcome
from tests.capture.recording import CLEAN, PRINT_CLEAN, environment, record, run

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of POSIX")
BLOCKING = "print('fallback to eager: op=gate_attn')"


def facts(log: Path) -> tuple[dict[str, object], list[bytes], dict[str, object]]:
    """The header, the lines between, and the trailer of a log."""
    first, *body, last = log.read_bytes().splitlines(keepends=True)
    return json.loads(first), body, json.loads(last)


def test_each_stream_goes_where_it_went(tmp_path: Path) -> None:
    program = "import sys; print('to out'); sys.stdout.flush(); print('to err', file=sys.stderr); sys.exit(7)"
    done = record(tmp_path, program)
    assert done.returncode == 7
    assert done.stdout.splitlines() == [b"to out"]
    assert done.stderr.splitlines()[0] == b"to err"
    _, body, trailer = facts(tmp_path / "compile.log")
    assert sorted(line.strip() for line in body) == [b"to err", b"to out"]
    assert trailer["exit_status"] == 7


def test_bytes_are_not_touched(tmp_path: Path) -> None:
    every = bytes(range(256)) * 3 + b"\r\n\x1b[31mred\x1b[0m\rprogress\r\n\n\nend"
    (tmp_path / "bytes").write_bytes(every)
    done = record(tmp_path, "import sys; sys.stdout.buffer.write(open('bytes', 'rb').read())")
    assert done.stdout == every
    _, body, trailer = facts(tmp_path / "compile.log")
    assert b"".join(body) == every + b"\n"
    assert trailer["line_feeds_added"] == 1


def test_arguments_reach_the_command_as_they_are(tmp_path: Path) -> None:
    done = record(
        tmp_path, "import sys; print(sys.argv[1:])", arguments=["--log", "x", "-p", "", "a b", "--"]
    )
    assert done.stdout.strip() == b"['--log', 'x', '-p', '', 'a b', '--']"


def test_standard_input_is_the_command_s(tmp_path: Path) -> None:
    program = "import sys; print(sys.stdin.read().upper())"
    done = run(tmp_path, "record", "--", sys.executable, "-c", program, stdin=b"hello")
    assert done.stdout.strip() == b"HELLO"


def test_a_secret_in_the_command_is_not_written_down(tmp_path: Path) -> None:
    record(tmp_path, "print(1)", arguments=["--api-key", "sk-abcdefghijklmnop123456"])
    header, _, _ = facts(tmp_path / "compile.log")
    assert "abcdefghijklmnop" not in (tmp_path / "compile.log").read_text()
    assert "--api-key ***" in str(header["command"])


@pytest.mark.parametrize(("words", "code"), [(["no-such-command"], 127), (["."], 126)])
def test_a_command_that_cannot_start(words: list[str], code: int, tmp_path: Path) -> None:
    done = run(tmp_path, "record", "--", *words)
    assert done.returncode == code
    assert words[0].encode() in done.stderr
    assert run(tmp_path, "check", "compile.log").returncode == 3


def test_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    done = record(tmp_path, "print('ran')", "--log", "no/such/folder/x.log")
    assert done.returncode == 2
    assert b"no/such/folder/x.log" in done.stderr
    assert b"ran" not in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full disk")
def test_a_full_disk_is_said_and_the_run_goes_on(tmp_path: Path) -> None:
    done = record(tmp_path, "print('ran to its end')", "--log", "/dev/full")
    assert done.returncode == 0
    assert done.stdout.strip() == b"ran to its end"
    assert b"not sealed" in done.stderr


@POSIX
def test_a_signal_is_passed_on(tmp_path: Path) -> None:
    program = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('cleaned up', flush=True), sys.exit(5)))\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)"
    )
    recorder = _start(tmp_path, program)
    assert recorder.stdout is not None
    assert recorder.stdout.readline() == b"ready\n"
    recorder.send_signal(signal.SIGTERM)
    rest, _ = recorder.communicate(timeout=60)
    assert (rest, recorder.returncode) == (b"cleaned up\n", 5)
    assert facts(tmp_path / "compile.log")[2]["exit_status"] == 5


@POSIX
def test_a_command_that_is_killed(tmp_path: Path) -> None:
    done = record(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert done.returncode == 128 + 9
    trailer = facts(tmp_path / "compile.log")[2]
    assert (trailer["exit_status"], trailer["signal"]) == (137, "SIGKILL")


@POSIX
def test_a_recorder_that_is_killed_leaves_a_readable_log_that_proves_nothing(tmp_path: Path) -> None:
    recorder = _start(tmp_path, PRINT_CLEAN + "; print('ready', flush=True); import time; time.sleep(60)")
    assert recorder.stdout is not None
    while recorder.stdout.readline() != b"ready\n":
        pass
    header, *body = (tmp_path / "compile.log").read_bytes().splitlines(keepends=True)
    recorder.kill()
    recorder.wait()
    recorder.stdout.close()
    assert b"".join(body).startswith(CLEAN.read_bytes())
    verdict = check([tmp_path / "compile.log"], cwd=tmp_path, environ={})
    assert verdict.outcome is Outcome.UNPROVEN
    assert "no trailer" in (verdict.logs[0].problem or "")


@POSIX
def test_a_child_that_outlives_the_command_does_not_hang_it(tmp_path: Path) -> None:
    log = Log(tmp_path / "compile.log", None)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)  # the child left behind lives until somebody writes into it
    try:
        words = ["sh", "-c", 'cat "$0" & echo started', str(fifo)]
        ended = Command(words, environment(), grace=0.5).run(log)
    finally:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    log.close()
    assert (ended.exit_status, ended.left_open) == (0, True)
    assert (tmp_path / "compile.log").read_bytes() == b"started\n"


def test_the_log_of_the_same_name_is_written_anew(tmp_path: Path) -> None:
    traced = "import os; d = os.environ['TORCH_TRACE']; os.makedirs(d, exist_ok=True); " + (
        "open(d + '/dedicated_log_torch_trace_old.log', 'w').write('x')"
    )
    record(tmp_path, traced)
    assert len(facts(tmp_path / "compile.log")[2]["traces"]) == 1  # type: ignore[arg-type]
    record(tmp_path, "print('again')")
    _, body, trailer = facts(tmp_path / "compile.log")
    assert (body, trailer["traces"]) == ([b"again\n"], [])


def test_check_ends_with_the_gate_s_exit_code(tmp_path: Path) -> None:
    clean = record(tmp_path, PRINT_CLEAN, "--check", "-o", "json=report.json")
    assert clean.returncode == 0
    assert b"PASS (exit 0)" in clean.stderr
    assert clean.stderr.splitlines()[-1] == (
        b"fallback-gate: exit code 0 is the gate's: pass; the command itself succeeded"
    )
    blocked = record(tmp_path, BLOCKING, "--check", "-o", "json=report.json")
    assert blocked.returncode == 1
    assert b"exit code 1 is the gate's: blocked" in blocked.stderr.splitlines()[-1]
    report = json.loads((tmp_path / "report.json").read_bytes())
    assert report["recorded"] == {
        "exit_status": 0, "signal": None, "exit_code": 1, "exit_code_of": "gate"
    }  # fmt: skip


def test_check_ends_with_the_command_s_exit_code_where_it_failed(tmp_path: Path) -> None:
    done = record(tmp_path, BLOCKING + "; import sys; sys.exit(42)", "--check", "-o", "json=report.json")
    assert done.returncode == 42
    assert b"exit code 42 is the command's own" in done.stderr.splitlines()[-1]
    report = json.loads((tmp_path / "report.json").read_bytes())
    assert (report["verdict"], report["exit_code"]) == ("blocked", 1)
    assert report["recorded"] == {
        "exit_status": 42, "signal": None, "exit_code": 42, "exit_code_of": "command"
    }  # fmt: skip


@POSIX
@pytest.mark.parametrize(
    ("options", "code"),
    [(("--check",), 1), (("--check", "-o", "text=-"), 1), (("--check", "-p", "missing.yaml"), 2)],
)
def test_a_reader_that_is_gone_changes_no_exit_code(
    options: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "fallback_gate", "record", *options]
            + ["--", sys.executable, "-c", BLOCKING],
            cwd=tmp_path,
            env=environment(),
            stdout=writing,
            stderr=writing,
        )
    finally:
        os.close(writing)
    assert done.returncode == code


def test_a_command_that_compiled_nothing_is_not_told_to_record(tmp_path: Path) -> None:
    done = record(tmp_path, "print('hello')", "--check")
    said = b" ".join(done.stderr.split())
    assert done.returncode == 3
    assert b"the recorded command ran to its end, and no known compiler spoke" in said
    assert b"Record the log" not in said
    (tmp_path / "plain.log").write_text("hello\n", encoding="utf-8")
    assert b"Record the log" in b" ".join(run(tmp_path, "check", "plain.log").stdout.split())


def test_a_command_that_failed_is_not_to_be_judged(tmp_path: Path) -> None:
    failed = record(tmp_path, "import sys; sys.exit(4)")
    assert failed.returncode == 4
    assert b"judge it with" not in failed.stderr
    assert b"the command failed" in failed.stderr.splitlines()[-1]
    assert b"judge it with" in record(tmp_path, "print('ran')").stderr


def test_a_wrong_policy_is_told_before_a_long_run(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("version: 1\nnmae: x\n", encoding="utf-8")
    done = record(tmp_path, "print('ran')", "--check", "--policy", "bad.yaml")
    assert done.returncode == 2
    assert b"ran" not in done.stdout


def test_check_judges_by_all_that_judges_a_log(tmp_path: Path) -> None:
    (tmp_path / "waiver.yaml").write_text(
        "release: r1\nwho: Ada\nwhy: a known one\nexpires: 2026-12-01\nevents: all\n", encoding="utf-8"
    )
    (tmp_path / "own.yaml").write_text(
        "version: 1\nrules:\n- {id: acme/slow, compiler: generic, anchor: 'acme slow', kind: op_fallback,\n"
        "   scope: operator, pattern: 'acme slow (?P<op>\\w+)', matches: [acme slow gate]}\n"
        "- {id: acme/end, compiler: generic, anchor: 'acme end', pattern: 'acme end', ends: true,\n"
        "   proves: [op_fallback], matches: [acme end]}\n",
        encoding="utf-8",
    )
    own = ("--check", "--rules", "own.yaml")
    program = "print('acme slow gate'); print('acme end')"
    assert record(tmp_path, program, *own).returncode == 1
    waived = (*own, "--waiver", "waiver.yaml", "--release", "r1")
    assert record(tmp_path, program, *waived, "--today", "2026-12-01").returncode == 0
    assert record(tmp_path, program, *waived, "--today", "2026-12-02").returncode == 1
    made = run(tmp_path, "baseline", "create", "compile.log", "--rules", "own.yaml", "-o", "b.json")
    assert made.returncode == 0, made.stderr
    assert record(tmp_path, program, *own, "-b", "b.json").returncode == 0
    assert record(tmp_path, program + "; print('acme slow other')", *own, "-b", "b.json").returncode == 1


@pytest.mark.parametrize("option", ["--rules", "--baseline", "--waiver"])
def test_whatever_judges_is_read_before_a_long_run(option: str, tmp_path: Path) -> None:
    done = record(tmp_path, "print('ran')", "--check", option, "missing.yaml")
    assert done.returncode == 2
    assert b"missing.yaml" in done.stderr
    assert b"ran" not in done.stdout


def test_a_waiver_without_its_release_is_told_before_a_long_run(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(
        "release: r1\nwho: Ada\nwhy: a known one\nexpires: 2026-12-01\nevents: all\n", encoding="utf-8"
    )
    done = record(tmp_path, "print('ran')", "--check", "--waiver", "w.yaml")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--release" in done.stderr


@pytest.mark.parametrize(
    "outputs",
    [
        ("html=a-file/x.html",),
        ("html=a-folder",),
        ("html=compile.log",),
        ("html=x", "json=./x"),
        pytest.param(
            ("html=/proc/nope/x.html",), marks=pytest.mark.skipif(sys.platform != "linux", reason="/proc")
        ),
    ],
)
def test_a_place_for_a_report_is_tried_before_a_long_run(outputs: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "a-file").touch()
    (tmp_path / "a-folder").mkdir()
    before = sorted(tmp_path.iterdir())
    options = [word for output in outputs for word in ("-o", output)]
    done = record(tmp_path, "print('ran')", "--check", *options)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"name another place" in done.stderr
    assert [path for path in sorted(tmp_path.iterdir()) if path.name != ".git"] == before


def test_trying_a_place_leaves_no_folder_that_the_command_makes(tmp_path: Path) -> None:
    program = f"import os; os.mkdir('out'); {PRINT_CLEAN}"
    done = record(tmp_path, program, "--check", "-o", "html=out/new/x.html")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "out" / "new").iterdir()] == ["x.html"]


@pytest.mark.parametrize(
    "options",
    [
        ("--policy", "builtin:strict"),
        ("-o", "json=x.json"),
        ("--compilers", "tarch", "--check"),
        ("--baseline", "b.json"),
        ("--today", "2026-12-01", "--release", "r1"),
    ],
)
def test_options_that_make_no_sense(options: tuple[str, ...], tmp_path: Path) -> None:
    done = record(tmp_path, "print('ran')", *options)
    assert done.returncode == 2
    assert b"ran" not in done.stdout


def test_a_missing_rank_is_unproven(tmp_path: Path) -> None:
    record(tmp_path, PRINT_CLEAN, "--expect-ranks", "2")
    verdict = check([tmp_path / "compile.log"], cwd=tmp_path, environ={})
    assert verdict.outcome is Outcome.UNPROVEN
    assert any("expects 2 ranks" in reason for reason in verdict.reasons)


def test_each_rank_recorded_by_itself(tmp_path: Path) -> None:
    for rank in ("0", "1"):
        world = {"RANK": rank, "WORLD_SIZE": "2"}
        record(tmp_path, PRINT_CLEAN, "--log", f"rank{rank}.log", variables=world)
    assert run(tmp_path, "check", "rank0.log").returncode == 3
    assert run(tmp_path, "check", "rank0.log", "rank1.log").returncode == 0


def test_a_rank_in_whose_log_no_compiler_speaks_is_missing(tmp_path: Path) -> None:
    world = {"RANK": "0", "WORLD_SIZE": "2"}
    (tmp_path / "logs").mkdir()
    record(tmp_path, PRINT_CLEAN, "--log", "logs/rank0.log", variables=world)
    record(tmp_path, "print('nothing')", "--log", "logs/rank1.log", variables={**world, "RANK": "1"})
    assert run(tmp_path, "check", "logs").returncode == 3


def test_check_is_told_the_number_of_ranks(tmp_path: Path) -> None:
    (tmp_path / "compile.log").write_bytes(CLEAN.read_bytes())
    done = run(tmp_path, "check", "compile.log", "--expect-ranks", "3")
    assert done.returncode == 3
    assert b"expects 3 ranks" in b" ".join(done.stdout.split())


@POSIX
def test_at_a_terminal_the_command_has_one(tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    program = "import sys; print([s.isatty() for s in (sys.stdin, sys.stdout, sys.stderr)]); print(input())"
    recorder = subprocess.Popen(
        [sys.executable, "-m", "fallback_gate", "record", "--", sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment(),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    os.write(ours, b"typed\n")
    assert recorder.wait(60) == 0
    os.close(ours)
    _, body, _ = facts(tmp_path / "compile.log")
    assert body[-1] == b"typed\n"
    assert b"[True, True, True]\n" in body


def _start(folder: Path, program: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "fallback_gate", "record", "--", sys.executable, "-c", program],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("variable", ["TRITON_INTERPRET", "TORCHDYNAMO_DISABLE"])
def test_a_compiler_that_is_switched_off_is_no_silence(variable: str, tmp_path: Path) -> None:
    record(tmp_path, PRINT_CLEAN, variables={variable: "1"})
    verdict = check([tmp_path / "compile.log"], cwd=tmp_path, environ={})
    assert verdict.outcome is Outcome.UNPROVEN
    assert any(variable in reason for reason in verdict.reasons)
    record(tmp_path, PRINT_CLEAN, variables={variable: "0"})
    assert check([tmp_path / "compile.log"], cwd=tmp_path, environ={}).outcome is Outcome.PASS
