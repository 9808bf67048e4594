"""Room 5: the files that judge as a commit of the repository around here holds them, read through git.

A file outside of the repository is read as it stands: no change to the repository can touch it. Paths are
compared as they are written, never by what links of the working tree lead to.
"""

from __future__ import annotations

import os
import posixpath
import subprocess
from pathlib import Path

from fallback_gate.errors import InputError
from fallback_gate.policy.find import NAMES
from fallback_gate.policy.globs import slashed
from fallback_gate.policy.page import shown
from fallback_gate.policy.shelf import Shelf
from fallback_gate.policy.shipped import PREFIX

SECONDS = 120


class AtCommit(Shelf):
    """The repository around a folder at one commit. `name` is what the user called it.

    Raises InputError where there is no git, no repository, or no such commit.
    """

    def __init__(self, name: str, cwd: Path) -> None:
        self.name, self._cwd = name, cwd.absolute()
        what = f"--policy-ref {shown(name)}"
        if name.startswith("-") or not name.isprintable():
            raise InputError(f"{what}: this is no name of a commit")
        self._top = self._asked(f"{what}: there is no git repository here", "rev-parse", "--show-toplevel")
        self._prefix = self._asked(what, "rev-parse", "--show-prefix")
        advice = f"{what} names no commit that is here; fetch it first (in CI, check out with its history)"
        self.commit = self._asked(advice, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")

    def read(self, path: str, most: int) -> bytes:
        """At most so many bytes of a file at this commit; links are followed within it."""
        inside = self._inside(path)
        if inside is None:
            return super().read(path, most)
        said, content = self._content(inside)
        if said is None:
            raise FileNotFoundError(2, f"there is no such file at {self.name}")
        if said != "blob":
            raise OSError(22, f"it is no file at {self.name}")
        return content[:most]

    def named(self, path: str) -> str:
        """As git names it: `origin/main:fallback-gate.yaml`."""
        outside = path.startswith(PREFIX) or self._inside(path) is None
        return path if outside else f"{self.name}:{path}"

    def identity(self, path: str) -> str:
        """The path in the repository."""
        inside = None if path.startswith(PREFIX) else self._inside(path)
        return super().identity(path) if inside is None else f"{self.commit}:{inside}"

    def beside(self, path: str) -> list[str]:
        """Those of this machine where the path leads out of the repository."""
        return super().beside(path) if self._inside(path) is None else []

    def has(self, path: str) -> bool:
        """Whether the file is there: at this commit, or outside of the repository."""
        inside = self._inside(path)
        return os.path.isfile(path) if inside is None else self._content(inside)[0] is not None

    def find(self) -> str | None:
        """The nearest policy at this commit, going up from the current folder, as seen from there."""
        folder = self._prefix.rstrip("/")
        while True:
            for name in NAMES:
                inside = posixpath.join(folder, name)
                if self._content(inside)[0] == "blob":
                    return posixpath.relpath(inside, self._prefix.rstrip("/") or ".")
            if not folder:
                return None
            folder = posixpath.dirname(folder)

    def _inside(self, path: str) -> str | None:
        """The path from the root of the repository; None where it leads out of it."""
        if os.path.isabs(path):
            for root in (self._top, os.path.realpath(self._top)):
                try:
                    inside = slashed(os.path.relpath(os.path.normpath(path), root))
                except ValueError:  # another drive
                    continue
                if not inside.startswith("../") and inside != "..":
                    return inside
            return None
        inside = posixpath.normpath(posixpath.join(self._prefix, slashed(path)))
        return None if inside.startswith("../") or inside == ".." else inside

    def _content(self, inside: str) -> tuple[str | None, bytes]:
        """What stands at a path of the commit: `blob` and its bytes, another word, or None for nothing."""
        if "\n" in inside or "\0" in inside:
            return None, b""
        wanted = f"{self.commit}:{inside}\n".encode("utf-8", "surrogateescape")
        out = self._git("cat-file", "--batch", "--follow-symlinks", given=wanted).stdout
        head, _, content = out.partition(b"\n")
        words = head.split()
        if len(words) == 3 and words[1] in (b"blob", b"tree", b"commit") and words[2].isdigit():
            return words[1].decode(), content[: int(words[2])]
        if head.endswith((b" missing", b" ambiguous")) or words[:1] in ([b"dangling"], [b"notdir"]):
            return None, b""
        return "link", b""  # it leads out of the repository, or to itself

    def _asked(self, problem: str, *arguments: str) -> str:
        done = self._git(*arguments)
        if done.returncode:
            why = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
            raise InputError(f"{problem}{f' ({why})' if why else ''}")
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\r\n")

    def _git(self, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        environ = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}
        try:
            return subprocess.run(
                ["git", "-C", str(self._cwd), *arguments],
                input=given,
                capture_output=True,
                env=environ,
                timeout=SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"--policy-ref needs git, which could not be run here ({error})") from None
