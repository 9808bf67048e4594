"""Room 5: which policy judges: the one that is named, else the nearest, else the strict rule."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

VARIABLE = "FALLBACK_GATE_POLICY"
NAMES = ("fallback-gate.yaml", ".fallback-gate.yaml", ".github/fallback-gate.yaml")


def find(explicit: str | None, environ: Mapping[str, str], start: Path) -> str | None:
    """The policy to load: a path, `builtin:NAME`, or None for the strict rule.

    `--policy` first, then `FALLBACK_GATE_POLICY` (an empty one is none), then the nearest file going up
    from `start` to the root of the repository (where `.git` is) or of the file system.
    """
    said = named(explicit, environ)
    if said is not None:
        return said
    for folder in _upwards(start):
        for name in NAMES:
            if (folder / name).is_file():
                return _short(folder / name)
    return None


def overlooked(explicit: str | None, environ: Mapping[str, str], start: Path) -> str | None:
    """A file that `find` passes by for its ending, `fallback-gate.yml`, on the way to what it finds."""
    if named(explicit, environ) is not None:
        return None
    for folder in _upwards(start):
        for name in NAMES:
            other = (folder / name).with_suffix(".yml")
            if other.is_file():
                return _short(other)
        if any((folder / name).is_file() for name in NAMES):
            return None
    return None


def not_read(path: str) -> str:
    """What to say of an overlooked file."""
    usual = path.removesuffix(".yml") + ".yaml"
    return f"{path} is there and not read: rename it to {usual}, or name it with --policy"


def _upwards(start: Path) -> Iterator[Path]:
    """The folders from here to the root of the repository, or of the file system."""
    here = start.absolute()
    for folder in (here, *here.parents):
        yield folder
        if (folder / ".git").exists():
            return


def named(explicit: str | None, environ: Mapping[str, str]) -> str | None:
    """The policy that the user names, if any."""
    return explicit if explicit is not None else environ.get(VARIABLE) or None


def _short(path: Path) -> str:
    """The path as seen from the current folder, with forward slashes; absolute from another drive."""
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:
        return path.as_posix()
