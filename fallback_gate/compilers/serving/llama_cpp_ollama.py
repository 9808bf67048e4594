"""Room 3: what Ollama says of llama.cpp, which it starts: how many of a model's layers go to the GPU.

    time=... level=INFO source=server.go:175 msg=offload library=cuda layers.requested=-1 layers.model=81 layers.offload=44 ...

`layers.requested` is -1 where Ollama is to decide, which puts all on the GPU that fit. Without a GPU the library is
`cpu`, and nothing was asked for. The manual page is `llama_cpp`; the source is llm/memory.go of
https://github.com/ollama/ollama.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.serving.llama_cpp_operators import NAME
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

_SAYS = "time=2026-01-01T00:00:00.646Z level=INFO source=server.go:130 msg="


def _left(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The layers that stay on the CPU of those that were asked for, or of all."""
    requested, layers, on_gpu = (int(match[name]) for name in ("requested", "all", "on_gpu"))
    if on_gpu < (layers if requested < 0 else min(requested, layers)):
        reason = f"{on_gpu} of {layers} layers are on the GPU"
        yield by_groups(rule, record, match)._replace(reason=reason)


LAYERS_LEFT = Rule(
    id="llama-cpp/layers-on-cpu",
    compiler=NAME,
    anchor=("layers.requested=",),
    pattern=r"\bmsg=(?:offload library=(?!cpu)\w{1,20}|\x22offload to (?!cpu)\w{1,20}\x22) layers\.requested=(?P<requested>-?\d{1,6}) "
    r"layers\.model=(?P<all>\d{1,6}) layers\.offload=(?P<on_gpu>\d{1,6})\b",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.UNKNOWN,
    shared_anchor=True,
    meaning="Not all layers of the model fit the GPU's memory: the rest runs on the CPU.",
    help="Take a smaller model, quantisation or context (num_ctx), free the GPU's memory, or set num_gpu and allow it.",
    seen_in="Ollama 0.3 to 0.11 (public threads), INFO",
    matches=(
        _SAYS
        + "offload library=cuda layers.requested=-1 layers.model=81 layers.offload=44 layers.split=11,11,11,11",
        _SAYS + '"offload to cuda" layers.requested=31 layers.model=62 layers.offload=0 layers.split=""',
    ),
    ignores=(
        _SAYS + 'offload library=cuda layers.requested=-1 layers.model=25 layers.offload=25 layers.split=""',
        _SAYS + 'offload library=metal layers.requested=20 layers.model=33 layers.offload=20 layers.split=""',
        _SAYS + '"offload to cpu" layers.requested=-1 layers.model=33 layers.offload=0 layers.split=""',
    ),
    read=_left,
)
