"""The annex: exclusions, what is to be ruled out before the compiler is to blame (`check --evidence`).

`formats` finds out which tool wrote a file, one module for each maker reads it (`nvidia`, `dcgm`, `amd`,
`ascend`, `engines`), `seen` has the one shape of what they say, and `causes` draws what follows.
"""

from __future__ import annotations

from collections.abc import Sequence

from fallback_gate.instruments.exclusions import formats
from fallback_gate.instruments.exclusions.causes import causes
from fallback_gate.instruments.exclusions.seen import Seen
from fallback_gate.model.environment import Environment, Version, counted
from fallback_gate.model.exclusions import Outside


def read(paths: Sequence[str], baseline: Sequence[str] = ()) -> Outside:
    """What files of a run rule out, against those of a good run where there are any, and what else they say.

    Raises `InputError` for a file that can't be read, or that says nothing of all this.
    """
    now = taken(paths)
    before = taken(baseline) if baseline else None
    is_told = bool(now.devices or now.engine_lines)
    return Outside(causes(now, before) if is_told else None, environment(now), tuple(now.figures))


def taken(paths: Sequence[str]) -> Seen:
    """What some files say, taken together."""
    seen = Seen()
    for path in paths:
        formats.read(path, seen)
    return seen


def environment(seen: Seen) -> Environment:
    """The machine, as far as the files tell it."""
    if not seen.names and not seen.drivers:
        return Environment()
    drivers = tuple(Version(name, version) for name, version in seen.drivers.items())
    return Environment(counted(seen.names.values()), drivers, sources=tuple(seen.files))
