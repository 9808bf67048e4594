"""The hooks under the real pre-commit: which files, which stage, which command. The installed command runs them.

`make test-action` lets pre-commit install them itself; here their language alone is changed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.action.hooks import repository
from tests.action.runner import ROOT

MANIFEST: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
GOOD = "version: 1\nextends: ['builtin:moe-serving']\nlogs: [good.log.gz]\n"
BAD = GOOD.replace("good", "bad")


CASE = "tests:\n  - name: the repaired build\n    logs: [good.log.gz]\n    verdict: {}\n"


def pre_commit(
    folder: Path, *arguments: str, policy: str = GOOD, **files: str
) -> subprocess.CompletedProcess[str]:
    hooks = [{**hook, "language": "system"} for hook in MANIFEST]
    config = yaml.safe_dump({"repos": [{"repo": "local", "hooks": hooks}]})
    repository(folder, {"fallback-gate.yaml": policy, ".pre-commit-config.yaml": config, **files})
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--all-files", *arguments],
        cwd=folder,
        env={**os.environ, "PATH": path, "PRE_COMMIT_HOME": str(folder / ".git" / "cache"), "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )


def test_the_manifest_is_valid() -> None:
    subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-manifest", ".pre-commit-hooks.yaml"],
        cwd=ROOT,
        check=True,
    )
    assert {hook["language"] for hook in MANIFEST} == {"python"}


def test_a_commit_lints_and_tests_the_policy_and_judges_no_log(tmp_path: Path) -> None:
    done = pre_commit(tmp_path / "user", policy=BAD + CASE.format("pass"))
    assert done.returncode == 0, done.stdout
    assert "fallback-gate policy lint" in done.stdout
    assert "fallback-gate policy test" in done.stdout
    assert "fallback-gate check" not in done.stdout


def test_a_broken_policy_stops_the_commit(tmp_path: Path) -> None:
    done = pre_commit(tmp_path / "user", "fallback-gate-policy-lint", policy="version: 1\nhott: []\n")
    assert done.returncode == 1
    assert "hott" in done.stdout


def test_a_case_that_is_wrong_stops_the_commit(tmp_path: Path) -> None:
    done = pre_commit(tmp_path / "user", "fallback-gate-policy-test", policy=GOOD + CASE.format("blocked"))
    assert done.returncode == 1
    assert "the repaired build" in done.stdout


def test_only_policies_are_linted(tmp_path: Path) -> None:
    other = "hott: []\n"
    files = {"other.yaml": other, "config/policies/x.yaml": other, "my-fallback-gate.yaml": other}
    done = pre_commit(tmp_path / "user", "fallback-gate-policy-lint", **files)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "name", ["policies/decode.yaml", "model/.fallback-gate.yaml", ".github/fallback-gate.yaml"]
)
def test_a_policy_is_linted_wherever_it_stands(tmp_path: Path, name: str) -> None:
    done = pre_commit(tmp_path / "user", "fallback-gate-policy-lint", **{name: "version: 1\nhott: []\n"})
    assert done.returncode == 1
    assert f"{name}:2" in done.stdout.replace("\\", "/")


@pytest.mark.parametrize(("policy", "code", "verdict"), [(GOOD, 0, "PASS"), (BAD, 1, "BLOCKED")])
@pytest.mark.parametrize("stage", ["manual", "pre-push"])
def test_a_push_judges_the_logs_that_the_policy_names(
    tmp_path: Path, stage: str, policy: str, code: int, verdict: str
) -> None:
    arguments = ["fallback-gate-check", "--verbose", "--hook-stage", stage]
    done = pre_commit(tmp_path / "user", *arguments, policy=policy)
    assert done.returncode == code, done.stdout
    assert verdict in done.stdout
