"""The walk beside a job that runs: what is told while logs grow, and the verdict at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import pytest

from fallback_gate import check
from fallback_gate.errors import InputError
from fallback_gate.judging.files import Names
from fallback_gate.judging.terms import Options, terms
from fallback_gate.model import Decision, Finding, Outcome
from fallback_gate.walks.watch import Watch
from tests.compilers.lines import clean, graph_break

POLICY = """
version: 1
name: mine
hot: [{op: "gate_attn", why: every token}]
cold: [{op: "aten::topk", reason: warm-up, owner: me, expires: 2099-01-01, max_count: 1}]
"""
HOT = graph_break(
    "Graph break in user code at /app/a.py:3",
    "Graph Break Reason: Unsupported Tensor.item() call",
    "User code traceback:",
    '  File "/app/a.py", line 3, in gate_attn',
    "    x.item()",
)


class Job:
    """A log that is written to, line by line, and what a watch of it tells."""

    def __init__(self, folder: Path, logs: Sequence[str] = ("a.log",), policy: str = POLICY) -> None:
        (folder / "p.yaml").write_text(policy, encoding="utf-8")
        self.folder, self.told = folder, list[Finding]()
        by = terms(Names(str(folder / "p.yaml")), Options(date(2026, 11, 30)), folder, {})
        self.watch = Watch(logs, by, self.told.append, cwd=folder, environ={})

    def write(self, *lines: str, log: str = "a.log", end: str = "\n") -> None:
        with (self.folder / log).open("a", encoding="utf-8", newline="\n") as file:
            file.write("\n".join(lines) + end)

    def until(self, done: Callable[[], object]) -> tuple[Finding, ...]:
        """Step until this is so, at most for half a minute; the last findings."""
        last: tuple[Finding, ...] = ()
        for _ in range(150):
            last = self.watch.step() or last
            if done():
                return last
        raise AssertionError("it did not come to pass")


def test_each_fallback_is_told_as_it_comes_and_the_verdict_is_that_of_check(tmp_path: Path) -> None:
    job = Job(tmp_path)
    assert job.watch.missing == ["a.log"]
    first, *rest = clean("buf1 = torch.ops.aten.topk.default(buf0, 2)")
    job.write(first)
    job.write(*rest)
    job.until(lambda: job.told)
    assert [(f.event.op, f.decision) for f in job.told] == [("aten::topk", Decision.ALLOWED)]
    job.write(*HOT)
    findings = job.until(lambda: len(job.told) == 2)
    assert (job.told[1].event.op, job.told[1].event.line) == ("gate_attn", 1 + len(rest) + 1)
    assert job.watch.forbids(findings, hot_only=True)
    job.watch.drain()
    verdict, whole = job.watch.verdict(), check(["a.log"], tmp_path / "p.yaml", cwd=tmp_path, environ={})
    assert verdict.outcome is whole.outcome is Outcome.BLOCKED
    assert verdict.findings == whole.findings
    assert verdict.processes == whole.processes
    assert len(job.told) == 2


def test_a_line_that_is_not_whole_is_not_judged(tmp_path: Path) -> None:
    job = Job(tmp_path, policy="version: 1\nname: all\n")
    job.write(*HOT[:-1])
    job.write(HOT[-1], 'V1130 00:29:06.251000 4674 torch/x.py:1] [0/0] TRACE "fallback to eager: op=', end="")
    job.until(lambda: job.told)
    assert [finding.event.op for finding in job.told] == ["gate_attn"]
    job.watch.stop()
    assert job.watch.verdict().outcome is Outcome.BLOCKED


def test_a_limit_that_is_exceeded_forbids(tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.write(
        "fallback to eager: op=aten::topk in /app/a.py:1",
        *clean("buf1 = torch.ops.aten.topk.default(buf0, 2)"),
    )
    findings = job.until(lambda: job.told)
    assert not job.watch.forbids(findings, hot_only=True)
    job.watch.drain()
    verdict = job.watch.verdict()
    assert job.watch.forbids(verdict.findings, hot_only=False) is (verdict.outcome is Outcome.BLOCKED)


def test_ranks_that_come_late_are_followed(tmp_path: Path) -> None:
    job = Job(tmp_path, ["rank*.log"])
    for rank in range(2):
        job.write(*HOT, log=f"rank{rank}.log")
        job.until(lambda rank=rank: any(f"rank{rank}.log" in p.log for f in job.watch._so_far() for p in f.event.processes))  # type: ignore[misc] # fmt: skip
    job.watch.drain()
    verdict = job.watch.verdict()
    assert sorted(log.path for log in verdict.logs) == ["rank0.log", "rank1.log"]
    assert [(f.event.op, f.event.count) for f in verdict.findings] == [("gate_attn", 2)]


def test_a_log_that_does_not_come_is_an_input_that_could_not_be_read(tmp_path: Path) -> None:
    job = Job(tmp_path, ["a.log", "b.log"])
    job.write(*HOT)
    job.watch.drain()
    verdict = job.watch.verdict()
    assert (verdict.exit_code, verdict.outcome) == (2, None)
    assert verdict.errors == ("b.log: no such file: it did not come while it was awaited",)
    nothing = Job(tmp_path, ["c.log"])
    nothing.watch.drain()
    with pytest.raises(InputError, match=r"c\.log: no such file"):
        nothing.watch.verdict()


def test_a_log_that_was_cut_short_is_unproven(tmp_path: Path) -> None:
    job = Job(tmp_path, policy="version: 1\nname: all\nunlisted: warn\n")
    job.write(*clean("buf1 = torch.ops.aten.topk.default(buf0, 2)"))
    job.until(lambda: job.told)
    assert check(["a.log"], tmp_path / "p.yaml", cwd=tmp_path, environ={}).outcome is Outcome.PASS
    os.truncate(tmp_path / "a.log", 0)
    job.write(*clean())
    job.watch.drain()
    verdict = job.watch.verdict()
    assert verdict.outcome is Outcome.UNPROVEN
    assert "cut short" in (verdict.logs[0].problem or "")


@pytest.mark.parametrize("logs", [[""], ["a.zip"]])
def test_what_can_not_grow_is_refused(tmp_path: Path, logs: list[str]) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.log", "text")
    with pytest.raises(InputError):
        Job(tmp_path, logs)
