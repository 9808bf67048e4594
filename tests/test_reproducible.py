"""The wheel is the same, whoever builds it where, and holds what an installed gate needs."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_two_builds_are_the_same_bytes(tmp_path: Path) -> None:
    call = [sys.executable, ROOT / "scripts" / "build_twice.py", tmp_path / "dist"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    (source,) = (tmp_path / "dist").glob("*.tar.gz")
    assert [line.split()[1] for line in done.stdout.splitlines()] == sorted([wheel.name, source.name])
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        assert {one.date_time[0] for one in archive.infolist()} == {
            one.date_time[0] for one in archive.infolist()[:1]
        }
    policies = {f"fallback_gate/policies/{file.name}" for file in (ROOT / "policies").glob("*.yaml")}
    kept = (
        "py.typed",
        "policy/schema.json",
        "reports/page/style.css",
        "capture/hook/sitecustomize.py",
        "instruments/devices.yaml",
    )
    assert policies | {f"fallback_gate/{name}" for name in kept} <= names
    assert not [name for name in names if not name.startswith(("fallback_gate/", "fallback_gate-"))]
