"""Room 3: a log that says itself that lines of it are missing proves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from fallback_gate import check
from fallback_gate.compilers import log as logs
from fallback_gate.compilers import lost
from fallback_gate.model import Outcome

CLEAN = Path(__file__).parents[1] / "data" / "clean.2.9.1.log"

SAYS = [
    "#12 1.94 [output clipped, log limit 200KiB/s reached]",
    "[output clipped, log limit 2MiB reached]",
    "Nov 30 12:00:01 build systemd-journald[312]: Suppressed 3812 messages from build.service",
    "rsyslogd: imjournal: 1200 messages lost due to rate-limiting",
    "rsyslogd: imuxsock[pid 7]: begin to drop messages due to rate-limiting",
    "... suppressed 120 messages",
    "[... 1234 lines omitted ...]",
    "... 17 more lines truncated",
    "[469B blob data]",
    "[1.2K blob data]",
    "[...truncated 1,234 lines...]",
    "Skipping 3,456 KB.. Full Log",
    "This step has been truncated due to its large size. Download the full logs from the menu once the workflow run has completed.",
    "Job's log exceeded limit of 4194304 bytes.",
    "The log length has exceeded the limit of 4 MB (this usually means that the test suite is raising the same exception over and over).",
    "Your build output is too large to display in the browser.",
    "--More--",
]
SAYS_NOT = [
    "served 12 requests, 3 messages from the queue",
    "the suppressed 3 messages of this test are listed below",
    "UserWarning: Suppressed 2 warnings",
    "def f(): return 'lines omitted'",
    "# ... lines omitted",
    "the loss is lost",
    "blob data] is not a line of journalctl",
    "uploaded [469B blob data] to the store",
    "input was truncated due to its large size of 4096 tokens",
    "net_ratelimit: 12 callbacks suppressed",
    "git log --more",
]


@pytest.mark.parametrize("line", SAYS)
def test_a_line_that_says_so(line: str, tmp_path: Path) -> None:
    assert any(phrase in line for phrase in lost.PHRASES)
    text = CLEAN.read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "compile.log"
    path.write_text("".join(text), encoding="utf-8")
    assert check(path, environ={}).outcome is Outcome.PASS
    for at in (0, len(text) // 2, len(text)):
        path.write_text("".join([*text[:at], line + "\n", *text[at:]]), encoding="utf-8")
        verdict = check(path, environ={})
        assert verdict.outcome is Outcome.UNPROVEN
        whys = {proof.why for process in verdict.processes for compiler in process.compilers for proof in compiler.proof.values()}  # fmt: skip
        assert any(why.startswith("lines are missing, as the log says itself: ") for why in whys)


@pytest.mark.parametrize("line", SAYS_NOT)
def test_a_line_that_does_not(line: str) -> None:
    assert lost.told(line) is None


def test_more_processes_than_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MOST_PROCESSES", 3)
    text = CLEAN.read_text(encoding="utf-8")
    (pid,) = {line.split()[2] for line in text.splitlines() if line.startswith("I1130")}
    path = tmp_path / "compile.log"
    for count, outcome in ((3, Outcome.PASS), (4, Outcome.UNPROVEN)):
        path.write_text(
            "".join(text.replace(f" {pid} ", f" {n} ") for n in range(7, 7 + count)), encoding="utf-8"
        )
        verdict = check(path, environ={})
        assert verdict.outcome is outcome
        assert len(verdict.processes) <= 4
