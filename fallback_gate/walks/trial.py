"""The walk for a policy's own cases: each log under the policy, and what differs from what the case says."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from fallback_gate.errors import InputError
from fallback_gate.gate import check
from fallback_gate.judging.surroundings import OFF
from fallback_gate.model import Decision, Event, Verdict
from fallback_gate.policy.cases import Case
from fallback_gate.policy.globs import operator_bare


@dataclass(frozen=True, slots=True)
class Trial:
    """One case, tried: `wrong` says in a sentence each what differs; `untried`: a log was not read."""

    case: Case
    wrong: tuple[str, ...]
    untried: bool = False


def trial(case: Case, policy: str, today: date) -> Trial:
    """Try one case on the policy that a path or `builtin:NAME` names."""
    day = case.today or today
    try:
        if case.text is None:
            return _trial(case, check(case.logs, policy, today=day, environment=OFF))
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "compile.log"
            log.write_text(case.text, encoding="utf-8", newline="\n")
            return _trial(case, check([log], policy, today=day, environment=OFF))
    except InputError as error:
        return Trial(case, (str(error),), untried=True)


def _trial(case: Case, verdict: Verdict) -> Trial:
    return Trial(case, _wrong(case, verdict), untried=bool(verdict.errors))


def _wrong(case: Case, verdict: Verdict) -> tuple[str, ...]:
    found = list(verdict.errors)
    if verdict.outcome is not case.verdict:
        said = verdict.outcome.value if verdict.outcome else "no verdict"
        found.append(f"the verdict is {said}, and the case says {case.verdict.value}{_because(verdict)}")
    for decision, globs in case.decided:
        events = [finding.event for finding in verdict.decided(decision)]
        for glob in globs:
            if not any(_is(glob, event) for event in events):
                found.append(f"{glob} is not {decision.value}{_instead(glob, verdict)}")
    return tuple(found)


def _is(glob: str, event: Event) -> bool:
    return any(operator_bare((glob,), name) for name in (event.op, *event.names))


def _because(verdict: Verdict) -> str:
    """What blocks, or why the run is not proven, as far as a line has room."""
    blocked = dict.fromkeys(finding.event.op for finding in verdict.decided(Decision.BLOCKED))
    if blocked:
        more = f" and {len(blocked) - 3} more" if len(blocked) > 3 else ""
        return f"; blocked: {', '.join(list(blocked)[:3])}{more}"
    return f"; {verdict.reasons[0]}" if verdict.reasons else ""


def _instead(glob: str, verdict: Verdict) -> str:
    other = next((finding for finding in verdict.findings if _is(glob, finding.event)), None)
    if other is None:
        return ": the log reports no such fallback"
    return f", it is {other.decision.value} as {other.event_class.value}"
