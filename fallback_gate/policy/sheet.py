"""Room 5: one policy file as it stands, checked key by key, before what it extends is added.

`KEYS` and the other tables are the whole language; `schema.json` says the same to editors, and a test
holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any

from fallback_gate.compilers.rule import Marker, Rule
from fallback_gate.model import Kind, RuleSource
from fallback_gate.model.claims import Claim, Rollback
from fallback_gate.model.measures import QUANTITIES
from fallback_gate.policy import checks, messages
from fallback_gate.policy.bounds import bounds, share, share_limit
from fallback_gate.policy.cases import Case, cases
from fallback_gate.policy.checks import Said
from fallback_gate.policy.claims import claims, rollback
from fallback_gate.policy.entry import MATCH_KEYS, ColdEntry, HotEntry, UnhotEntry
from fallback_gate.policy.globs import comparable, is_literal
from fallback_gate.policy.instruments import Bound
from fallback_gate.policy.mistaken import is_another
from fallback_gate.policy.page import BROKEN, Key, Page, shown

VERSION = 1
KEYS = (
    *("version", "name", "extends", "unlisted", "hot", "unhot", "cold"),
    *("budgets", "proof", "expect", "logs", "rules", "tests", "instruments", "claims", "rollback"),
)
HOT_KEYS = (*MATCH_KEYS, "why", "share_of_step")
HOT_HINTS = {
    "reason": "a hot entry says so as `why`",
    **dict.fromkeys(
        ("owner", "expires", "ticket"), "a hot entry has none, since it allows nothing; take it out"
    ),
    "max_count": "a hot entry allows nothing; set `budgets`, or make it cold",
}
UNHOT_KEYS = (*MATCH_KEYS, "reason", "owner", "expires", "ticket")
COLD_KEYS = (*UNHOT_KEYS, "max_count")
BUDGET_KEYS = (*checks.KINDS, "events")
PROOF_KEYS = ("required", "accept_unobservable")
EXPECT_KEYS = ("compilers", "ranks", "instruments")
UNLISTED = {"block": "block", "warn": "warn"}


@dataclass(frozen=True, slots=True)
class Sheet:
    """What one file says, None where it says nothing. `extends` are references with their places."""

    name: str | None = None
    extends: tuple[tuple[str, Key], ...] = ()
    unlisted: str | None = None
    unlisted_share: float | None = None
    hot: tuple[HotEntry, ...] = ()
    unhot: tuple[UnhotEntry, ...] = ()
    cold: tuple[ColdEntry, ...] = ()
    budgets: dict[str, int] = field(default_factory=dict)
    required: frozenset[Kind] | None = None
    accept_unobservable: frozenset[Kind] = frozenset()
    expect_compilers: tuple[str, ...] | None = None
    expect_ranks: int | None = None
    expect_instruments: tuple[str, ...] | None = None
    logs: tuple[str, ...] | None = None
    rules: tuple[Rule | Marker, ...] = ()
    tests: tuple[Case, ...] = ()
    bounds: tuple[Bound, ...] = ()
    claims: tuple[Claim, ...] = ()
    rollback: Rollback | None = None


def sheet(page: Page, shipped: bool) -> Sheet:
    """Check a page and take its content; what is wrong stands in the page's problems.

    In a shipped policy `cold` and `unhot` need only a reason, in a user's also an owner and a date.
    """
    value = page.value
    if value is BROKEN or (value is None and page.problems):
        return Sheet()
    if value is None:
        page.complain((), "version is missing: the file is empty", "begin with `version: 1`")
        return Sheet()
    if is_another(page, "policy"):
        return Sheet()
    top = checks.mapping(page, (), value, KEYS)
    if isinstance(value, dict):
        _version(page, top)
    said = Said(page, (), top)
    proof, expect = (
        Said(page, (key,), checks.mapping(page, (key,), top.get(key, {}), known))
        for key, known in (("proof", PROOF_KEYS), ("expect", EXPECT_KEYS))
    )
    hot = _hot(page, top)
    cold = _cold(page, top, shipped)
    _contradictions(page, top)
    return Sheet(
        name=said.text("name"),
        extends=_extends(page, top),
        unlisted=said.read("unlisted", _unlisted),
        unlisted_share=said.read("unlisted", _unlisted_share),
        hot=hot,
        unhot=_unhot(page, top, shipped),
        cold=cold,
        budgets=_budgets(page, top),
        required=proof.read("required", checks.kinds),
        accept_unobservable=proof.read("accept_unobservable", checks.kinds) or frozenset(),
        expect_compilers=expect.read("compilers", checks.texts),
        expect_ranks=expect.read("ranks", partial(checks.whole, least=1)),
        expect_instruments=expect.read("instruments", _instruments),
        logs=said.read("logs", checks.texts),
        rules=messages.rules(page, top),
        tests=cases(page, top),
        bounds=bounds(page, top),
        claims=claims(page, top),
        rollback=rollback(page, top),
    )


def _instruments(page: Page, key: Key, value: object) -> tuple[str, ...]:
    known = {name: name for name in QUANTITIES}
    words = enumerate(checks.items(page, key, value))
    each = (checks.choice(page, (*key, index), word, known) for index, word in words)
    return tuple(word for word in each if word is not None)


def _version(page: Page, top: dict[str, object]) -> None:
    if "version" not in top:
        page.complain((), "version is missing", "begin with `version: 1`")
        return
    version = checks.whole(page, ("version",), top["version"], 1)
    if version is not None and version != VERSION:
        page.complain(("version",), f"version {version} is not known", f"this tool reads version {VERSION}")


def _extends(page: Page, top: dict[str, object]) -> tuple[tuple[str, Key], ...]:
    found = []
    for index, value in enumerate(checks.items(page, ("extends",), top.get("extends", []))):
        reference = checks.text(page, ("extends", index), value)
        if reference is not None:
            found.append((reference, ("extends", index)))
    return tuple(found)


def _entries(
    page: Page, top: dict[str, object], section: str, known: tuple[str, ...], required: tuple[str, ...]
) -> Iterator[tuple[Said, dict[str, Any]]]:
    """Each entry of a section, with its globs and what the report quotes of it."""
    for index, value in enumerate(checks.items(page, (section,), top.get(section, []))):
        key = (section, index)
        entry = checks.mapping(page, key, value, known, required, HOT_HINTS if section == "hot" else {})
        if not isinstance(value, dict):
            continue
        if not any(name in value for name in (*MATCH_KEYS, "share_of_step")):
            page.complain(key, "the entry names nothing", f"give it one of {', '.join(MATCH_KEYS)}")
        said = Said(page, key, entry)
        globs = {
            name: said.read(name, checks.kind_globs if name == "kinds" else checks.globs)
            for name in MATCH_KEYS
            if name in entry
        }
        written = {name: v.isoformat() if isinstance(v, date) else v for name, v in entry.items()}
        yield said, {"rule": RuleSource(written, page.source(key)), **globs}


def _hot(page: Page, top: dict[str, object]) -> tuple[HotEntry, ...]:
    return tuple(
        HotEntry(**fields, why=said.text("why"), share_of_step=said.read("share_of_step", share_limit))
        for said, fields in _entries(page, top, "hot", HOT_KEYS, ())
    )


def _unlisted(page: Page, key: Key, value: object) -> str | None:
    """What becomes of what is unlisted; a mapping says from which share of the step on it blocks."""
    if isinstance(value, dict):
        return "block"
    if isinstance(value, str) and value.strip() and value[:1] not in ("b", "w"):  # no misspelling of the two
        advice = "`block` blocks what no entry names, `warn` lets it pass with a warning"
        page.complain(key, f"{shown(value)} is not known", advice)
        return None
    return checks.choice(page, key, value, UNLISTED)


def _unlisted_share(page: Page, key: Key, value: object) -> float | None:
    if not isinstance(value, dict):
        return None
    name = "block_if_share_above"
    return Said(page, key, checks.mapping(page, key, value, (name,), (name,))).read(name, share)


def _excuses(
    page: Page, top: dict[str, object], section: str, known: tuple[str, ...], shipped: bool
) -> Iterator[tuple[Said, dict[str, Any]]]:
    """As `_entries`, with what every excuse tells."""
    needs = ("reason",) if shipped else ("reason", "owner", "expires")
    for said, fields in _entries(page, top, section, known, needs):
        fields |= {"reason": said.text("reason") or "", "owner": said.text("owner")}
        yield said, {**fields, "expires": said.day("expires"), "ticket": said.text("ticket")}


def _unhot(page: Page, top: dict[str, object], shipped: bool) -> tuple[UnhotEntry, ...]:
    return tuple(UnhotEntry(**fields) for _, fields in _excuses(page, top, "unhot", UNHOT_KEYS, shipped))


def _cold(page: Page, top: dict[str, object], shipped: bool) -> tuple[ColdEntry, ...]:
    return tuple(
        ColdEntry(**fields, max_count=said.whole("max_count"))
        for said, fields in _excuses(page, top, "cold", COLD_KEYS, shipped)
    )


def _contradictions(page: Page, top: dict[str, object]) -> None:
    """The same literal name hot and cold in one file: the writer must say which it is."""
    hot = dict(reversed(list(_literals(top.get("hot")))))
    for name, where in _literals(top.get("cold")):
        if name in hot:
            other = page.line(("hot", hot[name][0]))
            what = f"{shown(where[1])} is cold here and hot in line {other}"
            page.complain(("cold", where[0]), what, "say one of the two")


def _literals(section: object) -> Iterator[tuple[tuple[str, str], tuple[int, str]]]:
    """What each entry names: its operators, or where it asks for none its functions, or its layers."""
    for index, entry in enumerate(section if isinstance(section, list) else ()):
        said = entry if isinstance(entry, dict) else {}
        key = next((key for key in ("op", "function", "layer") if key in said), "op")
        value = said.get(key)
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, str) and is_literal(name):
                yield (key, comparable(name) if key == "op" else name), (index, name)


def _budgets(page: Page, top: dict[str, object]) -> dict[str, int]:
    said = Said(page, ("budgets",), checks.mapping(page, ("budgets",), top.get("budgets", {}), BUDGET_KEYS))
    return {name: limit for name in said.values if (limit := said.whole(name)) is not None}
