"""Room 4: a name for an event that survives a rebuild.

It covers what stays when the same model is compiled again: compiler, kind, the canonical operator, the
user's function and the file's name. Line numbers, addresses, ranks, times and shapes are left out.
"""

from __future__ import annotations

import hashlib
import re

from fallback_gate.model import Kind, Location
from fallback_gate.model.names import function, spellings
from fallback_gate.patterns import Pattern

_PASSING = Pattern(r"0x[0-9a-f]+|\[[\d, x]*\]", re.IGNORECASE)


def place(location: Location | None) -> tuple[str, str]:
    """The file's name and the user's function."""
    if location is None:
        return "", ""
    return (location.file or "").replace("\\", "/").rpartition("/")[2], function(location.function or "")


def fingerprint(compiler: str, kind: Kind, op: str, location: Location | None) -> str:
    """32 hexadecimal digits."""
    file, name = place(location)
    canonical = _PASSING.sub("", spellings(op)[-1]).casefold()
    covered = "\x1f".join(("v1", compiler, kind.value, canonical, name, file))
    return hashlib.sha256(covered.encode("utf-8", "surrogatepass")).hexdigest()[:32]
