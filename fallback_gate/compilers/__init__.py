"""Room 3: what the lines mean. One module for each compiler or runtime, and each is its own manual page.

A reader declares rules (what reports a fallback), markers (what says something about the evidence) and how
to weigh the evidence of one process. This registry is the only list of them: a new compiler is one module
and one line here. A user's own rules come from the policy as data and take the same road.
"""

from __future__ import annotations

from collections.abc import Mapping

from fallback_gate.compilers import (
    accelerators,
    amd,
    apple,
    ascend,
    closing,
    closing_graphs,
    closing_runtimes,
    closing_torch,
    edge,
    generic,
    nvidia,
    runtimes,
    serving,
    torch_compile,
    torch_device,
    tvm,
)
from fallback_gate.compilers.rule import Reader

HEARINGS: Mapping[str, closing.Hearing] = {
    torch_compile.READER.name: closing_torch.HEARING,
    **closing_runtimes.HEARINGS,
    **closing_graphs.HEARINGS,
}
READERS: Mapping[str, Reader] = {
    reader.name: closing.heard(reader, HEARINGS.get(reader.name))
    for reader in (
        torch_compile.READER,
        torch_device.READER,
        *tvm.READERS,
        *runtimes.READERS,
        *amd.READERS,
        *apple.READERS,
        *ascend.READERS,
        *serving.READERS,
        *accelerators.READERS,
        *edge.READERS,
        *nvidia.READERS,
        generic.READER,
    )
}
