"""Room 5: how one glob compares with one name: operators, functions and files each in their own way.

`*` matches anything (dots, colons and slashes too), `?` one character, `[ab]` one of a set. A glob also
matches the name that is written just like it, so that a layer called `(Unnamed Layer* 1) [Slice]` can
be named. Operators compare by their comparable names, in any case; functions and files as they stand.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache

from fallback_gate.events.names import plain, spellings

LONGEST_GLOB = 1000

_SET = re.compile(r"\[!?\]?[^\]]*\]")


@lru_cache(maxsize=8192)
def _compiled(glob: str) -> re.Pattern[str]:
    return re.compile(translate(glob))


def matches(glob: str, text: str) -> bool:
    """Whether a glob matches a text as it stands."""
    return glob == text or _compiled(glob).match(text) is not None


def flaw(glob: str) -> str | None:
    """What is wrong with a glob, or None."""
    if len(glob) > LONGEST_GLOB:
        return f"is longer than {LONGEST_GLOB} characters"
    if glob != glob.strip():
        return "has blanks around it"
    if not glob.isprintable():
        return "holds a control character"
    rest = _SET.sub("", glob)
    if "[" in rest:
        return "has a [ without its ]"
    for found in _SET.findall(glob):
        inner = found[1:-1].removeprefix("!")
        if any(low > high for low, high in re.findall(r"(.)-(.)", inner)):
            return f"has a range that runs backwards in {found}"
    return None


def is_wild(glob: str) -> bool:
    """Whether a glob names nothing: wildcards and separators only."""
    return not _SET.sub("", glob).strip("*?.:/\\ ")


def is_literal(glob: str) -> bool:
    """Whether a glob is just a name."""
    return not any(character in glob for character in "*?[")


@lru_cache(maxsize=8192)
def comparable(name: str) -> str:
    """An operator's name, or a glob over such names, in the form that compares: `aten.sort.stable`."""
    return plain(name).lower()


@lru_cache(maxsize=8192)
def forms(name: str) -> tuple[str, ...]:
    """The comparable forms of an operator: as said, and without its overload."""
    return tuple(form.lower() for form in spellings(name))


def same_operator(one: str, other: str) -> bool:
    """Whether two names are one operator; a name without an overload is any of its overloads."""
    return comparable(one) in forms(other) or comparable(other) in forms(one)


def operator(glob: str, name: str) -> bool:
    """Whether a glob matches an operator; one without an overload covers all overloads."""
    wanted = comparable(glob)
    return any(matches(wanted, form) for form in forms(name))


def operator_bare(glob: str, name: str) -> bool:
    """As `operator`, and a glob without a namespace matches the last part of the name too."""
    if operator(glob, name):
        return True
    wanted = comparable(glob)
    return "." not in wanted and any(matches(wanted, form.rpartition(".")[2]) for form in forms(name))


def function_loosely(glob: str, name: str) -> bool:
    """Whether a glob may mean a function, as far as the log tells its name.

    A log that says only `forward` does not tell the class: `*Layer.forward` may be meant. A log that
    says `DecoderLayer.forward` tells more than the glob `forward` asks for.
    """
    return _loosely(glob, name, ".")


def file_loosely(glob: str, path: str) -> bool:
    """Whether a glob may mean a file, as far as the log tells its path; see `function_loosely`."""
    return file(glob, path) or _loosely(slashed(glob), slashed(path), "/")


def _loosely(glob: str, name: str, separator: str) -> bool:
    if matches(glob, name) or matches("*" + separator + glob, name):
        return True
    last = glob.rpartition(separator)[2]
    return separator not in name and not is_wild(last) and matches(last, name)


def file(glob: str, path: str) -> bool:
    """Whether a glob matches a path as it stands; `*/decoder.py` matches a bare `decoder.py` too."""
    glob, path = slashed(glob), slashed(path)
    return matches(glob, path) or (glob.startswith("*/") and matches(glob, "/" + path))


def slashed(path: str) -> str:
    """A path with forward slashes, as compilers on Windows do not print it."""
    return path.replace("\\", "/")
