"""Room 7: which test cases a verdict makes, most important first. `junit` writes them down.

A case stands for one question with one answer: did this operator stay on its fast path, would the log
have shown that it did not. Its name carries no line number or count, so that a CI server can follow it
from build to build.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from fallback_gate.model import (
    Class,
    Decision,
    Finding,
    Kind,
    LogReport,
    Outcome,
    ProcessVerdict,
    Proof,
    State,
    Verdict,
)
from fallback_gate.model.measures import State as Held
from fallback_gate.reports import words
from fallback_gate.reports.gaps import Gap, gaps
from fallback_gate.reports.groups import by_log, by_operator
from fallback_gate.reports.headline import headline, waiver
from fallback_gate.reports.places import in_repository

RUN = "run"  # the suite of what belongs to no single log


class Result(Enum):
    """How a case ended, in JUnit's words."""

    PASSED = "passed"
    FAILED = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


_DUE: Final[Mapping[Outcome | None, Result]] = {
    Outcome.PASS: Result.PASSED,
    Outcome.WAIVED: Result.SKIPPED,
    Outcome.BLOCKED: Result.FAILED,
    Outcome.UNPROVEN: Result.ERROR,
}


@dataclass(frozen=True, slots=True)
class Case:
    """One test case. `apart` are words that tell it from another case of the same name, weakest first."""

    suite: str
    classname: str
    name: str
    result: Result
    type: str = ""
    message: str = ""
    body: str = ""
    output: str = ""
    apart: tuple[str, ...] = ()
    file: str | None = None
    line: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


def cases(verdict: Verdict) -> list[Case]:
    """All cases of the run: blocked, what belongs to the run, unproven, warned, allowed, then the passed.

    The page is never greener than the verdict: where no case says why, one of the run does.
    """
    logs = words.distinct(
        [*(log.path for log in verdict.logs), *(process.log for process in verdict.processes)]
    )
    processes = by_log(verdict.processes)
    findings: dict[str, list[Finding]] = {}
    for finding in verdict.findings:
        findings.setdefault(finding.event.log, []).append(finding)
    blocked = by_operator(verdict.decided(Decision.BLOCKED))
    found = [
        *(_event(verdict, finding) for group in blocked for finding in group),
        *_run(verdict),
        *(case for log in verdict.logs if log.problem for case in _unread(verdict, log)),
        *(case for log in logs for case in _unproven(verdict, log, processes.get(log, ()))),
        *(_event(verdict, finding) for finding in verdict.decided(Decision.WARNED)),
        *(_event(verdict, finding) for finding in verdict.decided(Decision.ALLOWED)),
        *(
            case
            for log in logs
            for case in _passed(verdict, log, processes.get(log, ()), findings.get(log, ()))
        ),
        *_within_limits(verdict),
    ]
    due = _DUE.get(verdict.outcome, Result.ERROR)
    if due in (Result.FAILED, Result.ERROR) and all(case.result is not due for case in found):
        name = verdict.outcome.value if verdict.outcome else "no verdict"
        text = headline(verdict)
        found.insert(0, _at_policy(verdict, Case(RUN, f"{RUN}.verdict", name, due, name, text, text)))
    return found


def story(finding: Finding) -> str:
    """All that the report knows of an event, one fact a line."""
    event = finding.event
    facts = (
        ("where", words.where(event)),
        ("cost", words.cost(event)),
        ("called", " < ".join(map(words.sentence, event.stack)) or None),
        ("reason", words.sentence(event.reason) if event.reason else None),
        ("log", words.log_spot(event.log, event.line)),
        ("line", f"| {words.sentence(event.text)}" if event.text else None),
        ("more", f"lines {', '.join(map(str, event.lines))}" if len(event.lines) > 1 else None),
        ("rule", words.rule(finding)),
        ("next", words.sentence(event.help) if event.help else None),
        ("names", ", ".join(map(words.sentence, event.names)) or None),
        ("fingerprint", words.sentence(event.fingerprint)),
    )
    head = f"{words.title(event)}, {words.how_often([finding])} [{words.sentence(event.id)}]"
    return "\n".join([head, *(f"{label}: {text}" for label, text in facts if text)])


