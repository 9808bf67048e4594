"""Room 5: a policy's own cases, as they stand under `tests`: this log has this verdict.

What a policy means shows only on a log. A case keeps one beside the entries: the policy is tried on it
whenever somebody changes an entry, and fails before a release does.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import partial

from fallback_gate.model import Decision, Outcome
from fallback_gate.policy import checks
from fallback_gate.policy.checks import Said
from fallback_gate.policy.page import Key, Page

DECIDED = tuple(decision.value for decision in Decision)
KEYS = ("name", "logs", "text", "verdict", "today", *DECIDED)
VERDICTS = {one.value: one for one in (Outcome.PASS, Outcome.BLOCKED, Outcome.UNPROVEN)}


@dataclass(frozen=True, slots=True)
class Case:
    """One case. `text` is a log of its own, else `logs` are files or globs, seen from the policy's folder.

    `decided` are operators (globs) that the report must decide so; `today` is the day of the trial where the
    case does not depend on the calendar.
    """

    name: str
    source: str
    verdict: Outcome
    logs: tuple[str, ...] = ()
    text: str | None = None
    today: date | None = None
    decided: tuple[tuple[Decision, tuple[str, ...]], ...] = ()


def cases(page: Page, top: dict[str, object]) -> tuple[Case, ...]:
    """The cases of a policy that are free of faults; the rest stands in the page's problems."""
    each = (
        _case(page, ("tests", index), value)
        for index, value in enumerate(checks.items(page, ("tests",), top.get("tests", [])))
    )
    return tuple(case for case in each if case is not None)


def _case(page: Page, key: Key, value: object) -> Case | None:
    said = Said(page, key, checks.mapping(page, key, value, KEYS, ("name", "verdict")))
    verdict = said.read("verdict", partial(checks.choice, known=VERDICTS))
    if isinstance(value, dict) and ("logs" in value) == ("text" in value):
        page.complain(key, "a case has either `logs` or `text`", "give it the one that it is about")
    if said.values.get("logs") == []:
        page.complain((*key, "logs"), "an empty list is no log", "name at least one")
    name, logs, text, today = said.text("name"), said.texts("logs"), said.text("text"), said.day("today")
    decided = tuple(
        (decision, globs)
        for decision in Decision
        if (globs := said.read(decision.value, checks.globs)) is not None
    )
    if name is None or verdict is None:
        return None
    return Case(name, page.source(key), verdict, logs, text, today, decided)
