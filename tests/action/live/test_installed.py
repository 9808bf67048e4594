"""The whole Action, its own environment included, and the hooks in pre-commit's. `make test-action`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.action.hooks import repository
from tests.action.runner import ROOT, run
from tests.action.test_action import DISABLED, FIXED, SAMPLES


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a user of the Action gets: the files of the repository, and no environment or cache of ours."""
    folder = tmp_path_factory.mktemp("release") / "gate"
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Release")
    return folder


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=tester", "-c", "user.email=tester@example.com"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True)


def test_the_action_installs_the_checkout_and_judges(checkout: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "work space"
    workspace.mkdir()
    for name in (FIXED, DISABLED):
        (workspace / name).write_bytes((SAMPLES / name).read_bytes())
    # a folder that would shadow the gate and its libraries, were the workspace searched for modules
    for name in ("fallback_gate", "click", "hyperscan", "json"):
        (workspace / name).mkdir()
        (workspace / name / "__init__.py").write_text("raise SystemExit(0)\n", encoding="utf-8")
    foreign = {"PIP_TARGET": str(tmp_path / "elsewhere"), "PIP_USER": "1", "PYTHONPATH": str(workspace)}
    done = run(workspace, {"logs": FIXED, "policy": "builtin:moe-serving"}, None, checkout, foreign)
    assert (done.code, done.outputs["verdict"]) == (0, "pass"), done.log
    assert not (tmp_path / "elsewhere").exists()
    assert not done.changed
    assert not done.used
    done = run(
        workspace,
        {"command": f"gzip -dc {DISABLED}", "policy": "builtin:moe-serving"},
        None,
        checkout,
        foreign,
    )
    assert (done.code, done.outputs["verdict"]) == (1, "blocked"), done.log


def test_a_changed_hash_installs_nothing(checkout: Path, tmp_path: Path) -> None:
    lock = checkout / "requirements" / "action.txt"
    text = lock.read_text(encoding="utf-8")
    try:
        lock.write_text(text.replace("--hash=sha256:", "--hash=sha256:0000"), encoding="utf-8")
        done = run(tmp_path, {"logs": "any.log"}, None, checkout)
    finally:
        lock.write_text(text, encoding="utf-8")
    assert (done.code, done.outputs["verdict"]) == (2, ""), done.log
    assert "::error title=fallback-gate::Not installed" in done.log


@pytest.mark.parametrize(
    ("hook", "policy", "code"),
    [
        ("fallback-gate-policy-lint", "version: 1\n", 0),
        ("fallback-gate-policy-lint", "version: 1\nhott: []\n", 1),
        ("fallback-gate-check", "version: 1\nextends: ['builtin:moe-serving']\nlogs: [good.log.gz]\n", 0),
        ("fallback-gate-check", "version: 1\nextends: ['builtin:moe-serving']\nlogs: [bad.log.gz]\n", 1),
    ],
)
def test_a_hook_runs_as_pre_commit_installs_it(
    checkout: Path, tmp_path: Path, hook: str, policy: str, code: int
) -> None:
    folder = repository(tmp_path / "user", {"fallback-gate.yaml": policy})
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pre_commit",
            "try-repo",
            str(checkout),
            hook,
            "--all-files",
            "--hook-stage",
            "manual",
        ],
        cwd=folder,
        env={**os.environ, "PRE_COMMIT_HOME": str(checkout.parent / "pre-commit")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == code, done.stdout
    assert ("Failed" if code else "Passed") in done.stdout
