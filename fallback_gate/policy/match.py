"""Room 5: one event under one policy.

Hot entries are read widely and cold ones narrowly, since a fallback that slips by is the worse mistake.
A hot entry matches the operator, the offending call, or any function or file of the user's stack, and a
key whose fact the log does not tell counts as matched when another key matches by a known one. A cold
entry matches only the operator itself and the innermost user function or file, by known facts alone.
Hot beats cold; and where a whole function or program runs eager, nobody knows what it holds: with a hot
list it is hot, unless a cold entry names that very thing.
"""

from __future__ import annotations

from datetime import date

from fallback_gate.events import names
from fallback_gate.model import Class, Decision, Event, Finding, Scope
from fallback_gate.policy import globs
from fallback_gate.policy.entry import ColdEntry, HotEntry, Policy

_HIDES = {
    Scope.REGION: "a whole function runs eager and may hide a hot operator",
    Scope.PROGRAM: "a whole graph, session or process falls back and may hide a hot operator",
    Scope.UNKNOWN: "the message names no operator and may mean a hot one",
}


def judge(event: Event, policy: Policy, today: date) -> Finding:
    """Decide one event. `today` is the date (UTC) that expiry counts against."""
    for hot in policy.hot:
        untold = hot_untold(hot, event)
        if untold is not None:
            why = (
                f"the log does not tell the {' and '.join(untold)}, so the entry counts as matched"
                if untold
                else None
            )
            return Finding(event, Class.HOT, Decision.BLOCKED, hot.rule, why)
    hides = bool(policy.hot) and event.scope in _HIDES
    cold = _allowed_by(event, policy, today, by_name=hides)
    if cold is not None:
        return Finding(event, Class.COLD, Decision.ALLOWED, cold.rule)
    if hides:
        return Finding(event, Class.HOT, Decision.BLOCKED, None, _HIDES[event.scope])
    decision = Decision.BLOCKED if policy.unlisted == "block" else Decision.WARNED
    return Finding(event, Class.UNLISTED, decision, None, "no entry of the policy names it")


def _allowed_by(event: Event, policy: Policy, today: date, by_name: bool) -> ColdEntry | None:
    """The cold entry that allows an event; one without a `max_count` before one that has to count."""
    found = [
        entry
        for entry in policy.cold
        if not entry.expired(today)
        and cold_matches(entry, event)
        and (not by_name or _names_it(entry, event))
    ]
    return min(found, key=lambda entry: entry.max_count is not None, default=None)


def hot_untold(entry: HotEntry, event: Event) -> tuple[str, ...] | None:
    """None where a hot entry does not match; else the keys whose facts the log does not tell."""
    untold = []
    known = False
    for key, patterns in entry.asks().items():
        verdict = _HOT[key](patterns, event)
        if verdict is False:
            return None
        if verdict is None:
            untold.append(key)
        known |= verdict is True
    return tuple(untold) if known else None


def _hot_op(patterns: tuple[str, ...], event: Event) -> bool | None:
    things = (event.op, *event.names, event.layer or "*")
    if any(globs.operator_bare(patterns, name) for name in things if name != "*"):
        return True
    if any(globs.operator_as_function(patterns, name) for name in _functions(event)):
        return True
    return None if event.op == "*" else False


def _hot_function(patterns: tuple[str, ...], event: Event) -> bool | None:
    functions = _functions(event)
    return any(globs.function_loosely(patterns, name) for name in functions) if functions else None


def _hot_file(patterns: tuple[str, ...], event: Event) -> bool | None:
    files = {*event.files, *([event.location.file] if event.location and event.location.file else [])}
    return any(globs.file_loosely(patterns, path) for path in files) if files else None


def _hot_layer(patterns: tuple[str, ...], event: Event) -> bool | None:
    if any(globs.matches(patterns, name) for name in (*event.names, event.layer or "")):
        return True
    return False if event.layer else None


def _compiler(patterns: tuple[str, ...], event: Event) -> bool:
    return globs.matches(tuple(glob.lower() for glob in patterns), event.compiler.lower())


def _kind(patterns: tuple[str, ...], event: Event) -> bool:
    return globs.matches(patterns, event.kind.value)


_HOT = {
    "op": _hot_op,
    "function": _hot_function,
    "file": _hot_file,
    "layer": _hot_layer,
    "compiler": _compiler,
    "kinds": _kind,
}


def _functions(event: Event) -> tuple[str, ...]:
    """All functions of the user that the log tells, innermost first."""
    found = [*_innermost(event), *(names.function(name) for name in event.stack)]
    return tuple(dict.fromkeys(found))


def _innermost(event: Event) -> tuple[str, ...]:
    """The spellings of the innermost user function; of a break or a frame, `op` is that function."""
    top = names.function(event.stack[0]) if event.stack else None
    at = event.location.function if event.location else None
    at = names.function(at) if at else None
    if at and top and at.rpartition(".")[2] == top.rpartition(".")[2]:
        return (at, top)
    if at or top:
        return (at or top or "",)
    is_function = event.scope in (Scope.SITE, Scope.REGION) and "::" not in event.op and event.op != "*"
    return (event.op,) if is_function else ()


def cold_matches(entry: ColdEntry, event: Event) -> bool:
    """Whether a cold entry matches, by known facts alone."""
    return all(_COLD[key](patterns, event) for key, patterns in entry.asks().items())


def _cold_op(patterns: tuple[str, ...], event: Event) -> bool:
    if event.op == "*":
        lower = tuple(glob.lower() for glob in patterns)
        said = (event.op, event.id, *event.names, event.reason or "*")
        return any(globs.matches(lower, text.lower()) for text in said)
    spelled = (event.op, *(name for name in event.names if globs.same_operator(name, event.op)))
    return any(globs.operator(patterns, name) for name in spelled)


def _cold_function(patterns: tuple[str, ...], event: Event) -> bool:
    return any(globs.matches(patterns, name) for name in _innermost(event))


def _cold_file(patterns: tuple[str, ...], event: Event) -> bool:
    at = event.location.file if event.location else None
    path = at or (event.files[0] if event.files else None)
    return path is not None and globs.file(patterns, path)


def _cold_layer(patterns: tuple[str, ...], event: Event) -> bool:
    return event.layer is not None and globs.matches(patterns, event.layer)


_COLD = {
    "op": _cold_op,
    "function": _cold_function,
    "file": _cold_file,
    "layer": _cold_layer,
    "compiler": _compiler,
    "kinds": _kind,
}


def _names_it(entry: ColdEntry, event: Event) -> bool:
    """Whether a cold entry names the event's function, session or message, not merely by wildcards."""
    asked = entry.asks()
    return any(
        _COLD[key](tuple(glob for glob in asked.get(key, ()) if not globs.is_wild(glob)), event)
        for key in ("op", "function", "layer")
    )
