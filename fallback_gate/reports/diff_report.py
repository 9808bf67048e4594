"""Room 7: two runs side by side, for a person and for programs.

What is worse comes first, then what is better; what stayed is counted. The JSON form has everything; its
schema grows by adding keys only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from fallback_gate.model import Class
from fallback_gate.model.environment import as_data
from fallback_gate.model.history import WORSE, Change, Comparison, Fallback, Moved, Side, Step
from fallback_gate.model.measures import amount
from fallback_gate.reports import layout, safe, words
from fallback_gate.reports.dump import dump
from fallback_gate.reports.sheet import Sheet

SCHEMA = "fallback-gate/diff-1"
MOST_ROWS = 40
NOT_TOLD = "not told"
RESULTS: Final[Mapping[int, str]] = {0: "not worse", 1: "worse", 3: "unproven"}
_HEADINGS: Final[Mapping[Step, str]] = {
    Step.NEW: "New",
    Step.MORE: "At more sites",
    Step.MOVED: "Moved",
    Step.FEWER: "At fewer sites",
    Step.GONE: "Gone",
    Step.SAME: "Unchanged",
}
STYLES: Final = {0: "bold green", 1: "bold red", 3: "bold yellow"}


def text(compared: Comparison, *, color: bool = False, width: int = 100, verbose: bool = False) -> str:
    """The comparison for a terminal."""
    sheet = Sheet(color=color, width=width, everything=verbose)
    return layout.finish(list(_lines(sheet, compared)))


def _lines(sheet: Sheet, compared: Comparison) -> Iterator[str]:
    code = compared.exit_code
    yield from sheet.answer(RESULTS[code].upper(), code, _headline(compared), STYLES[code])
    yield from sheet.row("old", _side(compared.old))
    yield from sheet.row("new", _side(compared.new))
    yield from _beside(sheet, compared)
    yield from sheet.section("Can't be told", sheet.bullets(compared.open, sheet.most(10)))
    for step, heading in _HEADINGS.items():
        if step is not Step.SAME or sheet.everything:
            changes = sheet.each(compared.of(step), MOST_ROWS, partial(_change, sheet))
            yield from sheet.section(heading, changes)


def _beside(sheet: Sheet, compared: Comparison) -> Iterator[str]:
    """What changed around the runs, and what was measured in them."""
    versions = [f"{one.what}: {one.old or NOT_TOLD} -> {one.new or NOT_TOLD}" for one in compared.versions]
    for heading, rows in (("Versions", versions), ("Measured", [_number(one) for one in compared.measured])):
        told = sheet.each(rows, MOST_ROWS, lambda row: sheet.paragraph(words.sentence(row)))
        yield from sheet.section(heading, told)


def _number(moved: Moved) -> str:
    one = moved.shown
    name = f"{one.name} of {one.subject}" if one.subject else one.name
    sides = (amount(side.value, side.unit) if side else "not measured" for side in (moved.old, moved.new))
    change = f" ({moved.change:+.1%})" if moved.change else ""
    return f"{one.instrument} {name}: {' -> '.join(sides)}{change}"


def _headline(compared: Comparison) -> str:
    counts = [f"{len(compared.of(step)):,} {_word(step)}" for step in Step if compared.of(step)]
    tally = ", ".join(counts) or "no fallback in either"
    if compared.exit_code == 3:
        return f"nothing worse was seen, but it could be there unseen ({tally})"
    return tally


def _word(step: Step) -> str:
    return {Step.MORE: "at more sites", Step.FEWER: "at fewer sites", Step.SAME: "unchanged"}.get(
        step, step.value
    )


def _side(side: Side) -> str:
    compilers = ", ".join(f"{name} {version or ''}".strip() for name, version in side.compilers[:6])
    ranks = words.ranks(side.ranks)
    proof = "not proven" if side.problem else "proven"
    facts = filter(None, (compilers, ranks, words.number(len(side.fallbacks), "fallback"), proof))
    return words.sentence(f"{side.name} ({', '.join(facts)})")


def _change(sheet: Sheet, change: Change) -> Iterator[str]:
    one = change.shown
    name = safe.inline(one.op) if one.op != "*" else "unnamed operator"
    hot = " (hot)" if one.event_class is Class.HOT and change.step is not Step.GONE else ""
    style = "bold red" if change.step in WORSE else "bold"
    yield from sheet.head(f"{name}: {words.KIND_WORDS[one.kind]}, {_counts(change)}{hot}", style)
    where = " in ".join(filter(None, (safe.inline(one.file), safe.inline(one.function))))
    yield from sheet.row("where", where or None, indent=4)
    yield from sheet.row("device", safe.inline(one.device) if one.device else None, indent=4)
    yield from sheet.row("moved", words.sentence(change.what) if change.what else None, indent=4)
    spots = [safe.inline(side.spot) for side in (change.old, change.new) if side]
    yield from sheet.row("log", " -> ".join(spots), indent=4)


def _counts(change: Change) -> str:
    old, new = change.old, change.new
    if old and new and old.sites != new.sites:
        return f"{old.sites:,} -> {words.number(new.sites, 'site')}"
    if old and new and old.reports != new.reports:
        return f"{words.number(new.sites, 'site')}, said {old.reports:,} -> {words.times(new.reports, False)}"
    return words.number(change.shown.sites, "site")


def as_json(compared: Comparison) -> str:
    """The comparison for programs: ASCII, every key always there."""
    document = {
        "schema": SCHEMA,
        "result": RESULTS[compared.exit_code],
        "exit_code": compared.exit_code,
        "old": _side_data(compared.old),
        "new": _side_data(compared.new),
        "summary": {step.value: len(compared.of(step)) for step in Step},
        "open": list(compared.open),
        "changes": [_change_data(change) for change in compared.changes],
        "versions": [one._asdict() for one in compared.versions],
        "measurements": [_moved_data(moved) for moved in compared.measured],
    }
    return dump(document)


def _side_data(side: Side) -> dict[str, Any]:
    return {
        "name": side.name,
        "proven": side.problem is None,
        "problem": side.problem,
        "compilers": [{"name": name, "version": version} for name, version in side.compilers],
        "ranks": list(side.ranks),
        "fallbacks": len(side.fallbacks),
        "environment": as_data(side.environment) if side.environment else None,
    }


def _moved_data(moved: Moved) -> dict[str, Any]:
    one = moved.shown
    return {
        "instrument": one.instrument,
        "name": one.name,
        "subject": one.subject,
        "unit": one.unit,
        "old": moved.old.value if moved.old else None,
        "new": moved.new.value if moved.new else None,
        "change": moved.change,
    }


def _change_data(change: Change) -> dict[str, Any]:
    one = change.shown
    return {
        "step": change.step.value,
        "worse": change.step in WORSE,
        "op": one.op,
        "kind": one.kind.value,
        "compiler": one.compiler,
        "file": one.file or None,
        "function": one.function or None,
        "what": change.what or None,
        "fingerprint": one.fingerprint,
        "old": _fallback_data(change.old),
        "new": _fallback_data(change.new),
    }


def _fallback_data(one: Fallback | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "sites": one.sites,
        "reports": one.reports,
        "count_is_lower_bound": one.at_least,
        "device": one.device,
        "kind": one.kind.value,
        "compiler": one.compiler,
        "class": one.event_class.value if one.event_class else None,
        "spot": one.spot,
    }


FORMATS: Final[Mapping[str, Callable[[Comparison], str]]] = {"text": text, "json": as_json}
