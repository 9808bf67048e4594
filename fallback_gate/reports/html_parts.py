"""Room 7: the facts of the HTML report, each a dict of plain values that the template puts into place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from markupsafe import Markup, escape

from fallback_gate.model import Class, Decision, Finding, ProcessKey, State, Verdict
from fallback_gate.model.inputs import EntryUse
from fallback_gate.model.measures import State as Held
from fallback_gate.reports import measured, safe, words
from fallback_gate.reports.groups import Group, reports
from fallback_gate.reports.kinds import KIND_MEANING
from fallback_gate.reports.places import link, place
from fallback_gate.reports.proof_rows import ProofRow
from fallback_gate.reports.provenance import readers_by_log

MOST_PLACES = 8
TEXT_CHARACTERS = 1_000
LINE_CHARACTERS = 400


def card(verdict: Verdict, group: Group) -> dict[str, Any]:
    """All about one blocked operator."""
    first, event = group[0], group[0].event
    places = [spot for spot in (_place(verdict, finding) for finding in group[:MOST_PLACES]) if spot]
    return {
        "name": words.op(event),
        "what": words.KIND_WORDS[event.kind],
        "hot": first.event_class is Class.HOT,
        "often": words.how_often(group),
        "places": places,
        "more_places": len(group) - MOST_PLACES if len(group) > MOST_PLACES else 0,
        "reason": safe.shorten(event.reason or "", TEXT_CHARACTERS),
        "meaning": KIND_MEANING[event.kind],
        "next": safe.shorten(words.without_addresses(event.help), TEXT_CHARACTERS),
        "docs": words.addresses(event.help),
        "cost": words.cost(event),
        "stack": " < ".join(event.stack[:20]),
        "rule": words.rule(first),
        "spot": words.where_told(verdict, event.log, event.line),
        "excerpt": _excerpt(verdict, event.log, event.line, event.text),
        "id": event.id,
        "fingerprint": event.fingerprint,
    }


def operator(group: Group) -> dict[str, Any]:
    """One operator, in numbers."""
    first, event = group[0], group[0].event
    return {
        "name": words.op(event),
        "what": words.KIND_WORDS[event.kind],
        "decision": first.decision.value,
        "events": len(group),
        "reports": reports(group),
        "at_least": _at_least(group),
        "ranks": _ranks(rank for finding in group for rank in finding.event.ranks),
        "compiler": event.compiler,
    }


def event(verdict: Verdict, finding: Finding, order: int) -> dict[str, Any]:
    """One event, in a line and what unfolds under it."""
    one = finding.event
    return {
        "name": words.op(one),
        "kind": one.kind.value,
        "decision": finding.decision.value,
        "event_class": finding.event_class.value,
        "place": _place(verdict, finding),
        "spot": words.where_told(verdict, one.log, one.line),
        "order": order if one.line is None else one.line,
        "count": one.count,
        "at_least": _at_least([finding]),
        "ranks": _ranks(one.ranks),
        "rank_list": " ".join(map(str, one.ranks)),
        "reason": safe.shorten(one.reason or "", TEXT_CHARACTERS),
        "rule": safe.shorten(words.rule(finding), TEXT_CHARACTERS),
        "cost": words.cost(one),
        "share": one.cost.share if one.cost else -1.0,
        "of_step": f"{one.cost.share:.1%}" if one.cost else "",
        "stack": " < ".join(one.stack[:20]),
        "text": safe.shorten(one.text, LINE_CHARACTERS),
        "fingerprint": one.fingerprint,
    }


def measurement(row: measured.Row) -> dict[str, Any]:
    """One measurement and how it stands to its limit."""
    tones = {Held.EXCEEDED: "blocked", Held.OPEN: "unproven", Held.MET: "proven", Held.UNLIMITED: ""}
    return {
        "name": row.name,
        "number": row.number,
        "value": row.value,
        "before": row.before,
        "limit": row.limit,
        "source": row.source,
        "state": measured.WORDS[row.state],
        "tone": tones[row.state],
        "file": row.file,
    }


def ranks(verdict: Verdict) -> Iterator[dict[str, Any]]:
    """Each process, and how many events of each decision it printed."""
    counts: dict[tuple[ProcessKey, Decision], int] = Counter(
        (process, finding.decision) for finding in verdict.findings for process in finding.event.processes
    )
    for process in verdict.processes:
        named = (
            f"rank {process.rank}" if process.rank is not None else "",
            f"process {process.pid}" if process.pid is not None else "",
            f"on {process.host}" if process.host is not None else "",
        )
        told = (Decision.BLOCKED, Decision.WARNED, Decision.ALLOWED)
        yield {
            "name": " ".join(filter(None, named)) or "the log's only process",
            "log": process.log,
            "verdict": process.outcome.value,
            "counts": [(d.value.capitalize(), counts[process.key, d]) for d in told],
        }


def proof(verdict: Verdict, row: ProofRow) -> dict[str, Any]:
    """One kind, and whether the log would have shown it."""
    log = row.processes[0].log
    tones = {State.PROVEN: "proven", State.UNOBSERVABLE: "unobservable", State.UNPROVEN: "unproven"}
    return {
        "kind": row.kind.value if row.kind else "every kind",
        "state": row.standing,
        "tone": tones[row.state] if row.required else "",
        "who": ", ".join(filter(None, (row.compiler, row.who))),
        "why": row.why,
        "setting": row.setting if row.state is not State.PROVEN else None,
        "spot": words.where_told(verdict, log, row.line) if row.line else "",
        "excerpt": _excerpt(verdict, log, row.line, ""),
    }


def entries(verdict: Verdict) -> Iterator[tuple[str, list[dict[str, str]], bool]]:
    """The policy's entries, those that were used apart; title, rows, and whether they are shown at once."""
    used = [entry for entry in verdict.policy.entries if entry.used]
    unused = [entry for entry in verdict.policy.entries if not entry.used]
    yield "Used in this run", [_entry(entry) for entry in used], True
    yield "Not used in this run", [_entry(entry) for entry in unused], not used


