"""The side door: the settings table, what makes each compiler show its fallbacks with the least text.

What stands here was measured or read in the compiler's own source, release by release, before it was
written down; `instead` names what no variable shows, so that nobody takes its silence for proof.
`docs/record-settings.md` is made from it.
"""

from __future__ import annotations

from typing import Final

from fallback_gate.capture import table_compilers, table_vendors
from fallback_gate.capture.stack import Danger, Stack

TABLE: Final[tuple[Stack, ...]] = (*table_compilers.STACKS, *table_vendors.STACKS)

DANGERS: Final[tuple[Danger, ...]] = (
    Danger("TORCHDYNAMO_DISABLE", "torch.compile is off: all of the program runs eager", off=True),
    Danger("TORCH_COMPILE_DISABLE", "torch.compile is off: all of the program runs eager", off=True),
    Danger("TORCHDYNAMO_SUPPRESS_ERRORS", "a compile that fails goes on in eager"),
    Danger("TRITON_INTERPRET", "Triton's kernels run in its interpreter, which says nothing", off=True),
    Danger("PYTHONWARNINGS", "Python's warnings, and fallbacks among them, are not printed", ("ignore",)),
    Danger("TORCHINDUCTOR_CPP_WRAPPER", "the wrapper is C++, where not every operator's call is told apart"),
    Danger("TORCH_CPP_LOG_LEVEL", "warnings of C++ are not printed", ("error", "fatal", "2", "3")),
)
