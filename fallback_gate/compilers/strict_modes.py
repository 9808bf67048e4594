"""Room 3: strict modes, the variables with which a stack fails rather than falls back.

A recorded run that succeeded with such a mode in force is the best proof that there is: the program would
not be there otherwise. Only a whole seal shows both, the setting and the success. It speaks for a process in
which the compiler was seen at work, and for the kinds that the vendor's page names, no more.
"""

from __future__ import annotations

from collections.abc import Mapping

from fallback_gate.compilers.rule import Evidence, Reader
from fallback_gate.model import Kind, Proof, State


def by_strict_modes(reader: Reader, evidence: Evidence) -> Mapping[Kind, Proof]:
    """The kinds that a strict mode in force proves; none where one was reported all the same."""
    if evidence.settings is None:
        return {}
    proven: dict[Kind, Proof] = {}
    for mode in reader.strict:
        if any(evidence.settings.get(name) != value for name, value in mode.variables.items()):
            continue
        named = " ".join(f"{name}={value}" for name, value in mode.variables.items())
        how = f"with {named}, which makes it fail" if named else "and this stack fails"
        why = f"the sealed run succeeded {how} in place of a fallback"
        for kind in mode.kinds - evidence.reported:
            proven[kind] = Proof(State.PROVEN, why + (f" ({mode.but})" if mode.but else ""))
    return proven
