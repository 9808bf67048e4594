"""Room 7: the proof of a run as rows of a table: alike processes share one, what is missing comes first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fallback_gate.model import Kind, Outcome, ProcessVerdict, State
from fallback_gate.reports import words

_ORDER = (State.UNPROVEN, State.UNOBSERVABLE, State.PROVEN)


class ProofRow(NamedTuple):
    """What some processes say about one kind, for one reason; `line` is that of the first of them.

    `kind` and `compiler` are None where a process shows no compiler. `excused`: the policy lets a kind
    pass that this level does not show.
    """

    compiler: str | None
    kind: Kind | None
    state: State
    required: bool
    excused: bool
    why: str
    setting: str | None
    line: int | None
    processes: tuple[ProcessVerdict, ...]

    @property
    def standing(self) -> str:
        """The state in words, with what it means for the verdict."""
        if self.excused:
            return f"{self.state.value}, excused by the policy"
        return self.state.value if self.required else f"{self.state.value}, not required"

    @property
    def decides(self) -> bool:
        """Whether it keeps a process from passing."""
        return self.required and not self.excused and self.state is not State.PROVEN

    @property
    def who(self) -> str:
        """The processes in words, where there is more than one or it has a rank."""
        ranks = words.ranks(process.rank for process in self.processes if process.rank is not None)
        if ranks:
            return ranks
        if len(self.processes) > 1:
            return words.number(len(self.processes), "process", "processes")
        return "" if self.compiler else words.sentence(self.processes[0].log)


def proof_rows(processes: Iterable[ProcessVerdict]) -> list[ProofRow]:
    """All rows: what decides against a pass first, then by compiler and kind."""
    found: dict[tuple[str | None, Kind | None, State, bool, bool, str, str | None], list[ProcessVerdict]] = {}
    lines: dict[tuple[object, ...], int | None] = {}
    for process in processes:
        if not process.compilers:
            why = process.why or "no known compiler spoke"
            state = State.PROVEN if process.outcome is Outcome.PASS else State.UNPROVEN
            found.setdefault((None, None, state, True, False, why, None), []).append(process)
        for compiler in process.compilers:
            for kind, proof in compiler.proof.items():
                required = kind in compiler.required
                passes = process.outcome is Outcome.PASS or kind in compiler.excused
                excused = required and passes and proof.state is not State.PROVEN
                key = (compiler.name, kind, proof.state, required, excused, proof.why, proof.setting)
                found.setdefault(key, []).append(process)
                lines.setdefault(key, proof.line)
    rows = [ProofRow(*key, lines.get(key), tuple(members)) for key, members in found.items()]
    return sorted(rows, key=lambda row: (not row.decides, not row.required, _ORDER.index(row.state)))


def excused(processes: Iterable[ProcessVerdict]) -> list[Kind]:
    """The kinds that decide, that the log does not prove, and that the policy lets pass all the same."""
    kinds = {row.kind: None for row in proof_rows(processes) if row.excused and row.kind}
    return [kind for kind in Kind if kind in kinds]
