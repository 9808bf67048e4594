"""The side door: which compilers the command's own Python has, in which versions. Best effort, and quick.

That Python may be another than ours, so it is asked: the one that is the command, or that the first line of
the command's script names (`torchrun`, `vllm`, `pytest`). It imports nothing but the standard library.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_SECONDS = 20
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*(?:\.exe)?", re.I)
_SHEBANG = re.compile(rb"#!\s*(\S+)(?:[ \t]+(\S+))?")
_ASK = """
import sys
sys.path[:] = [p for p in sys.path if p]
import json
from importlib import metadata
import os
found = {}
for name in json.loads(sys.argv[1]):
    try:
        one = metadata.distribution(name)
        found[name] = [one.version, None]
        found[name][1] = os.stat(one._path).st_mtime
    except Exception:
        pass
print(json.dumps([".".join(map(str, sys.version_info[:3])), found]))
"""


class Installed(NamedTuple):
    """A package: its version, and when it was installed (seconds since the epoch), where that can be told.

    An installer makes a folder of its own for each version, so that the folder's time is the installation's.
    """

    version: str
    since: float | None


def versions(command: Sequence[str], environ: Mapping[str, str], packages: Iterable[str]) -> dict[str, str]:
    """The version of each of these packages in the command's Python; empty where nothing can be told."""
    return {name: one.version for name, one in installed(command, environ, packages)[1].items()}


def installed(
    command: Sequence[str], environ: Mapping[str, str], packages: Iterable[str]
) -> tuple[str | None, dict[str, Installed]]:
    """The version of the command's Python, and these packages in it; nothing where nothing can be told."""
    python = python_of(command, environ)
    if python is None:
        return None, {}
    try:
        told = subprocess.run(
            [python, "-c", _ASK, json.dumps(sorted(set(packages)))],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=dict(environ),
            timeout=_SECONDS,
            check=True,
        ).stdout
        own, found = json.loads(told.decode("utf-8", "replace").splitlines()[-1])
        packages_found = {
            str(name): Installed(str(version)[:100], None if since is None else float(since))
            for name, (version, since) in found.items()
        }
    except (OSError, subprocess.SubprocessError, ValueError, IndexError, TypeError, AttributeError):
        return None, {}
    return str(own)[:40], packages_found


def python_of(command: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """The Python that a command runs, or None where it does not look like one."""
    words = list(command)
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if "=" not in word]
    place = shutil.which(words[0], path=environ.get("PATH")) if words else None
    if place is None:
        return None
    if _PYTHON.fullmatch(Path(place).name):
        return place
    try:
        with open(place, "rb") as file:
            opening = _SHEBANG.match(file.read(512))
    except OSError:
        return None
    if opening is None:
        return None
    named = [part.decode("utf-8", "replace") for part in opening.groups() if part]
    if Path(named[0]).name == "env" and len(named) > 1:
        named = named[1:]
    if not _PYTHON.fullmatch(Path(named[0]).name):
        return None
    return shutil.which(named[0], path=environ.get("PATH"))
