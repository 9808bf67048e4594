"""Room 7: what the evidence does not prove, told once instead of once a process and kind.

A run of 64 ranks at the wrong log level lacks the same few kinds 64 times for one reason. Kinds with
the same reason and the same remedy become one gap, and so do the processes that share it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from fallback_gate.model import Kind, Outcome, ProcessVerdict, Proof, State

_ASSIGNMENT = re.compile(r"^[A-Z][A-Z0-9_]*=\S*$")
_NAMES = re.compile(r"^[+-]?[A-Za-z_][^,/]*(,[+-]?[A-Za-z_][^,/]*)*$")


class Gap(NamedTuple):
    """Kinds that some processes of one compiler leave without proof, for one reason.

    `kinds` is empty and `compiler` None where a process shows no compiler at all. `line` is the first
    line that says so, in the first process.
    """

    compiler: str | None
    state: State
    kinds: tuple[Kind, ...]
    why: str
    setting: str | None
    line: int | None
    processes: tuple[ProcessVerdict, ...]


def gaps(processes: Iterable[ProcessVerdict]) -> tuple[Gap, ...]:
    """What is still to be proven, in the order of the processes.

    What the policy excuses is owed by none, and a process that passes owes nothing.
    """
    found: dict[tuple[str | None, State, tuple[Kind, ...], str, str | None], list[ProcessVerdict]] = {}
    lines: dict[tuple[str | None, State, tuple[Kind, ...], str, str | None], int | None] = {}
    for process in processes:
        if process.outcome not in (Outcome.UNPROVEN, Outcome.BLOCKED):
            continue
        if not process.compilers and process.outcome is Outcome.UNPROVEN:
            why = process.why or "no known compiler spoke"
            found.setdefault((None, State.UNPROVEN, (), why, None), []).append(process)
        for compiler in process.compilers:
            alike: dict[tuple[State, str, str | None], list[tuple[Kind, Proof]]] = {}
            for kind, proof in compiler.proof.items():
                if kind in compiler.required - compiler.excused and proof.state is not State.PROVEN:
                    alike.setdefault((proof.state, proof.why, proof.setting), []).append((kind, proof))
            for (state, why, setting), members in alike.items():
                key = (compiler.name, state, tuple(kind for kind, _ in members), why, setting)
                found.setdefault(key, []).append(process)
                lines.setdefault(key, members[0][1].line)
    return tuple(
        Gap(compiler, state, kinds, why, setting, lines.get(key), tuple(members))
        for key, members in found.items()
        for compiler, state, kinds, why, setting in (key,)
    )


def next_settings(open_gaps: Iterable[Gap]) -> tuple[str, ...]:
    """The settings that would close the gaps: environment variables on one line, then the rest in words.

    Where two gaps ask for one variable with different lists of names, the line asks for both lists. What a
    setting wants beside its variables (`X=1, and a marker ...`) stands behind: the line can be copied.
    """
    variables: dict[str, list[str]] = {}
    others: list[str] = []
    for setting in dict.fromkeys(gap.setting for gap in open_gaps if gap.setting):
        line, _, rest = setting.partition(", and ")
        words = line.split()
        if not all(_ASSIGNMENT.match(word) for word in words):
            others.append(setting)
            continue
        others += [rest] if rest else []
        for word in words:
            name, _, value = word.partition("=")
            known = variables.setdefault(name, [])
            if known and known != [value] and not _NAMES.match(value):
                others.append(word)  # two levels of one variable are no list
                continue
            known += [item for item in value.split(",") if item not in known]
    line = " ".join(f"{name}={','.join(values)}" for name, values in variables.items())
    return tuple(filter(None, (line, *dict.fromkeys(others))))
