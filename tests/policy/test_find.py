"""Room 5: which policy judges."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from fallback_gate.errors import PolicyError
from fallback_gate.policy import find, load
from fallback_gate.policy.find import NAMES, not_read, overlooked


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("version: 1\n", encoding="utf-8")
    return path


def test_the_order(tmp_path: Path) -> None:
    touch(tmp_path / "fallback-gate.yaml")
    variable = {"FALLBACK_GATE_POLICY": "builtin:strict"}
    assert find("mine.yaml", variable, tmp_path) == "mine.yaml"
    assert find("", variable, tmp_path) == ""  # given, so it is the user's mistake
    assert find(None, variable, tmp_path) == "builtin:strict"
    found = find(None, {"FALLBACK_GATE_POLICY": ""}, tmp_path)
    assert found is not None
    assert os.path.samefile(found, tmp_path / "fallback-gate.yaml")


@pytest.mark.parametrize("name", NAMES)
def test_the_nearest_going_up(tmp_path: Path, name: str) -> None:
    (tmp_path / ".git").mkdir()
    far = touch(tmp_path / "fallback-gate.yaml")
    near = touch(tmp_path / "a" / name)
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    found = find(None, {}, deep)
    assert found is not None
    assert os.path.samefile(found, near)
    near.unlink()
    found = find(None, {}, deep)
    assert found is not None
    assert os.path.samefile(found, far)


def test_the_first_name_wins(tmp_path: Path) -> None:
    for name in NAMES:
        touch(tmp_path / name)
    for name in NAMES:
        found = find(None, {}, tmp_path)
        assert found is not None
        assert os.path.samefile(found, tmp_path / name)
        (tmp_path / name).unlink()


@pytest.mark.parametrize("kind", ["folder", "file"])  # a worktree has a file
def test_not_above_the_repository(tmp_path: Path, kind: str) -> None:
    touch(tmp_path / "fallback-gate.yaml")
    inner = tmp_path / "repo" / "src"
    inner.mkdir(parents=True)
    marker = tmp_path / "repo" / ".git"
    marker.mkdir() if kind == "folder" else marker.touch()
    assert find(None, {}, inner) is None


def test_a_folder_of_that_name_is_no_policy(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "fallback-gate.yaml").mkdir()
    assert find(None, {}, tmp_path) is None


def test_it_is_named_as_seen_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path / ".github" / "fallback-gate.yaml")
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    assert find(None, {}, Path.cwd()) == "../.github/fallback-gate.yaml"


def test_another_ending_is_overlooked_and_told(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "src"
    inner.mkdir()
    assert overlooked(None, {}, inner) is None
    touch(tmp_path / ".github" / "fallback-gate.yml")
    assert find(None, {}, inner) is None
    told = overlooked(None, {}, inner)
    assert told is not None
    assert told.endswith(".github/fallback-gate.yml")
    assert not_read("a/fallback-gate.yml").startswith("a/fallback-gate.yml is there and not read")
    assert overlooked("p.yaml", {}, inner) is None
    assert overlooked(None, {"FALLBACK_GATE_POLICY": "p.yaml"}, inner) is None
    touch(tmp_path / "src" / "fallback-gate.yaml")  # nearer, so the search ends before the other one
    assert overlooked(None, {}, inner) is None
    touch(tmp_path / "src" / "fallback-gate.yml")
    assert overlooked(None, {}, inner) is not None


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("fallback-gate.yml", "did you mean 'fallback-gate.yaml'?"),
        ("falback-gate.yaml", "did you mean 'fallback-gate.yaml'?"),
        ("model.yaml", "name a file, or builtin:NAME"),
        ("llm-decode", "builtin:llm-decode"),
        ("gone/p.yaml", "name a file, or builtin:NAME"),
    ],
)
def test_a_policy_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, hint: str
) -> None:
    touch(tmp_path / "fallback-gate.yaml")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PolicyError, match="does not exist") as caught:
        load(name, date(2026, 12, 1))
    assert hint in str(caught.value)
