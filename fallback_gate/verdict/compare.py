"""Room 6: two runs side by side, operator by operator: the way to judge an upgrade of the compiler.

Fallbacks are the same by fingerprint; one that is gone and one that is new are one that moved where they have
the operator in common. What is new is worse whatever the proof. That nothing is worse takes two runs that
would have shown everything, and the same compilers and ranks in the new one as in the old one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from fallback_gate.events.fingerprint import place
from fallback_gate.model import Class, Event, Finding, Kind, State, Verdict
from fallback_gate.model import environment as environments
from fallback_gate.model.environment import Changed
from fallback_gate.model.history import WORSE, Change, Comparison, Fallback, Moved, Number, Side, Step
from fallback_gate.model.names import spellings
from fallback_gate.policy.limits import worst
from fallback_gate.verdict.decide import few
from fallback_gate.verdict.past_report import PastReport

WORSE_EXIT, UNPROVEN_EXIT = 1, 3
MOST_HOMES = 100  # of one operator that are gone, among which the nearest is looked for
_DEVICE = re.compile(r"(?<!supported )\bon (?:the )?(\w+ExecutionProvider|[A-Z][A-Z0-9_]+)\b")
_WORST_FIRST = (Class.HOT, Class.UNLISTED, Class.COLD)
_ORDER = {step: at for at, step in enumerate(Step)}


def of_verdict(name: str, verdict: Verdict) -> Side:
    """A run that was just read."""
    processes = verdict.processes
    compilers = {(c.name, c.version): None for process in processes for c in process.compilers}
    ranks = sorted({process.rank for process in processes if process.rank is not None})
    unranked = sum(process.rank is None and bool(process.compilers) for process in processes)
    fallbacks = _fallbacks([verdict.findings])
    numbers = (
        Number(one.measurement.instrument, one.measurement.name, one.measurement.subject,
               one.measurement.value, one.measurement.unit)
        for one in verdict.measurements
    )  # fmt: skip
    return Side(
        name,
        fallbacks,
        _problem(verdict),
        tuple(compilers),
        tuple(ranks),
        unranked,
        verdict.environment,
        tuple(numbers),
    )


def of_reports(name: str, reports: Sequence[PastReport]) -> Side:
    """A run of which one or more JSON reports tell."""
    problems = (f"{report.path}: {report.problem}" for report in reports if report.problem)
    return Side(
        name,
        _fallbacks([report.findings for report in reports]),
        next(problems, None),
        tuple(dict.fromkeys(compiler for report in reports for compiler in report.compilers)),
        tuple(sorted({rank for report in reports for rank in report.ranks})),
        sum(report.processes for report in reports),
        environments.joined(report.environment for report in reports),
        tuple(number for report in reports for number in report.numbers),
    )


def _problem(verdict: Verdict) -> str | None:
    if verdict.proven:
        return None
    told = (f"{log.path}: {log.problem}" for log in verdict.logs if log.problem)
    kinds = {
        kind.value
        for process in verdict.processes
        for compiler in process.compilers
        for kind, proof in compiler.proof.items()
        if kind in compiler.required and proof.state is not State.PROVEN
    }
    missing = f"its logs could not have shown {', '.join(sorted(kinds))}" if kinds else None
    whys = (process.why for process in verdict.processes if process.why)
    return next(told, None) or missing or next(iter([*verdict.reasons, *whys]), "its evidence is incomplete")


def _fallbacks(parts: Iterable[Sequence[Finding]]) -> tuple[Fallback, ...]:
    """The fallbacks of a run that is told in parts, of which each may be a rank: of sites the most count."""
    found: dict[str, Fallback] = {}
    for findings in parts:
        groups: dict[str, list[Finding]] = {}
        for finding in findings:
            groups.setdefault(finding.event.fingerprint, []).append(finding)
        for print_, group in groups.items():
            one = _fallback(group)
            found[print_] = _joined(found[print_], one) if print_ in found else one
    return tuple(found.values())


def _joined(one: Fallback, other: Fallback) -> Fallback:
    classes = (one.event_class, other.event_class)
    return one._replace(
        sites=max(one.sites, other.sites),
        reports=one.reports + other.reports,
        at_least=one.at_least or other.at_least,
        device=one.device or other.device,
        event_class=next((kind for kind in _WORST_FIRST if kind in classes), None),
    )


def _fallback(group: Sequence[Finding]) -> Fallback:
    events = [finding.event for finding in group]
    first = events[0]
    file, function = place(first.location)
    classes = {finding.event_class for finding in group}
    return Fallback(
        fingerprint=first.fingerprint,
        compiler=first.compiler,
        kind=first.kind,
        op=first.op,
        file=file,
        function=function,
        sites=worst(events)[0],
        reports=sum(event.count for event in events),
        at_least=any(event.count_is_lower_bound for event in events),
        device=_device(events),
        event_class=next(one for one in _WORST_FIRST if one in classes),
        spot=f"{first.log}:{first.line}" if first.line else first.log,
    )


def _device(events: Iterable[Event]) -> str | None:
    """Where an operator runs that left its device, as far as the log's own words tell it."""
    for event in events:
        if event.kind is Kind.DEVICE_FALLBACK and (found := _DEVICE.search(event.reason or "")):
            return found[1]
    return None


