"""Room 5: one event under one policy.

Hot entries are read widely and cold ones narrowly, since a fallback that slips by is the worse mistake.
A hot entry matches the operator, the offending call, or any function or file of the user's stack, and a
key whose fact the log does not tell counts as matched when another key matches by a known one. A cold
entry matches only the operator itself and the innermost user function or file, by known facts alone.
Hot beats cold; and where a whole function or program runs eager, nobody knows what it holds: with a hot
list it is hot, unless a cold entry names that very thing.

The reports of one event may differ in overload, layer, stack or message: a hot entry matches if it matches
any of them, a cold one only if it matches all. Where more differ than are kept, a key that asks for what
is not kept counts as matched for a hot entry and as not matched for a cold one.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from fallback_gate.model import Class, Decision, Event, Finding, Place, Scope, Variants, names
from fallback_gate.model.event import operator_names, place_of
from fallback_gate.policy import globs
from fallback_gate.policy.entry import ColdEntry, HotEntry, Policy

_HIDES = {
    Scope.REGION: "a whole function runs eager and may hide a hot operator",
    Scope.PROGRAM: "a whole graph, session or process falls back and may hide a hot operator",
    Scope.UNKNOWN: "the message names no operator and may mean a hot one",
}
_PLACES = 20  # that are looked at for an explanation
_SOME = "a cold entry allows some of its reports; others name another overload, layer, function or message"
_MORE = "its reports differ in more ways than are kept, so it counts as hot where it may be and never as cold"


def judge(event: Event, policy: Policy, today: date) -> Finding:
    """Decide one event. `today` is the date (UTC) that expiry counts against."""
    for hot in policy.hot:
        untold = hot_untold(hot, event)
        if untold is not None:
            why = _MORE if event.variants and event.variants.overflowed else None
            if untold:
                why = f"the log does not tell the {' and '.join(untold)}, so the entry counts as matched"
            return Finding(event, Class.HOT, Decision.BLOCKED, hot.rule, why)
    hides = bool(policy.hot) and event.scope in _HIDES
    cold = _allowed_by(event, policy, today, by_name=hides)
    if cold is not None:
        return Finding(event, Class.COLD, Decision.ALLOWED, cold.rule)
    if hides:
        return Finding(event, Class.HOT, Decision.BLOCKED, None, _HIDES[event.scope])
    cost = event.cost
    if policy.unlisted_share is not None and cost and cost.certain and cost.share <= policy.unlisted_share:
        why = f"it costs {cost.share:.1%} of the step, and what is unlisted may cost that"
        return Finding(event, Class.UNLISTED, Decision.WARNED, None, why)
    decision = Decision.BLOCKED if policy.unlisted == "block" else Decision.WARNED
    return Finding(event, Class.UNLISTED, decision, None, _why_unlisted(event, policy, today))


def _why_unlisted(event: Event, policy: Policy, today: date) -> str:
    """Why no entry holds, where one allows some of the event's reports but not all of them."""
    if event.variants is not None:
        shown = replace(event, variants=None)
        for one in (shown, *(_at(place, shown) for place in event.variants.places[:_PLACES])):
            if _allowed_by(one, policy, today) is not None:
                return _MORE if event.variants.overflowed else _SOME
    return "no entry of the policy names it"


def _at(place: Place, event: Event) -> Event:
    """The event as if all of its reports told this place."""
    where = event.location._replace(function=place.function) if event.location else None
    return replace(event, location=where, stack=place.stack, files=place.files)


def _allowed_by(event: Event, policy: Policy, today: date, by_name: bool = False) -> ColdEntry | None:
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
    if entry.share_of_step is not None:
        cost = event.cost
        if cost is not None and entry.share_of_step.holds(cost.share, None):
            known = True
        elif cost is not None and cost.certain:
            return None
        else:
            untold.append("share of the step")
    for key, patterns in entry.asks().items():
        verdict = _HOT[key](patterns, event)
        if verdict is False:
            return None
        if verdict is None:
            untold.append(key)
        known |= verdict is True
    return tuple(untold) if known else None


def _variants(event: Event) -> Variants:
    """What the reports of an event say; where they agree, what the event says."""
    if event.variants is not None:
        return event.variants
    return Variants((operator_names(event),), event.names, (event.layer,), (place_of(event),))


def _overflowed(event: Event, *fields: str) -> bool:
    return event.variants is not None and not event.variants.overflowed.isdisjoint(fields)


