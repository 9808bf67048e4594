"""Room 7: the verdict as SARIF 2.1.0, for code scanning pages and editors.

Written for the strictest reader: GitHub refuses a file with one result that has no place in the
repository or of more than 10 MB when packed, ignores suppressions, shows 5,000 results, and matches alerts
by a fingerprint that its upload action computes itself (`primaryLocationLineHash`), so ours has a key of
its own. The file therefore holds what blocks; the rest comes on request, for tools that understand
`suppressions`. What does not fit is counted by the last result, since nobody looks for it elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from fallback_gate.model import Decision, Event, Finding, LogReport, Outcome, Verdict
from fallback_gate.reports import safe, words
from fallback_gate.reports.dump import dump
from fallback_gate.reports.gaps import gaps
from fallback_gate.reports.groups import by_operator
from fallback_gate.reports.headline import headline, waiver
from fallback_gate.reports.kinds import KIND_MEANING
from fallback_gate.reports.places import NOWHERE, in_repository, place, policy_place, uri
from fallback_gate.reports.provenance import provenance, run_at

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST = 5_000
MOST_BYTES = 9_000_000  # of results without indents, so that even what can't be packed stays under 10 MB
MOST_SENTENCES = 200
TEXT_CHARACTERS = 2_000
LEFT_OUT = "fallback-gate/left-out"
_LEFT_OUT_RULE = {
    "id": LEFT_OUT,
    "name": "LeftOut",
    "shortDescription": {"text": "Results that are left out to keep the file small"},
    "defaultConfiguration": {"level": "error"},
    "properties": {"tags": ["compiler-fallback"]},
}


def render(verdict: Verdict, *, suppressed: bool = False) -> str:
    """The report; `suppressed` adds what is warned, allowed or waived, the last two as suppressions."""
    decisions = [Decision.BLOCKED] if verdict.outcome is not Outcome.WAIVED else []
    if suppressed:
        decisions = [Decision.BLOCKED, Decision.WARNED, Decision.ALLOWED]
    found = [f for decision in decisions for group in by_operator(verdict.decided(decision)) for f in group]
    results = list(_within_limit(verdict, found))
    shown, rest = found[: len(results)], found[len(results) :]
    events: dict[str, Event] = {}
    for finding in shown:
        events.setdefault(finding.event.id, finding.event)
    rules = [_rule(event) for event in events.values()]
    if rest:
        results.append(_left_out(verdict, rest, len(rules)))
        rules.append(_LEFT_OUT_RULE)
    run = {
        "tool": {
            "driver": {
                "name": "fallback-gate",
                "semanticVersion": verdict.tool_version,
                "rules": rules,
            }
        },
        "invocations": [_invocation(verdict, len(rest))],
        "artifacts": [_artifact(log) for log in verdict.logs],
        "results": results,
        "columnKind": "unicodeCodePoints",
        "properties": provenance(verdict),
    }
    return dump({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _within_limit(verdict: Verdict, found: Sequence[Finding]) -> Iterator[dict[str, Any]]:
    """A result for each finding, as long as there is room; one place is kept for what counts the rest."""
    room, order = MOST_BYTES, dict[str, int]()
    for finding in found if len(found) <= MOST else found[: MOST - 1]:
        result = _result(verdict, finding, order)
        room -= len(json.dumps(result))
        if room < 0:
            return
        yield result


def _left_out(verdict: Verdict, rest: Sequence[Finding], rule: int) -> dict[str, Any]:
    """The result that counts those which did not fit, as bad as the worst of them, which comes first."""
    spot = policy_place(verdict) or NOWHERE
    blocks = rest[0].decision is Decision.BLOCKED and verdict.outcome is not Outcome.WAIVED
    at = {"artifactLocation": {"uri": uri(spot.file)}, "region": {"startLine": spot.line}}
    return {
        "ruleId": LEFT_OUT,
        "ruleIndex": rule,
        "kind": "fail",
        "level": "error" if blocks else "note",
        "message": _message(_more(len(rest), "result")),
        "locations": [{"physicalLocation": at}],
        "partialFingerprints": {"fallbackGate/v1": LEFT_OUT},
    }


def _more(count: int, noun: str) -> str:
    more = words.number(count, f"more {noun}")
    return f"{more} left out to keep this file small; --format json has them all"


def _message(text: str) -> dict[str, str]:
    return {"text": safe.shorten(safe.sarif(text), TEXT_CHARACTERS)}


def _rule(event: Event) -> dict[str, Any]:
    meaning = KIND_MEANING[event.kind]
    name = words.sentence(event.id)
    help_text = f"{meaning} {words.sentence(event.help)}".strip()
    known = f"More: `fallback-gate explain {name}`" if "`" not in name else ""
    address = next(iter(words.addresses(event.help)), None)
    rule: dict[str, Any] = {
        "id": name,
        "name": _pascal(event.kind.value),
        "shortDescription": _message(f"{event.compiler}: {words.KIND_WORDS[event.kind]}"),
        "fullDescription": _message(meaning),
        "help": {
            **_message(help_text),
            "markdown": f"{meaning}\n\n**Next:** {safe.markdown(event.help) or '-'}\n\n{known}",
        },
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["performance", "compiler-fallback", event.kind.value]},
    }
    if address:
        rule["helpUri"] = address
    return rule


def _pascal(name: str) -> str:
    return "".join(part.title() for part in name.split("_"))


def _result(verdict: Verdict, finding: Finding, order: dict[str, int]) -> dict[str, Any]:
    event = finding.event
    spot = place(verdict, finding) or NOWHERE
    said = [f"{words.title_at(event)} ({words.how_often([finding])})."]
    said += [f"{words.sentence(event.reason)}."] if event.reason else []
    said += [f"Costs {cost}."] if (cost := words.cost(event)) else []
    said += [f"Log: {words.log_spot(event.log, event.line)}.", f"Policy: {words.rule(finding)}."]
    said += [f"Next: {words.sentence(event.help)}"] if event.help else []
    names = words.distinct(filter(None, map(words.sentence, (event.op, *event.names))))[:20]
    result: dict[str, Any] = {
        "ruleId": words.sentence(event.id),
        "ruleIndex": order.setdefault(event.id, len(order)),
        "kind": "fail",
        "level": {Decision.BLOCKED: "error", Decision.WARNED: "warning"}.get(finding.decision, "note"),
        "message": _message(" ".join(said)),
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri(spot.file)},
                    "region": {"startLine": spot.line},
                },
                "logicalLocations": [{"fullyQualifiedName": name} for name in names],
            }
        ],
        "partialFingerprints": {"fallbackGate/v1": words.sentence(event.fingerprint)},
        "properties": {
            "kind": event.kind.value,
            "compiler": event.compiler,
            "class": finding.event_class.value,
            "decision": finding.decision.value,
            "count": event.count,
            "ranks": list(event.ranks),
            "log": words.log_spot(event.log, event.line),
        },
    }
    log = in_repository(verdict, event.log) if verdict.repository is None else _relative(event.log)
    if log and event.line:
        at = {"artifactLocation": {"uri": uri(log)}, "region": {"startLine": event.line}}
        result["relatedLocations"] = [{"physicalLocation": at, "message": _message(event.text or "the log")}]
    if event.cost:
        result["rank"] = round(100 * event.cost.share, 1)
    excuse = _suppression(verdict, finding)
    if excuse:
        result["suppressions"] = [{"kind": "external", "status": "accepted", **excuse}]
    return result


def _suppression(verdict: Verdict, finding: Finding) -> dict[str, str] | None:
    if finding.decision is Decision.ALLOWED:
        return {"justification": words.rule(finding)}
    if finding.decision is Decision.BLOCKED and verdict.outcome is Outcome.WAIVED:
        return {"justification": waiver(verdict) or "waived"}
    return None


def _relative(log: str) -> str | None:
    clean = log.replace("\\", "/").removeprefix("./")
    outside = clean.startswith("/") or ":" in clean or ".." in clean.split("/") or clean == "-"
    return None if outside or not clean else clean


def _artifact(log: LogReport) -> dict[str, Any]:
    path = log.path.replace("\\", "/").removeprefix("./")
    if path.startswith("/"):
        address = f"file://{uri(path)}"
    else:
        address = f"file:///{uri(path)}" if re.match(r"[A-Za-z]:/", path) else uri(path)
    found: dict[str, Any] = {"location": {"uri": address}, "roles": ["analysisTarget"]}
    if log.bytes is not None:
        found["length"] = log.bytes
    if log.sha256:
        found["hashes"] = {"sha-256": log.sha256}
    return found


def _invocation(verdict: Verdict, left_out: int) -> dict[str, Any]:
    decided = verdict.outcome not in (None, Outcome.UNPROVEN)
    invocation: dict[str, Any] = {
        "executionSuccessful": decided,
        "exitCode": verdict.exit_code,
        "exitCodeDescription": safe.shorten(headline(verdict), TEXT_CHARACTERS),
        "toolExecutionNotifications": list(_notifications(verdict, left_out)),
    }
    if verdict.run_at:
        invocation["startTimeUtc"] = run_at(verdict)
    return invocation


def _notifications(verdict: Verdict, left_out: int) -> Iterator[dict[str, Any]]:
    level = "error" if verdict.outcome in (None, Outcome.UNPROVEN, Outcome.BLOCKED) else "warning"
    spot = policy_place(verdict)
    told = [*_gaps(verdict), *verdict.reasons, *verdict.errors]
    for text in _some(told, "sentence"):
        said: dict[str, Any] = {"level": level, "message": _message(words.sentence(text))}
        if spot:
            said["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": uri(spot.file)}}}]
        yield said
    for text in _some([f"{log.path}: {log.problem}" for log in verdict.logs if log.problem], "log"):
        yield {"level": "warning", "message": _message(words.sentence(text))}
    pardon = waiver(verdict)
    if pardon:
        yield {"level": "warning", "message": _message(pardon)}
    if left_out:
        yield {"level": "warning", "message": _message(_more(left_out, "result"))}


def _some(told: Sequence[str], noun: str) -> Iterator[str]:
    yield from told[:MOST_SENTENCES]
    if len(told) > MOST_SENTENCES:
        yield _more(len(told) - MOST_SENTENCES, noun)


def _gaps(verdict: Verdict) -> Sequence[str]:
    return [
        f"{', '.join(kind.value for kind in gap.kinds) or 'every kind'}: {gap.state.value} by "
        f"{gap.compiler or 'any compiler'}: {gap.why}{f'; set {gap.setting}' if gap.setting else ''}"
        for gap in gaps(verdict.processes)
    ]
