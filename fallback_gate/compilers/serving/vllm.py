r"""vLLM: what the server says about its own kernels, graphs and configurations. torch.compile works inside it.

    WARNING 01-01 00:00:50 [fused_moe.py:668] Using default MoE config. Performance might be sub-optimal! Config file not found at ...

**What falls back.** The model runs in eager mode, or without CUDA graphs. An attention backend, a quantised
kernel or a library is refused and a slower one taken. A kernel has no tuned configuration for this shape.

**At which setting it speaks.** At the default level (INFO), each text once. DeepGEMM's refusals and the
reasons for which attention backends were passed over need `VLLM_LOGGING_LEVEL=DEBUG`.

**When it is silent.** Above INFO. A kernel that vLLM prefers less for this hardware from the start: only the
line that names the choice (`Using TRITON_ATTN attention backend out of ...`) tells. What Inductor left to
framework calls: torch.compile's own log tells it, and not for graphs that are loaded from the cache. Of
several workers the later versions let the first one speak. Images that no captured graph of a vision encoder
fits run eager, and only DEBUG says so.

**What proves the end.** `init engine (profile, create kv cache, warmup model) took` and `Graph capturing
finished` come after all layers ran once, at INFO: a missing configuration would have been printed, and graphs
were captured. Lines that a compiled graph was made or loaded show that the model is not in eager mode.
Kernels that were chosen in silence stay unobservable.

Wording from the source of 0.8.5, 0.11.2, 0.16.0, 0.24.0 and 0.33.0 (https://github.com/vllm-project/vllm) and
from public threads for 0.2 to 0.10.
"""

from __future__ import annotations

from collections.abc import Mapping

from fallback_gate.compilers.rule import Evidence, Marker, Reader
from fallback_gate.compilers.serving import (
    vllm_attention,
    vllm_collectives,
    vllm_graph,
    vllm_kernels,
    vllm_operators,
    vllm_quantization,
)
from fallback_gate.compilers.serving.python_log import OPENS
from fallback_gate.compilers.serving.vllm_log import NAME, sighted
from fallback_gate.model import Kind, Proof, State