def compare(old: Side, new: Side) -> Comparison:
    """What became of each fallback."""
    before = {one.fingerprint: one for one in old.fallbacks}
    after = {one.fingerprint: one for one in new.fallbacks}
    changes = [_both(before[print_], one) for print_, one in after.items() if print_ in before]
    gone: dict[str, list[Fallback]] = {}
    for print_, one in before.items():
        if print_ not in after:
            gone.setdefault(_operator(one), []).append(one)
    for one in (one for print_, one in after.items() if print_ not in before):
        homes = gone.get(_operator(one), [])[:MOST_HOMES] if one.op != "*" else []
        if not homes:
            changes.append(Change(Step.NEW, None, one))
            continue
        home = max(homes, key=lambda old: _alike(old, one))
        gone[_operator(one)].remove(home)
        changes.append(Change(Step.MOVED, home, one, _what_moved(home, one)))
    changes += [Change(Step.GONE, one, None) for ones in gone.values() for one in ones]
    changes.sort(key=lambda c: (_ORDER[c.step], c.shown.op, c.shown.kind.value, c.shown.fingerprint))
    open_ = tuple(_open(old, new, changes))
    exit_code = UNPROVEN_EXIT if open_ else 0
    if any(change.step in WORSE for change in changes):
        exit_code = WORSE_EXIT
    return Comparison(old, new, tuple(changes), exit_code, open_, _versions(old, new), _measured(old, new))


def _versions(old: Side, new: Side) -> tuple[Changed, ...]:
    """What changed around the runs: what is recorded of them, else the versions that their logs show."""
    changed = environments.changes(old.environment, new.environment)
    before, after = (dict(side.compilers) for side in (old, new))
    told = {one.what for one in changed}
    shown = (
        Changed(name, before[name], after[name])
        for name in before.keys() & after.keys() - told
        if before[name] and after[name] and before[name] != after[name]
    )
    return (*changed, *sorted(shown))


def _measured(old: Side, new: Side) -> tuple[Moved, ...]:
    """Each measurement of either run beside that of the other. One that several files have is ambiguous, so
    the last holds."""
    before, after = ({number[:3]: number for number in side.numbers} for side in (old, new))
    return tuple(Moved(before.get(key), after.get(key)) for key in dict.fromkeys((*before, *after)))


def _both(old: Fallback, new: Fallback) -> Change:
    if old.device and new.device and old.device != new.device:
        return Change(Step.MOVED, old, new, _what_moved(old, new))
    step = Step.MORE if new.sites > old.sites else Step.FEWER if new.sites < old.sites else Step.SAME
    return Change(step, old, new)


def _alike(one: Fallback, other: Fallback) -> tuple[bool, bool]:
    return one.compiler == other.compiler, one.kind is other.kind


def _operator(one: Fallback) -> str:
    return spellings(one.op)[-1].casefold()


def _what_moved(old: Fallback, new: Fallback) -> str:
    before = (old.device, old.kind.value, old.compiler, _where(old))
    after = (new.device, new.kind.value, new.compiler, _where(new))
    parts = [f"{a or 'not told'} -> {b or 'not told'}" for a, b in zip(before, after, strict=True) if a != b]
    return ", ".join(parts)


def _where(one: Fallback) -> str:
    return " in ".join(filter(None, (one.file, one.function)))


def _open(old: Side, new: Side, changes: Iterable[Change]) -> Iterable[str]:
    """Why nothing worse may still be something worse, a sentence each."""
    if old.problem:
        yield f"the old run is not proven, so that what is new may have been there: {old.problem}"
    if new.problem:
        yield f"the new run is not proven, so that what is gone may be there unseen: {new.problem}"
    absent = [name for name in dict(old.compilers) if name not in dict(new.compilers)]
    if absent:
        yield f"the new run does not show {', '.join(absent)} at work, so that what is gone may not have run"
    if ranks := sorted(set(old.ranks) - set(new.ranks)):
        yield f"the new run does not show {len(ranks)} ranks of the old one: {few(ranks)}"
    if new.processes < old.processes:
        fewer = f"{new.processes} of {old.processes} processes that compiled without a rank"
        yield f"the new run shows {fewer}: a log of it may be missing"
    for change in changes:
        if change.new and change.new.op == "*" and change.step not in WORSE:
            yield f"{change.new.spot} names no operator, and may mean another one than before"
        elif change.new and change.new.at_least and change.step not in WORSE:
            yield f"{change.new.op} ({change.new.kind.value}) is said once for many: there may be more now"
