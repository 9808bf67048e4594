"""Room 5: what a value of a policy may be. Each check complains to the page and goes on.

A check returns the value when it is right and None (or an empty tuple) when it is not, so that all
errors of a file come at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import TypeVar

from fallback_gate.model import Kind
from fallback_gate.policy.globs import flaw, matches
from fallback_gate.policy.page import BROKEN, Key, Page, shown

E = TypeVar("E")

KINDS = {kind.value: kind for kind in Kind}

LARGEST_NUMBER = 10**9

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like this one."""
    from difflib import get_close_matches  # for mistakes alone: no run without one waits for it

    names = {name.lower(): name for name in known}
    return names[get_close_matches(word.lower()[:100], list(names), n=1, cutoff=0.0)[0]]


def a_kind_of(value: object) -> str:
    """What a value is, in a word that people use for it."""
    if value is None:
        return "empty"
    words = {bool: "a truth value", int: "a number", float: "a number", str: "text", list: "a list"}
    words |= {dict: "a mapping", date: "a date", datetime: "a point in time"}
    return words.get(type(value), "something else")


def _not(page: Page, key: Key, value: object, wanted: str, advice: str) -> None:
    if value is not BROKEN:
        page.complain(key, f"must be {wanted} and is {a_kind_of(value)}", advice)


def mapping(
    page: Page,
    key: Key,
    value: object,
    known: Collection[str],
    required: Collection[str] = (),
    hints: Mapping[str, str] = {},
) -> dict[str, object]:
    """A mapping with known keys; unknown ones name the nearest, missing ones are named.

    `hints`: what to do instead, for unknown keys that are often written.
    """
    if not isinstance(value, dict):
        _not(page, key, value, "a mapping", f"its keys are {', '.join(known)}")
        return {}
    for word in value:
        if word not in known:
            advice = hints.get(word) or f"the nearest known key is {nearest(word, known)}"
            advice += f" (known here: {', '.join(known)})"
            page.complain((*key, word), f"unknown key {shown(word)}", advice)
    for word in required:
        if word not in value:
            page.complain(key, f"{word} is missing", f"add `{word}: ...`")
    return {word: inner for word, inner in value.items() if word in known}


def items(page: Page, key: Key, value: object) -> list[object]:
    """A list."""
    if isinstance(value, list):
        return value
    _not(page, key, value, "a list", "write `- ...` lines or `[...]`")
    return []


def text(page: Page, key: Key, value: object) -> str | None:
    """Text that is not blank."""
    if not isinstance(value, str):
        _not(page, key, value, "text", "write text, in quotes where YAML would read it otherwise")
        return None
    if not value.strip():
        page.complain(key, "must not be blank", "say something, or take the key away")
        return None
    return value


def texts(page: Page, key: Key, value: object) -> tuple[str, ...]:
    """A list of texts."""
    each = (text(page, (*key, index), inner) for index, inner in enumerate(items(page, key, value)))
    return tuple(inner for inner in each if inner is not None)


def whole(page: Page, key: Key, value: object, least: int = 0) -> int | None:
    """A whole number that is not less than `least`; a truth value is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        _not(page, key, value, "a whole number", f"write a number from {least} up, without quotes")
        return None
    if abs(value) > LARGEST_NUMBER:
        page.complain(key, "the number is too large", f"write one up to {LARGEST_NUMBER}")
        return None
    if value < least:
        page.complain(key, f"{shown(value)} is too small", f"write a number from {least} up")
        return None
    return value


def flag(page: Page, key: Key, value: object) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        _not(page, key, value, "true or false", "write true or false, without quotes")
        return False
    return value


def day(page: Page, key: Key, value: object) -> date | None:
    """A date in ISO form, bare or in quotes."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if isinstance(value, str) and _DATE.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            page.complain(key, f"{value} is no day of the calendar", "write the date as YYYY-MM-DD")
            return None
    if isinstance(value, str):
        page.complain(key, f"{shown(value)} is no date", "write the date as YYYY-MM-DD")
        return None
    _not(page, key, value, "a date", "write the date as YYYY-MM-DD")
    return None


def choice(page: Page, key: Key, value: object, known: Mapping[str, E]) -> E | None:
    """One of a few words."""
    word = text(page, key, value)
    if word is None:
        return None
    if word not in known:
        advice = f"the nearest is {nearest(word, known)} (known: {', '.join(known)})"
        page.complain(key, f"{shown(word)} is not known", advice)
        return None
    return known[word]


def kinds(page: Page, key: Key, value: object) -> frozenset[Kind]:
    """A list of kinds."""
    each = (choice(page, (*key, i), word, KINDS) for i, word in enumerate(items(page, key, value)))
    return frozenset(kind for kind in each if kind is not None)


def globs(page: Page, key: Key, value: object) -> tuple[str, ...]:
    """A glob or a list of globs, at least one."""
    if isinstance(value, list) and not value:
        page.complain(key, "an empty list matches nothing", "name something, or take the key away")
        return ()
    many = value if isinstance(value, list) else [value]
    places = [(*key, index) for index in range(len(many))] if isinstance(value, list) else [key]
    found = []
    for place, inner in zip(places, many, strict=True):
        glob = text(page, place, inner)
        if glob is None:
            continue
        if (wrong := flaw(glob)) is not None:
            page.complain(place, f"the glob {shown(glob)} {wrong}", "correct the glob")
            continue
        found.append(glob)
    return tuple(found)


def kind_globs(page: Page, key: Key, value: object) -> tuple[str, ...]:
    """Globs over the names of kinds, each of which matches at least one."""
    found = globs(page, key, value)
    for glob in found:
        if not any(matches((glob,), name) for name in KINDS):
            advice = f"the nearest is {nearest(glob, KINDS)} (known: {', '.join(KINDS)})"
            page.complain(key, f"{shown(glob)} is no kind of fallback", advice)
    return found


@dataclass(frozen=True, slots=True)
class Said:
    """The optional values of one mapping, checked where they are given."""

    page: Page
    key: Key
    values: dict[str, object]

    def read(self, name: str, check: Callable[[Page, Key, object], E]) -> E | None:
        """The value under a name, as a check takes it; None where it is not given."""
        return check(self.page, (*self.key, name), self.values[name]) if name in self.values else None

    def text(self, name: str) -> str | None:
        """As `checks.text`."""
        return self.read(name, text)

    def texts(self, name: str) -> tuple[str, ...]:
        """As `checks.texts`; none where they are not given."""
        return self.read(name, texts) or ()

    def day(self, name: str) -> date | None:
        """As `checks.day`."""
        return self.read(name, day)

    def whole(self, name: str) -> int | None:
        """As `checks.whole`, from 0 up."""
        return self.read(name, whole)
