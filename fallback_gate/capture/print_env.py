"""The side door: the settings as text, for a shell, a GitHub workflow, a Dockerfile or a Kubernetes pod."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Final

Variables = Mapping[str, str]


def _shell(variables: Variables) -> list[str]:
    return [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]


def _github(variables: Variables) -> list[str]:
    return ["env:", *(f"  {name}: {json.dumps(value)}" for name, value in variables.items())]


def _dockerfile(variables: Variables) -> list[str]:
    return [f"ENV {name}={json.dumps(value)}" for name, value in variables.items()]


def _kubernetes(variables: Variables) -> list[str]:
    lines = ["env:"]
    for name, value in variables.items():
        lines += [f"  - name: {name}", f"    value: {json.dumps(value)}"]
    return lines


FORMS: Final[Mapping[str, Callable[[Variables], list[str]]]] = {
    "shell": _shell,
    "github": _github,
    "dockerfile": _dockerfile,
    "kubernetes": _kubernetes,
}


def rendered(variables: Variables, form: str) -> str:
    """The lines of one of `FORMS`, with a line feed at the end."""
    return "\n".join(FORMS[form](variables)) + "\n"
