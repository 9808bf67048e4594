"""The side door: Pallas kernels that run by their interpreter (`interpret=True`), in place of being compiled.

What the interpreter makes of a kernel is plain XLA, a loop over the grid: no name of it is left in the
compiled program. Each kernel is noted as it is lowered. Seen in 0.10 and 0.11.
"""

from __future__ import annotations

import re
from types import ModuleType

from . import patches, use

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is slow to load
    from typing import Any

MOST = 200
KERNELS: list[dict[str, Any]] = []
_SOURCE = re.compile(r"(\S+)(?: for \S+)? at (.+):(\d+)$")


def watch(interpreter: ModuleType) -> None:
    """Note each kernel that is interpreted."""
    original = interpreter.pallas_call_hlo_interpret

    def pallas_call_hlo_interpret(*arguments: Any, **named: Any) -> Any:
        use.used()
        if len(KERNELS) < MOST:
            jaxpr = named.get("jaxpr")
            told = str(getattr(getattr(jaxpr, "debug_info", None), "func_src_info", ""))
            source = _SOURCE.match(told)
            name, file, line = source.groups() if source else (told or "pallas_call", "", 0)
            KERNELS.append({"name": name[:200], "file": file[:500], "line": int(line)})
        return original(*arguments, **named)

    patches.put(interpreter, "pallas_call_hlo_interpret", pallas_call_hlo_interpret)
