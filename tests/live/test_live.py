"""Real compilers, run here: what their programs let fall back is what the gate finds. `make test-compilers`.

`cases.yaml` says what is run and what must come of it, by how the program was made. Each family of compilers has
an environment of its own in `.venv/compilers`, made by the target from `requirements/`; a case whose compiler is
not installed is skipped. `FALLBACK_GATE_FAMILY` takes some families only, `FALLBACK_GATE_KEEP=FOLDER` keeps the
logs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).parent
COMPILERS = HERE.parent.parent / ".venv" / "compilers"
EXIT = {"pass": 0, "blocked": 1, "unproven": 3}
FAMILIES = os.environ.get("FALLBACK_GATE_FAMILY", "").split()
CASES = [
    case
    for case in yaml.safe_load((HERE / "cases.yaml").read_text(encoding="utf-8"))
    if not FAMILIES or case["family"] in FAMILIES
]


def name(case: dict[str, Any]) -> str:
    """What a case is called: its family, what it runs and what is set."""
    said = [case["family"], *case["run"], *case.get("env", {}), *case.get("policy", {})]
    return re.sub(r"[^\w.=-]+", "+", " ".join(said))


def log_of(case: dict[str, Any], folder: Path) -> Path:
    """Run a program in its family's environment; what it printed."""
    python = COMPILERS / case["family"] / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        pytest.skip(f"not installed; run `make test-compilers FAMILY={case['family']}`")
    log = Path(os.environ.get("FALLBACK_GATE_KEEP", folder)).absolute() / f"{name(case)}.log"
    call = [python, str(HERE / "programs" / f"{case['family']}_program.py"), *case["run"]]
    caches = {key: str(folder / key) for key in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")}
    with log.open("wb") as out:
        env = os.environ | caches | case.get("env", {})
        done = subprocess.run(
            call, stdout=out, stderr=subprocess.STDOUT, env=env, cwd=folder, check=False, timeout=600
        )
    assert done.returncode == case.get("exit", 0), log.read_text(errors="replace")[-2000:]
    return log


def report_on(log: Path, case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What `fallback-gate check` says of the log under the strict rule, with what the case adds to it."""
    policy = folder / "policy.yaml"
    policy.write_text(yaml.safe_dump({"version": 1, **case.get("policy", {})}), encoding="utf-8")
    call = [sys.executable, "-m", "fallback_gate", "check", str(log), "--policy", str(policy)]
    done = subprocess.run([*call, "--format", "json"], capture_output=True, check=False)
    report: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == report["exit_code"]
    return report


@pytest.mark.parametrize("case", CASES, ids=name)
def test_a_real_compiler(case: dict[str, Any], tmp_path: Path) -> None:
    log = log_of(case, tmp_path)
    text = log.read_bytes().decode("utf-8", "replace")  # a carriage return is no end of a line
    lines = re.sub(r"\x1b\[[\d;]*m", "", text).split("\n")
    for said in case.get("says", ()):
        assert any(said in line for line in lines), said
    report = report_on(log, case, tmp_path)
    found = {(event["kind"], event["op"]): event for event in report["events"]}
    expected = {(event["kind"], event["op"]): event for event in case.get("events", ())}
    assert found.keys() == expected.keys()
    for key, event in expected.items():
        there = {at for at, line in enumerate(lines, 1) if event["line"] in line}
        assert there & set(found[key]["lines"]), (key, there, found[key]["lines"])
    assert (report["verdict"], report["exit_code"]) == (case["outcome"], EXIT[case["outcome"]])