def _event(verdict: Verdict, finding: Finding) -> Case:
    event = finding.event
    result, kind_of_failure, message, output = Result.PASSED, "", "", ""
    if finding.decision is Decision.BLOCKED and verdict.outcome is Outcome.WAIVED:
        result, message = Result.SKIPPED, waiver(verdict) or "waived"
    elif finding.decision is Decision.BLOCKED:
        hot = finding.event_class is Class.HOT
        result, kind_of_failure = Result.FAILED, "hot-path-fallback" if hot else "fallback"
        reason = f": {words.sentence(event.reason)}" if event.reason else ""
        message = f"{words.title_at(event)}{reason}"
    elif finding.decision is Decision.ALLOWED:
        entry = finding.rule.entry if finding.rule else {}
        result, message = Result.SKIPPED, words.excuse(entry) or words.rule(finding)
    else:
        output = f"warned: {story(finding)}"
    file, line = _spot(verdict, finding)
    return Case(
        suite=event.log,
        classname=_classname(verdict, event.compiler, finding.event_class.value),
        name=f"{words.op(event)}: {event.kind.value}",
        result=result,
        type=kind_of_failure,
        message=message,
        body="" if result is Result.PASSED else story(finding),
        output=output,
        apart=(words.where(event) or "", words.sentence(event.log)),
        file=file,
        line=line,
        properties={
            "kind": event.kind.value,
            "decision": finding.decision.value,
            "count": f"{'at least ' if event.count_is_lower_bound else ''}{event.count}",
            "log": words.log_spot(event.log, event.line),
            "fingerprint": event.fingerprint,
        },
    )


def _spot(verdict: Verdict, finding: Finding) -> tuple[str | None, int | None]:
    """The user's code where the repository has it, else the entry that decided, else what the log says."""
    said = finding.event.location
    rule_place = words.rule_place(finding.rule.source) if finding.rule else None
    if said and said.file:
        file = in_repository(verdict, said.file)
        return (file or said.file, said.line) if file or not rule_place else rule_place
    return rule_place or (None, None)


def _run(verdict: Verdict) -> Iterator[Case]:
    """Budgets, evidence that the run as a whole lacks, inputs that could not be read."""
    for reason in verdict.reasons:
        text, result = words.sentence(reason), _DUE.get(verdict.outcome, Result.ERROR)
        kind = "fallback" if result is Result.FAILED else "unproven"
        yield _at_policy(verdict, Case(RUN, f"{RUN}.verdict", text, result, kind, text, text, output=text))
    for error in verdict.errors:
        text = words.sentence(error)
        yield Case(RUN, f"{RUN}.input", text, Result.ERROR, "input", text, text)


def _unread(verdict: Verdict, log: LogReport) -> Iterator[Case]:
    """A log that was not read to its end, or not judged."""
    text = words.sentence(log.problem or "")
    result = Result.ERROR if log.outcome in (Outcome.UNPROVEN, Outcome.BLOCKED) else Result.SKIPPED
    name = f"{words.sentence(log.path)}: read to its end"
    yield Case(log.path, _classname(verdict, "log", "proof"), name, result, "unproven", text, text)


def _unproven(verdict: Verdict, log: str, processes: Sequence[ProcessVerdict]) -> Iterator[Case]:
    """What the processes of one log leave without proof."""
    for gap in gaps(processes):
        for kind in gap.kinds or (None,):
            yield _at_policy(verdict, _gap(verdict, log, gap, kind))


