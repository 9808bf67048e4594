"""Judged by a commit's files, and what the working tree makes of them: `check --policy-ref`, `policy diff`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

LOG = "fallback to eager: op=gate_attn\nfallback to eager: op=aten::topk\n"
BASE = "version: 1\nname: p\nhot: [{op: gate_attn}]\n"
LOOSE = (
    "version: 1\nname: p\ncold: [{op: [gate_attn, 'aten::topk'], reason: r, owner: o, expires: 2027-03-31}]\n"
)
TODAY = "--today=2026-11-30"


def git(folder: Path, *arguments: str) -> str:
    own = {
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "n"), ("EMAIL", "e@x"))},
    }  # fmt: skip
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *arguments],
        cwd=folder,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def gate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-X", "utf8", "-m", "fallback_gate", *arguments]
    return subprocess.run(call, cwd=folder, capture_output=True, encoding="utf-8", timeout=120)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose branch `main` has the strict policy, and whose working tree lets everything go."""
    folder = tmp_path / "work space"
    (folder / "sub").mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "fallback-gate.yaml").write_text(BASE, encoding="utf-8")
    git(folder, "add", "fallback-gate.yaml")
    git(folder, "commit", "-q", "-m", "base")
    git(folder, "checkout", "-q", "-b", "change")
    (folder / "fallback-gate.yaml").write_text(LOOSE, encoding="utf-8")
    (folder / "compile.log").write_text(LOG, encoding="utf-8")
    (folder / "sub" / "compile.log").write_text(LOG, encoding="utf-8")
    return folder


def blocked(done: subprocess.CompletedProcess[str]) -> list[str]:
    report = json.loads(done.stdout)
    return sorted(event["op"] for event in report["events"] if event["decision"] == "blocked")


def test_the_commit_judges_and_the_loosening_is_told(repository: Path) -> None:
    mine = gate(repository, "check", "compile.log", "-f", "json", TODAY)
    assert blocked(mine) == []
    done = gate(repository, "check", "compile.log", "-f", "json", "--policy-ref", "main", TODAY)
    assert (done.returncode, blocked(done)) == (1, ["aten::topk", "gate_attn"]), done.stderr
    policy = json.loads(done.stdout)["policy"]
    assert policy["path"] == "main:fallback-gate.yaml"
    assert policy["revision"] == {"name": "main", "commit": git(repository, "rev-parse", "main")}
    told = [
        (change["direction"], change["key"], change["old"], change["new"]) for change in policy["changes"]
    ]
    assert ("loosened", "hot", "main:fallback-gate.yaml:3", None) in told
    assert ("loosened", "cold", None, "fallback-gate.yaml:3") in told
    text = gate(repository, "check", "compile.log", "--policy-ref", "main", "-v", TODAY).stdout
    assert "judged by main; the working tree has loosened cold: op gate_attn | aten::topk added" in " ".join(
        text.split()
    )


def test_from_a_folder_below_and_by_a_full_path(repository: Path) -> None:
    for policy in ([], ["-p", "../fallback-gate.yaml"], ["-p", str(repository / "fallback-gate.yaml")]):
        done = gate(
            repository / "sub", "check", "compile.log", *policy, "-f", "json", "--policy-ref", "main", TODAY
        )
        assert (done.returncode, blocked(done)) == (1, ["aten::topk", "gate_attn"]), done.stderr


def test_what_a_policy_extends_is_taken_from_the_commit_too(repository: Path) -> None:
    (repository / "fallback-gate.yaml").write_text(
        "version: 1\nname: p\nextends: [shared/hot.yaml]\nunlisted: warn\n", encoding="utf-8"
    )
    (repository / "shared").mkdir()
    (repository / "shared" / "hot.yaml").write_text("version: 1\nhot: [{op: gate_attn}]\n", encoding="utf-8")
    git(repository, "add", "fallback-gate.yaml", "shared")
    git(repository, "commit", "-q", "-m", "split")
    (repository / "shared" / "hot.yaml").write_text("version: 1\n", encoding="utf-8")
    assert blocked(gate(repository, "check", "compile.log", "-f", "json", TODAY)) == []
    done = gate(repository, "check", "compile.log", "-f", "json", "--policy-ref", "HEAD", TODAY)
    assert blocked(done) == ["gate_attn"]
    report = json.loads(done.stdout)
    assert report["events"][0]["rule"]["source"] == "HEAD:shared/hot.yaml:2"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_of_the_working_tree_hides_no_file_of_the_commit(repository: Path) -> None:
    """Two files that the commit extends; the working tree makes one of them a link to the other."""
    (repository / "a.yaml").write_text("version: 1\nunlisted: warn\n", encoding="utf-8")
    (repository / "b.yaml").write_text("version: 1\nhot: [{op: gate_attn}]\n", encoding="utf-8")
    (repository / "fallback-gate.yaml").write_text(
        "version: 1\nextends: [a.yaml, b.yaml]\n", encoding="utf-8"
    )
    git(repository, "add", "a.yaml", "b.yaml", "fallback-gate.yaml")
    git(repository, "commit", "-q", "-m", "two")
    (repository / "b.yaml").unlink()
    (repository / "b.yaml").symlink_to("a.yaml")
    done = gate(repository, "check", "compile.log", "-f", "json", "--policy-ref", "HEAD", TODAY)
    assert blocked(done) == ["gate_attn"], done.stderr


