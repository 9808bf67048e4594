"""Room 1: from what the user typed to sources: files, patterns, folders, archives, `-`.

Patterns are expanded here too, since a shell on Windows, a quoted argument and a policy's `logs` do not.
Nothing is passed over in silence: what is missing, unreadable or empty comes back as one line each.
"""

from __future__ import annotations

import itertools
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, BinaryIO

from fallback_gate.errors import Unreadable, reason
from fallback_gate.sources import archive
from fallback_gate.sources.names import is_url, real, shown
from fallback_gate.sources.own import is_report
from fallback_gate.sources.remote import Remote
from fallback_gate.sources.source import Source

if TYPE_CHECKING:
    from fallback_gate.sources.blocks import Object

_PATTERN = frozenset("*?[")


def expand(
    arguments: Sequence[str], cwd: Path, *, stdin_name: str = "<stdin>"
) -> tuple[list[Source], list[str]]:
    """The sources that the arguments mean, each once, in their order, and what was wrong, a line each.

    An argument is a file, a folder (read in full, sorted, without hidden entries and what is no regular
    file), a pattern with `*`, `?`, `[...]` or `**`, a URL of any of these, or `-` for standard input. A zip
    archive stands for its members. A link to a folder is not followed, but comes back as unreadable unless
    that folder is read too.
    """
    search = _Search(cwd)
    for argument in arguments:
        search.add(argument, stdin_name)
    return [*search.found.values(), *search.unread()], search.errors


