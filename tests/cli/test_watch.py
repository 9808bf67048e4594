"""The front door: `fallback-gate watch`, on the real command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_check import BLOCKING, CLEAN, run

SLEEPER = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(120)"]


def test_a_pipe_is_read_to_its_end_and_judged_as_by_check(tmp_path: Path) -> None:
    for text in (BLOCKING, CLEAN, b"nothing known\n", b""):
        watched, checked = (run(tmp_path, command, "-", stdin=text) for command in ("watch", "check"))
        assert watched.returncode == checked.returncode
        assert watched.stdout.endswith(checked.stdout)
        assert watched.stderr == b""
    watched = run(tmp_path, "watch", "-", stdin=BLOCKING)
    first = watched.stdout.decode().splitlines()[0]
    assert first.startswith("BLOCKED unlisted aten::topk: no generated kernel")
    assert "<stdin>:" in first


def test_a_machine_reads_one_report_and_the_lines_go_to_standard_error(tmp_path: Path) -> None:
    done = run(tmp_path, "watch", "-", "--format", "json", "-o", "junit=r.xml", stdin=BLOCKING)
    assert json.loads(done.stdout)["verdict"] == "blocked"
    assert done.stderr.decode().startswith("BLOCKED unlisted aten::topk")
    assert (tmp_path / "r.xml").exists()


def test_log_text_is_not_obeyed(tmp_path: Path) -> None:
    done = run(tmp_path, "watch", "-", stdin=b"fallback to eager: op=x\x1b[2J##[error]y reason=::error::z\n")
    said = done.stdout.decode()
    assert "BLOCKED" in said
    assert "\x1b" not in said
    assert "##[error]" not in said
    assert not any(line.lstrip().startswith("::") for line in said.splitlines())


@pytest.mark.skipif(sys.platform == "win32", reason="SIGTERM is seen in the status on Unix")
def test_the_job_is_ended_at_the_first_fallback(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(BLOCKING)
    with (
        subprocess.Popen(SLEEPER, stdout=subprocess.PIPE) as other,
        subprocess.Popen(SLEEPER, stdout=subprocess.PIPE) as job,
    ):
        assert job.stdout is not None
        assert job.stdout.readline() == b"up\n"
        done = run(tmp_path, "watch", "a.log", "--stop-pid", str(job.pid))
        assert (done.returncode, job.wait(timeout=30)) == (1, -15)
        assert f"ended process {job.pid}".encode() in done.stderr
        assert other.poll() is None
        other.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are of Unix")
def test_its_group_is_ended_only_where_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(BLOCKING)
    code = f"import subprocess; subprocess.Popen({SLEEPER!r}).wait()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True
    ) as job:
        assert job.stdout is not None
        assert job.stdout.readline() == b"up\n"
        done = run(tmp_path, "watch", "a.log", "--stop-pid", str(job.pid), "--stop-group")
        assert (done.returncode, job.wait(timeout=30)) == (1, -15)
        assert job.stdout.read() == b""  # the sleeper, which held the pipe, has ended too


@pytest.mark.skipif(sys.platform == "win32", reason="whether a process has ended is not known there")
def test_the_end_of_the_job_ends_the_watch(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(CLEAN)
    with subprocess.Popen([sys.executable, "-c", ""]) as job:
        job.wait()
    done = run(tmp_path, "watch", "a.log", "--stop-pid", str(job.pid))
    assert done.returncode == run(tmp_path, "check", "a.log").returncode == 0


def test_a_log_without_an_end_is_judged_when_it_is_idle(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(CLEAN)
    assert run(tmp_path, "watch", "a.log", "--until-idle", "0.3").returncode == 0
    done = run(tmp_path, "watch", "b.log", "--until-idle", "0.3")
    assert done.returncode == 2
    assert b"waiting for b.log" in done.stderr
    assert b"no such file" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--stop-group"],
        ["--stop-pid", "1"],
        ["--stop-pid", "0"],
        ["--exit-on", "hot"],
        ["--until-idle", "0"],
        ["--until-idle", "x"],
    ],
)
def test_what_makes_no_sense_is_refused_at_once(tmp_path: Path, arguments: list[str]) -> None:
    done = run(tmp_path, "watch", "never.log", *arguments)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_it_says_once_that_it_follows_and_how_it_ends(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(CLEAN)
    done = run(tmp_path, "watch", "a.log", "--until-idle", "0.1")
    assert (done.returncode, done.stderr.decode()) == (
        0,
        "fallback-gate: following; it ends when no log has grown for 0.1 s, with Ctrl-C\n",
    )
    with subprocess.Popen(
        [sys.executable, "-m", "fallback_gate", "watch", "a.log"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as endless:  # fmt: skip
        assert endless.stderr is not None
        assert b"it ends with Ctrl-C; --until-idle SECONDS or --stop-pid PID" in endless.stderr.readline()
        endless.kill()
