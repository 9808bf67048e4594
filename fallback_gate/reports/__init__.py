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
from typing import Final

from fallback_gate.model import Verdict


def _text(verdict: Verdict) -> str:
    from fallback_gate.reports import text

    return text.render(verdict, color=False)


def _json(verdict: Verdict) -> str:
    from fallback_gate.reports import json_report

    return json_report.render(verdict)


def _junit(verdict: Verdict) -> str:
    from fallback_gate.reports import junit

    return junit.render(verdict)


def _github(verdict: Verdict) -> str:
    from fallback_gate.reports import github

    return github.render(verdict)


def _gitlab(verdict: Verdict) -> str:
    from fallback_gate.reports import gitlab

    return gitlab.render(verdict)


def _markdown(verdict: Verdict) -> str:
    from fallback_gate.reports import markdown

    return markdown.render(verdict)


def _sarif(verdict: Verdict) -> str:
    from fallback_gate.reports import sarif

    return sarif.render(verdict)


def _html(verdict: Verdict) -> str:
    from fallback_gate.reports import html

    return html.render(verdict)


FORMATS: Final[Mapping[str, Callable[[Verdict], str]]] = {
    "text": _text,
    "json": _json,
    "json-v1": _json,
    "junit": _junit,
    "github": _github,
    "markdown": _markdown,
    "sarif": _sarif,
    "gitlab": _gitlab,
    "html": _html,
}
WITH_PLACES: Final = frozenset({"junit", "github", "markdown", "sarif", "gitlab", "html"})
"""The formats that show a place in the user's repository: they want `Verdict.repository`."""
WITH_EXCERPTS: Final = frozenset({"html"})
"""The formats that show the lines around a proving line: they want `Verdict.excerpts`."""
