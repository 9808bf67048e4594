"""The second walk: what instruments saw and measured beside the logs, judged by the same policy.

A fallback that an instrument saw counts where a hot entry names it, where the instrument's baseline did not
have it, or where the limit is exceeded that it is to blame for; else it is what the compiler chose. A limit
that is exceeded blocks. `weigh` is for `check`, which judges logs as well; `judge` for evidence alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Final

from fallback_gate import __version__
from fallback_gate import policy as policies
from fallback_gate.events.fold import Fold
from fallback_gate.instruments.evidence import Evidence
from fallback_gate.judging.surroundings import OFF, surroundings
from fallback_gate.model import (
    Class,
    Event,
    Finding,
    Kind,
    LogReport,
    ProcessKey,
    Scope,
    Verdict,
)
from fallback_gate.model.measures import QUANTITIES, Cost, Measured, State
from fallback_gate.model.names import function, spellings
from fallback_gate.policy.entry import Policy
from fallback_gate.policy.instruments import hold
from fallback_gate.verdict import decide


@dataclass(frozen=True, slots=True)
class Weighed:
    """What came of the evidence: `exceeded` blocks, `open` leaves the verdict unproven, a sentence each."""

    findings: tuple[Finding, ...] = ()
    measured: tuple[Measured, ...] = ()
    exceeded: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def weigh(evidence: Sequence[Evidence], policy: Policy, today: date) -> Weighed:
    """Judge what instruments saw, and hold what they measured against the policy's limits."""
    measured = hold((one for said in evidence for one in said.measurements), policy.bounds)
    given = {said.instrument for said in evidence}
    absent = [name for name in policy.expect_instruments if name not in given]
    limited = dict.fromkeys(bound.instrument for bound in policy.bounds)
    return Weighed(
        findings=tuple(finding for said in evidence for finding in _findings(said, measured, policy, today)),
        measured=measured,
        exceeded=_sentences(measured, State.EXCEEDED),
        open=(
            *_sentences(measured, State.OPEN),
            *(f"{said.path}: {said.problem}" for said in evidence if said.problem),
            *(f"the policy expects evidence of the instrument {name}, and none was given" for name in absent),
            *_unmeasured(evidence, policy),
        ),
        notes=(
            *(f"{said.path}: {note}" for said in evidence for note in said.notes),
            *(
                f"the policy limits what the instrument {name} measures, and no file of it was given"
                for name in limited
                if name not in given and name not in absent
            ),
        ),
    )


