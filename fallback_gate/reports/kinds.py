"""Room 7: what each kind of fallback means, in a sentence for somebody who meets it for the first time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fallback_gate.model import Kind

KIND_MEANING: Final[Mapping[Kind, str]] = {
    Kind.GRAPH_BREAK: "Tracing stopped here: the code around this place runs in the eager interpreter.",
    Kind.EAGER_FRAME: "A whole function or graph runs eager, with all that it calls.",
    Kind.RECOMPILE_LIMIT: "It was recompiled too often; from then on it runs eager.",
    Kind.COMPILE_ERROR: "Compiling failed; the program ended, or went on without it.",
    Kind.OP_FALLBACK: "The compiler has no kernel of its own for this operator and calls the framework's.",
    Kind.DEVICE_FALLBACK: "It runs on another device or engine than the one that was asked for.",
    Kind.REFERENCE_KERNEL: "A naive or reference implementation was picked.",
    Kind.UNTUNED_CONFIG: "No tuned record was found, so a default schedule is used.",
    Kind.SLOWER_KERNEL: "A weaker kernel family was picked than the hardware has.",
    Kind.CUDAGRAPH_SKIP: "The launches are not captured in a CUDA graph: each one waits for the host.",
}