class _Search:
    """One expansion: what was found so far, by its real place, and what was wrong."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.found: dict[str, Source] = {}
        self.names: dict[str, str] = {}  # of objects, and which one has it
        self.errors: list[str] = []
        self.walked: set[tuple[str, tuple[str, ...]]] = set()  # folders, and the pattern read below them
        self.links: dict[tuple[str, tuple[str, ...]], Path] = {}  # links to folders that were not followed

    def unread(self) -> list[Source]:
        """A source without text for each folder behind a link that was not read under its own name."""
        return [
            Source(
                shown(path),
                named=False,
                file=self.cwd / path,
                problem="a link to a folder, which is not followed: name it to have it read",
            )
            for (folder, pattern), path in self.links.items()
            if not {(folder, pattern), (folder, ())} & self.walked
        ]

    def add(self, argument: str, stdin_name: str) -> None:
        if argument == "-":
            if sys.stdin is None:
                self.errors.append("-: standard input is closed")
            else:
                self._keep("-", Source(shown(stdin_name), named=True, once=True))
        elif not argument:
            self.errors.append("an empty argument names no log (is a variable unset?)")
        elif is_url(argument):
            self._url(argument)
        elif os.path.lexists(self.cwd / argument):
            self._path(Path(argument), named=True)
        elif _PATTERN.isdisjoint(argument):
            self.errors.append(f"{shown(argument)}: no such file or folder{self._hint(argument)}")
        else:
            self._pattern(argument)

    def _pattern(self, argument: str) -> None:
        before = len(self.errors)
        places = list(self._matches(Path(), PurePath(argument).parts))
        files = [file for place in places for file in self._files(place)]
        for file in files:
            self._file(file, named=False)
        if not files and len(self.errors) == before:
            self.errors.append(f"{shown(argument)}: the pattern matches no file{self._hint(argument)}")

    def _hint(self, argument: str) -> str:
        """What was meant by an argument that names no file."""
        from fallback_gate.sources import hints  # for mistakes alone

        return shown(hints.missing(argument, self.cwd))

    def _path(self, path: Path, *, named: bool) -> None:
        if not os.path.isdir(self.cwd / path):
            self._file(path, named=named)
            return
        before = len(self.errors)
        files = self._files(path)
        for file in files:
            self._file(file, named=False)
        if not files and len(self.errors) == before:
            self.errors.append(f"{shown(path)}: the folder holds no file")

    def _file(self, path: Path, *, named: bool) -> None:
        """Keep one file, or the members of one archive; a file that can't be opened is an error."""
        place = self.cwd / path
        key = real(place)
        try:
            status = place.stat()
            if stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode):
                self._keep(key, Source(shown(path), named, file=place, once=True))
                return
            with open(place, "rb", buffering=0) as file:
                head = file.read(4)
                is_own = not named and is_report(file)
        except (OSError, ValueError) as error:
            self.errors.append(f"{shown(path)}: can't be read: {reason(error)}")
            return
        if head.startswith(archive.MAGIC) and (named or path.suffix.lower() == ".zip"):
            with open(place, "rb") as opened:
                self._archive(shown(path), place, opened, key, named=named, size=status.st_size)
        else:
            self._keep(key, Source(shown(path), named, status.st_size, place, is_report=is_own))

    def _url(self, url: str) -> None:
        """Keep what a URL names: one object, or all below a folder or that match a pattern."""
        from fallback_gate.sources import listing

        try:
            found = listing.objects(url)
        except Unreadable as error:
            self.errors.append(f"{shown(str(Remote(url)))}: {error}")
            return
        for remote, size in found.files:
            self._object(remote, size, named=found.named)

    def _object(self, remote: Remote, size: int | None, *, named: bool) -> None:
        name = self._unlike(shown(str(remote)), remote.url)
        from fallback_gate.sources.blocks import Object

        if named or remote.url.partition("?")[0].lower().endswith(".zip"):
            try:
                with Object(remote) as opened:
                    if opened.read(4).startswith(archive.MAGIC):
                        self._archive(name, remote, opened, remote.url, named=named, size=size)
                        return
            except Unreadable as error:
                self.errors.append(f"{name}: {error}")
                return
        self._keep(remote.url, Source(name, named, size, remote))

    def _unlike(self, name: str, key: str) -> str:
        """A name that no other log has: what tells two URLs apart may be what nobody gets to see."""
        found, copies = name, itertools.count(2)
        while self.names.setdefault(found, key) != key:
            found = f"{name} ({next(copies)})"
        return found

    def _archive(
        self,
        path: str,
        place: Path | Remote,
        opened: BinaryIO | Object,
        key: str,
        *,
        named: bool,
        size: int | None,
    ) -> None:
        try:
            members = archive.members(opened)
        except Unreadable as error:
            self._keep(key, Source(path, named, size, place, problem=str(error)))
            return
        if not members:
            self.errors.append(f"{path}: the archive holds no file")
        if stray := archive.stray(opened):
            self._keep(key, Source(path, named, size, place, problem=stray))
        names: dict[str, int] = {}
        for member in members:
            copies = names[member.filename] = names.get(member.filename, 0) + 1
            name = member.filename + (f" ({copies})" if copies > 1 else "")
            self._keep(
                f"{key}!/{name}",
                Source(
                    f"{path}!/{shown(name)}",
                    named and len(members) == 1,
                    member.file_size,
                    place,
                    member,
                    problem=archive.problem(member),
                ),
            )

    def _keep(self, key: str, source: Source) -> None:
        known = self.found.get(key)
        if known is None or (source.named and not known.named):
            self.found[key] = source

    def _files(self, path: Path) -> list[Path]:
        """The file at this path unless it is a device or pipe, or all below this folder, sorted."""
        if not os.path.isdir(self.cwd / path):
            return [path] if _is_file(self.cwd / path) else []
        files: list[Path] = []
        folders = [path]
        while folders:
            folder = folders.pop()
            self.walked.add((real(self.cwd / folder), ()))
            for child, entry in self._entries(folder):
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(child)
                elif os.path.isdir(entry):
                    self._link(child, ())
                elif _is_file(entry):
                    files.append(child)
        return sorted(files)

    def _matches(self, folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
        """The files and folders below a folder that match the parts of a pattern."""
        if not parts:
            yield folder
            return
        part, rest = parts[0], parts[1:]
        if part == "**":
            while rest[:1] == ("**",):
                rest = rest[1:]
            yield from self._matches(folder, rest)
            # The folder itself, as the end of a pattern, is read in full.
            if rest:
                self.walked.add((real(self.cwd / folder), rest))
            for child, entry in self._entries(folder) if rest else ():
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    yield from self._matches(child, ("**", *rest))
                elif os.path.isdir(entry):
                    self._link(child, rest)
        elif _PATTERN.isdisjoint(part):
            if os.path.lexists(self.cwd / folder / part):
                yield from self._matches(folder / part, rest)
        else:
            for child, entry in self._entries(folder):
                hidden = entry.name.startswith(".") and not part.startswith(".")
                if fnmatch(entry.name, part) and not hidden and (not rest or entry.is_dir()):
                    yield from self._matches(child, rest)

    def _link(self, path: Path, pattern: tuple[str, ...]) -> None:
        self.links.setdefault((real(self.cwd / path), pattern), path)

    def _entries(self, folder: Path) -> list[tuple[Path, os.DirEntry[str]]]:
        """What a folder holds, sorted by name."""
        try:
            with os.scandir(self.cwd / folder) as entries:
                return [(folder / entry.name, entry) for entry in sorted(entries, key=lambda e: e.name)]
        except NotADirectoryError:
            return []
        except OSError as error:
            self.errors.append(f"{shown(folder)}: the folder can't be read: {reason(error)}")
            return []


def _is_file(place: Path | os.DirEntry[str]) -> bool:
    """A regular file, or one that only opening can tell about: its error is worth a line, and so is that
    of a link to nothing."""
    try:
        return stat.S_ISREG(place.stat().st_mode)
    except FileNotFoundError:
        return os.path.islink(place)
    except OSError:
        return True
