"""The side door: Inductor's compile workers, which trace nothing.

With Dynamo's log at INFO such a process prints an empty list of traced frames as it ends (seen in 2.7), and
that is what a program prints whose compiler is switched off. So the pool starts them with that log off.
"""

from __future__ import annotations

import os
from types import ModuleType

from . import patches

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is slow to load
    from typing import Any


def watch(pool: ModuleType) -> None:
    """Wrap the start of the pool, which hands its environment to the workers."""
    original = pool.SubprocPool.__init__

    def start(self: Any, *arguments: Any, **named: Any) -> None:
        before = os.environ.get("TORCH_LOGS")
        if before:
            os.environ["TORCH_LOGS"] = f"{before},-dynamo"
        try:
            original(self, *arguments, **named)
        finally:
            if before:
                os.environ["TORCH_LOGS"] = before

    patches.put(pool.SubprocPool, "__init__", start)
