"""The second walk, beside the evidence: the artefact to fall back to: there, and as old as its compiler?

A compiled artefact and its compiler belong together: the one that is older than the other was made by another
version. The policy says which version built it; the environment record says which version is installed, and
since when. Where both are the same version the artefact may not be older than the installation; where the
installed one is another, the artefact may not be newer than it, since that one may have built it then.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from datetime import date, datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Final

from fallback_gate.errors import reason
from fallback_gate.model.claims import HeldRollback, Rollback
from fallback_gate.model.environment import Environment, Version, when

MOST_FILES: Final = 20_000  # of a folder that is an artefact
_READ: Final = 1 << 20


def held(rollback: Rollback, machine: Environment | None) -> HeldRollback:
    """What the gate finds of the artefact."""
    path = Path(rollback.artefact)
    try:
        written = _written(path)
        if written is None:
            return HeldRollback(rollback, "it is empty: nothing can be fallen back to")
        if rollback.sha256 and (wrong := _other_content(path, rollback.sha256)):
            return HeldRollback(rollback, wrong)
    except (FileNotFoundError, NotADirectoryError):
        return HeldRollback(rollback, "it does not exist: build it, or name the one that does")
    except (OSError, ValueError) as error:
        return HeldRollback(rollback, f"it can't be read ({reason(error)})")
    built = rollback.built or written.date()
    return _aged(rollback, built, None if rollback.built else written, machine)


def _written(path: Path) -> datetime | None:
    """When it was last written; None for what holds nothing."""
    if path.is_dir():
        files = (found.stat() for found in islice(path.rglob("*"), MOST_FILES) if found.is_file())
        newest = max((told.st_mtime for told in files if told.st_size), default=None)
    else:
        told = os.stat(path)
        newest = told.st_mtime if told.st_size else None
    return None if newest is None else datetime.fromtimestamp(newest, timezone.utc)


def _other_content(path: Path, wanted: str) -> str | None:
    if path.is_dir():
        return "it is a folder, and the policy states the SHA-256 of a file"
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_READ):
            digest.update(block)
    found = digest.hexdigest()
    return None if found == wanted else f"its SHA-256 is {found}, and the policy states another"


def _aged(
    rollback: Rollback, built: date, exactly: datetime | None, machine: Environment | None
) -> HeldRollback:
    name, version = rollback.compiler, rollback.version
    installed = list(_installed(name, machine))
    if not installed:
        return HeldRollback(
            rollback,
            f"its age can't be told: no input tells which {name} is installed (record the run, or give "
            "--environment FILE)",
        )
    same = [one for one in installed if _is(version, one.version)]
    one = (same or installed)[0]
    since = when(one.installed)
    if since is None:
        return HeldRollback(
            rollback, f"its age can't be told: no input tells since when {name} {one.version} is installed"
        )
    older = exactly < since if exactly else built < since.date()
    newer = exactly > since if exactly else built > since.date()
    here = f"{name} {one.version} is installed since {since:%Y-%m-%d}"
    if same and older:
        return HeldRollback(
            rollback, f"it is older than its compiler: it is of {built}, and {here}, so another build made it"
        )
    if not same and newer:
        return HeldRollback(
            rollback,
            f"it is newer than its compiler: it is of {built}, and {here}, so that version may have built it "
            f"and not {version}",
        )
    facts = [f"it is of {built}, built by {name} {version}"]
    if not same:
        facts.append(f"to fall back to it takes {name} {version}: {here}")
    return HeldRollback(rollback, None, tuple(facts))


def _installed(name: str, machine: Environment | None) -> Iterator[Version]:
    """What is installed under this name, those first of which the time is told."""
    found = [one for one in (machine.compilers if machine else ()) if _plain(one.name) == _plain(name)]
    yield from sorted(found, key=lambda one: one.installed is None)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).casefold()


def _is(stated: str, installed: str) -> bool:
    """The same version; a local part such as `+cu130` counts where it is stated."""
    return installed == stated or ("+" not in stated and installed.partition("+")[0] == stated)
