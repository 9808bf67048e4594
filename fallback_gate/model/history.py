"""The vocabulary for more than one run: what may stay as it is, and what changed.

Beside `verdict`, which has the words for one run. A `Baseline` is a list of fallbacks that were there at one
time. A `Comparison` puts two runs side by side.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from fallback_gate.model import Class, Kind, PolicySummary
from fallback_gate.model.environment import Changed, Environment

BASELINE_SCHEMA = "fallback-gate/baseline-1"


class Held(NamedTuple):
    """One fallback of a baseline: its name, where it stood, and at how many sites in the worst rank.

    `file` is the file's name without its folders. Line numbers, ranks, addresses and times are left out, so
    that nothing changes while the program stays as it is.
    """

    compiler: str
    kind: str
    op: str
    file: str
    function: str
    held_as: str  # `cold` or `unlisted`: what the policy called it
    sites: int
    fingerprint: str


class Baseline(NamedTuple):
    """What was there: sorted entries, the version that wrote them, and the policy that judged.

    `growing`: it takes what it meets, except what is hot or names nothing; so a first baseline is made.
    """

    path: str
    entries: tuple[Held, ...] = ()
    tool_version: str = ""
    policy: PolicySummary = PolicySummary("strict", None, None)
    growing: bool = False


class Fallback(NamedTuple):
    """One fallback of a run, as it compares with another run's.

    `sites` in the worst rank, `reports` how often it was said, `device` where it runs as far as the log
    tells, `spot` where it was first said (`compile.log:17`).
    """

    fingerprint: str
    compiler: str
    kind: Kind
    op: str
    file: str
    function: str
    sites: int
    reports: int
    at_least: bool
    device: str | None
    event_class: Class | None
    spot: str


class Number(NamedTuple):
    """One thing that an instrument measured in a run; `unit` is `share` for a fraction."""

    instrument: str
    name: str
    subject: str | None
    value: float
    unit: str


class Moved(NamedTuple):
    """The same measurement in two runs; None where a run has none. It decides nothing: one number of each
    side has no spread, which `fallback-gate bench --baseline` weighs."""

    old: Number | None
    new: Number | None

    @property
    def shown(self) -> Number:
        """The side that is there, the new one first."""
        found = self.new or self.old
        assert found is not None
        return found

    @property
    def change(self) -> float | None:
        """By which part it grew; None where that can't be told."""
        if self.old is None or self.new is None or self.old.value == 0:
            return None
        return self.new.value / self.old.value - 1


class Side(NamedTuple):
    """One run of a comparison: `problem` says why it does not show all fallbacks that it has."""

    name: str
    fallbacks: tuple[Fallback, ...]
    problem: str | None = None
    compilers: tuple[tuple[str, str | None], ...] = ()  # and their versions
    ranks: tuple[int, ...] = ()
    processes: int = 0  # that compiled and have no rank
    environment: Environment | None = None
    numbers: tuple[Number, ...] = ()


class Step(str, Enum):
    """What became of one fallback from the old run to the new one."""

    NEW = "new"
    MORE = "more"  # at more sites
    MOVED = "moved"  # the operator falls back in another way: device, kind, compiler or place
    FEWER = "fewer"
    GONE = "gone"
    SAME = "same"


WORSE = frozenset({Step.NEW, Step.MORE, Step.MOVED})


class Change(NamedTuple):
    """One fallback, before and after; `what` says in words what moved."""

    step: Step
    old: Fallback | None
    new: Fallback | None
    what: str = ""

    @property
    def shown(self) -> Fallback:
        """The side that is there, the new one first."""
        found = self.new or self.old
        assert found is not None
        return found


class Comparison(NamedTuple):
    """Two runs side by side. `exit_code`: 0 nothing worse, 1 something worse, 3 nobody can tell.

    `open` says why something worse may be there unseen, a sentence each. `versions` are what changed around
    the runs, `measured` what was measured in either: both are laid beside the fallbacks and decide nothing.
    """

    old: Side
    new: Side
    changes: tuple[Change, ...]
    exit_code: int
    open: tuple[str, ...] = ()
    versions: tuple[Changed, ...] = ()
    measured: tuple[Moved, ...] = ()

    def of(self, step: Step) -> tuple[Change, ...]:
        """The changes of one sort, in their order."""
        return tuple(change for change in self.changes if change.step is step)
