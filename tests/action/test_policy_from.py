"""A pull request that loosens its own policy: the summary says so, and the base branch's can judge it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.action.runner import ROOT, Run, run

HERE = {"found": {"python": "python3"}, "install": {"python": sys.executable}}
LOG = "fallback to eager: op=gate_attn\nall done\n"
RULES = "rules: [{id: own/end, compiler: generic, anchor: all done, pattern: '^all done$', proves: [op_fallback], ends: true, matches: [all done]}]\n"
STRICT = f"version: 1\nhot: [{{op: gate_attn}}]\n{RULES}"
LOOSE = f"version: 1\ncold: [{{op: gate_attn, reason: '| <b>x</b> ::error::x', owner: o, expires: 2099-01-01}}]\n{RULES}"


def git(folder: Path, *arguments: str) -> str:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    own |= {f"GIT_{who}_{what}": "n@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    call = ["git", "-c", "init.defaultBranch=main", *arguments]
    done = subprocess.run(
        call, cwd=folder, env={**os.environ, **own}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository with the strict policy on `main` and the loose one on `change`."""
    folder = tmp_path / "origin"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    for branch, text in (("main", STRICT), ("change", LOOSE)):
        if branch == "change":
            git(folder, "checkout", "-q", "-b", branch)
        (folder / "fallback-gate.yaml").write_text(text, encoding="utf-8")
        (folder / "compile.log").write_text(LOG, encoding="utf-8")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", branch)
    return folder


def act(tmp_path: Path, origin: Path, event: dict[str, Any], *, reachable: bool = True, **inputs: str) -> Run:
    """The Action in a shallow checkout of the pull request, as `actions/checkout` leaves it."""
    workspace = tmp_path / "work space"
    git(tmp_path, "clone", "-q", "--depth=1", "--branch=change", origin.as_uri(), str(workspace))
    if not reachable:
        git(workspace, "remote", "set-url", "origin", (tmp_path / "gone").as_uri())
    file = tmp_path / "event.json"
    file.write_text(json.dumps(event), encoding="utf-8")
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    return run(workspace, {"logs": "compile.log", **given}, HERE, environ={"GITHUB_EVENT_PATH": str(file)})


def pull(origin: Path) -> dict[str, Any]:
    return {"pull_request": {"base": {"sha": git(origin, "rev-parse", "main")}}}


def test_the_summary_says_what_the_pull_request_loosens(tmp_path: Path, origin: Path) -> None:
    done = act(tmp_path, origin, pull(origin))
    assert (done.code, done.outputs["verdict"], done.outputs["loosened"]) == (0, "pass", "3"), done.log
    assert "⚠️ The policy may let more pass: 3 changes" in done.summary
    assert "| `hot` | loosened | `op gate_attn removed` |" in done.summary
    assert "::warning title=fallback-gate::the pull request may let more pass: 3 changes" in done.log
    assert "<b>" not in done.summary


def test_the_base_branch_judges(tmp_path: Path, origin: Path) -> None:
    done = act(tmp_path, origin, pull(origin), policy_from="base")
    assert (done.code, done.outputs["verdict"], done.outputs["loosened"]) == (1, "blocked", "3"), done.log
    report = json.loads(Path(done.outputs["report-json"]).read_text(encoding="utf-8"))
    assert report["policy"]["revision"]["commit"] == git(origin, "rev-parse", "main")


def test_in_a_merge_queue(tmp_path: Path, origin: Path) -> None:
    queue = {"merge_group": {"base_sha": git(origin, "rev-parse", "main")}}
    done = act(tmp_path, origin, queue, policy_from="base")
    assert (done.code, done.outputs["verdict"]) == (1, "blocked"), done.log


@pytest.mark.parametrize(
    "event", [{}, {"pull_request": None}, {"pull_request": {"base": {"sha": "--upload-pack=x"}}}]
)
def test_other_events_have_nothing_to_compare(tmp_path: Path, origin: Path, event: dict[str, Any]) -> None:
    done = act(tmp_path, origin, event, policy_from="base")
    assert (done.code, done.outputs["verdict"], done.outputs["loosened"]) == (0, "pass", ""), done.log
    assert "let more pass" not in done.summary


def test_a_commit_that_is_not_to_be_had(tmp_path: Path, origin: Path) -> None:
    done = act(tmp_path, origin, pull(origin), reachable=False)
    assert (done.code, done.outputs["verdict"], done.outputs["loosened"]) == (0, "pass", ""), done.log
    assert "the policy was not compared" in done.summary


def test_no_commit_no_verdict_where_it_was_to_judge(tmp_path: Path, origin: Path) -> None:
    done = act(tmp_path, origin, pull(origin), reachable=False, policy_from="base")
    assert (done.code, done.outputs["verdict"], done.outputs["exit-code"]) == (2, "", "2"), done.log
    assert "fetch-depth" in done.log


def test_a_base_whose_policy_is_not_valid(tmp_path: Path, origin: Path) -> None:
    git(origin, "checkout", "-q", "main")
    (origin / "fallback-gate.yaml").write_text("version: 1\nhott: []\n", encoding="utf-8")
    git(origin, "commit", "-q", "-a", "-m", "bad")
    event = pull(origin)
    done = act(tmp_path, origin, event)
    assert (done.code, done.outputs["verdict"], done.outputs["loosened"]) == (0, "pass", ""), done.log
    assert "is not valid" in done.summary


def test_an_input_that_is_neither(tmp_path: Path, origin: Path) -> None:
    done = act(tmp_path, origin, {}, policy_from="main")
    assert done.code == 2
    assert "policy-from: 'main' is none of head, base" in done.log


def test_the_page_shows_what_the_action_has() -> None:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    assert "`policy-from`" in page
    assert "`loosened`" in page
