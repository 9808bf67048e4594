"""The front door: which file of the user's repository a compiler means, and where a line of it can be seen.

Compilers print the paths of the machine that compiled, often those of a container. A file is found by
the end of its path: `/app/model/decoder.py` is `model/decoder.py` where the repository has that and the
line is in it. Only files that exist are named; a wrong place would be worse than none.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from fallback_gate.model import Verdict
from fallback_gate.model.inputs import Repository

_INSTALLED = ("site-packages", "dist-packages")
_FEW_PARTS = 3  # a path this short may be found by its last part alone
_MOST_FILES = 2000
_LARGEST = 8 << 20


def repository(verdict: Verdict, cwd: Path, environ: Mapping[str, str]) -> Repository:
    """What the verdict's reports need to know of the repository around the current folder."""
    root = _root(cwd, environ)
    files: dict[str, str] = {}
    lines: dict[str, int] = {}
    for finding in verdict.findings:
        place = finding.event.location
        if place and place.file:
            lines[place.file] = max(lines.get(place.file, 0), place.line or 0)
    for path in list(lines)[:_MOST_FILES]:
        found = _found(path, lines[path], root, cwd)
        if found:
            files[path] = found
    for source in {verdict.policy.path or "", *_policy_files(verdict)}:
        if source and not source.startswith("builtin:"):
            found = _relative(cwd / source, root)
            if found:
                files[source] = found
    return Repository(files, _link(environ))


def _policy_files(verdict: Verdict) -> Iterator[str]:
    for finding in verdict.findings:
        if finding.rule:
            yield finding.rule.source.rpartition(":")[0]


def _root(cwd: Path, environ: Mapping[str, str]) -> Path:
    """The checkout: what the CI system says if we stand in it, else up to `.git`, else the current folder."""
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        said = environ.get(name)
        if said and Path(said).resolve() in (cwd.resolve(), *cwd.resolve().parents):
            return Path(said)
    return next((folder for folder in (cwd, *cwd.parents) if os.path.exists(folder / ".git")), cwd)


def _relative(path: Path, root: Path) -> str | None:
    """The path from the root, slashes forward; None where it stands outside or is no file."""
    try:
        inside = Path(os.path.realpath(path)).relative_to(os.path.realpath(root))
        return inside.as_posix() if path.is_file() else None
    except (OSError, ValueError):
        return None


def _found(said: str, line: int, root: Path, cwd: Path) -> str | None:
    parts = [part for part in said.replace("\\", "/").split("/") if part not in ("", ".")]
    if not parts or ".." in parts or not said.isprintable() or set(parts) & set(_INSTALLED):
        return None
    shortest = 1 if len(parts) <= _FEW_PARTS else 2
    candidates = [cwd / said, *(root.joinpath(*parts[at:]) for at in range(len(parts) - shortest + 1))]
    for candidate in candidates:
        found = _relative(candidate, root)
        if found and _has_line(candidate, line):
            return found
    return None


def _has_line(path: Path, line: int) -> bool:
    try:
        if path.stat().st_size > _LARGEST:
            return False
        return path.read_bytes().count(b"\n") + 1 >= line
    except OSError:
        return False


def _link(environ: Mapping[str, str]) -> str | None:
    """How the CI system's own site shows a line of this commit."""
    server, name, commit = (environ.get(f"GITHUB_{key}") for key in ("SERVER_URL", "REPOSITORY", "SHA"))
    if server and name and commit and server.startswith("https://"):
        return f"{server}/{name}/blob/{commit}/{{path}}#L{{line}}"
    project, commit = environ.get("CI_PROJECT_URL"), environ.get("CI_COMMIT_SHA")
    if project and commit and project.startswith("https://"):
        return f"{project}/-/blob/{commit}/{{path}}#L{{line}}"
    return None
