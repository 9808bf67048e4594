"""Room 5: the user's own messages, as they stand under `rules`: keys and types here, the trial in room 3."""

from __future__ import annotations

from functools import partial

from fallback_gate.compilers import user_rules
from fallback_gate.compilers.rule import Marker, Rule
from fallback_gate.model import Scope
from fallback_gate.policy import checks
from fallback_gate.policy.checks import Said
from fallback_gate.policy.page import Key, Page, shown

_RULE_NEEDS = ("id", "compiler", "anchor", "pattern", "kind", "scope", "matches")
_MARKER_NEEDS = ("id", "compiler", "anchor", "pattern", "matches")
RULE_KEYS = (*_RULE_NEEDS, "lines", "ignores", "meaning", "next")
MARKER_SAYS = ("proves", "ends", "starts")
MARKER_KEYS = (*_MARKER_NEEDS, *MARKER_SAYS, "setting", "ignores", "meaning")
SCOPES = {scope.value: scope for scope in Scope}


def rules(page: Page, top: dict[str, object]) -> tuple[Rule | Marker, ...]:
    """The rules and markers of a policy that are free of faults; the rest stands in the page's problems."""
    found: dict[str, Rule | Marker] = {}
    for index, value in enumerate(checks.items(page, ("rules",), top.get("rules", []))):
        key = ("rules", index)
        before = len(page.problems)
        said = _user_rule(page, key, value)
        for fault in user_rules.faults(said):
            page.complain((*key, *fault.key), fault.what, fault.advice)
        if said.id in found:
            other = found[said.id].seen_in
            page.complain(
                (*key, "id"), f"the id {shown(said.id)} stands twice, first at {other}", "rename one"
            )
        if len(page.problems) == before and said.id is not None:
            found[said.id] = user_rules.read(said, page.source(key))
    return tuple(found.values())


def _user_rule(page: Page, key: Key, value: object) -> user_rules.UserRule:
    is_marker = isinstance(value, dict) and any(key in value for key in MARKER_SAYS)
    known, needs = (MARKER_KEYS, _MARKER_NEEDS) if is_marker else (RULE_KEYS, _RULE_NEEDS)
    said = Said(page, key, checks.mapping(page, key, value, known, needs))
    proves = said.read("proves", checks.kinds) or frozenset()
    ends, starts = (said.read(name, checks.flag) or False for name in ("ends", "starts"))
    if is_marker and not any(said.values.get(name) for name in MARKER_SAYS):
        advice = "name what it `proves`, or that it `starts` or `ends` the compile phase"
        page.complain(key, "the marker says nothing", advice)
    if starts and ends:
        page.complain((*key, "starts"), "one line can't start and end the phase", "take two markers")
    if said.values.get("matches") == []:
        page.complain((*key, "matches"), "there is no line to try the pattern on", "give at least one line")
    kind = said.read("kind", partial(checks.choice, known=checks.KINDS))
    scope = said.read("scope", partial(checks.choice, known=SCOPES))
    lines = said.whole("lines")
    if lines is not None and not 1 <= lines <= user_rules.MOST_LINES:
        advice = f"take 1 to {user_rules.MOST_LINES}: the first line and those below it"
        page.complain((*key, "lines"), f"a record of {lines} lines can't be read", advice)
    return user_rules.UserRule(
        id=said.text("id"),
        compiler=said.text("compiler"),
        anchor=said.text("anchor"),
        pattern=said.text("pattern"),
        matches=said.texts("matches"),
        ignores=said.texts("ignores"),
        kind=kind,
        scope=scope,
        proves=proves,
        ends=ends,
        starts=starts,
        meaning=said.text("meaning"),
        next=said.text("next"),
        setting=said.text("setting"),
        lines=lines,
        is_marker=is_marker,
    )
