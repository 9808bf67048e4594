"""The side door: stretches of a JAX program in which jit is off (`jax.disable_jit`), told by no log.

Operations are then compiled one by one, with jit back on for each: the modules themselves tell it not.
Seen in 0.10.
"""

from __future__ import annotations

import sys
from types import ModuleType

from . import patches, use

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is slow to load
    from typing import Any

ENTERED = [0]


def watch(api: ModuleType) -> None:
    """Count how often jit is switched off."""
    original = api.disable_jit

    def disable_jit(disable: bool = True) -> Any:
        if disable:
            use.used()
            ENTERED[0] += 1
        return original(disable)

    patches.put(api, "disable_jit", disable_jit)


def is_off() -> bool:
    """Whether it is off for the whole process (JAX_DISABLE_JIT, `jax.config`)."""
    state = getattr(sys.modules.get("jax._src.config"), "disable_jit", None)
    return bool(getattr(state, "value", False))