def judge(
    evidence: Sequence[Evidence],
    policy: Policy | str | os.PathLike[str] | None = None,
    *,
    today: date | None = None,
    exit_zero: bool = False,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Verdict:
    """Judge evidence without any log: the verdict speaks of what was measured, and of nothing else.

    A policy that is not loaded is looked up as `check` does; what it expects of compilers, ranks and other
    instruments, and of an artefact to fall back to, is left to `check`, and so are claims of what is not
    measured here. Raises `PolicyError`.
    """
    today = today or datetime.now(timezone.utc).date()
    environ, cwd = os.environ if environ is None else environ, cwd or Path.cwd()
    loaded = policy
    if not isinstance(loaded, Policy):
        loaded = policies.load(
            policies.find(str(loaded) if loaded is not None else None, environ, cwd), today
        )
    given = {said.instrument for said in evidence}
    bounds = tuple(bound for bound in loaded.bounds if bound.instrument in given)
    weighed = weigh(evidence, replace(loaded, bounds=bounds, expect_instruments=()), today)
    around = surroundings(loaded, OFF, None, None, evidence, weighed.findings)
    limits = policies.limits(weighed.findings, loaded)
    exceeded = (*weighed.exceeded, *limits.exceeded, *around.exceeded)
    missing = (*weighed.open, *limits.open, *around.open)
    proven = bool(weighed.measured) and not missing
    outcome = decide.outcome(weighed.findings, exceeded, proven)
    return Verdict(
        outcome=outcome,
        exit_code=decide.exit_code(outcome, exit_zero),
        today=today,
        policy=loaded.summary._replace(entries=policies.uses(loaded, weighed.findings, today)),
        logs=tuple(
            LogReport(said.path, said.size, recognised=True, outcome=outcome, problem=said.problem)
            for said in evidence
        ),
        processes=(),
        findings=weighed.findings,
        proven=proven,
        reasons=(*exceeded, *missing),
        notes=weighed.notes,
        tool_version=__version__,
        measurements=weighed.measured,
        claims=tuple(claim for claim in around.claims if claim.figure),
    )


def _unmeasured(evidence: Sequence[Evidence], policy: Policy) -> list[str]:
    """Limits of the policy that a file of their instrument says nothing of: it can't be told if they hold."""
    return [
        f"{said.path}: the policy limits {bound.name} ({bound.source}), and the file does not say it"
        + (", or there is no baseline" if bound.name.endswith("_slowdown") else "")
        for said in evidence
        for bound in policy.bounds
        if bound.instrument == said.instrument
        and bound.name in QUANTITIES[said.instrument]
        and bound.name not in said.foreign
        and not any(bound.name == one.name for one in said.measurements)
    ]


def costed(event: Event, evidence: Sequence[Evidence]) -> Event:
    """The event with what it costs, where a trace shows its operator, its function or its compile.

    An operator is known by its names, and where no trace knows them as a function of the user's, or by the
    graphs of its compile; a break or a frame by what runs around the graphs of its compile, or by the
    innermost function. Of several the largest holds.
    """
    ops = {spelling for name in (event.op, *event.names) for spelling in spellings(name)}
    functions = [event.op]
    if event.scope is not Scope.OPERATOR:
        functions += event.stack[:1]
        functions += [event.location.function] if event.location and event.location.function else []
    bare = {function(name).rpartition(".")[2] for name in functions}
    known = [(key, cost) for said in evidence for key, cost in said.costs.items()]
    by_op = [cost for (key, name), cost in known if key == "op" and not ops.isdisjoint(spellings(name))]
    by_function = [cost for (key, name), cost in known if key == "function" and name in bare]
    by_compile = [cost for said in evidence if (cost := _of_its_compiles(event, said)) is not None]
    if event.scope is Scope.OPERATOR:
        found = by_op or by_function or by_compile
    else:
        certain = any(cost.certain for cost in by_compile)
        found = [*by_op, *by_compile, *(() if certain else by_function)]
    return replace(event, cost=max(found, key=lambda cost: cost.share)) if found else event


def _of_its_compiles(event: Event, said: Evidence) -> Cost | None:
    """What the compiles that reported an event cost together, where a trace knows one of them."""
    part = _PARTS.get(event.kind)
    found = [cost for name in event.compile_ids if part and (cost := said.costs.get((part, name)))]
    if not found:
        return None
    return Cost(
        kernels=sum(cost.kernels for cost in found),
        microseconds=sum(cost.microseconds for cost in found),
        share=min(1.0, sum(cost.share for cost in found)),
        by=found[0].by + (f", and {len(found) - 1} more" if len(found) > 1 else ""),
        host=sum(cost.host for cost in found),
        certain=said.process in {process.pid for process in event.processes},
    )


_PARTS: Final = {Kind.GRAPH_BREAK: "around", Kind.EAGER_FRAME: "around", Kind.OP_FALLBACK: "in"}
"""Which part of what a compile runs stands for an event of this kind."""


def dearest_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings that cost most first; those that nobody measured keep their order, after them."""
    return tuple(sorted(findings, key=lambda one: -one.event.cost.share if one.event.cost else 1.0))


def _sentences(measured: Iterable[Measured], state: State) -> tuple[str, ...]:
    return tuple(str(one) for one in measured if one.state is state)


def _findings(said: Evidence, measured: Sequence[Measured], policy: Policy, today: date) -> list[Finding]:
    """The events of one file that count."""
    exceeded = {
        one.measurement.name
        for one in measured
        if one.state is State.EXCEEDED
        and (one.measurement.instrument, one.measurement.path) == (said.instrument, said.path)
    }
    fold, process = Fold(), ProcessKey(said.path)
    for report in said.reports:
        fold.add(report, process)
    events = (costed(event, [said]) for event in fold.events(lambda log, at: {}, {}))
    findings = (policies.judge(event, policy, today) for event in events)
    all_count = not exceeded.isdisjoint(said.blame)
    return [
        finding
        for finding in findings
        if all_count
        or finding.event.op in said.suspects
        or (finding.event_class is Class.HOT and finding.rule is not None)
    ]
