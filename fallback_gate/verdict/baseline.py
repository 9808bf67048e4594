"""Room 6: a baseline: what was there may stay, nothing may be added, and nothing hot is ever in it.

A finding is known by its fingerprint, which survives line numbers, ranks, addresses and compiler versions,
and by the number of its sites in the worst rank. What the policy calls cold stays the policy's to allow: when
its entry expires, the baseline does not step in. What names nothing can't be told from another, so that only
the policy can allow it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from fallback_gate.compilers import READERS
from fallback_gate.events.fingerprint import fingerprint, place
from fallback_gate.model import (
    BaselineSummary,
    Class,
    Decision,
    Event,
    Finding,
    Kind,
    Location,
    Outcome,
    RuleSource,
    Verdict,
)
from fallback_gate.model.history import Baseline, Held
from fallback_gate.policy.limits import sites, worst

REASON = "it was there when the baseline was made"
_Sites = dict[tuple[str, str], int]  # by fingerprint and what the policy calls it


def nameless(event: Event) -> bool:
    """Whether nothing tells the event from another of its kind."""
    return event.op == "*" or bool(event.variants and "all" in event.variants.overflowed)


def held(findings: Iterable[Finding]) -> tuple[Held, ...]:
    """The entries for what these findings report, sorted: all but what is hot or can't be told apart."""
    groups: dict[tuple[str, Class], list[Event]] = {}
    for finding in findings:
        if may_stay(finding):
            groups.setdefault((finding.event.fingerprint, finding.event_class), []).append(finding.event)
    return tuple(sorted(_entry(events, found_as) for (_, found_as), events in groups.items()))


def may_stay(finding: Finding) -> bool:
    """Whether a baseline may hold it."""
    if finding.event_class is Class.HOT:
        return False
    return finding.event_class is Class.COLD or not nameless(finding.event)


def _entry(events: Sequence[Event], found_as: Class) -> Held:
    first = min(events, key=lambda event: (event.op, place(event.location)))
    file, name = place(first.location)
    return Held(
        compiler=first.compiler,
        kind=first.kind.value,
        op=first.op,
        file=file,
        function=name,
        held_as=found_as.value,
        sites=worst(events)[0],
        fingerprint=first.fingerprint,
    )


def print_of(entry: Held) -> str:
    """The fingerprint that an entry's own words make."""
    return fingerprint(entry.compiler, Kind(entry.kind), entry.op, Location(entry.file, None, entry.function))


class Ruling(NamedTuple):
    """The findings under a baseline; `open` says what the logs can't show, a sentence each."""

    findings: tuple[Finding, ...]
    open: tuple[str, ...]
    summary: BaselineSummary


def judge(baseline: Baseline, findings: Sequence[Finding]) -> Ruling:
    """Hold the findings of a run against a baseline."""
    met = held(findings)
    entries = met if baseline.growing else baseline.entries
    now, known = _by_print(met), _by_print(entries)
    judged = tuple(_judged(finding, baseline.path, known, now) for finding in findings)
    there = {finding.event.fingerprint for finding in findings}
    gone = [entry for entry in entries if entry.fingerprint not in there]
    fewer = sum(sites < known.get(key, 0) for key, sites in now.items())
    stayed = [f for f in judged if f.event_class is not Class.HOT and f.decision is Decision.ALLOWED]
    open_ = (
        f"the baseline holds {sites(_all_sites(known, f.event.fingerprint))} of {f.event.op} "
        f"({f.event.kind.value}), met by at least {sites(f.event.sites)}: the compiler says it once for many"
        for f in stayed
        if f.event.count_is_lower_bound
    )
    summary = BaselineSummary(
        path=baseline.path,
        tool_version=baseline.tool_version,
        policy_sha256=baseline.policy.sha256,
        entries=len(entries),
        used=len(entries) - len(gone),
        gone=len(gone),
        fewer=fewer,
    )
    return Ruling(judged, tuple(dict.fromkeys(open_)), summary)


def _by_print(entries: Iterable[Held]) -> _Sites:
    return {(entry.fingerprint, entry.held_as): entry.sites for entry in entries}


def _all_sites(sites: _Sites, print_: str) -> int:
    """The sites under one fingerprint, whatever the policy calls them."""
    return sum(sites.get((print_, held_as.value), 0) for held_as in (Class.COLD, Class.UNLISTED))


def _judged(finding: Finding, path: str, known: _Sites, now: _Sites) -> Finding:
    if finding.event_class is Class.HOT:
        return finding
    print_ = finding.event.fingerprint
    as_unlisted = (print_, Class.UNLISTED.value)
    if finding.event_class is Class.COLD:
        here, there = _all_sites(now, print_), _all_sites(known, print_)
    elif nameless(finding.event):
        return _new(finding, "it names nothing, so no baseline can tell it from another")
    else:
        here, there = now[as_unlisted], known.get(as_unlisted, 0)
    if here > there:
        if there:
            return _new(finding, f"{sites(here)}, and the baseline {path} holds {there}")
        if (print_, Class.COLD.value) in known and finding.event_class is Class.UNLISTED:
            return _new(finding, f"the baseline {path} holds it as cold, and no cold entry allows it now")
        return _new(finding, f"new: it is not in the baseline {path}")
    if finding.event_class is Class.COLD:
        return finding
    entry = {"fingerprint": print_, "sites": there, "reason": REASON}
    return replace(finding, decision=Decision.ALLOWED, rule=RuleSource(entry, path), why=None)


def _new(finding: Finding, why: str) -> Finding:
    return replace(finding, decision=Decision.BLOCKED, why=why)


def notes(summary: BaselineSummary, policy_sha256: str | None, proven: bool) -> list[str]:
    """What the owner of a baseline should know after a run, a sentence each; they decide nothing."""
    found = []
    if proven and (summary.gone or summary.fewer):
        loose = summary.gone + summary.fewer
        what = "1 entry" if loose == 1 else f"{loose} entries"
        found.append(
            f"{what} of the baseline {summary.path} could be tighter: fallbacks that it holds are gone or "
            "fewer, and may come back unseen until `fallback-gate baseline update`"
        )
    if summary.policy_sha256 != policy_sha256:
        found.append(f"the baseline {summary.path} was made under another policy than this one")
    return found


def silent(baseline: Baseline, verdict: Verdict) -> tuple[Held, ...]:
    """The entries of compilers that the run does not show at work: that they are gone proves nothing.

    A compiler that works inside another one is at work where that one is.
    """
    seen = {compiler.name for process in verdict.processes for compiler in process.compilers}
    seen |= {finding.event.compiler for finding in verdict.findings}
    seen |= {name for name, reader in READERS.items() if reader.inside & seen}
    return tuple(entry for entry in baseline.entries if entry.compiler not in seen)


def refusal(verdict: Verdict) -> str | None:
    """Why a baseline may not be written from this run: it is frozen while the gate is red."""
    if verdict.outcome is None:
        return "an input could not be read"
    if not verdict.proven:
        return "the run is not proven: its logs could not have shown every fallback"
    if verdict.outcome is not Outcome.PASS:
        return f"the run is {verdict.outcome.value}: a baseline is frozen while the gate is red"
    return None