def test_no_policy_at_the_commit_is_the_strict_rule(repository: Path) -> None:
    git(repository, "checkout", "-q", "--orphan", "empty")
    git(repository, "rm", "-q", "-f", "--cached", "fallback-gate.yaml")
    git(repository, "commit", "-q", "--allow-empty", "-m", "nothing")
    for policy in ([], ["-p", "fallback-gate.yaml"]):
        done = gate(repository, "check", "compile.log", *policy, "-f", "json", "--policy-ref", "empty", TODAY)
        assert (done.returncode, blocked(done)) == (1, ["aten::topk", "gate_attn"]), done.stderr
        assert json.loads(done.stdout)["policy"]["path"] is None


def test_a_policy_that_the_working_tree_removed_still_judges(repository: Path) -> None:
    (repository / "fallback-gate.yaml").unlink()
    done = gate(repository, "check", "compile.log", "-f", "json", "--policy-ref", "main", TODAY)
    assert json.loads(done.stdout)["policy"]["path"] == "main:fallback-gate.yaml"


def test_a_baseline_and_a_waiver_of_the_working_tree_excuse_nothing(repository: Path) -> None:
    (repository / "fallback-gate.yaml").write_text("version: 1\nname: p\n", encoding="utf-8")
    git(repository, "commit", "-q", "-a", "-m", "plain")
    marker = 'rules: [{id: own/end, compiler: generic, anchor: all done, pattern: "^all done$", proves: [op_fallback], ends: true, matches: [all done]}]\n'
    (repository / "rules.yaml").write_text("version: 1\n" + marker, encoding="utf-8")
    git(repository, "add", "rules.yaml")
    git(repository, "commit", "-q", "-m", "messages")
    (repository / "compile.log").write_text(LOG + "all done\n", encoding="utf-8")
    made = gate(
        repository, "baseline", "create", "compile.log", "-o", "base.json", "--rules", "rules.yaml", TODAY
    )
    assert made.returncode == 0, made.stderr
    waiver = "release: r1\nwho: me\nwhy: because\nexpires: 2027-01-01\nevents: all\n"
    (repository / "waiver.yaml").write_text(waiver, encoding="utf-8")
    common = ["check", "compile.log", "-f", "json", TODAY, "--rules", "rules.yaml"]
    asked = [["-b", "base.json"], ["--waiver", "waiver.yaml", "--release", "r1"]]
    for options, outcome in zip(asked, ("pass", "waived"), strict=True):
        assert json.loads(gate(repository, *common, *options).stdout)["verdict"] == outcome
        done = gate(repository, *common, *options, "--policy-ref", "HEAD")
        assert json.loads(done.stdout)["verdict"] == "blocked", done.stderr
        assert any("is not at HEAD" in note for note in json.loads(done.stdout)["notes"])
        assert any(c["direction"] == "loosened" for c in json.loads(done.stdout)["policy"]["changes"])
        git(repository, "add", options[1])
        git(repository, "commit", "-q", "-m", "excused")
        done = gate(repository, *common, *options, "--policy-ref", "HEAD")
        assert json.loads(done.stdout)["verdict"] == outcome
        assert json.loads(done.stdout)["policy"]["changes"] == []


def test_how_an_instrument_looks_is_the_commits_to_say(repository: Path) -> None:
    """A kernel that gathers has the fingerprint by default; the working tree looks only above 100% of the memory."""
    samples = Path(__file__).parents[2]
    log = samples / "sample_logs" / "moe-decoder-h200" / "fixed.debug.log.gz"
    counters = samples / "examples" / "missions" / "gathered-experts" / "gathered.ncu.csv.gz"
    plain = "version: 1\nextends: ['builtin:moe-serving']\n"
    (repository / "fallback-gate.yaml").write_text(plain, encoding="utf-8")
    git(repository, "commit", "-q", "-a", "-m", "plain")
    blind = "instruments: {counters: {hbm_above: 100%}}\n"
    (repository / "fallback-gate.yaml").write_text(plain + blind, encoding="utf-8")
    call = ["check", str(log), "--counters", str(counters), "-f", "json", TODAY]
    assert gate(repository, *call).returncode == 0
    done = gate(repository, *call, "--policy-ref", "HEAD")
    assert done.returncode == 1, done.stderr
    assert "hbm_above 70% (by default) -> 100%" in json.loads(done.stdout)["policy"]["changes"][0]["what"]


