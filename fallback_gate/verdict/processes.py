"""Room 6: who is who. The processes of a run, put together from what each line tells of its writer.

A line may tell the rank, the process id, both or neither. Within one log the parts are joined where only one
process fits. Across logs, the structured trace of a process joins its text log: same process id, same rank
where both tell it, written at the same time, and no other process fits. Two text logs are never joined by
process id alone: in containers everyone is process 1, and one run's proof must not cover for another's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fallback_gate.compilers.book import LogEvidence
from fallback_gate.compilers.rule import Evidence
from fallback_gate.model import ProcessKey

TRACE = "torch-trace/"
SLACK = 120  # seconds between the spans of a text log and a trace of the same process


@dataclass(slots=True)
class Processes:
    """The processes of a run.

    `evidence` by compiler, for each process of each log; `also` are the processes of other logs that are
    the same one; `alias` says which process a partly named one turned out to be.
    """

    evidence: dict[ProcessKey, dict[str, Evidence]] = field(default_factory=dict)
    also: dict[ProcessKey, list[ProcessKey]] = field(default_factory=dict)
    alias: dict[ProcessKey, ProcessKey] = field(default_factory=dict)

    def in_log(self, log: str) -> set[ProcessKey]:
        """The processes that the log tells of, by the name that the run has for them."""
        return {self.alias.get(process, process) for process in self.evidence if process.log == log} | {
            home for home, others in self.also.items() if any(other.log == log for other in others)
        }


def processes(logs: Mapping[str, LogEvidence]) -> Processes:
    """Find the processes of a run."""
    found = Processes()
    for log, said in logs.items():
        alias = _within(said.processes)
        found.alias |= alias
        joined: dict[ProcessKey, dict[str, Evidence]] = {}
        for process, compilers in said.processes.items():
            home = joined.setdefault(alias.get(process, process), {})
            for compiler, evidence in compilers.items():
                if compiler in home:
                    home[compiler].merge(evidence)
                else:
                    home[compiler] = evidence
        joined = _without_bystanders(joined)
        present = {process.rank for process in joined}
        for rank in sorted((said.extent.ranks or said.extent.local_ranks) - present):
            joined[ProcessKey(log, rank)] = {}
        found.evidence |= joined
    _across(found)
    return found


def _within(said: Mapping[ProcessKey, Mapping[str, Evidence]]) -> dict[ProcessKey, ProcessKey]:
    """Which processes of one log are the same.

    Lines without a rank (before the process group is there, and after it is gone) belong to the rank with
    their process id; lines without a process id to the one process of their rank. All on
    one host: in containers everyone is process 1.
    """
    found: dict[ProcessKey, ProcessKey] = {}
    for key in said:
        if key.rank is None and key.pid is not None:
            homes = [p for p in said if p[2:] == key[2:] and p.rank is not None]
            if len(homes) == 1:
                found[key] = homes[0]
    for key in said:
        if key.pid is None:
            named = {found.get(p, p): None for p in said if p.pid is not None and _fits(key, p, found)}
            if len(named) == 1:
                found[key] = next(iter(named))
    return found


def _fits(unnamed: ProcessKey, named: ProcessKey, found: Mapping[ProcessKey, ProcessKey]) -> bool:
    return unnamed.host == named.host and unnamed.rank in (named.rank, found.get(named, named).rank)


def _without_bystanders(
    joined: Mapping[ProcessKey, dict[str, Evidence]],
) -> dict[ProcessKey, dict[str, Evidence]]:
    """Leave out unnamed lines that report but prove nothing, beside named processes of that compiler.

    Their events stand; they are no process that owes a proof.
    """
    named = {name for process, mine in joined.items() if process.pid is not None for name in mine}
    kept = {}
    for process, compilers in joined.items():
        if process.pid is None:
            compilers = {name: e for name, e in compilers.items() if e.facts or name not in named}
            if not compilers:
                continue
        kept[process] = compilers
    return kept


def _across(found: Processes) -> None:
    """Join the trace of a process to its text log."""
    traces = {p: e for p, e in found.evidence.items() if p.pid is not None and _is_trace(e)}
    texts = {p: e for p, e in found.evidence.items() if p.pid is not None and e and p not in traces}
    for trace, evidence in traces.items():
        rivals = [p for p in traces if _same(p, trace)]
        homes = [p for p in texts if _same(p, trace) and _together(texts[p], evidence)]
        if len(homes) == 1 and len(rivals) == 1:
            found.alias[trace] = homes[0]
            found.also.setdefault(homes[0], []).append(trace)


def _same(one: ProcessKey, other: ProcessKey) -> bool:
    return one.pid == other.pid and (one.rank == other.rank or None in (one.rank, other.rank))


def _is_trace(compilers: Mapping[str, Evidence]) -> bool:
    return any(marker.startswith(TRACE) for evidence in compilers.values() for marker in evidence.facts)


def _together(text: Mapping[str, Evidence], trace: Mapping[str, Evidence]) -> bool:
    """Whether both were written at the same time, as far as both tell it."""
    one = [e.span for e in text.values() if e.span]
    other = [e.span for e in trace.values() if e.span]
    if not one or not other:
        return False
    return (
        min(s[0] for s in one) <= max(s[1] for s in other) + SLACK
        and min(s[0] for s in other) <= max(s[1] for s in one) + SLACK
    )
