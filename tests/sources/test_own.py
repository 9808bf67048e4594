"""Room 1: reports of our own beside logs, and what only looks like one."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fallback_gate import check
from fallback_gate.model import Outcome, Verdict

CLEAN = Path(__file__).parents[1] / "data" / "clean.2.9.1.log"
BLOCKING = "fallback to eager: op=gate_attn\n"
QUOTING = {"html": "report.html", "junit": "report.xml", "markdown": "report.md", "text": "report.txt"}


def judged(folder: Path, *names: str) -> Verdict:
    return check(list(names) or ["logs"], cwd=folder, environ={})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`logs/` with a clean log, and reports on another one that is blocked."""
    (tmp_path / "logs").mkdir()
    (tmp_path / ".git").mkdir()
    shutil.copy(CLEAN, tmp_path / "logs" / "clean.log")
    (tmp_path / "other.log").write_text(BLOCKING, encoding="utf-8")
    options = [f"-o{name}={Path('logs', file)}" for name, file in QUOTING.items()]
    call = [sys.executable, "-m", "fallback_gate", "check", "other.log", *options]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == 1, done.stderr
    for name in QUOTING.values():  # what a compiler prints may be quoted in any report
        assert (tmp_path / "logs" / name).stat().st_size
    return tmp_path


def quoted(line: str) -> str:
    """A text that holds a line, marked as a report is: found by hand from the mark's definition."""
    digest = hashlib.sha256(line.encode()).hexdigest()
    return f"{line}fallback-gate report sha256:{digest}\n"


def test_reports_beside_logs_are_not_read(folder: Path) -> None:
    verdict = judged(folder)
    assert verdict.outcome is Outcome.PASS
    names = [str(Path("logs", name)) for name in sorted(QUOTING.values())]
    assert list(verdict.notes) == [f"{name}: a report of fallback-gate, not read" for name in names]
    assert [log.path for log in verdict.logs if log.outcome is None] == names


def test_reports_alone_prove_nothing(folder: Path) -> None:
    (folder / "logs" / "clean.log").unlink()
    assert judged(folder).outcome is Outcome.UNPROVEN


def test_a_report_that_is_named_is_read(folder: Path) -> None:
    (folder / "marked.log").write_text(quoted(BLOCKING), encoding="utf-8")
    assert judged(folder, "marked.log").outcome is Outcome.BLOCKED
    assert judged(folder, "logs", "marked.log").outcome is Outcome.BLOCKED
    assert judged(folder, "marked*", "logs").outcome is Outcome.PASS


@pytest.mark.parametrize(
    "text",
    [
        quoted("") + BLOCKING,  # at the start
        quoted(BLOCKING) + BLOCKING,
        quoted(BLOCKING).replace("gate_attn", "gate_at"),
        BLOCKING + quoted("").strip() + "\n",
        quoted(BLOCKING).replace("\n", "\r\n"),
        quoted(BLOCKING) + "\n",
        BLOCKING + f"fallback-gate report sha256:{'0' * 64}\n",
    ],
)
def test_a_log_can_not_hide_behind_the_mark(text: str, folder: Path) -> None:
    (folder / "logs" / "rank0.log").write_text(text, encoding="utf-8", newline="")
    verdict = judged(folder)
    assert verdict.outcome is Outcome.BLOCKED
    assert [str(finding.event.log) for finding in verdict.findings] == [str(Path("logs", "rank0.log"))]


@pytest.mark.skipif(os.name != "posix", reason="a device to write to")
def test_what_goes_to_a_device_bears_no_mark(folder: Path) -> None:
    call = [sys.executable, "-m", "fallback_gate", "check", "other.log", "-otext=/dev/stderr"]
    done = subprocess.run(call, cwd=folder, capture_output=True, timeout=120)
    assert b"BLOCKED" in done.stderr
    assert b"sha256:" not in done.stderr


def test_watch_leaves_reports_out_too(folder: Path) -> None:
    call = [sys.executable, "-m", "fallback_gate", "watch", "logs", "--until-idle", "0.1"]
    done = subprocess.run(call, cwd=folder, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stdout
    assert b"report.html: a report of fallback-gate, not read" in done.stdout
