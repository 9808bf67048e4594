"""Mistakes that newcomers make: each is answered by what to write, in a line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fallback_gate.errors import PolicyError
from fallback_gate.gate import check
from fallback_gate.policy import load
from tests.policy.make import TODAY, written

ROOT = Path(__file__).parents[2]
LOG = ROOT / "sample_logs" / "moe-decoder-h200" / "fixed.debug.log.gz"
FILES = {
    "policy.yaml": "version: 1\nhot: [{op: a}]\nunlisted: warn\n",
    "waiver.yaml": "release: r\nwho: me\nwhy: because\nexpires: 2027-01-01\nevents: all\n",
    "baseline.json": '{"schema": "fallback-gate/baseline-1", "tool": {}, "policy": {}, "entries": []}\n',
    "report.json": '{"schema": "fallback-gate/1", "verdict": "pass", "processes": [], "events": []}\n',
}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hot:\n\t- {op: a}\n", "indent with blanks, not with tabs"),
        ("cold:\n  - op: a\n    reason: known: slow\n", "put quotes around text that holds `: `"),
        ("hot: [{op: a, reason: x}]\n", "a hot entry says so as `why`"),
        ("hot: [{op: a, owner: x}]\n", "a hot entry has none"),
        ("unlisted: allow\n", "`warn` lets it pass with a warning"),
        ("extends: [llm-decode]\n", "builtin:llm-decode"),
    ],
)
def test_policies(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load(written(tmp_path, f"version: 1\n{text}"), TODAY)
    assert words in caught.value.problems[0]


@pytest.mark.parametrize(
    ("wanted", "given", "words"),
    [
        ("policy", "waiver.yaml", "this is a waiver, no policy; give it with --waiver"),
        ("policy", "report.json", "this is a JSON report of fallback-gate, no policy"),
        ("policy", "baseline.json", "this is a baseline, no policy; give it with --baseline"),
        ("baseline", "report.json", "this is a JSON report of fallback-gate, no baseline"),
        ("baseline", "policy.yaml", "this is a policy, no baseline; give it with --policy"),
        ("waiver_file", "policy.yaml", "this is a policy, no waiver; give it with --policy"),
        ("waiver_file", "report.json", "this is a JSON report of fallback-gate, no waiver"),
    ],
)
def test_a_file_in_the_place_of_another(tmp_path: Path, wanted: str, given: str, words: str) -> None:
    (tmp_path / given).write_text(FILES[given], encoding="utf-8")
    asked = {wanted: str(tmp_path / given)}
    with pytest.raises(PolicyError) as caught:
        check(LOG, **asked, release="r")  # type: ignore[arg-type]
    (problem,) = caught.value.problems
    assert words in problem


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "x", "--junit", "r.xml"], "Did you mean '-o junit=PATH'?"),
        (["check", "x", "--today", "30.11.2026"], "write it as YYYY-MM-DD"),
        (["explain", "aten::sort"], "which looks like an operator"),
        (["explain", "waiver"], "docs/policy.md"),
        (["explain", "budgets"], "docs/policy.md"),
        (["explain", "torch/graph-brake"], "the nearest is torch/graph-break"),
    ],
)
def test_commands(arguments: list[str], words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "fallback_gate", *arguments], capture_output=True, text=True)
    assert done.returncode == 2
    assert words in done.stderr
    assert "the nearest is" not in done.stderr or "graph-break" in done.stderr
