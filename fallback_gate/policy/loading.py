"""Room 5: a policy with all that it extends, put together, or all that is wrong with it.

Entries, proof and rules accumulate, a file's own before those that it inherits; where a file sets a value
of its own (`unlisted`, one budget, `expect`, `logs`), its own wins. An `unhot` entry takes inherited hot
entries off, never those of its own file. A file that is extended twice counts once.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from glob import escape
from pathlib import PurePosixPath
from typing import TypeVar

from fallback_gate.errors import PolicyError, reason
from fallback_gate.model import PolicySummary
from fallback_gate.policy import document, shipped
from fallback_gate.policy.checks import nearest
from fallback_gate.policy.entry import Policy
from fallback_gate.policy.globs import slashed
from fallback_gate.policy.page import Key, Page, shown
from fallback_gate.policy.sheet import Sheet, sheet
from fallback_gate.policy.shelf import HERE, Shelf
from fallback_gate.policy.unhot import left

E = TypeVar("E")


def load(reference: str, today: date, shelf: Shelf = HERE) -> Policy:
    """Load the policy that a path or `builtin:NAME` names.

    `today` (UTC) decides which `unhot` entries still hold. Raises PolicyError with all problems of the
    file and of those it extends, all from one shelf.
    """
    family = _Family(today, shelf)
    said, data = family.named(reference)
    if family.problems:
        raise PolicyError(tuple(dict.fromkeys(family.problems)))
    name = said.name or _stem(reference)
    summary = PolicySummary(
        name=name,
        path=shelf.named(reference),
        sha256=hashlib.sha256(data).hexdigest(),
        hot=tuple(entry.rule for entry in said.hot),
    )
    return Policy(
        summary=summary,
        name=name,
        unlisted=said.unlisted or "block",
        unlisted_share=said.unlisted_share,
        hot=said.hot,
        cold=said.cold,
        unhot=said.unhot,
        budgets=said.budgets,
        required=said.required,
        accept_unobservable=said.accept_unobservable,
        expect_compilers=said.expect_compilers or (),
        expect_ranks=said.expect_ranks,
        expect_instruments=said.expect_instruments or (),
        logs=said.logs or (),
        rules=said.rules,
        tests=said.tests,
        bounds=said.bounds,
        extends=tuple(wanted for wanted, _ in said.extends),
        claims=said.claims,
        rollback=said.rollback,
    )


def _stem(reference: str) -> str:
    return PurePosixPath(slashed(reference).removeprefix(shipped.PREFIX)).stem


class _Family:
    """A policy file and those that it extends, each read once."""

    def __init__(self, today: date, shelf: Shelf) -> None:
        self.problems: list[str] = []
        self._today, self._shelf = today, shelf
        self._done: dict[str, Sheet] = {}

    def named(self, reference: str) -> tuple[Sheet, bytes]:
        """The policy that the user names, and its bytes."""
        data = self._bytes(reference)
        if isinstance(data, str):
            self.problems.append(data)
            return Sheet(), b""
        return self._resolved(reference, data, (self._shelf.identity(reference),)), data

    def _bytes(self, reference: str) -> bytes | str:
        """The bytes of a file or shipped policy, or why there are none."""
        if reference.startswith(shipped.PREFIX):
            name, known = reference.removeprefix(shipped.PREFIX), shipped.names()
            if name in known:
                return shipped.content(name)
            near = f"the nearest is builtin:{nearest(name, known)} " if known else ""
            return f"{shown(reference)} is no shipped policy; {near}(known: {', '.join(known)})"
        try:
            return self._shelf.read(reference, document.LARGEST + 1)
        except (FileNotFoundError, NotADirectoryError):
            return f"the policy {shown(reference)} does not exist; {self._hint(reference)}"
        except IsADirectoryError:
            return f"the policy {shown(reference)} is a folder; name a file"
        except (OSError, ValueError) as error:
            return f"the policy {shown(reference)} can't be read ({reason(error)}); name a readable file"

    def _hint(self, reference: str) -> str:
        """What may be meant by a file that is not there."""
        folder, name = os.path.split(reference)
        if name in shipped.names():
            return f"name a file, or builtin:{name}"
        from difflib import get_close_matches

        near = get_close_matches(name, self._shelf.beside(reference), n=1, cutoff=0.8)
        if near:
            return f"did you mean {shown(os.path.join(folder, near[0]))}?"
        return "name a file, or builtin:NAME for a shipped one"

    def _resolved(self, reference: str, data: bytes, chain: tuple[str, ...]) -> Sheet:
        """A file's sheet, with all that it inherits."""
        page = document.read(data, self._shelf.named(slashed(reference)))
        is_ours = reference.startswith(shipped.PREFIX) or shipped.is_shipped(data)
        own = _placed(sheet(page, is_ours), reference)
        at = len(self.problems)
        inherited = Sheet()
        for wanted, key in own.extends:
            parent = self._parent(page, key, reference, wanted, chain)
            inherited = _extended(inherited, parent)
        marked = (
            replace(entry, used=left(inherited.hot, (entry,), self._today) != inherited.hot)
            for entry in own.unhot
        )
        own = replace(own, unhot=tuple(marked))
        taken = {rule.id: rule.seen_in for rule in inherited.rules}
        for rule in own.rules:
            if rule.id in taken:
                text = f"the id {shown(rule.id)} is taken by {taken[rule.id]}; rename this one"
                page.complain_line(int(rule.seen_in.rpartition(":")[2]), text)
        self.problems[at:at] = page.told()
        return _extended(replace(inherited, hot=left(inherited.hot, own.unhot, self._today)), own)

    def _parent(self, page: Page, key: Key, child: str, wanted: str, chain: tuple[str, ...]) -> Sheet:
        reference = _beside(child, wanted)
        identity = self._shelf.identity(reference)
        if identity in chain:
            page.complain(key, f"{shown(wanted)} extends itself in the end", "take one of the two out")
            return Sheet()
        if identity not in self._done:
            data = self._bytes(reference)
            if isinstance(data, str):
                what, _, advice = data.partition("; ")
                page.complain(key, what, advice)
                return Sheet()
            self._done[identity] = self._resolved(reference, data, (*chain, identity))
        return self._done[identity]


