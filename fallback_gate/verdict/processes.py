"""Room 6: who is who. The processes of a run, put together from what each line tells of its writer.

A line may tell the rank, the process id, both or neither. Within one log the parts are joined where only one
process fits. Across logs, the structured trace of a process joins its text log: same process id, same rank
where both tell it, written at the same time, every frame of the text in the trace, and no other process
fits. Two text logs are never joined by process id alone: in containers everyone is process 1, and one run's
proof must not cover for another's. Ranks are counted from 0: where a log names rank 7, seven more are owed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fallback_gate.compilers.log import LogEvidence
from fallback_gate.compilers.rule import Evidence, Reader
from fallback_gate.model import ProcessKey

TRACE = "torch-trace/"
MOST_RANKS = 1024  # that are told missing one by one
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

    def by_log(self) -> dict[str, set[ProcessKey]]:
        """The processes that each log tells of, by the name that the run has for them."""
        found: dict[str, set[ProcessKey]] = {}
        for process in self.evidence:
            found.setdefault(process.log, set()).add(self.alias.get(process, process))
        return found


def processes(logs: Mapping[str, LogEvidence], readers: Mapping[str, Reader]) -> Processes:
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
    _across(found, readers)
    for process in _owed(logs, found.evidence):
        found.evidence[process] = {}
    return found


def _owed(
    logs: Mapping[str, LogEvidence], known: Mapping[ProcessKey, Mapping[str, Evidence]]
) -> list[ProcessKey]:
    """The ranks below the largest that no log tells of, beside the largest.

    Only torch.distributed's own numbers and those of structured traces count the ranks of the whole run.
    """
    named = [(rank, log) for log, said in logs.items() for rank in said.extent.ranks]
    named += [(p.rank, p.log) for p, said in known.items() if p.rank is not None and _is_trace(said)]
    if not named:
        return []
    largest, log = max(named, key=lambda one: one[0])
    present = {process.rank for process in known}
    return [ProcessKey(log, rank) for rank in range(min(largest, MOST_RANKS)) if rank not in present]


def _within(said: Mapping[ProcessKey, Mapping[str, Evidence]]) -> dict[ProcessKey, ProcessKey]:
    """Which processes of one log are the same.

    Lines without a rank (before the process group is there, and after it is gone) belong to the rank with
    their process id; lines without a process id to the one process of their rank. All on
    one host: in containers everyone is process 1.
    """
    found: dict[ProcessKey, ProcessKey] = {}
    ranked: dict[tuple[int | None, str | None], list[ProcessKey]] = {}
    for key in said:
        if key.rank is not None:
            ranked.setdefault((key.pid, key.host), []).append(key)
    for key in said:
        if key.rank is None and key.pid is not None:
            homes = ranked.get((key.pid, key.host), ())
            if len(homes) == 1:
                found[key] = homes[0]
    named: dict[tuple[int | None, str | None], dict[ProcessKey, None]] = {}
    for key in said:
        if key.pid is not None:
            home = found.get(key, key)
            for rank in {key.rank, home.rank}:
                named.setdefault((rank, key.host), {})[home] = None
    for key in said:
        if key.pid is None:
            fitting = named.get((key.rank, key.host), {})
            if len(fitting) == 1:
                found[key] = next(iter(fitting))
    return found


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


def _across(found: Processes, readers: Mapping[str, Reader]) -> None:
    """Join the trace of a process to its text log."""
    traces = {p: e for p, e in found.evidence.items() if p.pid is not None and _is_trace(e)}
    if not traces:
        return
    texts: dict[int | None, list[ProcessKey]] = {}
    for process, compilers in found.evidence.items():
        if compilers and process not in traces:
            texts.setdefault(process.pid, []).append(process)
    rivals = Counter((trace.pid, trace.rank) for trace in traces)
    by_pid = Counter(trace.pid for trace in traces)
    for trace, evidence in traces.items():
        same = by_pid[trace.pid]
        if trace.rank is not None:
            same = rivals[trace.pid, trace.rank] + rivals[trace.pid, None]
        if same > 1:
            continue
        fitting = _fitting(trace, texts.get(trace.pid, ()))
        homes = [p for p in fitting if _together(found.evidence[p], evidence)]
        if len(homes) == 1 and _one_program(found.evidence[homes[0]], evidence, readers):
            found.alias[trace] = homes[0]
            found.also.setdefault(homes[0], []).append(trace)


def _fitting(trace: ProcessKey, texts: Iterable[ProcessKey]) -> list[ProcessKey]:
    """The text logs' processes whose rank is the trace's, or not told by one of both."""
    return [p for p in texts if p.rank == trace.rank or None in (p.rank, trace.rank)]


def _one_program(
    text: Mapping[str, Evidence], trace: Mapping[str, Evidence], readers: Mapping[str, Reader]
) -> bool:
    """Whether a compiler's reader takes the trace for one of the program that wrote the text."""
    return any(
        readers[name].joins(text[name], trace[name]) for name in text.keys() & trace.keys() & readers.keys()
    )


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