def _hot_op(patterns: tuple[str, ...], event: Event) -> bool | None:
    said = _variants(event)
    layers = (layer for layer in said.layers if layer)
    things = (event.op, *(op[0] for op in said.ops), *said.names, *layers)
    if any(globs.operator_bare(patterns, name) for name in things):
        return True
    if any(globs.operator_untold(patterns, op) for op in said.ops):
        return True
    if any(globs.operator_as_function(patterns, name) for name in _functions(event)):
        return True
    if _overflowed(event, "ops", "names", "layers", "places"):
        return True
    return None if event.op == "*" else False


def _hot_function(patterns: tuple[str, ...], event: Event) -> bool | None:
    if any(globs.function_loosely(patterns, name) for name in (*_functions(event), *_own(event))):
        return True
    if _overflowed(event, "places"):
        return True
    told = all(_functions_at(event, place) for place in _variants(event).places)
    return False if told else None


def _hot_file(patterns: tuple[str, ...], event: Event) -> bool | None:
    at = [event.location.file] if event.location and event.location.file else []
    places = _variants(event).places
    files = {*at, *(path for place in places for path in place.files)}
    if any(globs.file_loosely(patterns, path) for path in files) or _overflowed(event, "places"):
        return True
    return False if at or all(place.files for place in places) else None


def _hot_layer(patterns: tuple[str, ...], event: Event) -> bool | None:
    said = _variants(event)
    if any(globs.matches(patterns, name) for name in (*said.names, *(layer or "" for layer in said.layers))):
        return True
    if _overflowed(event, "names", "layers"):
        return True
    return False if all(said.layers) else None


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
    found = (name for place in _variants(event).places for name in _functions_at(event, place))
    return tuple(dict.fromkeys(found))


def _functions_at(event: Event, place: Place) -> tuple[str, ...]:
    return (*_innermost(event, place), *(names.function(name) for name in place.stack))


def _innermost(event: Event, place: Place) -> tuple[str, ...]:
    """The spellings of the innermost user function; of a break or a frame, `op` is that function."""
    told = tuple(names.function(name) for name in (place.function, *place.stack[:1]) if name)
    if told:
        return told if len(set(map(_last, told))) == 1 else told[:1]
    return _own(event)


def _own(event: Event) -> tuple[str, ...]:
    """The user's function that a break or a frame is about; a caller may be the innermost of its stack."""
    is_function = event.scope in (Scope.SITE, Scope.REGION) and "::" not in event.op and event.op != "*"
    return (event.op,) if is_function else ()


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _all_innermost(event: Event) -> tuple[tuple[str, ...], ...]:
    """The innermost functions of all reports; one that names no class is the same in another's words."""
    found = tuple(dict.fromkeys(_innermost(event, place) for place in _variants(event).places))
    if len(found) == 1 or event.location is None or event.location.file is None:
        return found
    qualified = {_last(name) for said in found for name in said if "." in name}
    told_better = [
        said for said in found if any("." in name for name in said) or qualified.isdisjoint(map(_last, said))
    ]
    return tuple(told_better) or found


def cold_matches(entry: ColdEntry, event: Event) -> bool:
    """Whether a cold entry matches all reports of an event, by known facts alone."""
    if _overflowed(event, "all"):
        return False
    return all(_COLD[key](patterns, event) for key, patterns in entry.asks().items())


def _cold_op(patterns: tuple[str, ...], event: Event) -> bool:
    if _overflowed(event, "ops"):
        return False
    ops = _variants(event).ops
    if event.op == "*":
        lower = tuple(glob.lower() for glob in patterns)
        return all(any(globs.matches(lower, text.lower()) for text in said) for said in ops)
    return all(any(globs.operator(patterns, name) for name in said) for said in ops)


def _cold_function(patterns: tuple[str, ...], event: Event) -> bool:
    if _overflowed(event, "places"):
        return False
    return all(
        any(globs.matches(patterns, name) for name in innermost) for innermost in _all_innermost(event)
    )


def _cold_file(patterns: tuple[str, ...], event: Event) -> bool:
    if event.location and event.location.file:
        return globs.file(patterns, event.location.file)
    if _overflowed(event, "places"):
        return False
    return all(
        bool(place.files) and globs.file(patterns, place.files[0]) for place in _variants(event).places
    )


def _cold_layer(patterns: tuple[str, ...], event: Event) -> bool:
    if _overflowed(event, "layers"):
        return False
    return all(layer is not None and globs.matches(patterns, layer) for layer in _variants(event).layers)


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
