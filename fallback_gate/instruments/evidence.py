"""The annex: what an instrument hands to the gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fallback_gate.model import Report
from fallback_gate.model.claims import Figure
from fallback_gate.model.measures import Cost, Measurement


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one file says: measurements, and the fallbacks that were seen.

    `reports` hold what can be a fallback; `suspects` are the names (`Report.op`) of those that count also
    where no hot entry of the policy names them: what ran eager and did not in the baseline. `blame` are names
    of measurements whose excess makes all of the reports count. `costs` are what operators (`op`, name),
    functions (`function`, name) and compiles of torch.compile (`around` and `in`, id) cost in a step, for
    events of logs too; `process` is the process id in which the ids were given. `problem` says why the file
    proves less than it should (cut short, no kernels): the verdict is then unproven. `foreign` are quantities
    that the file has nothing to do with, such as those of another precision. `notes` are for the reader.
    `details` are what the instrument's own report shows beside, plain values only. `figures` are what a claim
    may be held against.
    """

    instrument: str
    path: str
    format: str
    size: int | None = None
    measurements: tuple[Measurement, ...] = ()
    reports: tuple[Report, ...] = ()
    suspects: frozenset[str] = frozenset()
    blame: frozenset[str] = frozenset()
    costs: Mapping[tuple[str, str], Cost] = field(default_factory=dict)
    process: int | None = None
    problem: str | None = None
    foreign: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()