def _entry(entry: EntryUse) -> dict[str, str]:
    count = entry.events
    if entry.expired:
        use = "expired: as if it were not there"
    elif entry.section == "hot":
        use = f"blocked {words.number(count, 'event')}" if count else "nothing of it fell back"
    elif entry.section == "cold":
        use = f"allowed {words.number(count, 'event')}" if count else "allowed nothing"
    else:
        use = "took an inherited hot entry off" if entry.used else "took nothing off"
    return {
        "section": entry.section,
        "entry": safe.shorten(words.selector(entry.entry), TEXT_CHARACTERS),
        "because": safe.shorten(words.excuse(entry.entry) or "-", TEXT_CHARACTERS),
        "use": use,
        "source": entry.source,
    }


def logs(verdict: Verdict) -> Iterator[dict[str, Any]]:
    """Each log: how much of it was read, by whom."""
    by = readers_by_log(verdict)
    for log in verdict.logs:
        yield {
            "path": log.path,
            "verdict": log.outcome.value if log.outcome else "not judged",
            "readers": ", ".join(by[log.path]) or "-",
            "bytes": log.bytes,
            "lines": log.lines,
            "sha256": log.sha256,
            "problem": log.problem,
        }


def _place(verdict: Verdict, finding: Finding) -> dict[str, str | None] | None:
    """Where in the user's code; a link where the site is known."""
    spot = finding.event.location
    if spot is None or not (spot.file or spot.function):
        layer = finding.event.layer
        return {"text": f"layer {layer}", "function": None, "link": None} if layer else None
    found = place(verdict, finding)
    mine = found if found and found.of_user else None
    file = mine.file if mine else spot.file
    text = f"{file}:{spot.line}" if file and spot.line else file or "?"
    return {"text": text, "function": spot.function, "link": link(verdict, mine)}


def _excerpt(verdict: Verdict, log: str, line: int | None, text: str) -> list[dict[str, Any]]:
    """The lines around a proving line; where the log was not read again, that line alone."""
    around = verdict.excerpts.get((log, line or 0))
    if around:
        return [
            {
                "number": number,
                "text": _line(said),
                "proves": number == line,
                "far": abs(number - (line or number)) > 1,
            }
            for number, said in around
        ]
    return [{"number": line, "text": _line(text), "proves": True, "far": False}] if text else []


def _line(text: str) -> Markup:
    """A log line with its blanks kept; a template's own finish would fold them."""
    return escape(safe.inline(safe.shorten(text.replace("\t", "    "), LINE_CHARACTERS)))


def _ranks(numbers: Any) -> str:
    return (words.ranks(numbers) or "-").removeprefix("ranks ").removeprefix("rank ")


def _at_least(group: Group) -> str:
    return "at least" if any(finding.event.count_is_lower_bound for finding in group) else ""
