"""The Action with what other commands give it: a recording, a baseline, a number of ranks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.action.runner import run
from tests.action.test_action import DISABLED, FIXED, HERE, act, obeyed, workspace

__all__ = ["workspace"]  # the fixture


def test_a_baseline_lets_what_it_holds_stay(workspace: Path) -> None:
    (workspace / "policy.yaml").write_text("version: 1\n", encoding="utf-8")
    assert act(workspace, FIXED, policy="policy.yaml").outputs["verdict"] == "blocked"
    create = [sys.executable, "-m", "fallback_gate", "baseline", "create", "--output", "known.json"]
    subprocess.run([*create, "--policy", "policy.yaml", FIXED], cwd=workspace, check=True)
    done = act(workspace, FIXED, policy="policy.yaml", baseline="known.json")
    assert (done.code, done.outputs["verdict"]) == (0, "pass"), done.log
    done = act(workspace, DISABLED, policy="policy.yaml", baseline="known.json")
    assert (done.code, done.outputs["verdict"]) == (1, "blocked"), done.log


def test_a_baseline_that_is_missing_is_an_error(workspace: Path) -> None:
    done = act(workspace, FIXED, baseline="missing.json")
    assert (done.code, done.outputs["verdict"]) == (2, ""), done.log
    assert any(line.startswith("::error") and "missing.json" in line for line in obeyed(done.log))


def test_a_missing_rank_is_unproven(workspace: Path) -> None:
    done = act(workspace, FIXED, expect_ranks="2")
    assert (done.code, done.outputs["verdict"]) == (3, "unproven"), done.log


def test_a_command_is_recorded_and_judged(workspace: Path) -> None:
    command = f"cd .\ngzip -dc {DISABLED} | cat  # a pipe, and 'quotes'\necho \"$0 done\" >&2"
    done = run(workspace, {"command": command, "policy": "builtin:moe-serving"}, HERE)
    assert (done.code, done.outputs["verdict"]) == (1, "blocked"), done.log
    assert "bash done" in done.log


def test_a_recording_without_a_compiler_counts_as_unproven(workspace: Path) -> None:
    done = run(workspace, {"command": "echo nothing to compile", "policy": "builtin:strict"}, HERE)
    assert (done.code, done.outputs["verdict"], done.outputs["unproven"]) == (3, "unproven", "1"), done.log
    assert "not judged" not in done.summary


@pytest.mark.skipif(os.name == "nt", reason="bash names folders its own way there")
def test_a_command_sees_the_job_as_it_is(workspace: Path) -> None:
    done = run(workspace, {"command": "env; pwd; command -v python3"}, HERE, environ={"MINE": "yes"})
    lines = done.log.splitlines()
    assert "MINE=yes" in lines
    assert str(workspace) in lines
    assert not [line for line in lines if line.startswith(("INPUT_", "GATE_PYTHON", "PYTHON="))]


@pytest.mark.parametrize(("last", "code"), [("exit 5", 5), ("false | true", 1), ("unset_command", 127)])
def test_a_command_that_fails_fails_the_job_whatever_the_verdict(
    workspace: Path, last: str, code: int
) -> None:
    command = f"gzip -dc {FIXED}\n{last}"
    inputs = {"command": command, "policy": "builtin:moe-serving", "fail-on": "never"}
    done = run(workspace, inputs, HERE)
    assert done.code == code, done.log
    assert done.outputs["verdict"]
    told = f"::error title=fallback-gate::the recorded command ended with exit code {code}"
    assert told in obeyed(done.log)
