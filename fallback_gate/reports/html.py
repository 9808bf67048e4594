"""Room 7: the verdict as one HTML file that needs nothing else: to open, to print, to send around.

The template holds all markup; whatever is put into it passes `safe` and jinja's escaping, and a content
security policy lets the browser run and load nothing but the script and style that stand in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from fallback_gate.model import Decision, Kind, Outcome, Verdict
from fallback_gate.reports import around, html_page, measured, safe, words
from fallback_gate.reports import html_parts as parts
from fallback_gate.reports.gaps import gaps, next_settings
from fallback_gate.reports.groups import by_operator
from fallback_gate.reports.headline import baseline, headline, waiver
from fallback_gate.reports.proof_rows import proof_rows
from fallback_gate.reports.provenance import readers

MOST_CARDS = 50
MOST_ROWS = 5_000
MOST_PROOFS = 300
PAGE_ROWS = 200  # of a table, before a script unfolds the rest
MOST_SENTENCES = 200


def render(verdict: Verdict) -> str:
    """The report as a page in UTF-8: dark and light, for screens from 320 pixels and for paper."""
    pages = html_page.environment()
    style, early, script = (html_page.part(pages, name) for name in ("style.css", "early.js", "script.js"))
    text = pages.get_template("report.html.j2").render(
        content_security_policy=html_page.policy(style, early, script),
        style=Markup(style),
        early_script=Markup(early),
        script=Markup(script),
        **_content(verdict),
    )
    return text.lstrip() + "\n"


def _content(verdict: Verdict) -> dict[str, Any]:
    blocked = by_operator(verdict.decided(Decision.BLOCKED))
    operators = by_operator(verdict.findings)
    ordered = [finding for group in operators for finding in group]
    ranks = list(parts.ranks(verdict))
    proof, found = proof_rows(verdict.processes), measured.pressing(verdict)
    entries = [part for part in parts.entries(verdict) if part[1]]
    content: dict[str, Any] = {
        "tone": html_page.TONES[verdict.outcome],
        "answer": words.answer(verdict),
        "exit_code": verdict.exit_code,
        "headline": headline(verdict),
        "waiver": waiver(verdict),
        "baseline": baseline(verdict),
        "policy": verdict.policy,
        "logs_told": _logs_told(verdict),
        "readers": words.listed(readers(verdict.processes)),
        "today": verdict.today,
        "run_at": f"{verdict.run_at:%Y-%m-%d %H:%M:%S}" if verdict.run_at else None,
        "tool_version": verdict.tool_version,
        "rules_files": verdict.rules_files,
        "steps": list(_steps(verdict)),
        "sentences": [*verdict.reasons, *verdict.errors][:MOST_SENTENCES],
        "notes": verdict.notes[:MOST_SENTENCES],
        "blocked": [parts.card(verdict, group) for group in blocked[:MOST_CARDS]],
        "blocked_count": len(blocked),
        "operators": [parts.operator(group) for group in operators[:MOST_ROWS]],
        "measured": [parts.measurement(row) for row in found[:MOST_ROWS]],
        "measured_count": len(found),
        "page_rows": PAGE_ROWS,
        "operator_count": len(operators),
        "ranks": ranks[:MOST_ROWS],
        "rank_count": len(ranks),
        "events": [parts.event(verdict, finding, at) for at, finding in enumerate(ordered[:MOST_ROWS])],
        "event_count": len(ordered),
        "costed": any(finding.event.cost for finding in ordered),
        "decisions": [d.value for d in Decision if verdict.decided(d)],
        "kinds": [kind.value for kind in Kind if any(f.event.kind is kind for f in verdict.findings)],
        "rank_names": sorted({rank for finding in verdict.findings for rank in finding.event.ranks})[:4096],
        "warned": bool(verdict.decided(Decision.WARNED)),
        "proof": [parts.proof(verdict, row) for row in proof[:MOST_PROOFS]],
        "proof_count": len(proof),
        "entries": entries,
        "logs": list(parts.logs(verdict))[:MOST_ROWS],
        "log_count": len(verdict.logs),
        **around.page(verdict),
    }
    content["sections"] = list(_sections(content))
    return content


def _sections(content: dict[str, Any]) -> Iterator[tuple[str, str, int | None]]:
    if content["blocked"]:
        yield "blocked", "Blocked", content["blocked_count"]
    if content["measured"]:
        yield "measured", "Measured", content["measured_count"]
    if content["events"]:
        yield "operators", "Operators", content["operator_count"]
    if content["events"] and content["ranks"]:
        yield "ranks", "Ranks", content["rank_count"]
    if content["events"]:
        yield "events", "Events", content["event_count"]
    if content["exclusions"]:
        yield "exclusions", "Exclusions", None
    if content["claims"] or content["rollback"]:
        yield "claims", "Claims", None
    if content["proof"]:
        yield "proof", "Proof", None
    yield "policy", "Policy", None
    yield "logs", "Logs", content["log_count"]
    if content["notes"]:
        yield "notes", "Notes", len(content["notes"])


def _logs_told(verdict: Verdict) -> str:
    return verdict.logs[0].path if len(verdict.logs) == 1 else words.number(len(verdict.logs), "log")


def _steps(verdict: Verdict) -> Iterator[dict[str, str]]:
    """What to do now, in order; `code` is to be copied."""
    if verdict.outcome is Outcome.BLOCKED and verdict.decided(Decision.BLOCKED):
        yield {"text": "Change the code at the places below: each says how.", "code": ""}
        yield {
            "text": "If one of them may fall back, list it as cold in the policy: reason, owner, date.",
            "code": "",
        }
    if verdict.outcome is Outcome.UNPROVEN:
        settings: Sequence[str] = next_settings(gaps(verdict.processes))
        for setting in settings:
            yield {"text": "Compile again with", "code": safe.shorten(setting, 600)}
        if not settings:
            yield {"text": "See below why, and record the log again.", "code": ""}
