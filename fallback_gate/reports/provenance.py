"""Room 7: where a verdict comes from: tool, policy, logs, readers and clock; every report can show it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fallback_gate.model import ProcessVerdict, Verdict
from fallback_gate.reports.groups import by_log
from fallback_gate.reports.words import distinct


def provenance(verdict: Verdict) -> dict[str, Any]:
    """All that a second run needs to come to the same verdict, as plain data.

    `runAt` is null where the caller pinned the clock, so that a report can be made again byte for byte.
    """
    by = readers_by_log(verdict)
    return {
        "toolVersion": verdict.tool_version,
        "policy": {
            "name": verdict.policy.name,
            "path": verdict.policy.path,
            "sha256": verdict.policy.sha256,
        },
        "rules": rules(verdict),
        "logs": [
            {
                "path": log.path,
                "bytes": log.bytes,
                "lines": log.lines,
                "sha256": log.sha256,
                "readers": by[log.path],
            }
            for log in verdict.logs
        ],
        "today": verdict.today.isoformat(),
        "runAt": run_at(verdict),
    }


def rules(verdict: Verdict) -> list[dict[str, str | None]]:
    """The files with the user's own messages that were given beside the policy."""
    return [{"path": file.path, "sha256": file.sha256} for file in verdict.rules_files]


def run_at(verdict: Verdict) -> str | None:
    """When it ran, where that is told: `2026-11-30T06:12:01Z`."""
    return verdict.run_at.strftime("%Y-%m-%dT%H:%M:%SZ") if verdict.run_at else None


def readers(processes: Iterable[ProcessVerdict]) -> list[str]:
    """The compilers whose readers knew a line of these processes, with versions where known."""
    return distinct(
        f"{compiler.name} {compiler.version or ''}".strip()
        for process in processes
        for compiler in process.compilers
    )


def readers_by_log(verdict: Verdict) -> dict[str, list[str]]:
    """The same for each log of the run."""
    processes = by_log(verdict.processes)
    return {log.path: readers(processes.get(log.path, ())) for log in verdict.logs}
