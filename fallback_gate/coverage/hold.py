"""The annex, the coverage matrix: the red line. A hot operator in the fallback column blocks.

A hot entry is settled where a cell of what ran shows its operator covered and none shows it unknown; where
a trace shows its function with no fallback in it; or where the logs prove that no fallback happened. Else the
matrix is unproven, and so it is where nothing is hot, nothing was read, or a file is cut. Cells that were
kept from before, of back ends that were not read now, block as well and settle nothing.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from fallback_gate import policy as policies
from fallback_gate.model import Class, Event, Finding, Kind, Outcome
from fallback_gate.model.matrix import COVERED, Cell, Column, Held, Matrix, Place, Read, Red
from fallback_gate.model.measures import Cost
from fallback_gate.policy import globs
from fallback_gate.policy.entry import HotEntry, Policy
from fallback_gate.policy.match import hot_untold
from fallback_gate.verdict import decide

NO_HOT_LIST = (
    "the policy has no hot list, so that no operator is over the red line: `fallback-gate policy hot TRACE` "
    "proposes one"
)


@dataclass(frozen=True, slots=True)
class ReadNow:
    """What was read now: places, the user's functions in traces, what the policy made of the logs' events.

    `ran` are the places that something shows which ran: output code shows what was compiled. `proven`: the
    logs would have shown every fallback. `step` is the kernel time of a step by back end, in microseconds.
    """

    fresh: Collection[Place]
    ran: Collection[Place]
    functions: Collection[str] = ()
    told: Mapping[Place, Finding] | None = None
    proven: bool = False
    step: Mapping[str, float] | None = None
    read: Sequence[Read] = ()
    notes: Sequence[str] = ()


def hold(
    matrix: Matrix,
    now: ReadNow,
    policy: str | None,
    *,
    today: date,
    cwd: Path,
    environ: Mapping[str, str] | None = None,
    exit_zero: bool = False,
) -> Held:
    """Hold a matrix against the hot list of a policy. Raises `PolicyError`."""
    environ = os.environ if environ is None else environ
    rule = policies.load(policies.find(policy, environ, cwd), today)
    events = {cell.place: _event(cell, now) for cell in matrix.cells}
    red = tuple(_red(matrix, events, now, rule, today))
    open_ = [*_unread(matrix, now), *([] if rule.hot else [NO_HOT_LIST])]
    hot: set[Place] = {one.cell.place for one in red}
    for entry in rule.hot:
        asked = replace(entry, kinds=())
        named = [cell for cell in matrix.cells if hot_untold(asked, events[cell.place]) is not None]
        hot |= {cell.place for cell in named}
        why = _open(entry, [cell for cell in named if cell.place in now.fresh], now)
        if why and not any(one.cell in named for one in red):
            open_.append(why)
    outcome = Outcome.BLOCKED if red else Outcome.UNPROVEN if open_ else Outcome.PASS
    exit_code = decide.exit_code(outcome, exit_zero)
    return Held(
        matrix, outcome, exit_code, rule.summary, red, frozenset(hot), tuple(open_),
        tuple(now.notes), tuple(now.read),
    )  # fmt: skip


def _unread(matrix: Matrix, now: ReadNow) -> Iterable[str]:
    if not matrix.cells:
        yield "the matrix is empty: nothing that was read says whose kernel computes an operator"
    elif not now.fresh and not now.proven:
        yield "nothing that was read now gave a cell: the matrix holds only what was kept from before"
    for one in now.read:
        if one.problem:
            yield f"{one.path}: {one.problem}"


def _red(
    matrix: Matrix, events: Mapping[Place, Event], now: ReadNow, rule: Policy, today: date
) -> Iterable[Red]:
    for cell in matrix.cells:
        if cell.column is not Column.FALLBACK:
            continue
        finding = policies.judge(events[cell.place], rule, today)
        said = (now.told or {}).get(cell.place)
        if said is not None and said.event_class is Class.HOT:
            finding = said
        if finding.event_class is Class.HOT:
            yield Red(cell, finding.rule.source if finding.rule else None, finding.why)


def _open(entry: HotEntry, named: Sequence[Cell], now: ReadNow) -> str | None:
    """Why nothing that was read shows how a hot entry's operators are computed; None where something does."""
    unknown = [cell for cell in named if cell.column is Column.UNKNOWN]
    if unknown:
        which = ", ".join(dict.fromkeys(f"{cell.op} on {cell.backend}" for cell in unknown[:3]))
        return f"hot {entry}: {which} is in the unknown column"
    covered = [cell for cell in named if cell.column in COVERED]
    if now.proven or any(cell.place in now.ran for cell in covered):
        return None
    if covered:
        return f"hot {entry}: {covered[0].op} was compiled, and nothing that was read shows what ran"
    if (
        entry.function
        and not entry.op
        and any(globs.function_loosely(entry.function, name) for name in now.functions)
    ):
        return None
    return f"hot {entry}: no cell of what was read now tells how it is computed"


def _event(cell: Cell, now: ReadNow) -> Event:
    """The cell as the policy judges events."""
    step = (now.step or {}).get(cell.backend)
    cost = None
    if cell.microseconds is not None and step:
        cost = Cost(0.0, cell.microseconds, min(1.0, cell.microseconds / step), f"op {cell.op}")
    return Event(
        id="coverage/cell", compiler=cell.backend, kind=cell.kind or Kind.OP_FALLBACK, scope=cell.scope,
        op=cell.op, names=cell.names, stack=cell.functions, files=(), reason=cell.reason, log="", line=None,
        lines=(), count=1, sites=1, count_is_lower_bound=False, ranks=(), location=None, layer=None, text="",
        fingerprint="", help="", cost=cost,
    )  # fmt: skip
