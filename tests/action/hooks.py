"""A user's repository for the hooks: a policy, a good and a bad log."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.action.runner import ROOT

SAMPLES = ROOT / "sample_logs" / "moe-decoder-h200"


def repository(folder: Path, files: dict[str, str]) -> Path:
    """A git repository with these text files and two real logs, all staged."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "good.log.gz").write_bytes((SAMPLES / "fixed.debug.log.gz").read_bytes())
    (folder / "bad.log.gz").write_bytes((SAMPLES / "disabled.debug.log.gz").read_bytes())
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    subprocess.run(["git", "add", "--all"], cwd=folder, check=True)
    return folder
