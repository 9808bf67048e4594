"""Room 5: what became of the keys of a policy that are no entries: budgets, proof, expectations, messages."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import date

from fallback_gate.compilers.rule import Marker, Rule
from fallback_gate.model import Kind
from fallback_gate.model.inputs import Direction, PolicyChange
from fallback_gate.policy.entry import Policy
from fallback_gate.policy.show import percentage

LOOSENED, CHANGED = Direction.LOOSENED, Direction.CHANGED
TIGHTENED, NEUTRAL = Direction.TIGHTENED, Direction.NEUTRAL


def unlisted(old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """What becomes of what no entry names: block, warn up to a share of the step, warn."""

    def level(policy: Policy) -> float:
        if policy.unlisted == "warn":
            return 2.0
        return -1.0 if policy.unlisted_share is None else policy.unlisted_share

    def text(policy: Policy) -> str:
        share = policy.unlisted_share
        return policy.unlisted if share is None else f"block_if_share_above {percentage(share)}"

    if level(old) != level(new):
        direction = LOOSENED if level(new) > level(old) else TIGHTENED
        yield PolicyChange(direction, "unlisted", f"{text(old)} -> {text(new)}")


def budgets(old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """Budgets that are higher or gone, lower or new."""
    for name in dict.fromkeys((*old.budgets, *new.budgets)):
        was, now = old.budgets.get(name), new.budgets.get(name)
        if was != now:
            direction = LOOSENED if now is None or (was is not None and now > was) else TIGHTENED
            yield PolicyChange(direction, f"budgets.{name}", f"{number(was)} -> {number(now)}")


def number(count: int | None) -> str:
    """A limit as a number; `none` where there is none."""
    return "none" if count is None else str(count)


def required(old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """The kinds that must be proven, held against what each compiler's reader asks for by default."""
    if old.required == new.required:
        return
    from fallback_gate.compilers import READERS

    less: set[Kind] = set()
    more: set[Kind] = set()
    for reader in READERS.values():
        for shown in (reader.required, frozenset(Kind)):  # as few kinds as a log may speak of, and as many
            was, now = (_deciding(policy.required, reader.required, shown) for policy in (old, new))
            less |= was - now
            more |= now - was
    key, what = "proof.required", f"{_kinds(old.required)} -> {_kinds(new.required)}"
    if less:
        yield PolicyChange(LOOSENED, key, f"{what}: {_kinds(less)} need no proof any more, of some compiler")
    if more:
        yield PolicyChange(TIGHTENED, key, f"{what}: {_kinds(more)} need proof now, of some compiler")


def _deciding(
    wanted: frozenset[Kind] | None, default: frozenset[Kind], shown: frozenset[Kind]
) -> frozenset[Kind]:
    """The kinds that decide about one compiler, as the proof weighs them."""
    asked = default if wanted is None else wanted
    return asked & shown if asked & shown or not asked else default & shown


def _kinds(kinds: Collection[Kind] | None) -> str:
    if kinds is None:
        return "what each compiler's reader asks for"
    return ", ".join(kind.value for kind in Kind if kind in kinds) or "nothing"


