"""The lock has a wheel of every dependency for each runner and Python. `make test-action`; asks the package index."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.action.runner import ROOT

SYSTEMS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "aarch64-apple-darwin",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-msvc",
)


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_each_runner_finds_its_wheels(tmp_path: Path, system: str, python: str) -> None:
    uv = [Path(sys.executable).parent / "uv", "pip", "install", "--dry-run", "--target", tmp_path]
    which = ["--python-platform", system, "--python-version", python]
    locked = [
        "--only-binary=:all:",
        "--require-hashes",
        "--requirement",
        ROOT / "requirements" / "action.txt",
    ]
    done = subprocess.run([*uv, *which, *locked], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
