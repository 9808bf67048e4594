"""Room 5: what `unhot` entries leave of the hot entries that a policy inherits."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from fallback_gate.policy.entry import HotEntry, UnhotEntry
from fallback_gate.policy.globs import matches, operator


def left(hot: tuple[HotEntry, ...], unhot: tuple[UnhotEntry, ...], today: date) -> tuple[HotEntry, ...]:
    """The inherited hot entries that are left after `unhot`."""
    for entry in unhot:
        if not entry.expired(today):
            hot = tuple(rest for one in hot if (rest := _rest(one, entry)) is not None)
    return hot


def _rest(hot: HotEntry, unhot: UnhotEntry) -> HotEntry | None:
    """What an unhot entry leaves of a hot one: all, nothing, or the globs of one key that it does not name.

    An unhot entry means a hot one when it asks for nothing that the hot one does not ask for.
    """
    asked = hot.asks()
    rests: dict[str, tuple[str, ...]] = {}
    for key, globs in unhot.asks().items():
        if key not in asked:
            return hot
        rest = tuple(name for name in asked[key] if not _covers(key, globs, name))
        if rest:
            rests[key] = rest
        if rest == asked[key]:
            return hot
    if not rests:
        return None
    return replace(hot, **rests) if len(rests) == 1 else hot  # type: ignore[arg-type]


def _covers(key: str, globs: tuple[str, ...], name: str) -> bool:
    return operator(globs, name) if key == "op" else matches(globs, name)
