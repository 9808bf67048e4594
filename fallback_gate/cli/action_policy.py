"""The front door, for GitHub: what a pull request makes of the policy that judges it.

Its author writes the working tree, and so may write the policy. The base branch's is at the commit that the
runner's own event file names; where the checkout lacks it, that one commit is fetched, by the credentials
that the checkout left, if any.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fallback_gate.cli.action_inputs import Inputs

NOT_HERE: Final = (
    "the commit of the base branch is not in this checkout, and could not be fetched; "
    "check out with `fetch-depth: 0`"
)
_LONGEST: Final = 120  # seconds


def base_commit(environ: Mapping[str, str]) -> str | None:
    """The commit of the base branch, for a pull request and in a merge queue; None for any other event."""
    try:
        event = json.loads(Path(environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    except (KeyError, OSError, ValueError):
        return None
    found = _at(event, "pull_request", "base", "sha") or _at(event, "merge_group", "base_sha")
    return found if isinstance(found, str) and re.fullmatch("[0-9a-f]{40,64}", found) else None


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def fetched(commit: str, folder: Path) -> bool:
    """Whether the commit is in the repository around the folder, fetched if need be."""

    def git(*arguments: str) -> bool:
        try:
            done = subprocess.run(
                ["git", *arguments],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_LONGEST,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0

    there = ("cat-file", "-e", f"{commit}^{{commit}}")
    fetch = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--depth=1", "origin", commit)
    return git(*there) or (git(*fetch) and git(*there))


def compared(
    gate: Sequence[str], inputs: Inputs, commit: str | None, private: Path, environ: Mapping[str, str]
) -> tuple[str, str]:
    """How many changes may let more pass, and the section of the summary that tells them.

    The first is empty where it could not be told, and the section then says why.
    """
    if commit is None:
        return "", f"### fallback-gate: the policy was not compared\n\nHere {NOT_HERE}.\n"
    report, section = private / "policy-diff.json", private / "policy-diff.md"
    call = [
        *gate,
        "policy",
        "diff",
        f"--ref={commit}",
        f"--output=json={report}",
        f"--output=markdown={section}",
    ]
    options = {
        "baseline": inputs.baseline,
        "waiver": environ.get("FALLBACK_GATE_CHECK_WAIVER", ""),
    }
    call += [f"--{option}={value}" for option, value in options.items() if value]
    call += [f"--rules={file}" for file in environ.get("FALLBACK_GATE_CHECK_RULES", "").split()]
    call += ["--", *([inputs.policy] if inputs.policy else [])]
    done = subprocess.run(call, cwd=inputs.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if done.returncode not in (0, 1) or not report.exists():
        why = "the base branch's policy, or what stands beside it, is not valid"
        return "", f"### fallback-gate: the policy was not compared\n\nHere {why}.\n"
    summary = json.loads(report.read_text(encoding="utf-8"))["summary"]
    return str(summary["loosened"] + summary["changed"]), section.read_text(encoding="utf-8")