def _beside(child: str, wanted: str) -> str:
    """A reference as written in the file `child`, seen from the current folder."""
    if wanted.startswith(shipped.PREFIX) or child.startswith(shipped.PREFIX) or os.path.isabs(wanted):
        return wanted
    return slashed(os.path.normpath(os.path.join(os.path.dirname(child), wanted)))


def _placed(own: Sheet, reference: str) -> Sheet:
    """The sheet with its paths seen from the current folder; addresses stay as they are."""
    is_ours = reference.startswith(shipped.PREFIX)
    tests = tuple(
        replace(case, logs=_near(case.logs, shipped.folder() if is_ours else os.path.dirname(reference)))
        for case in own.tests
    )
    logs = own.logs if own.logs is None or is_ours else _near(own.logs, os.path.dirname(reference))
    back = own.rollback
    if back is not None and not is_ours:
        place = os.path.join(os.path.dirname(reference), back.artefact)
        back = back._replace(artefact=slashed(os.path.normpath(place)))
    return replace(own, logs=logs, tests=tests, rollback=back)


def _near(logs: tuple[str, ...], folder: str) -> tuple[str, ...]:
    if not folder:
        return logs
    return tuple(log if "://" in log else os.path.join(escape(folder), log) for log in logs)


def _extended(base: Sheet, own: Sheet) -> Sheet:
    """What both say; where only one can hold, `own` does."""
    own_bounds = {bound[:2] for bound in own.bounds}
    required = [said for said in (base.required, own.required) if said is not None]
    return Sheet(
        name=own.name,
        extends=own.extends,
        unlisted=own.unlisted or base.unlisted,
        unlisted_share=own.unlisted_share if own.unlisted else base.unlisted_share,
        hot=_both(own.hot, base.hot),
        unhot=_both(own.unhot, base.unhot),
        cold=_both(own.cold, base.cold),
        budgets={**base.budgets, **own.budgets},
        required=frozenset().union(*required) if required else None,
        accept_unobservable=base.accept_unobservable | own.accept_unobservable,
        expect_compilers=base.expect_compilers if own.expect_compilers is None else own.expect_compilers,
        expect_ranks=base.expect_ranks if own.expect_ranks is None else own.expect_ranks,
        expect_instruments=(
            base.expect_instruments if own.expect_instruments is None else own.expect_instruments
        ),
        logs=base.logs if own.logs is None else own.logs,
        rules=_both(own.rules, base.rules),
        tests=own.tests,
        bounds=(*(bound for bound in base.bounds if bound[:2] not in own_bounds), *own.bounds),
        claims=_both(own.claims, base.claims),
        rollback=own.rollback or base.rollback,
    )


def _both(first: Iterable[E], second: Iterable[E]) -> tuple[E, ...]:
    found: list[E] = []
    for entry in (*first, *second):
        if entry not in found:
            found.append(entry)
    return tuple(found)
