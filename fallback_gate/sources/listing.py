"""Room 1: which objects a URL means: one, all below a folder, or those that match a pattern.

As on disk: a folder is read in full, sorted, without hidden entries; a folder that matches a pattern is too.
The page of a web server counts as a folder only where its URL ends in a slash, and a `?` in a URL never
belongs to a pattern.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fallback_gate.errors import Unreadable
from fallback_gate.sources import store
from fallback_gate.sources.remote import Remote
from fallback_gate.sources.urls import is_web, told

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_PATTERN = "*?["


@dataclass(frozen=True, slots=True)
class Found:
    """The objects with their sizes in bytes, where the store tells them; `named` as in `Source`."""

    files: tuple[tuple[Remote, int | None], ...]
    named: bool


def objects(url: str) -> Found:
    """The objects that a URL means. Raises `Unreadable`, in a sentence, where there are none."""
    remote = Remote(url)
    address = url.partition("?")[0] if is_web(url) else url
    pattern = not set("*[" if is_web(url) else _PATTERN).isdisjoint(address)
    if is_web(url) and address.endswith("/") and not pattern:
        return _below(remote)
    if is_web(url) and pattern:
        return _matching(remote)
    try:
        info = store.info(remote)
    except FileNotFoundError:
        if pattern:
            return _matching(remote)
        raise Unreadable("no such object or folder") from None
    if info.get("type") == "directory":
        return _below(remote)
    return Found(((remote, info.get("size")),), named=True)


def _below(remote: Remote) -> Found:
    found = _listed(remote, "find")
    if not found:
        raise Unreadable("the folder holds no object")
    return Found(tuple(found), named=False)


def _matching(remote: Remote) -> Found:
    found = _listed(remote, "glob")
    if not found:
        raise Unreadable("the pattern matches no object")
    return Found(tuple(found), named=False)


def _listed(remote: Remote, how: str) -> list[tuple[Remote, int | None]]:
    """The files that `find` or `glob` gives, sorted; folders among them in full, hidden entries left out."""
    system, path = store.place(remote)
    files: dict[str, Any] = {}
    try:
        system.invalidate_cache()
        listed = getattr(system, how)(path, detail=True)
        for name, info in listed.items():
            if info.get("type") == "directory":
                files |= system.find(name, detail=True)
            else:
                files[name] = info
    except Exception as error:  # each store has errors of its own
        raise Unreadable(f"can't be listed: {told(error, remote.url)}") from None
    first = min(path.find(mark) for mark in _PATTERN if mark in path) if how == "glob" else len(path)
    above = path[:first].rpartition("/")[0] if how == "glob" else path.rstrip("/")
    return [
        (Remote(_url(name, system, path, remote.url)), info.get("size"))
        for name, info in sorted(files.items())
        if "/." in path[len(above) :] or not _is_hidden(name.removeprefix(above))
    ]


def _url(name: str, system: AbstractFileSystem, path: str, url: str) -> str:
    """The URL of a file below the place that has this path and URL: with all that its beginning tells."""
    url = url if path.endswith("/") else url.rstrip("/")
    common = len(os.path.commonprefix([path[::-1], url[::-1]]))
    stem = path[: len(path) - common]
    if not name.startswith(stem):
        return str(system.unstrip_protocol(name))
    return url[: len(url) - common] + name[len(stem) :]


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))
