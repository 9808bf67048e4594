"""Room 5: where the files that judge are read from: as they stand on this machine.

A policy, the files that it extends, a baseline and a waiver all come from one shelf. `revision.py` has
another one: the same files as a commit holds them.
"""

from __future__ import annotations

import os

from fallback_gate.policy.shipped import PREFIX


class Shelf:
    """The files of this machine, by paths seen from the current folder."""

    def read(self, path: str, most: int) -> bytes:
        """At most so many bytes of a file. Raises OSError, or ValueError for a name that no file has."""
        with open(path, "rb") as file:
            return file.read(most)

    def beside(self, path: str) -> list[str]:
        """The names in the folder of a path, for a hint at a misspelled one; none where they can't be had."""
        try:
            return sorted(os.listdir(os.path.dirname(path) or "."))
        except (OSError, ValueError):
            return []

    def named(self, path: str) -> str:
        """The file as messages and reports name it."""
        return path

    def identity(self, path: str) -> str:
        """What tells one file from another, however a path leads there."""
        try:
            return path if path.startswith(PREFIX) else os.path.realpath(path)
        except ValueError:  # a NUL, which no file's name has; reading it says so
            return path


HERE = Shelf()