ENGINE = Marker(
    id="vllm/engine",
    compiler=NAME,
    anchor=("LLM engine (v",),
    pattern=OPENS + r"Initializing an? (?:V\d )?LLM engine \(v(?P<version>[^)\s]{1,80})\) with config: ",
    shows="An engine starts; its version.",
    seen_in="0.2 to 0.33, INFO",
    matches=(
        "INFO 01-01 00:00:00 [core.py:71] Initializing a V1 LLM engine (v0.10.0) with config: model='/app/gate'",
        "INFO 03-01 10:09:00 llm_engine.py:234] Initializing a V0 LLM engine (v0.7.3) with config: model='/app/gate'",
    ),
    read=sighted,
)
COMPILED = Marker(
    id="vllm/compiled",
    compiler=NAME,
    anchor=("Compiling a graph for", "Directly load"),
    pattern=OPENS
    + r"(?P<how>Compiling a graph|Directly load) (?:for|the compiled graph|AOT compilation)\b.* (?:takes|took|from path)\b",
    shows="A graph of the model was compiled, or loaded from the cache.",
    seen_in="0.6 to 0.33, INFO",
    matches=(
        "INFO 01-01 00:00:00 [backends.py:418] Compiling a graph for compile range (1,2048) takes 12.31 s",
        "INFO 01-01 00:00:00 [backends.py:148] Compiling a graph for general shape takes 28.1 s",
        "INFO 01-01 00:00:00 [backends.py:311] Directly load the compiled graph(s) for compile range (1, 2048) from the cache, took 2.1 s",
    ),
    ignores=("We are Compiling a graph for you, it takes time",),
    read=sighted,
)
CAPTURED = Marker(
    id="vllm/captured",
    compiler=NAME,
    anchor=("Graph capturing finished in",),
    pattern=OPENS + r"Graph capturing finished in \d{1,6} secs",
    shows="CUDA graphs were captured, after all layers ran once.",
    seen_in="0.2 to 0.33, INFO",
    matches=(
        "INFO 01-01 00:00:00 [gpu_model_runner.py:6517] Graph capturing finished in 21 secs, took 0.61 GiB",
    ),
    read=sighted,
)
STARTED = Marker(
    id="vllm/started",
    compiler=NAME,
    anchor=("init engine (",),
    pattern=OPENS + r"init engine \(profile, create kv cache, warmup(?: model)?\) took [\d.]{1,12} s",
    shows="The engine's warm-up is over: all layers ran once.",
    seen_in="0.6 to 0.33, INFO",
    matches=(
        "(EngineCore_DP0 pid=9) INFO 10-28 13:27:50 [core.py:240] init engine (profile, create kv cache, warmup model) took 2.67 seconds",
    ),
    read=sighted,
)
SETTING = "TORCH_LOGS=dynamo,graph_breaks,recompiles,output_code VLLM_LOGGING_LEVEL=DEBUG VLLM_DISABLE_COMPILE_CACHE=1"
REQUIRED = frozenset(
    {Kind.EAGER_FRAME, Kind.CUDAGRAPH_SKIP, Kind.UNTUNED_CONFIG, Kind.SLOWER_KERNEL, Kind.OP_FALLBACK}
)


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """What the end of the warm-up, the captured graphs and the compiled ones prove of one process."""
    captured, compiled = evidence.first(CAPTURED.id), evidence.first(COMPILED.id)
    ended = captured if captured is not None else evidence.first(STARTED.id)
    open_ = Proof(State.UNPROVEN, "the log does not show the end of each engine's warm-up", None, SETTING)
    proof = dict.fromkeys((Kind.EAGER_FRAME, Kind.CUDAGRAPH_SKIP, Kind.UNTUNED_CONFIG), open_)
    if ended is not None and not _starts_again(evidence):
        why = (
            "the warm-up ran all layers and ended in the log: a missing configuration would have been printed"
        )
        proof[Kind.UNTUNED_CONFIG] = Proof(State.PROVEN, why, ended)
        proof[Kind.EAGER_FRAME] = (
            Proof(State.UNPROVEN, "no line says that a graph was compiled or loaded", None, SETTING)
            if compiled is None
            else Proof(
                State.PROVEN, "a graph of the model was compiled or loaded, and the warm-up ended", compiled
            )
        )
        proof[Kind.CUDAGRAPH_SKIP] = (
            Proof(State.UNPROVEN, "no line says that CUDA graphs were captured", None, SETTING)
            if captured is None
            else Proof(
                State.PROVEN,
                "CUDA graphs were captured; a mode that was refused would have been printed",
                captured,
            )
        )
    why = "vLLM prints what it refuses at this level, and not each kernel that it prefers less from the start"
    proof[Kind.SLOWER_KERNEL] = Proof(State.UNOBSERVABLE, why, None, SETTING)
    why = "vLLM names its own operators only; what Inductor left to framework calls stands in torch.compile's log"
    proof[Kind.OP_FALLBACK] = Proof(State.UNOBSERVABLE, why, None, SETTING)
    return proof


def _starts_again(evidence: Evidence) -> bool:
    """Whether another engine starts in the process behind the last warm-up that ended."""
    ends = max(evidence.last.get(marker.id, -1) for marker in (CAPTURED, STARTED))
    return evidence.last.get(ENGINE.id, -1) > ends


def version(evidence: Evidence) -> str | None:
    """The version that the engine printed, where all engines of the process agree."""
    told = {version for (version,) in evidence.of(ENGINE.id)}
    return told.pop() if len(told) == 1 else None


READER = Reader(
    name=NAME,
    rules=(
        *vllm_graph.RULES,
        *vllm_kernels.RULES,
        *vllm_operators.RULES,
        *vllm_attention.RULES,
        *vllm_quantization.RULES,
        *vllm_collectives.RULES,
    ),
    markers=(ENGINE, COMPILED, CAPTURED, STARTED),
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    version=version,
    manual=__doc__,
    silent="partly: what it refuses is told, a kernel that it prefers less from the start is not",
    seen_in="0.8 to 0.33 (source), 0.2 to 0.10 (public threads)",
)
