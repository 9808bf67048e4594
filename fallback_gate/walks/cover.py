"""The walk of the coverage matrix: logs through the gate, all other files through the annex, one matrix out.

The gate says what fell back; traces, profiles and graphs say whose kernel computes what; the output code in a
log says what was generated. All of it becomes one matrix, which is held against the policy's hot list.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from pathlib import Path

from fallback_gate.compilers.runtimes import onnxruntime_placement, openvino_kernels
from fallback_gate.compilers.torch import log as torch_log
from fallback_gate.coverage import collect, collected, events, gathered, reading, store
from fallback_gate.coverage.hold import ReadNow, hold
from fallback_gate.coverage.output_code import OutputCode
from fallback_gate.errors import InputError
from fallback_gate.gate import check
from fallback_gate.model import Finding, Verdict
from fallback_gate.model.matrix import Cell, Held, Place, Read
from fallback_gate.sources import Source, expand

TABLES = frozenset({onnxruntime_placement.NAME, openvino_kernels.NAME})  # whose logs print tables of kernels
WEAK = "the logs could not have shown every fallback: `fallback-gate check` says why"


def cover(
    logs: Sequence[str],
    traces: Sequence[str] = (),
    policy: str | None = None,
    *,
    floor: Sequence[str] = (),
    kept: str | None = None,
    backend: str | None = None,
    target: str | None = None,
    today: date | None = None,
    rules: Sequence[str] = (),
    exit_zero: bool = False,
    progress: Callable[[Source, int], None] | None = None,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Held:
    """Make the coverage matrix and hold it against a policy.

    `logs`: logs, profiles, layers, graphs and matrices; `traces`: kernel traces. `floor`: traces and profiles
    of the reference implementation. `kept`: a matrix whose other back ends stay. `backend`: the name of
    the back end that all are about. `target`: the provider or device that was asked. The rest is as in
    `gate.check`.

    Raises `InputError` for what can't be read, and `PolicyError`.
    """
    if not logs and not traces:
        raise InputError("nothing to read: name a log, a profile, a graph, or a --trace")
    today, cwd = today or datetime.now(timezone.utc).date(), cwd or Path.cwd()
    inputs = reading.sort_out(logs, cwd)
    said = _Said()
    if inputs.logs:
        verdict = check(
            inputs.logs, policy, today=today, rules=rules, progress=progress, cwd=cwd, environ=environ
        )
        said = _said(verdict, inputs.sources, backend, target, cwd)
    asked = reading.Asked(backend, target, said.code, reading.times_of(inputs.files))
    found = [reading.read(source, kind, asked, cwd) for source, kind in inputs.files]
    found += [reading.read_trace(path, asked, cwd) for path in traces]
    ran = [*(cell for one in found for cell in one.cells), *collect.backend(said.ran, backend)]
    gathers = gathered.of_code(said.code, torch_log.NAME)
    compiled = collect.backend([*said.code.cells(), *([gathers] if gathers else [])], backend)
    now = collected([*said.fell, *ran, *compiled])
    matrix = store.merged(store.load(kept), now) if kept else now
    if floor:
        cells = collect.with_floor(matrix.cells, _reference(floor, cwd))
        matrix = collected(cells)
    told = ReadNow(
        fresh=frozenset(cell.place for cell in now.cells),
        ran=frozenset(cell.place for cell in ran),
        functions=frozenset(name for one in found for name in one.functions),
        told=said.told,
        proven=said.proven,
        step={one.cells[0].backend: one.step for one in found if one.step and one.cells},
        read=(*(one.read for one in found), *said.read),
        notes=(*said.notes, *(f"{one.read.path}: {note}" for one in found for note in one.notes)),
    )
    return hold(
        matrix, told, policy, today=today, cwd=cwd, exit_zero=exit_zero, environ=environ or os.environ
    )


@dataclass(frozen=True, slots=True)
class _Said:
    """What the logs say: what fell back and what the policy made of it, what ran, and what was compiled."""

    fell: list[Cell] = field(default_factory=list)
    told: Mapping[Place, Finding] = field(default_factory=dict)
    ran: list[Cell] = field(default_factory=list)
    code: OutputCode = field(default_factory=OutputCode)
    proven: bool = False
    read: tuple[Read, ...] = ()
    notes: tuple[str, ...] = ()


def _said(
    verdict: Verdict, sources: Sequence[Source], backend: str | None, target: str | None, cwd: Path
) -> _Said:
    """What the logs of a verdict say. Raises `InputError` where one could not be read."""
    if verdict.errors:
        raise InputError("\n".join(verdict.errors))
    fell, told = events.of_events(verdict.findings, backend)
    spoke = {compiler.name for process in verdict.processes for compiler in process.compilers}
    counts = Counter(finding.event.log for finding in verdict.findings)
    logs = [log for log in verdict.logs if log.outcome is not None]
    ran, code, further = list[Cell](), OutputCode(), list[Read]()
    if spoke & TABLES:
        ran, further = reading.tables_of(sources, target)
    if any(name.startswith("torch") for name in spoke):
        known = {source.path for source in sources}
        brought = [log.path for log in logs if log.path not in known and os.path.isfile(cwd / log.path)]
        code, of_code = reading.code_of([*sources, *expand(brought, cwd)[0]])  # with traces that seals name
        further += of_code
    return _Said(
        fell, told, ran, code, verdict.proven,
        (*further, *(Read(log.path, "log", counts[log.path], log.problem) for log in logs)),
        () if verdict.proven else (WEAK,),
    )  # fmt: skip


def _reference(floor: Sequence[str], cwd: Path) -> list[Cell]:
    """The cells of the reference implementation."""
    cells: list[Cell] = []
    inputs = reading.sort_out(floor, cwd)
    asked = reading.Asked(times=reading.times_of(inputs.files))
    for source, kind in inputs.files:
        cells += reading.read(source, kind, asked, cwd).cells
    for path in inputs.logs:
        cells += reading.read_trace(path, asked, cwd).cells
    if not any(cell.microseconds is not None for cell in cells):
        raise InputError(f"{floor[0]}: a floor is a trace or a profile with times, and this has none")
    return cells
