"""Room 7: the verdict as GitHub workflow commands, which the runner shows as annotations.

Each stands at the user's own code where the log tells it and the repository holds it, else at the policy.
The runner keeps ten annotations of a type for a step, and a composite action is one step; what comes
later is dropped without a word. So the nine most important are told, and the tenth counts the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fallback_gate.model import Decision, Outcome, State, Verdict
from fallback_gate.reports import safe, words
from fallback_gate.reports.gaps import Gap, gaps
from fallback_gate.reports.groups import Group, by_operator
from fallback_gate.reports.headline import headline, waiver
from fallback_gate.reports.places import Place, place, policy_place

MOST = 9
MESSAGE_CHARACTERS = 3_000  # the runner cuts at 4,096, and escapes make text longer
TITLE_CHARACTERS = 200


class Annotation(NamedTuple):
    """One annotation; `level` is `error`, `warning` or `notice`."""

    level: str
    title: str
    message: str
    spot: Place | None


def render(verdict: Verdict) -> str:
    """A workflow command a line: print it in a step, and the runner shows it."""
    found = list(_annotations(verdict))
    lines = [
        line
        for level in ("error", "warning", "notice")
        for line in _limited([one for one in found if one.level == level])
    ]
    return "".join(f"{line}\n" for line in lines)


def _annotations(verdict: Verdict) -> Iterator[Annotation]:
    """All annotations, the most important of a level first."""
    spot = policy_place(verdict)
    blocking = "warning" if verdict.outcome is Outcome.WAIVED else "error"
    if verdict.outcome is Outcome.WAIVED:
        yield Annotation("warning", "fallback-gate: WAIVED", waiver(verdict) or "waived", spot)
    for group in by_operator(verdict.decided(Decision.BLOCKED)):
        yield _finding(verdict, blocking, group)
    for reason in verdict.reasons:
        yield Annotation(blocking, _answer(verdict), words.sentence(reason), spot)
    for error in verdict.errors:
        yield Annotation("error", _answer(verdict), words.sentence(error), None)
    for gap in gaps(verdict.processes):
        yield Annotation(blocking, *_gap(gap), spot)
    for log in verdict.logs:
        if log.problem:
            level = blocking if log.outcome in (Outcome.UNPROVEN, Outcome.BLOCKED) else "warning"
            yield Annotation(level, "fallback-gate: log not judged", f"{log.path}: {log.problem}", None)
    for group in by_operator(verdict.decided(Decision.WARNED)):
        yield _finding(verdict, "warning", group)
    if verdict.outcome is Outcome.PASS:
        yield Annotation("notice", _answer(verdict), headline(verdict), None)


def _answer(verdict: Verdict) -> str:
    return f"fallback-gate: {words.answer(verdict)}"


def _finding(verdict: Verdict, level: str, group: Group) -> Annotation:
    first, event = group[0], group[0].event
    where = words.where(event)
    facts = (
        ("", f"{first.decision.value}, {first.event_class.value}: {words.how_often(group)}"),
        ("where: ", where),
        ("cost: ", words.cost(event)),
        ("reason: ", event.reason),
        ("called: ", " < ".join(event.stack) or None),
        ("next: ", event.help),
        ("log: ", words.log_spot(event.log, event.line)),
        ("rule: ", words.rule(first)),
        ("also at: ", words.listed([words.where(other.event) or "?" for other in group[1:]]) or None),
    )
    message = "\n".join(f"{label}{words.sentence(text)}" for label, text in facts if text)
    return Annotation(level, words.title(event), message, place(verdict, first))


def _gap(gap: Gap) -> tuple[str, str]:
    kinds = ", ".join(kind.value for kind in gap.kinds) or "everything"
    state = "not shown" if gap.state is State.UNOBSERVABLE else "not proven"
    setting = f"\nset: {words.sentence(gap.setting)}" if gap.setting else ""
    logs = words.listed(words.distinct(process.log for process in gap.processes))
    return f"fallback-gate: {state}: {kinds}", f"{words.sentence(gap.why)}{setting}\nlog: {logs}"


def _limited(found: Sequence[Annotation]) -> Iterable[str]:
    yield from map(_command, found[:MOST])
    rest = found[MOST:]
    if rest:
        more = Annotation(
            rest[0].level,
            f"fallback-gate: and {len(rest):,} more",
            "see the summary or the log of this job",
            None,
        )
        yield _command(more)


def _command(one: Annotation) -> str:
    properties = {"title": safe.shorten(one.title, TITLE_CHARACTERS)}
    if one.spot:
        properties = {"file": one.spot.file, "line": str(one.spot.line), **properties}
    told = ",".join(f"{key}={safe.annotation_property(value)}" for key, value in properties.items())
    return f"::{one.level} {told}::{safe.annotation(safe.shorten(one.message, MESSAGE_CHARACTERS))}"
