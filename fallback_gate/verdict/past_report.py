"""Room 6: a JSON report of an earlier run, read back: what it found, and whether it would have found all.

Only what later commands ask of it is taken; keys that a newer version added are left alone. A report that
lacks what they need is refused, with the place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from sys import float_info
from typing import Any

from fallback_gate.errors import InputError, PolicyError, reason
from fallback_gate.model import (
    REPORT_SCHEMA,
    Class,
    Decision,
    Event,
    Finding,
    Kind,
    Location,
    Outcome,
    PolicySummary,
    ProcessKey,
    Scope,
)
from fallback_gate.model import environment as environments
from fallback_gate.model.claims import ClaimState
from fallback_gate.model.environment import Environment
from fallback_gate.model.history import Number
from fallback_gate.model.measures import State as Standing
from fallback_gate.policy import checks
from fallback_gate.policy.checks import nearest
from fallback_gate.policy.globs import slashed
from fallback_gate.policy.page import Key, Page, shown

LARGEST = 64 << 20  # bytes
NEEDED = ("verdict", "proven", "processes", "events")
_CLASSES = {one.value: one for one in Class}
_DECISIONS = {one.value: one for one in Decision}
_SCOPES = {one.value: one for one in Scope}
_OUTCOMES = {one.value: one for one in Outcome}


@dataclass(frozen=True, slots=True)
class PastReport:
    """What a report says. `outcome` is None where no verdict was reached."""

    path: str
    outcome: Outcome | None
    policy: PolicySummary
    findings: tuple[Finding, ...]
    reasons: tuple[str, ...]
    compilers: tuple[tuple[str, str | None], ...]
    ranks: tuple[int, ...]
    processes: int  # that compiled and have no rank
    problem: str | None  # why it might not show every fallback
    environment: Environment = Environment()
    numbers: tuple[Number, ...] = ()
    exceeded: tuple[str, ...] = ()  # limits, one sentence or name each


def is_report(path: str) -> bool:
    """Whether a file says of itself that it is one of our JSON reports."""
    try:
        with open(path, "rb") as file:
            head = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
    except (OSError, ValueError):
        return False
    return head.startswith(b"{") and f'"{REPORT_SCHEMA}"'.encode() in head


def read(path: str) -> PastReport:
    """Read a report. Raises PolicyError with all that is wrong with it."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"the report {shown(path)} can't be read ({reason(error)})") from None
    if len(data) > LARGEST:
        raise InputError(f"the report {shown(path)} is larger than {LARGEST >> 20} MiB")
    page = Page(slashed(path))
    try:
        page.value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{shown(path)} is no JSON report: {error}") from None
    found = _report(page, path)
    if page.problems:
        raise PolicyError(tuple(page.told()))
    return found


def _report(page: Page, path: str) -> PastReport:
    top = _mapping(page, (), page.value)
    if top.get("schema") != REPORT_SCHEMA:
        page.complain(
            (), f"the schema is {shown(top.get('schema'))}", f"name a JSON report of {REPORT_SCHEMA}"
        )
        top = {}
    for name in (name for name in NEEDED if top and name not in top):
        page.complain((), f"the key {name} is missing", "name the whole report, as `check` wrote it")
    policy = _mapping(page, ("policy",), top.get("policy", {}))
    events = [
        _finding(page, ("events", index), value)
        for index, value in enumerate(checks.items(page, ("events",), top.get("events", [])))
    ]
    processes = _mappings(top.get("processes"))
    compilers: dict[tuple[str, str | None], None] = {}
    for compiler in (one for process in processes for one in _mappings(process.get("compilers"))):
        compilers[str(compiler.get("name")), _text(compiler.get("version"))] = None
    said = top.get("verdict")
    if said is not None and str(said) not in _OUTCOMES:
        page.complain(("verdict",), f"{shown(said)} is no verdict", f"known: {', '.join(_OUTCOMES)}")
    return PastReport(
        path=path,
        outcome=_OUTCOMES.get(str(said)),
        policy=PolicySummary(str(policy.get("name")), _text(policy.get("path")), _text(policy.get("sha256"))),
        findings=tuple(event for event in events if event is not None),
        reasons=_texts(top.get("reasons")),
        compilers=tuple(compilers),
        ranks=tuple(sorted({p["rank"] for p in processes if isinstance(p.get("rank"), int)})),
        processes=sum(p.get("rank") is None and bool(_mappings(p.get("compilers"))) for p in processes),
        problem=_problem(top),
        environment=environments.read(top.get("environment"), path),
        numbers=tuple(_numbers(top.get("measurements"))),
        exceeded=tuple(_exceeded(top)),
    )


