"""The artefact to fall back to: it is there, it is what the policy says, and it is as old as its compiler."""

from __future__ import annotations

import hashlib
import os
from datetime import date, datetime, timezone
from pathlib import Path

import pytest

from fallback_gate.judging.rollback import held
from fallback_gate.model.claims import Rollback
from fallback_gate.model.environment import Environment, Version

INSTALLED = "2026-11-20T10:00:00+00:00"


def machine(version: str = "2.11.0+cu130", since: str | None = INSTALLED, name: str = "torch") -> Environment:
    return Environment(compilers=(Version(name, version, since),))


def artefact(folder: Path, written: str, content: bytes = b"engine") -> Path:
    path = folder / "engine.plan"
    path.write_bytes(content)
    seconds = datetime.fromisoformat(written).replace(tzinfo=timezone.utc).timestamp()
    os.utime(path, (seconds, seconds))
    return path


def problem(
    path: Path,
    around: Environment | None,
    version: str = "2.11.0",
    sha256: str | None = None,
    built: date | None = None,
) -> str | None:
    return held(Rollback(str(path), "torch", version, sha256, built, "p.yaml:3"), around).problem


@pytest.mark.parametrize(
    ("written", "installed", "words"),
    [
        ("2026-11-20T10:00:01", "2.11.0+cu130", None),
        ("2026-11-20T09:59:59", "2.11.0+cu130", "older than its compiler"),
        ("2026-11-20T09:59:59", "2.14.1", None),  # of a version before the one that is installed now
        ("2026-11-20T10:00:01", "2.14.1", "newer than its compiler"),
    ],
)
def test_as_old_as_its_compiler(tmp_path: Path, written: str, installed: str, words: str | None) -> None:
    found = problem(artefact(tmp_path, written), machine(installed))
    assert (found is None) if words is None else (words in (found or ""))


@pytest.mark.parametrize(
    ("built", "version", "words"),
    [
        (date(2026, 11, 20), "2.11.0", None),
        (date(2026, 11, 19), "2.11.0", "older than"),
        (date(2026, 11, 20), "2.7.1", None),
        (date(2026, 11, 21), "2.7.1", "newer than"),
    ],
)
def test_a_day_that_the_policy_states_holds_over_the_file_s_time(
    tmp_path: Path, built: date, version: str, words: str | None
) -> None:
    found = problem(artefact(tmp_path, "1999-01-01"), machine(), version, built=built)
    assert (found is None) if words is None else (words in (found or ""))


@pytest.mark.parametrize(
    ("around", "words"),
    [
        (None, "no input tells which torch is installed"),
        (machine(name="triton"), "no input tells which torch is installed"),
        (machine(since=None), "since when torch 2.11.0+cu130 is installed"),
        (machine(since="last week"), "since when"),
    ],
)
def test_an_age_that_nobody_tells_is_no_age(tmp_path: Path, around: Environment | None, words: str) -> None:
    assert words in (problem(artefact(tmp_path, "2026-11-25"), around) or "")


def test_what_is_not_there(tmp_path: Path) -> None:
    assert "does not exist" in (problem(tmp_path / "gone.plan", machine()) or "")
    assert "empty" in (problem(artefact(tmp_path, "2026-11-25", b""), machine()) or "")
    (tmp_path / "folder").mkdir()
    assert "empty" in (problem(tmp_path / "folder", machine()) or "")
    assert problem(Path("a\0b"), machine())


def test_a_folder_is_as_old_as_its_newest_file(tmp_path: Path) -> None:
    folder = tmp_path / "engines"
    folder.mkdir()
    artefact(folder, "2026-11-25")
    assert problem(folder, machine()) is None
    artefact(folder, "2026-11-01")
    assert "older than" in (problem(folder, machine()) or "")


def test_the_content(tmp_path: Path) -> None:
    path = artefact(tmp_path, "2026-11-25")
    assert problem(path, machine(), sha256=hashlib.sha256(b"engine").hexdigest()) is None
    assert "SHA-256" in (problem(path, machine(), sha256="0" * 64) or "")


def test_a_local_version_counts_where_it_is_stated(tmp_path: Path) -> None:
    path = artefact(tmp_path, "2026-11-25")
    assert problem(path, machine("2.11.0+cu130"), "2.11.0+cu130") is None
    assert "newer" in (problem(path, machine("2.11.0+cu128"), "2.11.0+cu130") or "")
