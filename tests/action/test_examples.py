"""The examples do what they say: their own command line runs, and makes each file that they publish."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.action.runner import ROOT

GITLAB: dict[str, Any] = yaml.safe_load((ROOT / "examples" / ".gitlab-ci.yml").read_text(encoding="utf-8"))
JENKINS = (ROOT / "examples" / "Jenkinsfile").read_text(encoding="utf-8")
SAMPLES = ROOT / "sample_logs" / "moe-decoder-h200"


def gate(folder: Path, line: str, log: str) -> int:
    """Run the example's line as it stands, but with this environment's command and one of our logs."""
    (folder / ".git").mkdir()
    (folder / "compile.log").write_bytes((SAMPLES / log).read_bytes())
    (folder / "fallback-gate.yaml").write_text(
        "version: 1\nextends: ['builtin:moe-serving']\n", encoding="utf-8"
    )
    program, *arguments = shlex.split(line)
    assert Path(program).name == "fallback-gate"
    return subprocess.run(
        [sys.executable, "-m", "fallback_gate", *arguments], cwd=folder, capture_output=True, timeout=60
    ).returncode


@pytest.mark.parametrize(("log", "code"), [("disabled.debug.log.gz", 1), ("disabled.default.log", 3)])
def test_gitlab_gets_its_artefacts_also_where_the_job_fails(tmp_path: Path, log: str, code: int) -> None:
    job = GITLAB["fallback-gate"]
    assert gate(tmp_path, job["script"][-1], log) == code
    artefacts = job["artifacts"]
    assert artefacts["when"] == "always"
    assert all((tmp_path / path).is_file() for path in [*artefacts["reports"].values(), *artefacts["paths"]])
    assert not job.get("allow_failure")


def test_jenkins_gets_its_reports_before_the_build_fails(tmp_path: Path) -> None:
    (line,) = re.findall(r'"\$GATE/(fallback-gate" check .*?)\'\'\'', JENKINS, flags=re.DOTALL)
    assert gate(tmp_path, line.replace('"', "", 1).replace("\\\n", " "), "disabled.debug.log.gz") == 1
    kept = re.search(r"archiveArtifacts artifacts: '([^']+)'", JENKINS)
    assert kept
    assert all((tmp_path / path).is_file() for path in kept[1].split(", "))
    assert f"testResults: '{kept[1].split(', ')[1]}'" in JENKINS
    assert JENKINS.index("returnStatus: true") < JENKINS.index("error ")


@pytest.mark.parametrize(
    "text", ["\n".join(GITLAB["fallback-gate"]["script"]), JENKINS], ids=["gitlab", "jenkins"]
)
def test_the_gate_is_installed_from_its_lock(text: str) -> None:
    installs = re.findall(r"pip\"? install (.*)", text)
    assert [("--require-hashes" in line, "--no-deps" in line) for line in installs] == [
        (True, False),
        (False, True),
    ]
    assert "requirements/action.txt" in installs[0]
