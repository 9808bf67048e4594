"""The front door, for GitHub: what the Action's inputs ask for. All mistakes are told at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fallback_gate.errors import InputError
from fallback_gate.reports import FORMATS

POLICY_FROM: Final = ("head", "base")
FAIL_ON: Final = ("unproven", "blocked", "never")
FILES: Final[Mapping[str, str]] = {
    "json": "fallback-gate.json",
    "junit": "fallback-gate.junit.xml",
    "sarif": "fallback-gate.sarif",
    "gitlab": "fallback-gate.gitlab.json",
    "html": "fallback-gate.html",
    "markdown": "fallback-gate.md",
    "text": "fallback-gate.txt",
}


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of one run, checked. Paths of reports are seen from `folder`, where the gate runs."""

    folder: Path
    logs: tuple[str, ...]
    policy: str
    policy_from: str
    baseline: str
    expect_ranks: str
    fail_on: str
    formats: tuple[str, ...]
    output_dir: str
    summary: bool
    annotations: bool


def read(environ: Mapping[str, str]) -> Inputs:
    """The inputs as the Action's steps hand them over, in `INPUT_` variables.

    Raises `InputError` with a line for each input that is wrong.
    """
    wrong: list[str] = []
    formats = tuple(dict.fromkeys(["json", *_text(environ, "formats").replace(",", " ").split()]))
    unknown = [name for name in formats if name not in FILES or name not in FORMATS]
    if unknown:
        known = ", ".join(name for name in FILES if name in FORMATS)
        wrong.append(f"formats: {', '.join(map(repr, unknown))} is none of {known}")
    if _flag(environ, "upload-sarif", wrong) and "sarif" not in formats:
        formats += ("sarif",)
    fail_on = _text(environ, "fail-on") or FAIL_ON[0]
    if fail_on not in FAIL_ON:
        wrong.append(f"fail-on: {fail_on!r} is none of {', '.join(FAIL_ON)}")
    policy_from = _text(environ, "policy-from") or POLICY_FROM[0]
    if policy_from not in POLICY_FROM:
        wrong.append(f"policy-from: {policy_from!r} is none of {', '.join(POLICY_FROM)}")
    logs = tuple(line.strip() for line in _text(environ, "logs").splitlines() if line.strip())
    if "-" in logs:
        wrong.append("logs: '-' is standard input, and a job has none; name files")
    for name in ("policy", "baseline", "expect-ranks", "output-dir", "working-directory"):
        if not _text(environ, name).isprintable():
            wrong.append(f"{name}: must be one line without control characters")
    folder = working_directory(environ, wrong)
    summary, annotations = (_flag(environ, name, wrong) for name in ("summary", "annotations"))
    if wrong:
        raise InputError("\n".join(wrong))
    return Inputs(
        folder=folder,
        logs=logs,
        policy=_text(environ, "policy"),
        policy_from=policy_from,
        baseline=_text(environ, "baseline"),
        expect_ranks=_text(environ, "expect-ranks"),
        fail_on=fail_on,
        formats=formats,
        output_dir=_text(environ, "output-dir"),
        summary=summary,
        annotations=annotations,
    )


def working_directory(environ: Mapping[str, str], wrong: list[str]) -> Path:
    """The folder of the input `working-directory`, seen from the workspace; a mistake goes into `wrong`."""
    name = _text(environ, "working-directory")
    folder = Path(environ.get("GITHUB_WORKSPACE") or ".", name)
    if name.isprintable() and not folder.is_dir():
        wrong.append(f"working-directory: {folder} is no folder; check out the repository before this step")
    return folder


def _text(environ: Mapping[str, str], name: str) -> str:
    return environ.get("INPUT_" + name.upper().replace("-", "_"), "").strip()


def _flag(environ: Mapping[str, str], name: str, wrong: list[str]) -> bool:
    value = _text(environ, name).lower()
    if value not in ("true", "false", ""):
        wrong.append(f"{name}: {value!r} is neither true nor false")
    return value == "true"
