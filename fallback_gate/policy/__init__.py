"""Room 5: what is allowed.

A policy is one YAML file. `find` says which file judges; `load` reads it strictly (`document` keeps the
line of each key, `checks` and `sheet` say what may stand there) and puts together what it extends;
`judge` decides one event; `limits` counts; `notes` tells the owner which exceptions rot. Nothing in here
knows how a verdict is shown.
"""

from fallback_gate.policy.entry import ColdEntry, HotEntry, Policy, UnhotEntry
from fallback_gate.policy.find import find
from fallback_gate.policy.limits import Limits, limits
from fallback_gate.policy.lint import notes
from fallback_gate.policy.load import load
from fallback_gate.policy.match import judge

__all__ = [
    "ColdEntry",
    "HotEntry",
    "Limits",
    "Policy",
    "UnhotEntry",
    "find",
    "judge",
    "limits",
    "load",
    "notes",
]
