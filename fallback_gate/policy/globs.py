"""Room 5: how one glob compares with one name: operators, functions and files each in their own way.

`*` matches anything (dots, colons and slashes too), `?` one character, `[ab]` one of a set. A glob also
matches the name that is written just like it, so that a layer called `(Unnamed Layer* 1) [Slice]` can
be named. Operators compare by their comparable names, in any case; functions and files as they stand.
"""

from __future__ import annotations

import posixpath
import re
from fnmatch import translate
from functools import lru_cache

from fallback_gate.model.names import perhaps, plain, spellings

LONGEST_GLOB = 1000
MOST_KEPT = 8192  # of what is worked out once: more than a policy has keys

_SET = re.compile(r"\[!?\]?[^\]]*\]")
_ROOT = re.compile(r"/|[A-Za-z]:/")  # in front of a path that the log tells whole
_UP = re.compile(r"^(?:\.\./)+")


@lru_cache(maxsize=MOST_KEPT)
def _union(globs: tuple[str, ...]) -> re.Pattern[str] | None:
    """One pattern for all globs of a key that are more than a name; None where there is no such glob."""
    wild = [translate(glob) for glob in globs if not is_literal(glob)]
    return re.compile("|".join(wild)) if wild else None


def matches(globs: tuple[str, ...], text: str) -> bool:
    """Whether one of the globs matches a text as it stands."""
    if text in globs:
        return True
    union = _union(globs)
    return union is not None and union.match(text) is not None


def flaw(glob: str) -> str | None:
    """What is wrong with a glob, or None."""
    if len(glob) > LONGEST_GLOB:
        return f"is longer than {LONGEST_GLOB} characters"
    if glob != glob.strip():
        return "has blanks around it"
    if not glob.isprintable():
        return "holds a control character"
    if any("[" in rest for rest in _SET.split(glob)):
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


@lru_cache(maxsize=MOST_KEPT)
def comparable(name: str) -> str:
    """An operator's name, or a glob over such names, in the form that compares: `aten.sort.stable`."""
    return plain(name).lower()


@lru_cache(maxsize=MOST_KEPT)
def forms(name: str) -> tuple[str, ...]:
    """The comparable forms of an operator: as said, and without its overload."""
    return tuple(form.lower() for form in spellings(name))


@lru_cache(maxsize=MOST_KEPT)
def wide_forms(name: str) -> tuple[str, ...]:
    """As `forms`, and the form without what may be an overload."""
    return (*forms(name), *(form.lower() for form in perhaps(name)))


@lru_cache(maxsize=MOST_KEPT)
def _comparable(globs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(comparable(glob) for glob in globs)


@lru_cache(maxsize=MOST_KEPT)
def _methods(globs: tuple[str, ...]) -> frozenset[str]:
    """The methods that globs name with a class in front: each without and with its class."""
    found = (re.search(r"(?:^|[.*])([A-Z]\w*\.(\w+))$", glob) for glob in globs)
    return frozenset(name.lower() for match in found if match for name in match.groups())


def operator(globs: tuple[str, ...], name: str) -> bool:
    """Whether one of the globs matches an operator; one without an overload covers all overloads."""
    return any(matches(_comparable(globs), form) for form in forms(name))


def operator_bare(globs: tuple[str, ...], name: str) -> bool:
    """As `operator`, and a glob without a namespace matches the last part of the name too.

    What may be an overload counts as one.
    """
    return any(_whole_or_last(globs, form) for form in wide_forms(name))


def operator_untold(globs: tuple[str, ...], spelled: tuple[str, ...]) -> bool:
    """Whether one of the globs asks for an overload of an operator of which the log tells none.

    `spelled`: all that the log calls it.
    """
    if any(len(forms(name)) > 1 for name in spelled):
        return False
    bare = _without_overload(globs)
    return bool(bare) and any(matches(bare, form) for name in spelled for form in forms(name))


@lru_cache(maxsize=MOST_KEPT)
def _without_overload(globs: tuple[str, ...]) -> tuple[str, ...]:
    """The globs that ask for an overload, without it: `aten.sort` for `aten::sort.stable`, `aten::sort.*`."""
    found = []
    for glob in globs:
        space, colons, name = glob.rpartition("::")
        if colons and "." in name:
            found.append(comparable(f"{space}::{name.partition('.')[0]}"))
        elif not colons:
            found += forms(glob)[1:]
    return tuple(glob for glob in found if not is_wild(glob))


def _whole_or_last(globs: tuple[str, ...], form: str) -> bool:
    globs = _comparable(globs)
    return matches(globs, form) or matches(globs, form.rpartition(".")[2])


def operator_as_function(globs: tuple[str, ...], name: str) -> bool:
    """Whether one of the globs over operators means a user's function, in any case.

    `Router.forward` may be meant by a log that says only `forward`, as in `function_loosely`.
    """
    name = name.lower()
    return name in _methods(globs) or _whole_or_last(globs, name)


def function_loosely(globs: tuple[str, ...], name: str) -> bool:
    """Whether one of the globs may mean a function, as far as the log tells its name.

    A log that says only `forward` does not tell the class: `*Layer.forward` may be meant. A log that
    says `DecoderLayer.forward` tells more than the glob `forward` asks for.
    """
    return _loosely(globs, name, ".")


def file(globs: tuple[str, ...], path: str) -> bool:
    """Whether one of the globs matches a path as it stands; `*/f.py` matches a bare `f.py` too."""
    return matches(_paths(globs), _direct(path))


def file_loosely(globs: tuple[str, ...], path: str) -> bool:
    """Whether one of the globs may mean a file, as far as the log tells its path: see `function_loosely`."""
    globs, path = _paths(globs), _direct(path)
    if _ROOT.match(path):
        return matches(_loose(globs, "/"), path)
    return _loosely(globs, _UP.sub("", path), "/")


def slashed(path: str) -> str:
    """A path with forward slashes, as compilers on Windows do not print it."""
    return path.replace("\\", "/")


def _direct(path: str) -> str:
    """A path without the detours that Python keeps: `tests/../model/decoder.py` is no file of the tests."""
    path = slashed(path).removeprefix("./")
    return posixpath.normpath(path) if "/../" in path else path


@lru_cache(maxsize=MOST_KEPT)
def _paths(globs: tuple[str, ...]) -> tuple[str, ...]:
    """The globs over paths, and what `*/` in front of one leaves when there is no folder."""
    paths = tuple(map(_direct, globs))
    return tuple(dict.fromkeys((*paths, *(path.removeprefix("*/") for path in paths))))


def _loosely(globs: tuple[str, ...], name: str, separator: str) -> bool:
    """Whether one of the globs may mean a name of which the log tells perhaps only the last parts."""
    told = name.count(separator) + 1
    return matches(_loose(globs, separator), name) or matches(_last(globs, separator, told), name)


@lru_cache(maxsize=MOST_KEPT)
def _loose(globs: tuple[str, ...], separator: str) -> tuple[str, ...]:
    """The globs, each also with anything in front."""
    return (*globs, *(f"*{separator}{glob}" for glob in globs))


@lru_cache(maxsize=MOST_KEPT)
def _last(globs: tuple[str, ...], separator: str, count: int) -> tuple[str, ...]:
    """The last parts of each glob, so many, where they name something."""
    parts = (separator.join(glob.split(separator)[-count:]) for glob in globs)
    return tuple(part for part in parts if not is_wild(part))
