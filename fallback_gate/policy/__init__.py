"""Room 5: what is allowed.

A policy is one YAML file. `find` says which file judges; `load` reads it strictly (`document` keeps the
line of each key, `checks` and `sheet` say what may stand there) and puts together what it extends;
`judge` decides one event; `limits` counts; `notes` tells the owner which exceptions rot. Nothing in here
knows how a verdict is shown.
"""

from datetime import date

from fallback_gate.model import PolicySummary
from fallback_gate.policy.entry import ColdEntry, HotEntry, Policy, UnhotEntry
from fallback_gate.policy.find import find
from fallback_gate.policy.limits import Limits, limits
from fallback_gate.policy.match import judge
from fallback_gate.policy.notes import notes
from fallback_gate.policy.shelf import HERE, Shelf
from fallback_gate.policy.uses import uses

STRICT = Policy(summary=PolicySummary(name="strict", path=None, sha256=None), name="strict")


def load(reference: str | None, today: date, shelf: Shelf = HERE) -> Policy:
    """Load the policy that a path or `builtin:NAME` names; None is the strict rule.

    `today` (UTC) decides which `unhot` entries still hold; `shelf` is where its files are read from. Raises
    PolicyError with all problems of the file and of those it extends.
    """
    if reference is None:
        return STRICT
    from fallback_gate.policy.loading import load as read

    return read(reference, today, shelf)


__all__ = [
    "HERE",
    "STRICT",
    "ColdEntry",
    "HotEntry",
    "Limits",
    "Policy",
    "Shelf",
    "UnhotEntry",
    "find",
    "judge",
    "limits",
    "load",
    "notes",
    "uses",
]
