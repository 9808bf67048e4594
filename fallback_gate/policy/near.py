"""Room 5: entries that matched nothing in a run, and what they nearly matched.

For notes and advice alone: a misspelled hot entry looks just like one that holds. Nothing here decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fallback_gate.model import Class, Event, Finding
from fallback_gate.policy.cover import NAMING
from fallback_gate.policy.entry import ColdEntry, Entry, HotEntry
from fallback_gate.policy.globs import is_wild, slashed
from fallback_gate.policy.match import cold_matches, hot_untold

MOST_EVENTS = 300  # that are looked at one by one
MOST_NAMES = 2000
_ALIKE = 0.85  # of 1, as difflib weighs it
_SHORTEST = 4  # letters; shorter names are alike by chance


class Near:
    """The findings that an entry may nearly match, with the names in them worked out once."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self._events = [finding.event for finding in findings]
        self._names: dict[tuple[str, bool], dict[str, str]] = {}

    def hot_hint(self, entry: HotEntry) -> str | None:
        """What a hot entry that matched nothing may have meant among these findings, as a question."""
        for key in NAMING:
            if key not in entry.asks():
                continue
            rest = _asking(entry, key, ())
            events = None
            if rest.asks():
                some = self._events[:MOST_EVENTS]
                events = [event for event in some if hot_untold(rest, event) is not None]
            hint = _written_as_glob(entry, key, self._events if events is None else events)
            if hint := hint or self._near_name(entry, key, events):
                return hint
        return None

    def cold_hint(self, entry: ColdEntry, findings: Sequence[Finding]) -> str | None:
        """Why a cold entry that allowed nothing did not allow what it nearly or wholly matches."""
        some = findings[:MOST_EVENTS]
        for finding in some:
            if cold_matches(entry, finding.event):
                return _overruled(finding)
        hints = (_but_for(entry, finding.event) for finding in some)
        if hint := next((hint for hint in hints if hint), None):
            return hint
        key = next((key for key in NAMING if key in entry.asks()), None)
        return self._near_name(entry, key, None) if key else None

    def _near_name(self, entry: Entry, key: str, events: Sequence[Event] | None) -> str | None:
        """The name most like one of the entry's, in some events or in all."""
        from difflib import get_close_matches  # for mistakes alone

        for glob in entry.asks()[key]:
            whole = _has_space(glob, key)
            core = _core(glob, key, whole)
            if len(core) < _SHORTEST:
                continue
            known = self._known(key, whole) if events is None else _names_of(events, key, whole)
            letters = set(core)
            # Letters that one of two names lacks can't match: the rest is not worth a closer look.
            like = [one for one in known if len(letters ^ set(one)) <= (1 - _ALIKE) * (len(core) + len(one))]
            if close := get_close_matches(core, like, n=1, cutoff=_ALIKE):
                return f"did you mean {known[close[0]]}?"
        return None

    def _known(self, key: str, whole: bool) -> dict[str, str]:
        if (key, whole) not in self._names:
            self._names[key, whole] = _names_of(self._events, key, whole)
        return self._names[key, whole]


def matches_none(entry: HotEntry, findings: Sequence[Finding]) -> bool:
    """Whether a hot entry matches no event, whichever entry decided it."""
    return all(hot_untold(entry, finding.event) is None for finding in findings)


def _names_of(events: Sequence[Event], key: str, whole: bool) -> dict[str, str]:
    """The names in events by what is compared of them."""
    found: dict[str, str] = {}
    for event in events:
        for name in _names(event, key):
            found.setdefault(_core(name, key, whole), name)
        if len(found) > MOST_NAMES:
            break
    return found


def _written_as_glob(entry: HotEntry, key: str, events: Sequence[Event]) -> str | None:
    written = entry.asks()[key]
    from fallback_gate.policy import regular  # as the next: for mistakes alone

    globs = tuple(glob for one in written for glob in regular.meant(one))
    if set(globs) <= set(written) or any(map(is_wild, globs)):
        return None
    anywhere = tuple(f"*{glob.strip('*')}*" for glob in globs)  # an expression is found anywhere in a name
    for tried in (globs, anywhere):
        meant = _asking(entry, key, tried)
        some = events[:MOST_EVENTS]
        name = next((event.op for event in some if hot_untold(meant, event) is not None), None)
        if name is not None:
            listed = " | ".join(tried)
            return f"did you mean {listed}, which matches {name}? These are globs, not regular expressions"
    return None


def _asking(entry: HotEntry, key: str, globs: tuple[str, ...]) -> HotEntry:
    """The entry with other globs under a key, whatever it costs."""
    without_cost = replace(entry, share_of_step=None)
    return replace(without_cost, **{key: globs})  # type: ignore[arg-type]


def _has_space(name: str, key: str) -> bool:
    """Whether a glob names more than the last part, so that all parts count."""
    return key == "op" and "::" in name.strip("*:")


def _core(name: str, key: str, whole: bool) -> str:
    """The letters of a name that are compared: `GateAttn`, `gate-attn` and `moe::gate_attn` have the same."""
    if key == "file":
        name = slashed(name).rpartition("/")[2]
    elif not whole:
        name = name.rpartition("::")[2] if "::" in name else name.rpartition(".")[2]
    return "".join(filter(str.isalnum, name.lower()))[:200]


def _names(event: Event, key: str) -> Iterator[str]:
    """What the log calls an event, as the key looks at it; the name that reports show first."""
    at = event.location
    if key == "file":
        yield from (*([at.file] if at and at.file else ()), *event.files)
        return
    if event.op != "*":
        yield event.op
    if key != "function":
        yield from event.names
        if event.layer:
            yield event.layer
    if key != "layer":
        yield from (*([at.function] if at and at.function else ()), *event.stack)


def _overruled(finding: Finding) -> str:
    """Why an event that a cold entry matches was not its to allow."""
    name = finding.event.op
    if finding.rule is None:
        return f"it matches {name}, but {finding.why or 'that is not its to allow'}"
    if finding.event_class is Class.HOT:
        return f"it is overruled for {name} by the hot entry at {finding.rule.source}"
    return f"{name} is allowed by the cold entry at {finding.rule.source} already"


def _but_for(entry: ColdEntry, event: Event) -> str | None:
    """What keeps an entry that names this event by one key from matching it."""
    missing = [
        key for key, globs in entry.asks().items() if not cold_matches(_only(entry, key, globs), event)
    ]
    named = [key for key in entry.asks() if key in NAMING and key not in missing]
    if missing == ["op"] and event.op != "*" and "::" in event.op:
        loosely = HotEntry(rule=entry.rule, op=entry.op)
        wanted = event.op.rpartition("::")[2].partition(".")[0]
        if hot_untold(loosely, event) is not None and any("::" not in glob for glob in entry.op):
            plain = next((glob for glob in entry.op if glob.lower() == wanted.lower()), None)
            return f"{plain} would match as {event.op}" if plain else None
        return None
    if not named or not missing:
        return None
    told = {"kinds": event.kind.value, "compiler": event.compiler, "layer": event.layer}
    if event.location:
        told |= {"function": event.location.function, "file": event.location.file}
    told |= {"op": event.op}
    from fallback_gate.policy.page import shown

    facts = [f"{key}, which is {shown(told[key])}" if told.get(key) else f"{key}, which the log does not tell"
             for key in missing]  # fmt: skip
    return f"it matches {event.op} but for {' and '.join(facts)}"


def _only(entry: ColdEntry, key: str, globs: tuple[str, ...]) -> ColdEntry:
    return ColdEntry(rule=entry.rule, **{key: globs})  # type: ignore[arg-type]
