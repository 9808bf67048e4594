"""Beside the vocabulary: what a run was given and knows of its surroundings, for the reports that show it.

None of it decides anything. Whoever calls the gate fills what needs the outside world: the repository
around, the time of day.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

Excerpt = tuple[tuple[int, str], ...]
"""Lines of a log around one that proves something: physical number and raw text (escape it), in order."""


class EntryUse(NamedTuple):
    """One entry of the policy and what became of it in this run.

    `section` is `hot`, `cold` or `unhot`. `events`: how many it decided (hot, cold). `used`: it decided
    one, or took off an inherited entry (unhot).
    """

    section: str
    entry: Mapping[str, Any]
    source: str
    used: bool
    expired: bool = False
    events: int = 0


class Direction(str, Enum):
    """What a change of a policy does to verdicts; the first two may let more pass."""

    LOOSENED = "loosened"
    CHANGED = "changed"  # which way, nobody can tell without the logs
    TIGHTENED = "tightened"
    NEUTRAL = "neutral"  # words, order, cases: no verdict depends on it


class PolicyChange(NamedTuple):
    """One difference between two policies, or the files beside them: under which key, what, and where.

    `old` and `new` are places (`policies/x.yaml:4`), None on the side that does not have it.
    """

    direction: Direction
    key: str
    what: str
    old: str | None = None
    new: str | None = None

    @property
    def may_loosen(self) -> bool:
        """It lets more pass, or nobody can tell."""
        return self.direction in (Direction.LOOSENED, Direction.CHANGED)


class Revision(NamedTuple):
    """The commit whose files judge: its name as the user gave it, and its hash."""

    name: str
    commit: str


class RulesFile(NamedTuple):
    """A file with the user's own messages that was given beside the policy."""

    path: str
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository that the run stands in.

    `files` leads from a path as a log or the policy says it to the path in the repository, slashes
    forward; what is not there is not in the repository. `link` is the address of a line at this commit,
    with `{path}` and `{line}`, where the CI system tells it.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    link: str | None = None
