"""Room 3: what the lines mean. One module for each compiler or runtime, and each is its own manual page.

A reader declares rules (what reports a fallback), markers (what says something about the evidence) and how
to weigh the evidence of one process. The modules below list them, family by family: a new compiler is one
module and one line in its family's `READERS`. A user's own rules come from the policy as data and take the
same road.
"""

from __future__ import annotations

from collections.abc import Mapping

from fallback_gate.compilers import index
from fallback_gate.compilers.library import Library
from fallback_gate.compilers.rule import Reader

FAMILIES = (
    "torch_compile",
    "torch_device",
    "tvm",
    "runtimes",
    "amd",
    "apple",
    "ascend",
    "serving",
    "accelerators",
    "edge",
    "nvidia",
    "generic",
)
HEARINGS = ("closing_torch", "closing_runtimes", "closing_graphs")  # what closing records say
READERS: Mapping[str, Reader] = Library(index.PLACES, index.ANCHORS)
