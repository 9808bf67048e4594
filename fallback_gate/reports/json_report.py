"""Room 7: the verdict as JSON, schema `fallback-gate/1`: the report that programs read.

Every key is there in every report, null where nothing is known. The schema grows by adding keys only;
taking one away or changing what it means needs a new number.
"""

from __future__ import annotations

from typing import Any

from fallback_gate.model import (
    REPORT_SCHEMA,
    BaselineSummary,
    CompilerProof,
    Finding,
    LogReport,
    ProcessVerdict,
    Proof,
    RuleSource,
    Verdict,
    WaiverSummary,
)
from fallback_gate.model.measures import Measured
from fallback_gate.reports import around, safe
from fallback_gate.reports.dump import dump
from fallback_gate.reports.provenance import readers_by_log, rules, run_at

EXCERPT_CHARACTERS = 500


def render(verdict: Verdict) -> str:
    """The report as ASCII text, two blanks an indent, with a line feed at its end."""
    return dump(document(verdict))


def document(verdict: Verdict) -> dict[str, Any]:
    """The report as plain dicts and lists, strings as they stand in the verdict."""
    by = readers_by_log(verdict)
    return {
        "schema": REPORT_SCHEMA,
        "tool": {"name": "fallback-gate", "version": verdict.tool_version},
        "verdict": verdict.outcome.value if verdict.outcome else None,
        "exit_code": verdict.exit_code,
        "today": verdict.today.isoformat(),
        "policy": {
            "name": verdict.policy.name,
            "path": verdict.policy.path,
            "sha256": verdict.policy.sha256,
            "revision": verdict.policy.revision and verdict.policy.revision._asdict(),
            "changes": [
                {**change._asdict(), "direction": change.direction.value} for change in verdict.policy.changes
            ],
        },
        "logs": [_log(log, by[log.path]) for log in verdict.logs],
        "processes": [_process(process) for process in verdict.processes],
        "events": [_event(finding) for finding in verdict.findings],
        "notes": list(verdict.notes),
        "proven": verdict.proven,
        "baseline": _baseline(verdict.baseline) if verdict.baseline else None,
        "reasons": list(verdict.reasons),
        "errors": list(verdict.errors),
        "waiver": _waiver(verdict.waiver) if verdict.waiver else None,
        "rules": rules(verdict),
        "run_at": run_at(verdict),
        "recorded": verdict.recorded._asdict() if verdict.recorded else None,
        "measurements": [measured(one) for one in verdict.measurements],
        **around.data(verdict),
    }


def measured(one: Measured) -> dict[str, Any]:
    """A measurement and how it stands to its limit."""
    measurement = one.measurement
    return {
        "instrument": measurement.instrument,
        "name": measurement.name,
        "subject": measurement.subject,
        "value": measurement.value,
        "unit": measurement.unit,
        "baseline": measurement.baseline,
        "limit": one.limit.text if one.limit else None,
        "state": one.state.value,
        "source": one.source,
        "path": measurement.path,
    }


def _log(log: LogReport, readers: list[str]) -> dict[str, Any]:
    return {
        "path": log.path,
        "bytes": log.bytes,
        "lines": log.lines,
        "sha256": log.sha256,
        "recognised": log.recognised,
        "sealed": log.sealed,
        "verdict": log.outcome.value if log.outcome else None,
        "problem": log.problem,
        "readers": readers,
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
        "cost": event.cost
        and {
            "kernels_per_step": event.cost.kernels,
            "microseconds_per_step": event.cost.microseconds,
            "share_of_step": event.cost.share,
            "by": event.cost.by,
            "host_microseconds_per_step": event.cost.host,
            "certain": event.cost.certain,
        },
        "compile_ids": list(event.compile_ids),
        "excerpt": safe.shorten(safe.redact(event.text), EXCERPT_CHARACTERS),
    }


def _baseline(baseline: BaselineSummary) -> dict[str, Any]:
    return {
        "path": baseline.path,
        "tool_version": baseline.tool_version,
        "policy_sha256": baseline.policy_sha256,
        "entries": baseline.entries,
        "used": baseline.used,
        "gone": baseline.gone,
        "fewer": baseline.fewer,
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
