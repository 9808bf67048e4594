"""Beside the vocabulary: what an engineer rules out before blaming the compiler, and what follows from it.

A slowdown has causes that no compiler can help: a device that throttles, clocks below boost, memory errors,
another batch, a longer queue. Files of `check --evidence` rule some of them out, find others, and say nothing
of the rest; nothing is said here that no file shows. It decides nothing: a fallback is one whatever the
clocks do.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple

from fallback_gate.model.claims import Figure
from fallback_gate.model.environment import Environment


class Cause(str, Enum):
    """What may slow a program down, its compiler aside."""

    CLOCKS = "clocks"
    THROTTLING = "throttling"
    DEVICE_ERRORS = "device_errors"
    BATCH = "batch"
    QUEUE = "queue"


class Standing(str, Enum):
    """What the files say about a cause."""

    RULED_OUT = "ruled_out"
    FOUND = "found"
    OPEN = "not_ruled_out"


NEEDED: Final = (Cause.CLOCKS, Cause.THROTTLING, Cause.BATCH)
"""What must be ruled out before a fallback follows from what is left."""
OF_THE_LOAD: Final = (Cause.BATCH, Cause.QUEUE)


class Exclusion(NamedTuple):
    """One cause: how it stands, in a few words, and why, in a sentence with the figures and their files."""

    cause: Cause
    standing: Standing
    short: str
    why: str


class Exclusions(NamedTuple):
    """All causes, further facts of the files (a sentence each), and what follows."""

    causes: tuple[Exclusion, ...]
    facts: tuple[str, ...]
    files: tuple[str, ...]
    conclusion: str = ""

    def of(self, standing: Standing) -> tuple[Exclusion, ...]:
        """The causes that stand so, in their order."""
        return tuple(one for one in self.causes if one.standing is standing)

    def concluded(self, fallbacks: Sequence[str]) -> Exclusions:
        """The same with its conclusion; `fallbacks` are the operators of which this run shows that they fell
        back, and that nothing allows."""
        return self._replace(conclusion=_conclusion(self, fallbacks))


def _conclusion(given: Exclusions, fallbacks: Sequence[str]) -> str:
    out, found, unknown = (given.of(standing) for standing in Standing)
    load = [one.short for one in out if one.cause in OF_THE_LOAD]
    device = [one.short for one in out if one.cause not in OF_THE_LOAD]
    parts = [", ".join(part) for part in (device, load) if part]
    if found:
        wrong = ", ".join(one.short for one in found)
        return "; ".join([*parts, f"found: {wrong}; put that right and measure again, then ask the compiler"])
    missing = [one for one in unknown if one.cause in NEEDED]
    if missing:
        left = ", ".join(one.cause.value.replace("_", " ") for one in missing)
        return "; ".join([*parts, f"not ruled out: {left}; so nothing follows yet"])
    if not fallbacks:
        return "; ".join([*parts, "so: neither the device nor the load, and no input shows a fallback"])
    more = f" and {len(fallbacks) - 3} more" if len(fallbacks) > 3 else ""
    return "; ".join([*parts, f"so: fallback ({', '.join(fallbacks[:3])}{more}), as far as these files go"])


class Outside(NamedTuple):
    """What files of evidence say: what they rule out (None where they hold figures alone), the machine as far
    as they tell it, and figures that they measured."""

    exclusions: Exclusions | None
    environment: Environment
    figures: tuple[Figure, ...]
