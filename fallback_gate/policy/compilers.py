"""Room 5: the compilers that a policy names, by the names under which logs show them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeVar

from fallback_gate.model.aliases import called
from fallback_gate.policy.entry import Entry, Policy
from fallback_gate.policy.globs import is_literal

E = TypeVar("E", bound=Entry)


def by_known_names(policy: Policy, known: Collection[str]) -> Policy:
    """The policy with `torch` as `torch.compile`, in the `compiler` of its entries and in `expect.compilers`.

    `known`: all compilers that readers and the user's own messages name. Of a family, an entry asks for each;
    what is expected keeps the family's name. A name that is known, or means none, stays as it is.
    """

    def entries(section: tuple[E, ...]) -> tuple[E, ...]:
        return tuple(
            replace(entry, compiler=_globs(entry.compiler, known)) if entry.compiler else entry
            for entry in section
        )

    return replace(
        policy,
        hot=entries(policy.hot),
        cold=entries(policy.cold),
        unhot=entries(policy.unhot),
        expect_compilers=tuple(_one(name, known) for name in policy.expect_compilers),
    )


def _globs(written: tuple[str, ...], known: Collection[str]) -> tuple[str, ...]:
    found = (called(glob, known) if is_literal(glob) else () for glob in written)
    each = (names if names else (glob,) for glob, names in zip(written, found, strict=True))
    return tuple(dict.fromkeys(name for names in each for name in names))


def _one(name: str, known: Collection[str]) -> str:
    names = called(name, known)
    return names[0] if len(names) == 1 else name
