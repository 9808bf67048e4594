"""A small GitHub runner: the steps of action.yml in real bash, with the runner's own files between them.

It knows what action.yml uses: `inputs.X`, `steps.ID.outputs.X`, `==`, `!=`, `||`, `&&`, `!cancelled()`. Steps
that use another action are not run but noted. Anything else in an expression is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
BASH = shutil.which("bash") or "bash"  # by PATH: Windows would look into its system folder first
FILES = ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")


@dataclass
class Run:
    """What a run of the Action left behind."""

    code: int = 0
    log: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    used: list[str] = field(default_factory=list)  # other actions that it called
    changed: str = ""  # what it wrote to GITHUB_ENV and GITHUB_PATH


def run(
    workspace: Path,
    inputs: dict[str, str],
    known: dict[str, dict[str, str]] | None = None,
    action_path: Path = ROOT,
    environ: dict[str, str] | None = None,
) -> Run:
    """Run the Action in a workspace. The steps whose ids are in `known` are not run: those are their outputs."""
    temp = workspace.parent / "temp"
    temp.mkdir(exist_ok=True)
    assert not inputs.keys() - ACTION["inputs"].keys()
    given = {name: inputs.get(name, declared["default"]) for name, declared in ACTION["inputs"].items()}
    steps: dict[str, dict[str, str]] = dict(known or {})
    result = Run()
    for number, step in enumerate(ACTION["runs"]["steps"]):
        if step.get("id") in (known or {}) or not _truth(step.get("if"), given, steps, result.code):
            continue
        if "uses" in step:
            result.used.append(step["uses"])
            continue
        assert step["shell"] == "bash"
        places = {name: temp / f"{number}-{name}" for name in FILES}
        for place in places.values():
            place.touch()
        variables = {name: _filled(value, given, steps) for name, value in step.get("env", {}).items()}
        script = temp / f"{number}.sh"
        script.write_text(step["run"], encoding="utf-8", newline="\n")
        done = subprocess.run(
            [BASH, "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=workspace,
            env={
                **_clean(),
                **(environ or {}),
                **{name: str(place) for name, place in places.items()},
                "GITHUB_ACTIONS": "true",
                "GITHUB_ACTION_PATH": str(action_path),
                "GITHUB_WORKSPACE": str(workspace),
                "RUNNER_TEMP": str(temp),
                **variables,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
        )
        result.log += done.stdout.decode("utf-8", "backslashreplace")
        result.code = result.code or done.returncode
        if "id" in step:
            steps[step["id"]] = _pairs(places["GITHUB_OUTPUT"])
        result.summary += places["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8")
        result.changed += places["GITHUB_ENV"].read_text() + places["GITHUB_PATH"].read_text()
        for place in places.values():
            place.unlink()
    result.outputs = {
        name: _filled(declared["value"], given, steps) for name, declared in ACTION["outputs"].items()
    }
    return result


def _clean() -> dict[str, str]:
    """This process's variables without what a runner, or a user of the gate, would set."""
    prefixes = ("GITHUB_", "INPUT_", "RUNNER_", "FALLBACK_GATE")
    return {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}


def _pairs(file: Path) -> dict[str, str]:
    """`name=value` lines, as the runner reads them: the last one of a name holds."""
    lines = file.read_text(encoding="utf-8").splitlines()
    assert all("=" in line for line in lines), lines
    return dict(line.split("=", 1) for line in lines)


def _filled(text: str, inputs: dict[str, str], steps: dict[str, dict[str, str]]) -> str:
    return re.sub(r"\$\{\{(.+?)\}\}", lambda match: _value(match[1], inputs, steps), str(text))


def _value(expression: str, inputs: dict[str, str], steps: dict[str, dict[str, str]]) -> str:
    """The first that is not empty of the parts between `||`."""
    found = ""
    for part in expression.split("||"):
        scope, name = re.fullmatch(r"\s*(inputs|steps)\.(\S+)\s*", part).groups()  # type: ignore[union-attr]
        if scope == "inputs":
            found = inputs[name]
        else:
            step, output = re.fullmatch(r"(\w+)\.outputs\.([\w-]+)", name).groups()  # type: ignore[union-attr]
            found = steps.get(step, {}).get(output, "")
        if found:
            break
    return found


def _truth(
    condition: str | None, inputs: dict[str, str], steps: dict[str, dict[str, str]], code: int
) -> bool:
    """Whether a step runs: after a failure only if it says so."""
    text = (condition or "").removeprefix("${{").removesuffix("}}")
    parts = [part.strip() for part in text.split("&&") if part.strip()]
    if "!cancelled()" in parts:
        parts.remove("!cancelled()")
    elif code:
        return False
    return all(_comparison(part, inputs, steps) for part in parts)


def _comparison(text: str, inputs: dict[str, str], steps: dict[str, dict[str, str]]) -> bool:
    left, sign, right = re.fullmatch(r"(\S+) (==|!=) '([^']*)'", text).groups()  # type: ignore[union-attr]
    same = _value(left, inputs, steps).lower() == right.lower()
    return same if sign == "==" else not same
