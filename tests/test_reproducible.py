"""The same in, the same out: the wheel, whoever builds it where, and the reports, in whatever process."""

from __future__ import annotations

import os
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


def test_reports_do_not_depend_on_how_a_process_hashes_words(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(
        "version: 1\nproof: {required: [op_fallback, graph_break, reference_kernel, slower_kernel]}\n"
    )
    log = ROOT / "sample_logs" / "iree" / "check-vectorization.3.13.log"
    call = [sys.executable, "-m", "fallback_gate", "check", str(log), "-p", "p.yaml", "--today", "2026-11-30"]
    formats = ("text", "json", "junit", "github", "markdown", "sarif", "gitlab", "html")
    said = []
    for seed in "12":
        outputs = [f"--output={name}={seed}/{name}" for name in formats]
        done = subprocess.run(
            [*call, *outputs],
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            timeout=120,
        )
        said.append((done.stdout, [(tmp_path / seed / name).read_bytes() for name in formats]))
    assert said[0][0].startswith(b"BLOCKED")
    assert said[0] == said[1]
