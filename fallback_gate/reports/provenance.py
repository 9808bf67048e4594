"""Room 7: where a verdict comes from: tool, policy, logs, readers and clock; every report can show it."""

from __future__ import annotations

from typing import Any

from fallback_gate.model import Verdict
from fallback_gate.reports.words import distinct


def provenance(verdict: Verdict) -> dict[str, Any]:
    """All that a second run needs to come to the same verdict, as plain data.

    `runAt` is null where the caller pinned the clock, so that a report can be made again byte for byte.
    """
    return {
        "toolVersion": verdict.tool_version,
        "policy": {
            "name": verdict.policy.name,
            "path": verdict.policy.path,
            "sha256": verdict.policy.sha256,
        },
        "rules": [{"path": file.path, "sha256": file.sha256} for file in verdict.rules_files],
        "logs": [
            {
                "path": log.path,
                "bytes": log.bytes,
                "lines": log.lines,
                "sha256": log.sha256,
                "readers": readers(verdict, log.path),
            }
            for log in verdict.logs
        ],
        "today": verdict.today.isoformat(),
        "runAt": verdict.run_at.strftime("%Y-%m-%dT%H:%M:%SZ") if verdict.run_at else None,
    }


def readers(verdict: Verdict, log: str | None = None) -> list[str]:
    """The compilers whose readers knew a line, in one log or in all, with versions where known."""
    return distinct(
        f"{compiler.name} {compiler.version or ''}".strip()
        for process in verdict.processes
        if log is None or process.log == log
        for compiler in process.compilers
    )
