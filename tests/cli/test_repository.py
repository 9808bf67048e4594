"""The front door: which file of the repository a compiler means."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from fallback_gate.cli.repository import repository
from fallback_gate.model import Location, PolicySummary, RuleSource
from tests.reports import sample


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("model/decoder.py", "train.py", "ci/gate.yaml", "src/model/decoder.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n" * 50, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    return tmp_path


def found(folder: Path, file: str, line: int = 42, **environ: str) -> str | None:
    run = sample.blocked_run(findings=(sample.blocked(location=Location(file, line, "f")),))
    return repository(run, folder, environ).files.get(file)


@pytest.mark.parametrize(
    ("said", "there"),
    [
        ("model/decoder.py", "model/decoder.py"),
        ("./model/decoder.py", "model/decoder.py"),
        ("/app/model/decoder.py", "model/decoder.py"),
        ("/workspace/src/model/decoder.py", "src/model/decoder.py"),
        ("C:\\ci\\model\\decoder.py", "model/decoder.py"),
        ("/app/train.py", "train.py"),
        ("/opt/conda/lib/python3/train.py", None),  # by its last part alone, deep in another tree
        ("/usr/lib/python3/site-packages/model/decoder.py", None),
        ("/app/../model/decoder.py", None),
        ("/app/other.py", None),
        ("<eval_with_key>.0", None),
        ("", None),
    ],
)
def test_found_by_the_end_of_its_path(root: Path, said: str, there: str | None) -> None:
    assert found(root, said) == there


def test_only_where_the_line_is_in_it(root: Path) -> None:
    assert found(root, "/app/model/decoder.py", 50) == "model/decoder.py"
    assert found(root, "/app/model/decoder.py", 52) is None


def test_from_the_top_of_the_repository(root: Path) -> None:
    assert found(root / "model", "decoder.py") == "model/decoder.py"
    assert found(root / "model", "/app/model/decoder.py") == "model/decoder.py"


def test_the_checkout_that_the_ci_system_names(root: Path) -> None:
    assert found(root / "model", "/app/decoder.py", GITHUB_WORKSPACE=str(root / "model")) == "decoder.py"
    assert found(root, "/app/train.py", GITHUB_WORKSPACE="/elsewhere") == "train.py"


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_nothing_outside(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("elsewhere") / "outside.py"
    outside.write_text("x\n" * 50, encoding="utf-8")
    assert found(root, str(outside)) is None
    (root / "link.py").symlink_to(outside)
    assert found(root, "link.py") is None


def test_policies(root: Path) -> None:
    inherited = replace(sample.blocked(), rule=RuleSource({"op": "x"}, "../ci/gate.yaml:3"))
    shipped = replace(sample.blocked(), rule=RuleSource({"op": "x"}, "builtin:strict:3"))
    run = sample.blocked_run(policy=PolicySummary("g", "gone.yaml", None), findings=(inherited, shipped))
    assert repository(run, root / "ci", {}).files["../ci/gate.yaml"] == "ci/gate.yaml"
    assert set(repository(run, root / "ci", {}).files) == {"../ci/gate.yaml", "model/decoder.py"}


@pytest.mark.parametrize(
    ("environ", "link"),
    [
        ({}, None),
        (
            {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "o/r", "GITHUB_SHA": "abc"},
            "https://github.com/o/r/blob/abc/{path}#L{line}",
        ),
        (
            {"CI_PROJECT_URL": "https://gitlab.example/o/r", "CI_COMMIT_SHA": "abc"},
            "https://gitlab.example/o/r/-/blob/abc/{path}#L{line}",
        ),
        ({"CI_PROJECT_URL": "javascript:alert(1)", "CI_COMMIT_SHA": "abc"}, None),
    ],
)
def test_where_a_line_can_be_seen(root: Path, environ: dict[str, str], link: str | None) -> None:
    assert repository(sample.passing_run(), root, environ).link == link
