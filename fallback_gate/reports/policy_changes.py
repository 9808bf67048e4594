"""Room 7: what a policy makes of another one, for a person, for programs, and for the page of a change.

What may let more pass comes first. The JSON form has everything; its schema grows by adding keys only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from fallback_gate.model import PolicySummary
from fallback_gate.model.inputs import Direction, PolicyChange
from fallback_gate.reports import layout, safe, words
from fallback_gate.reports.dump import dump
from fallback_gate.reports.sheet import Sheet

SCHEMA: Final = "fallback-gate/policy-diff-1"
MOST_ROWS: Final = 100  # of a direction, for a person
CHARACTERS: Final = 600
_HEADINGS: Final[Mapping[Direction, str]] = {
    Direction.LOOSENED: "Loosened",
    Direction.CHANGED: "Changed, and nobody can rank it",
    Direction.TIGHTENED: "Tightened",
    Direction.NEUTRAL: "Without effect on a verdict",
}


class Told(NamedTuple):
    """Two policies and all that differs."""

    old: PolicySummary
    new: PolicySummary
    changes: Sequence[PolicyChange]

    @property
    def looser(self) -> int:
        """How many changes may let more pass."""
        return sum(change.may_loosen for change in self.changes)

    @property
    def exit_code(self) -> int:
        """1 where something may let more pass."""
        return 1 if self.looser else 0

    @property
    def result(self) -> str:
        """`looser`, `not looser` or `same`."""
        return "looser" if self.looser else "not looser" if self.changes else "same"

    def of(self, direction: Direction) -> list[PolicyChange]:
        """The changes of one direction, in their order."""
        return [change for change in self.changes if change.direction is direction]


def text(told: Told) -> str:
    """The comparison for a terminal or a log."""
    return layout.finish(list(_lines(Sheet(color=False, width=100, everything=True), told)))


def _lines(sheet: Sheet, told: Told) -> Iterator[str]:
    yield from sheet.answer(told.result.upper(), told.exit_code, _tally(told), "bold")
    yield from sheet.row("old", words.sentence(_policy(told.old)))
    yield from sheet.row("new", words.sentence(_policy(told.new)))
    for direction, heading in _HEADINGS.items():
        changes = told.of(direction)
        if changes:
            yield from ("", heading)
        for change in changes[:MOST_ROWS]:
            what = words.sentence(safe.shorten(f"{change.key}: {change.what}", CHARACTERS))
            yield from sheet.paragraph(what)
            yield from sheet.row("at", _spots(change), indent=4)
        yield from sheet.rest(len(changes) - MOST_ROWS)


def _tally(told: Told) -> str:
    counts = [f"{len(told.of(one)):,} {one.value}" for one in Direction if told.of(one)]
    return ", ".join(counts) or "both judge alike, in the same words"


def _policy(summary: PolicySummary) -> str:
    name, path = summary.name, summary.path or "no policy file: the strict rule"
    at = f", commit {summary.revision.commit[:12]}" if summary.revision else ""
    return f"{name} ({path}{at})" if name != path else path


def _spots(change: PolicyChange) -> str | None:
    return " -> ".join(words.sentence(spot) for spot in (change.old, change.new) if spot) or None


def as_json(told: Told) -> str:
    """The comparison for programs: ASCII, every key always there."""
    return dump(
        {
            "schema": SCHEMA,
            "result": told.result,
            "exit_code": told.exit_code,
            "old": _data(told.old),
            "new": _data(told.new),
            "summary": {direction.value: len(told.of(direction)) for direction in Direction},
            "changes": [{**one._asdict(), "direction": one.direction.value} for one in told.changes],
        }
    )


def _data(summary: PolicySummary) -> dict[str, Any]:
    return {
        "name": summary.name,
        "path": summary.path,
        "sha256": summary.sha256,
        "commit": summary.revision.commit if summary.revision else None,
    }


def markdown(told: Told) -> str:
    """A section for the summary of a job: what is looser in a table, the rest folded in."""
    return layout.finish(list(_markdown(told)))


def _markdown(told: Told) -> Iterator[str]:
    many = words.number(told.looser, "change")
    head = f"⚠️ The policy may let more pass: {many}" if told.looser else "✅ The policy lets no more pass"
    yield f"### {head}"
    sides = " and ".join(safe.code(safe.shorten(_policy(one), CHARACTERS)) for one in (told.old, told.new))
    yield from ("", f"Compared: {sides}. {safe.markdown(_tally(told))}.", "")
    loose = [change for change in told.changes if change.may_loosen]
    yield from _table(loose)
    rest = [change for change in told.changes if not change.may_loosen]
    if rest:
        yield from (f"<details><summary>Tightened or without effect: {len(rest):,}</summary>", "")
        yield from _table(rest)
        yield "</details>"


def _table(changes: Sequence[PolicyChange]) -> Iterator[str]:
    if not changes:
        return
    yield from ("| key | | what | where |", "| --- | --- | --- | --- |")
    for change in changes[:MOST_ROWS]:
        what = safe.code_cell(safe.shorten(words.sentence(change.what), CHARACTERS))
        spots = [safe.code_cell(words.sentence(spot)) for spot in (change.old, change.new) if spot]
        key = safe.code_cell(change.key)
        yield f"| {key} | {change.direction.value} | {what} | {' → '.join(spots) or '-'} |"
    if len(changes) > MOST_ROWS:
        yield from (
            "",
            f"And {words.number(len(changes) - MOST_ROWS, 'more change')}; `policy diff` shows all.",
        )
    yield ""


FORMATS: Final[Mapping[str, Callable[[Told], str]]] = {"text": text, "json": as_json, "markdown": markdown}