def _gap(verdict: Verdict, log: str, gap: Gap, kind: Kind | None) -> Case:
    ranks = words.ranks(process.rank for process in gap.processes if process.rank is not None)
    pids = ", ".join(str(process.pid) for process in gap.processes if process.pid is not None)
    why, setting = words.sentence(gap.why), words.sentence(gap.setting or "")
    facts = (
        f"{gap.state.value}: {why}",
        f"set: {setting}" if setting else "",
        f"log: {words.log_spot(log, gap.line)}",
        ranks or "",
        f"processes: {pids}" if pids else "",
    )
    what = kind.value if kind else "a known compiler"
    return Case(
        suite=log,
        classname=_classname(verdict, gap.compiler or "log", "proof"),
        name=f"{what}: would have been seen{f', {ranks}' if ranks else ''}",
        result=Result.ERROR,
        type=gap.state.value,
        message=f"{why}; set {setting}" if setting else why,
        body="\n".join(filter(None, facts)),
        apart=(words.sentence(log),),
    )


def _passed(
    verdict: Verdict, log: str, processes: Sequence[ProcessVerdict], here: Sequence[Finding]
) -> Iterator[Case]:
    """Each hot entry with each kind that every process of the log proves, unless an event says otherwise."""
    proven = _proven(processes)
    for what, listed_as, place, kinds in _asked(verdict, here):
        for kind, (compiler, proof) in proven.items():
            if kind in kinds:
                yield Case(
                    suite=log,
                    classname=_classname(verdict, compiler, listed_as.value),
                    name=f"{what}: no {kind.value}",
                    result=Result.PASSED,
                    output=f"proven: {words.sentence(proof.why)} ({words.log_spot(log, proof.line)})",
                    apart=(words.sentence(log),),
                    file=place and place[0],
                    line=place and place[1],
                )


def _asked(
    verdict: Verdict, here: Sequence[Finding]
) -> Iterator[tuple[str, Class, tuple[str, int] | None, set[Kind]]]:
    """What may not fall back: each hot entry and its place, or any operator; with the kinds that did not."""
    for rule in verdict.policy.hot:
        hit = {finding.event.kind for finding in here if finding.rule == rule}
        wanted = rule.entry.get("kinds") or [kind.value for kind in Kind]
        what = words.selector({key: value for key, value in rule.entry.items() if key != "kinds"})
        kinds = {kind for kind in Kind if kind.value in wanted} - hit
        yield what, Class.HOT, words.rule_place(rule.source), kinds
    if not verdict.policy.hot:
        hit = {finding.event.kind for finding in here if finding.decision is not Decision.ALLOWED}
        yield "any operator", Class.UNLISTED, None, set(Kind) - hit


def _within_limits(verdict: Verdict) -> Iterator[Case]:
    """Each measurement that keeps its limit; one that does not is a reason of the run."""
    for one in verdict.measurements:
        if one.state is Held.MET:
            said = one.measurement
            subject = f" of {words.sentence(said.subject)}" if said.subject else ""
            classname = _classname(verdict, said.instrument, "measured")
            name = f"{said.name}{subject}: within the limit"
            apart = (words.sentence(said.path),)
            output = words.sentence(str(one))
            yield Case(said.path, classname, name, Result.PASSED, output=output, apart=apart)


def _proven(processes: Sequence[ProcessVerdict]) -> dict[Kind, tuple[str, Proof]]:
    """The kinds that all these processes prove, each with the compiler and the proof of the first."""
    found = [
        {
            kind: (compiler.name, proof)
            for compiler in reversed(process.compilers)
            for kind, proof in compiler.proof.items()
            if proof.state is State.PROVEN
        }
        for process in processes
    ]
    first = found[0] if found else {}
    return {kind: by for kind, by in first.items() if all(kind in other for other in found)}


def _classname(verdict: Verdict, first: str, last: str) -> str:
    return ".".join(words.sentence(part) for part in (first, verdict.policy.name, last))


def _at_policy(verdict: Verdict, case: Case) -> Case:
    """The case, shown at the policy: there is no better place in the repository."""
    path = verdict.policy.path
    return case if path is None or path.startswith("builtin:") else replace(case, file=path, line=1)
