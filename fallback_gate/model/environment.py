"""Beside the vocabulary: on what a run was made: devices, drivers, versions of compilers, kernel caches.

`record` notes it in the header of a sealed log, files of `check --evidence` tell parts of it, and the verdict
carries it, so that two verdicts show what an upgrade changed. Where ranks differ all values are kept. It
decides nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, Final, NamedTuple, TypeVar

T = TypeVar("T")

SCHEMA: Final = "fallback-gate/environment-1"
MOST: Final = 200  # entries of each sort
LONGEST: Final = 400  # characters of a value


class Version(NamedTuple):
    """Something that has a version: a package, a driver. `installed` is when it came here, in ISO form."""

    name: str
    version: str
    installed: str | None = None


class Cache(NamedTuple):
    """A folder of compiled kernels, as it was when the recording began.

    `set_by` is the variable that names it, None for the default place; `files` how many it holds, `oldest`
    and `newest` when they were written, `older` how many are older than the installation of the package `of`.
    """

    compiler: str
    path: str
    set_by: str | None
    files: int
    oldest: str | None
    newest: str | None
    older: int
    of: str | None


class Environment(NamedTuple):
    """All of it; `sources` are the inputs that tell it."""

    devices: tuple[str, ...] = ()
    drivers: tuple[Version, ...] = ()
    compilers: tuple[Version, ...] = ()
    caches: tuple[Cache, ...] = ()
    platform: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


def counted(names: Iterable[str]) -> tuple[str, ...]:
    """Names of devices, equal ones once with their number: `8 x NVIDIA H200`."""
    counts = Counter(names)
    return tuple(name if count == 1 else f"{count} x {name}" for name, count in counts.items())


def read(told: object, source: str) -> Environment:
    """What plain data say, from a header, a report or a file; what has not the right form is left out."""
    if not isinstance(told, Mapping):
        return Environment()
    found = Environment(
        devices=tuple(_texts(told.get("devices"))),
        drivers=tuple(_versions(told.get("drivers"))),
        compilers=tuple(_versions(told.get("compilers"))),
        caches=tuple(_caches(told.get("caches"))),
        platform=tuple(_texts(told.get("platform"))),
    )
    return found._replace(sources=(source,)) if any(found) else found


def _items(value: object) -> list[Any]:
    return value[:MOST] if isinstance(value, list) else []


def _texts(value: object) -> Iterator[str]:
    for one in [value] if isinstance(value, str) else _items(value):
        if isinstance(one, str) and one.strip():
            yield one[:LONGEST]


def _text(value: object) -> str | None:
    return value[:LONGEST] if isinstance(value, str) and value.strip() else None


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _versions(value: object) -> Iterator[Version]:
    """A list of mappings, or a mapping from name to version."""
    if isinstance(value, Mapping):
        value = [{"name": name, "version": version} for name, version in value.items()]
    for one in _items(value):
        if isinstance(one, Mapping) and (name := _text(one.get("name"))):
            version = _text(one.get("version"))
            if version:
                yield Version(name, version, _text(one.get("installed")))


def _caches(value: object) -> Iterator[Cache]:
    for one in _items(value):
        if isinstance(one, Mapping) and (path := _text(one.get("path"))):
            yield Cache(
                compiler=_text(one.get("compiler")) or "?",
                path=path,
                set_by=_text(one.get("set_by")),
                files=_count(one.get("files")),
                oldest=_text(one.get("oldest")),
                newest=_text(one.get("newest")),
                older=_count(one.get("older")),
                of=_text(one.get("of")),
            )


def joined(parts: Iterable[Environment]) -> Environment | None:
    """What several inputs say together, each value once; None where none says anything."""
    given = [part for part in parts if any(part)]
    if not given:
        return None
    return Environment(
        devices=_once(one for part in given for one in part.devices),
        drivers=_once(one for part in given for one in part.drivers),
        compilers=_once(one for part in given for one in part.compilers),
        caches=_once(one for part in given for one in part.caches),
        platform=_once(one for part in given for one in part.platform),
        sources=_once(one for part in given for one in part.sources),
    )


def _once(values: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))[:MOST]


def as_data(environment: Environment) -> dict[str, Any]:
    """The same as plain data, in the form that `read` takes."""
    return {
        "devices": list(environment.devices),
        "drivers": [{"name": one.name, "version": one.version} for one in environment.drivers],
        "compilers": [one._asdict() for one in environment.compilers],
        "caches": [one._asdict() for one in environment.caches],
        "platform": list(environment.platform),
        "sources": list(environment.sources),
    }


def when(text: str | None) -> datetime | None:
    """The point in time that ISO text says; None for any other text."""
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=timezone.utc)


def moment(seconds: float) -> str | None:
    """A file's time in ISO form, UTC, to the second; None for one that no calendar has."""
    if not math.isfinite(seconds):
        return None
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):
        return None


def warnings(environment: Environment) -> Iterator[str]:
    """What is wrong with it, a sentence each: artefacts older than their compiler, ranks that differ."""
    installed = {one.name: one for one in environment.compilers if one.installed}
    for cache in environment.caches:
        package = installed.get(cache.of or "")
        oldest, since = when(cache.oldest), when(package.installed) if package else None
        if package is None or oldest is None or since is None or oldest >= since:
            continue
        what = f"{cache.older} of {cache.files} files" if cache.older else "files"
        by = f" ({cache.set_by})" if cache.set_by else ""
        yield (
            f"the kernel cache {cache.path}{by} of {cache.compiler} holds {what} older than {package.name} "
            f"{package.version}: the oldest is of {oldest:%Y-%m-%d}, the package came on {since:%Y-%m-%d}; "
            "another version may have compiled them: clear the cache, or point it elsewhere"
        )
    for what, versions in (("driver", environment.drivers), ("package", environment.compilers)):
        for name, different in _by_name(versions).items():
            if len(different) > 1:
                yield f"the {what} {name} differs within the run: {', '.join(different)}"


def _by_name(versions: Iterable[Version]) -> dict[str, dict[str, None]]:
    """The different versions of each thing, in their order."""
    said: dict[str, dict[str, None]] = {}
    for one in versions:
        said.setdefault(one.name, {})[one.version] = None
    return said


class Changed(NamedTuple):
    """One thing of the environment in two runs; None where a run does not tell it."""

    what: str  # `device`, `driver nvidia`, `torch`
    old: str | None
    new: str | None


def changes(old: Environment | None, new: Environment | None) -> tuple[Changed, ...]:
    """What differs between two runs, what is the same left out. Nothing where a run tells nothing at all."""
    if old is None or new is None:
        return ()
    before, after = dict(_named(old)), dict(_named(new))
    return tuple(
        Changed(what, before.get(what), after.get(what))
        for what in dict.fromkeys((*before, *after))
        if before.get(what) != after.get(what)
    )


def _named(environment: Environment) -> Iterator[tuple[str, str]]:
    if environment.devices:
        yield "device", ", ".join(environment.devices)
    if environment.platform:
        yield "platform", ", ".join(environment.platform)
    for prefix, versions in (("driver ", environment.drivers), ("", environment.compilers)):
        for name, different in _by_name(versions).items():
            yield f"{prefix}{name}", ", ".join(different)
