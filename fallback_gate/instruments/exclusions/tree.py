"""The annex: text that is indented like a tree, `Key : value` in its leaves, as nvidia-smi and amd-smi print.

Keys lose case, underscores and runs of blanks, so that text, XML and JSON of one tool have the same names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

Facts = dict[tuple[str, ...], str]
DEEPEST: Final = 12
MOST_FACTS: Final = 20_000  # of one look at one device


def plain(key: str) -> str:
    """A key as it is compared."""
    return " ".join(key.replace("_", " ").split()).casefold()


def split(text: str) -> tuple[str, str]:
    """What stands before and behind the first colon, if a blank or nothing follows it; else all is a name."""
    name, colon, value = text.partition(":")
    return (name, value.strip()) if colon and (not value or value[0].isspace()) else (text, "")


def leaves(lines: Iterator[str]) -> Iterator[tuple[int, tuple[str, ...], str | None]]:
    """Each line's indentation, its path of keys, and its value; None for a heading."""
    around: list[tuple[int, str]] = []
    for line in lines:
        text = line.expandtabs(8).rstrip()
        name, value = split(text)
        key = plain(name)
        if not key:
            continue
        blanks = len(text) - len(text.lstrip())
        while around and around[-1][0] >= blanks:
            around.pop()
        path = (*(inner for _, inner in around), key)[:DEEPEST]
        if not value:
            around.append((blanks, key))
        yield blanks, path, value or None


def flat(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """The leaves of a JSON value; `{"value": 5, "unit": "W"}` is one leaf, `5 W`."""
    if len(path) > DEEPEST:
        return
    if isinstance(value, Mapping):
        if "value" in value and set(value) <= {"value", "unit"}:
            yield path, f"{value['value']} {value.get('unit', '')}".strip()
            return
        for key, inner in value.items():
            yield from flat(inner, (*path, plain(str(key))))
    elif isinstance(value, list):
        for inner in value:
            yield from flat(inner, path)
    else:
        yield path, str(value)


def number(text: object) -> float | None:
    """The number that a value begins with; None for `N/A`, `-` and the like."""
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        return None
    found = re.match(r"\(?\s*(\d{1,15}(?:\.\d{1,9})?)", str(text))
    return float(found[1]) if found else None


def total(facts: Facts, wanted: Callable[[tuple[str, ...]], bool]) -> float | None:
    """The sum of the numbers whose path is wanted; None where there is none."""
    told = (number(text) for path, text in facts.items() if wanted(path))
    values = [value for value in told if value is not None]
    return sum(values) if values else None