def _exceeded(top: dict[str, Any]) -> Iterator[str]:
    """The limits that block: budgets and `max_count` by their sentences, the others by their state."""
    yield from (reason for reason in _texts(top.get("reasons")) if ", exceeded by " in reason)
    for one in (*_mappings(top.get("measurements")), *_mappings(top.get("claims"))):
        if one.get("state") in (Standing.EXCEEDED.value, ClaimState.MISSED.value):
            yield _text(one.get("name")) or _text(one.get("metric")) or "a figure"


def _numbers(value: object) -> Iterator[Number]:
    """The measurements of a report; one that has not the form of one is left out."""
    for one in _mappings(value):
        instrument, name, amount = one.get("instrument"), one.get("name"), _finite(one.get("value"))
        if isinstance(instrument, str) and isinstance(name, str) and amount is not None:
            yield Number(instrument, name, _text(one.get("subject")), amount, _text(one.get("unit")) or "")


def _problem(top: dict[str, Any]) -> str | None:
    """Why the run might not show every fallback."""
    if top.get("verdict") is None:
        return "no verdict was reached"
    return None if top.get("proven") is True else "its logs could not have shown every fallback"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= float_info.max:
        return None
    return float(value)


def _texts(value: object) -> tuple[str, ...]:
    return tuple(inner for inner in value if isinstance(inner, str)) if isinstance(value, list) else ()


def _mappings(value: object) -> list[dict[str, Any]]:
    return [inner for inner in value if isinstance(inner, dict)] if isinstance(value, list) else []


def _mapping(page: Page, key: Key, value: object) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    page.complain(key, "must be a mapping", f"name a JSON report of {REPORT_SCHEMA}")
    return {}


def _finding(page: Page, key: Key, value: object) -> Finding | None:
    before = len(page.problems)
    said = _mapping(page, key, value)
    if len(page.problems) > before:
        return None

    def choice(name: str, known: dict[str, Any]) -> Any:
        word = str(said.get(name))
        if word not in known:
            near = nearest(word, known)
            page.complain((*key, name), f"{shown(word)} is not known", f"the nearest is {near}")
        return known.get(word)

    kind, scope = choice("kind", checks.KINDS), choice("scope", _SCOPES)
    found_as, decision = choice("class", _CLASSES), choice("decision", _DECISIONS)
    for name in ("op", "compiler", "fingerprint", "log"):
        checks.text(page, (*key, name), said.get(name))
    for name in ("count", "sites"):
        checks.whole(page, (*key, name), said.get(name))
    if len(page.problems) > before:
        return None
    return Finding(_event(said, kind, scope), found_as, decision, None, _text(said.get("why")))


def _event(said: dict[str, Any], kind: Kind, scope: Scope) -> Event:
    place, line, ranks = said.get("location"), said.get("line"), said.get("ranks")
    ranks = tuple(rank for rank in ranks if isinstance(rank, int)) if isinstance(ranks, list) else ()
    return Event(
        id=str(said.get("id")),
        compiler=said["compiler"],
        kind=kind,
        scope=scope,
        op=said["op"],
        names=_texts(said.get("names")),
        stack=_texts(said.get("stack")),
        files=(),
        reason=_text(said.get("reason")),
        log=said["log"],
        line=line if isinstance(line, int) else None,
        lines=(),
        count=said["count"],
        sites=said["sites"],
        count_is_lower_bound=bool(said.get("count_is_lower_bound")),
        ranks=ranks,
        location=Location(_text(place.get("file")), None, _text(place.get("function")))
        if isinstance(place, dict)
        else None,
        layer=_text(said.get("layer")),
        text="",
        fingerprint=said["fingerprint"],
        help=str(said.get("help") or ""),
        processes=tuple(ProcessKey(said["log"], rank) for rank in ranks) or (ProcessKey(said["log"]),),
    )