@pytest.mark.parametrize(
    ("ref", "said"),
    [
        ("nowhere", "names no commit"),
        ("--help", "names no commit"),
        ("--output=x", "no name of a commit"),
        ("main:fallback-gate.yaml", "names no commit"),
        ("a\nb", "no name of a commit"),
        ("", "names no commit"),
    ],
)
def test_a_ref_that_is_none(repository: Path, ref: str, said: str) -> None:
    done = gate(repository, "check", "compile.log", f"--policy-ref={ref}", TODAY)
    assert done.returncode == 2
    assert said in done.stderr or "no name of a commit" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (repository / "x").exists()


def test_without_a_repository(tmp_path: Path) -> None:
    (tmp_path / "compile.log").write_text(LOG, encoding="utf-8")
    done = gate(tmp_path, "check", "compile.log", "--policy-ref", "main")
    assert (done.returncode, "no git repository" in done.stderr) == (2, True)


def test_an_invalid_policy_in_either_place_is_no_verdict(repository: Path) -> None:
    (repository / "fallback-gate.yaml").write_text("version: 1\nhott: []\n", encoding="utf-8")
    done = gate(repository, "check", "compile.log", "--policy-ref", "main", TODAY)
    assert (done.returncode, "fallback-gate.yaml:2: unknown key 'hott'" in done.stderr) == (2, True)
    git(repository, "commit", "-q", "-a", "-m", "bad")
    (repository / "fallback-gate.yaml").write_text(BASE, encoding="utf-8")
    done = gate(repository, "check", "compile.log", "--policy-ref", "HEAD", TODAY)
    assert (done.returncode, "HEAD:fallback-gate.yaml:2: unknown key 'hott'" in done.stderr) == (2, True)


def test_policy_diff_of_two_files_and_of_a_commit(repository: Path) -> None:
    (repository / "base.yaml").write_text(BASE, encoding="utf-8")
    two = gate(repository, "policy", "diff", "base.yaml", "fallback-gate.yaml", "-f", "json", TODAY)
    ref = gate(repository, "policy", "diff", "--ref", "main", "-f", "json", TODAY)
    assert two.returncode == ref.returncode == 1
    reports = [json.loads(done.stdout) for done in (two, ref)]
    assert [[(c["direction"], c["what"]) for c in report["changes"]] for report in reports] == [
        [
            ("loosened", "op gate_attn removed"),
            (
                "loosened",
                "nothing is hot any more: a function that runs eager as a whole no longer counts as hot",
            ),
            ("loosened", "op gate_attn | aten::topk added, until 2027-03-31"),
        ]
    ] * 2
    assert reports[1]["summary"] == {"loosened": 3, "changed": 0, "tightened": 0, "neutral": 0}
    assert reports[1]["old"]["commit"] == git(repository, "rev-parse", "main")
    back = gate(repository, "policy", "diff", "fallback-gate.yaml", "base.yaml", TODAY)
    assert (back.returncode, back.stdout.startswith("NOT LOOSER (exit 0)")) == (0, True)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a.yaml"],
        ["a", "b", "c"],
        ["a", "b", "--waiver", "w"],
        ["--ref", "main", "a", "b"],
        ["a.yaml", "b.yaml"],
    ],
)
def test_policy_diff_says_what_it_wants(repository: Path, arguments: list[str]) -> None:
    done = gate(repository, "policy", "diff", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_policy_diff_writes_reports_beside(repository: Path) -> None:
    done = gate(
        repository,
        "policy",
        "diff",
        "--ref",
        "main",
        "-o",
        "markdown=out.md",
        "-o",
        "json=out.json",
        TODAY,
    )
    assert done.returncode == 1, done.stderr
    assert "| `cold` | loosened | `op gate_attn \\| aten::topk added, until 2027-03-31` |" in (
        repository / "out.md"
    ).read_text(encoding="utf-8")
    assert json.loads((repository / "out.json").read_text(encoding="utf-8"))["result"] == "looser"
    over = gate(
        repository,
        "policy",
        "diff",
        "builtin:strict",
        "fallback-gate.yaml",
        "-o",
        "json=fallback-gate.yaml",
    )
    assert over.returncode == 2
    assert (repository / "fallback-gate.yaml").read_text(encoding="utf-8") == LOOSE