def accepted(old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """The kinds that a log need not show."""
    key = "proof.accept_unobservable"
    if added := new.accept_unobservable - old.accept_unobservable:
        yield PolicyChange(LOOSENED, key, f"{_kinds(added)} added")
    if gone := old.accept_unobservable - new.accept_unobservable:
        yield PolicyChange(TIGHTENED, key, f"{_kinds(gone)} removed")


def expected(what: str, old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """What must be there: `compilers` or `instruments`."""
    was, now = (getattr(policy, f"expect_{what}") for policy in (old, new))
    yield from (
        PolicyChange(LOOSENED, f"expect.{what}", f"{name} removed") for name in was if name not in now
    )
    yield from (PolicyChange(TIGHTENED, f"expect.{what}", f"{name} added") for name in now if name not in was)


def ranks(old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """How many ranks there must be."""
    was, now = old.expect_ranks, new.expect_ranks
    if was != now:
        direction = LOOSENED if (now or 0) < (was or 0) else TIGHTENED
        yield PolicyChange(direction, "expect.ranks", f"{number(was)} -> {number(now)}")


def logs(old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """Which logs are judged where none is named; one more may hold the proof that was missing."""
    yield from (PolicyChange(LOOSENED, "logs", f"{log} removed") for log in old.logs if log not in new.logs)
    yield from (PolicyChange(CHANGED, "logs", f"{log} added") for log in new.logs if log not in old.logs)


def rules(old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """The user's own messages. A marker proves something, so one more can only loosen, or nobody can tell."""
    before, after = ({rule.id: rule for rule in policy.rules} for policy in (old, new))
    for name, rule in before.items():
        now = after.get(name)
        if now is None:
            direction = LOOSENED if isinstance(rule, Rule) else CHANGED if rule.starts else TIGHTENED
            yield PolicyChange(direction, "rules", f"{_rule(rule)} removed", rule.seen_in)
        elif _decides(rule) != _decides(now):
            what = f"{_rule(rule)} says something else: {_differences(rule, now)}"
            yield PolicyChange(CHANGED, "rules", what, rule.seen_in, now.seen_in)
        elif _words(rule) != _words(now):
            yield PolicyChange(NEUTRAL, "rules", f"{_rule(rule)}: other words", rule.seen_in, now.seen_in)
    for name, rule in after.items():
        if name not in before:
            strict = new.unlisted == "block" and new.unlisted_share is None
            direction = TIGHTENED if isinstance(rule, Rule) and strict else CHANGED
            if isinstance(rule, Marker) and (rule.proves or rule.ends):
                direction = LOOSENED
            yield PolicyChange(direction, "rules", f"{_rule(rule)} added", None, rule.seen_in)


def _rule(rule: Rule | Marker) -> str:
    return f"the {'message' if isinstance(rule, Rule) else 'marker'} {rule.id} of {rule.compiler}"


def _decides(rule: Rule | Marker) -> dict[str, object]:
    """All of a rule but its words, its place, and the lines that it is tried on."""
    names = (
        "compiler",
        "anchor",
        "pattern",
        "kind",
        "scope",
        "at_least",
        "limit",
        "proves",
        "ends",
        "starts",
        "lines",
    )
    return {"is a message": isinstance(rule, Rule), **{name: getattr(rule, name, None) for name in names}}


def _words(rule: Rule | Marker) -> tuple[object, ...]:
    """What a rule says and is tried on, but for the place at which it stands."""
    names = ("meaning", "help", "shows", "setting")
    said = (str(getattr(rule, name, "")).replace(rule.seen_in, "") for name in names)
    return (*said, rule.matches, rule.ignores)


def _differences(old: Rule | Marker, new: Rule | Marker) -> str:
    was, now = _decides(old), _decides(new)
    return ", ".join(key for key in was if was[key] != now[key])


def extends(old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """Which policies are extended; what that does stands under the other keys."""
    if old.extends != new.extends:
        was, now = (", ".join(policy.extends) or "nothing" for policy in (old, new))
        yield PolicyChange(NEUTRAL, "extends", f"{was} -> {now}; the other lines say what that does")


def name(old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """What the policy is called."""
    if old.name != new.name:
        yield PolicyChange(NEUTRAL, "name", f"{old.name} -> {new.name}")


def tests(old: Policy, new: Policy, today: date) -> Iterator[PolicyChange]:
    """The cases on which the policy itself is tried: no verdict depends on them."""
    before, after = ({case.name: case for case in policy.tests} for policy in (old, new))
    for case in before.values():
        now = after.get(case.name)
        if now is None:
            yield PolicyChange(NEUTRAL, "tests", f"the case {case.name} removed", case.source)
        elif replace(now, source="") != replace(case, source=""):
            yield PolicyChange(NEUTRAL, "tests", f"the case {case.name} changed", case.source, now.source)
    for case in after.values():
        if case.name not in before:
            yield PolicyChange(NEUTRAL, "tests", f"the case {case.name} added", None, case.source)
