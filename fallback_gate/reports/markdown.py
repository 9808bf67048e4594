"""Room 7: the verdict as GitHub-flavoured Markdown, for the summary of a job or a comment on a change.

Made for ten seconds: the first line is the verdict, the table under it says which operator, where in the
user's code, and what to do. Log text stands in code spans, which no renderer searches for markup. GitHub
drops a whole summary over 1 MiB, so sections go from the bottom until it is under 900 KiB.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fallback_gate.model import Verdict
from fallback_gate.reports import layout, markdown_around, safe, words
from fallback_gate.reports import markdown_sections as sections
from fallback_gate.reports.gaps import gaps
from fallback_gate.reports.headline import baseline, headline, waiver

MOST_BYTES = 900 * 1024
_CUT = "Some sections are left out here to keep this summary small; the JSON report has everything."


def render(verdict: Verdict) -> str:
    """The report; headings start at level 3, since a summary stands in a page of its own headings."""
    kept = _within_limit(["\n".join(section) for section in _sections(verdict)])
    return layout.finish("\n\n".join(kept).split("\n"))


def _sections(verdict: Verdict) -> Iterator[Sequence[str]]:
    missing = gaps(verdict.processes)
    found = (
        list(_head(verdict)),
        list(sections.blocked(verdict)),
        list(sections.reasons(verdict)),
        list(sections.problems(verdict)),
        list(sections.next_steps(verdict, missing)),
        list(markdown_around.sections(verdict)),
        list(sections.proof(verdict)),
        list(sections.measurements(verdict)),
        list(sections.warned(verdict)),
        list(sections.details(verdict)),
        list(sections.allowed(verdict)),
        list(sections.notes(verdict)),
        list(sections.provenance(verdict)),
    )
    yield from (section for section in found if section)


def _head(verdict: Verdict) -> Iterator[str]:
    answer, _, more = headline(verdict).partition(". ")
    yield f"### {words.SIGNS[verdict.outcome]}: {safe.markdown(safe.shorten(answer, sections.LONG))}"
    if more:
        yield from ("", safe.markdown(safe.shorten(more, sections.LONG)))
    pardon = waiver(verdict)
    if pardon:
        yield from ("", f"> **{safe.markdown(safe.shorten(pardon, sections.LONG))}**")
    held = baseline(verdict)
    if held:
        yield from ("", f"> {safe.markdown(safe.shorten(held, sections.LONG))}")
    policy = verdict.policy
    named = safe.code(safe.shorten(policy.name, sections.SHORT))
    path = (
        f" ({safe.code(safe.shorten(policy.path, sections.SHORT))})"
        if policy.path not in (None, policy.name)
        else ""
    )
    logs = (
        f"log {safe.code(safe.shorten(verdict.logs[0].path, sections.SHORT))}"
        if len(verdict.logs) == 1
        else words.number(len(verdict.logs), "log")
    )
    yield from ("", f"exit code **{verdict.exit_code}** · policy {named}{path} · {logs}")


def _within_limit(parts: list[str]) -> list[str]:
    """The sections from the top as long as they fit; a line says that some are missing."""
    kept: list[str] = []
    room = MOST_BYTES - len(_CUT) - 2
    for part in parts:
        room -= len(part.encode("utf-8", "backslashreplace")) + 2
        if room < 0:
            return [*kept, _CUT]
        kept.append(part)
    return kept
