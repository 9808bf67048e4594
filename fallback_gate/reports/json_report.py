"""Room 7: the verdict as JSON, schema `fallback-gate/1`: the report that programs read.

Every key is there in every report, null where nothing is known. The schema grows by adding keys only;
taking one away or changing what it means needs a new number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from typing import Any

from fallback_gate.model import (
    CompilerProof,
    Finding,
    LogReport,
    ProcessVerdict,
    Proof,
    RuleSource,
    Verdict,
    WaiverSummary,
)
from fallback_gate.reports import safe

SCHEMA = "fallback-gate/1"
EXCERPT_CHARACTERS = 500


def render(verdict: Verdict) -> str:
    """The report as ASCII text, two blanks an indent, with a line feed at its end.

    No CI runner that prints it finds a command: of `##[name]`, which they obey anywhere in a line, the
    second character is written as an escape, which parsers turn back.
    """
    text = json.dumps(_safe(document(verdict)), indent=2, ensure_ascii=True, allow_nan=False)
    return text.replace("##", "#\\u0023") + "\n"


def document(verdict: Verdict) -> dict[str, Any]:
    """The report as plain dicts and lists, strings as they stand in the verdict."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "fallback-gate", "version": verdict.tool_version},
        "verdict": verdict.outcome.value if verdict.outcome else None,
        "exit_code": verdict.exit_code,
        "today": verdict.today.isoformat(),
        "policy": {
            "name": verdict.policy.name,
            "path": verdict.policy.path,
            "sha256": verdict.policy.sha256,
        },
        "logs": [_log(log) for log in verdict.logs],
        "processes": [_process(process) for process in verdict.processes],
        "events": [_event(finding) for finding in verdict.findings],
        "notes": list(verdict.notes),
        "reasons": list(verdict.reasons),
        "errors": list(verdict.errors),
        "waiver": _waiver(verdict.waiver) if verdict.waiver else None,
        "recorded": asdict(verdict.recorded) if verdict.recorded else None,
    }


def _log(log: LogReport) -> dict[str, Any]:
    return {
        "path": log.path,
        "bytes": log.bytes,
        "lines": log.lines,
        "sha256": log.sha256,
        "recognised": log.recognised,
        "sealed": log.sealed,
        "verdict": log.outcome.value if log.outcome else None,
        "problem": log.problem,
    }


def _process(process: ProcessVerdict) -> dict[str, Any]:
    return {
        "log": process.log,
        "rank": process.rank,
        "pid": process.pid,
        "verdict": process.outcome.value,
        "compilers": [_compiler(compiler) for compiler in process.compilers],
        "why": process.why,
    }


def _compiler(compiler: CompilerProof) -> dict[str, Any]:
    return {
        "name": compiler.name,
        "version": compiler.version,
        "proof": {kind.value: _proof(proof) for kind, proof in compiler.proof.items()},
        "required": sorted(kind.value for kind in compiler.required),
    }


def _proof(proof: Proof) -> dict[str, Any]:
    return {"state": proof.state.value, "why": proof.why, "line": proof.line, "setting": proof.setting}


def _event(finding: Finding) -> dict[str, Any]:
    event, place = finding.event, finding.event.location
    return {
        "id": event.id,
        "compiler": event.compiler,
        "kind": event.kind.value,
        "scope": event.scope.value,
        "op": event.op,
        "names": list(event.names),
        "stack": list(event.stack),
        "reason": event.reason,
        "log": event.log,
        "line": event.line,
        "lines": list(event.lines),
        "count": event.count,
        "sites": event.sites,
        "count_is_lower_bound": event.count_is_lower_bound,
        "ranks": list(event.ranks),
        "location": place and {"file": place.file, "line": place.line, "function": place.function},
        "class": finding.event_class.value,
        "decision": finding.decision.value,
        "rule": _rule(finding.rule) if finding.rule else None,
        "fingerprint": event.fingerprint,
        "help": event.help,
        "files": list(event.files),
        "layer": event.layer,
        "why": finding.why,
        "excerpt": safe.shorten(safe.redact(event.text), EXCERPT_CHARACTERS),
    }


def _rule(rule: RuleSource) -> dict[str, Any]:
    return {**rule.entry, "source": rule.source}


def _waiver(waiver: WaiverSummary) -> dict[str, Any]:
    return {
        "path": waiver.path,
        "release": waiver.release,
        "who": waiver.who,
        "why": waiver.why,
        "expires": waiver.expires.isoformat(),
        "applied": waiver.applied,
        "problem": waiver.problem,
    }


def _safe(value: Any) -> Any:
    """The same value with every string redacted, and in types that JSON has."""
    if isinstance(value, str):
        return safe.json_text(safe.redact(value))
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {_safe(str(key)): _safe(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(_safe(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [_safe(item) for item in value]
    return safe.json_text(safe.redact(str(value)))
