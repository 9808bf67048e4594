"""action.yml, the workflows and the lock say what they must: schema, pins, permissions, no input in shell text."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from fallback_gate.cli.action_inputs import FILES
from tests.action.runner import ACTION, ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
EXAMPLE = ROOT / "examples" / "github-workflow.yml"
LOCK = (ROOT / "requirements" / "action.txt").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent


def tool(name: str, *arguments: str | Path) -> None:
    done = subprocess.run([BIN / name, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def steps(file: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-actions", [ROOT / "action.yml"]),
        ("vendor.github-workflows", [*WORKFLOWS, EXAMPLE]),
        ("vendor.gitlab-ci", [ROOT / "examples" / ".gitlab-ci.yml"]),
        ("vendor.dependabot", [ROOT / ".github" / "dependabot.yml"]),
    ],
)
def test_published_schemas_hold(schema: str, files: list[Path]) -> None:
    tool("check-jsonschema", "--builtin-schema", schema, *files)


def test_zizmor_has_no_findings() -> None:
    tool(
        "zizmor",
        "--offline",
        "--no-progress",
        "--persona=pedantic",
        "--no-config",
        "action.yml",
        ".github",
        EXAMPLE,
    )


def test_every_other_action_is_pinned_to_a_commit() -> None:
    used = [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
    used += [step["uses"] for file in [*WORKFLOWS, EXAMPLE] for step in steps(file) if "uses" in step]
    assert len(used) > 5
    for action in used:
        assert (
            action == "./" or re.fullmatch(r"[\w/.-]+@[0-9a-f]{40}", action) or action.startswith("OWNER/")
        ), action


def test_no_expression_stands_in_shell_text() -> None:
    scripts = [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]
    scripts += [step["run"] for file in [*WORKFLOWS, EXAMPLE] for step in steps(file) if "run" in step]
    assert not [script for script in scripts if "${{" in script]


def test_the_action_has_few_inputs_and_hands_each_to_its_script() -> None:
    assert 10 <= len(ACTION["inputs"]) <= 13
    handed = {value for step in ACTION["runs"]["steps"] for value in step.get("env", {}).values()}
    assert {f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]} <= handed
    assert ACTION["inputs"]["fail-on"]["default"] == "unproven"


def test_every_format_is_named_and_has_an_output() -> None:
    named = re.findall(r"\w+", ACTION["inputs"]["formats"]["description"].split("any of ")[1].split(".")[0])
    assert set(named) == set(FILES)
    assert {f"report-{name}" for name in FILES} <= ACTION["outputs"].keys()


def test_the_lock_holds_what_the_package_needs_with_hashes() -> None:
    entries = re.findall(r"^([\w.-]+)==([^\s;]+)(.*?)(?=^[\w#]|\Z)", LOCK, flags=re.MULTILINE | re.DOTALL)
    locked: dict[str, list[str]] = {}
    for name, version, rest in entries:
        locked.setdefault(name.lower(), []).append(version)
        assert "--hash=sha256:" in rest, name
    needed = [Requirement(text) for text in [*(requires("fallback-gate") or ()), "hatchling>=1.24"]]
    for one in needed:
        if one.marker is None:
            assert one.name in locked, f"{one.name}: run `make lock`"
            assert all(version in one.specifier for version in locked[one.name]), f"{one}: run `make lock`"
