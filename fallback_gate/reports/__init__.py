"""Room 7: one frozen verdict, many clothes. Each report is a pure function: a verdict in, text out.

`text` is for a person at a terminal, `json` for programs (its shape is public and versioned), `junit` for the
test page of a CI server, `github` for annotations beside the code, `markdown` for the summary of a job,
`sarif` for code scanning, `gitlab` for a merge request, `html` to send around. No report opens a file or
decides anything; the command line does the first and the verdict has done the second. Log text passes `safe`
on its way into each of them.

Each format's module is imported when it is first used: nobody waits for a library of another format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

from fallback_gate.model import Verdict


def _by(module: str) -> Callable[[Verdict], str]:
    """The report that a module of this room renders."""

    def render(verdict: Verdict) -> str:
        report: str = import_module(f"fallback_gate.reports.{module}").render(verdict)
        return report

    return render


FORMATS: Final[Mapping[str, Callable[[Verdict], str]]] = {
    "text": _by("text"),
    "json": _by("json_report"),
    "json-v1": _by("json_report"),
    "junit": _by("junit"),
    "github": _by("github"),
    "markdown": _by("markdown"),
    "sarif": _by("sarif"),
    "gitlab": _by("gitlab"),
    "html": _by("html"),
}
WITH_PLACES: Final = frozenset({"junit", "github", "markdown", "sarif", "gitlab", "html"})
"""The formats that show a place in the user's repository: they want `Verdict.repository`."""
WITH_EXCERPTS: Final = frozenset({"html"})
"""The formats that show the lines around a proving line: they want `Verdict.excerpts`."""
