"""Room 5: what a policy says, frozen: its entries and the policy as a whole.

All three sorts of entries match by the same keys, each a tuple of globs, empty where the entry does not
ask; how they match differs, and stands in `match.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

from fallback_gate.compilers.rule import Marker, Rule
from fallback_gate.model import Kind, PolicySummary, RuleSource
from fallback_gate.model.claims import Claim, Rollback
from fallback_gate.model.measures import Limit

if TYPE_CHECKING:
    from fallback_gate.policy.cases import Case
    from fallback_gate.policy.instruments import Bound

MATCH_KEYS = ("op", "function", "file", "layer", "compiler", "kinds")


@dataclass(frozen=True, slots=True)
class Entry:
    """The keys by which an entry matches, ANDed, and where it stands."""

    rule: RuleSource
    op: tuple[str, ...] = ()
    function: tuple[str, ...] = ()
    file: tuple[str, ...] = ()
    layer: tuple[str, ...] = ()
    compiler: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    def asks(self) -> dict[str, tuple[str, ...]]:
        """The keys that the entry has, with their globs."""
        values = (self.op, self.function, self.file, self.layer, self.compiler, self.kinds)
        return {key: globs for key, globs in zip(MATCH_KEYS, values, strict=True) if globs}

    def __str__(self) -> str:
        keys = ", ".join(f"{key} {' | '.join(globs)}" for key, globs in self.asks().items())
        return f"{keys} ({self.rule.source})"


@dataclass(frozen=True, slots=True)
class HotEntry(Entry):
    """What may never fall back, and why."""

    why: str | None = None
    share_of_step: Limit | None = None


@dataclass(frozen=True, slots=True)
class _Excuse(Entry):
    """An entry that lets something go, for a reason, of somebody, for a while."""

    reason: str = ""
    owner: str | None = None
    expires: date | None = None  # inclusive, UTC; None in shipped policies, which hold for the version
    ticket: str | None = None

    def expired(self, today: date) -> bool:
        """Whether the entry is as if it were not there."""
        return self.expires is not None and today > self.expires


@dataclass(frozen=True, slots=True)
class UnhotEntry(_Excuse):
    """What takes inherited hot entries off; `used` says whether it took off any."""

    used: bool = False


@dataclass(frozen=True, slots=True)
class ColdEntry(_Excuse):
    """What may fall back, at most at `max_count` sites."""

    max_count: int | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy with all that it extends, ready to judge.

    `hot` is what is left after unhot entries; `cold` and `unhot` hold expired entries too, for the report.
    `unlisted` is `block` or `warn`; `unlisted_share` is the share of the step up to which what is unlisted
    warns all the same. `budgets` are sites by kind or by `events`. `required` is None where the reader of
    each compiler decides. `bounds` are limits of what instruments measure. `logs` are globs,
    relative to the current folder. `tests` are the file's own, never inherited; `extends` are what the file
    names, whose content stands in all the rest. `claims` are figures that somebody claims, `rollback` the
    artefact to fall back to, its path relative to the current folder.
    """

    summary: PolicySummary
    name: str
    unlisted: str = "block"
    unlisted_share: float | None = None
    hot: tuple[HotEntry, ...] = ()
    cold: tuple[ColdEntry, ...] = ()
    unhot: tuple[UnhotEntry, ...] = ()
    budgets: Mapping[str, int] = field(default_factory=dict)
    required: frozenset[Kind] | None = None
    accept_unobservable: frozenset[Kind] = frozenset()
    expect_compilers: tuple[str, ...] = ()
    expect_ranks: int | None = None
    expect_instruments: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    rules: tuple[Rule | Marker, ...] = ()
    tests: tuple[Case, ...] = ()
    bounds: tuple[Bound, ...] = ()
    extends: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    rollback: Rollback | None = None
