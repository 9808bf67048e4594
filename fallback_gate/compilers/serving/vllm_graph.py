"""Room 3: vLLM's rules for what is not compiled, or not captured as a CUDA graph. The manual page is `vllm`."""

from __future__ import annotations

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.serving.python_log import OPENS
from fallback_gate.compilers.serving.vllm_log import NAME, reads
from fallback_gate.model import Kind, Scope

_GRAPH_HELP = (
    "Take an attention backend and a compilation mode that allow CUDA graphs (--attention-backend, -cc.mode, "
    "-cc.cudagraph_mode); decode without them is bound by kernel launches."
)
_EAGER_HELP = "Serve without --enforce-eager and with torch.compile on (-cc.mode=3, the default)."

ENFORCED = Rule(
    id="vllm/enforce-eager",
    compiler=NAME,
    anchor=("Enforce eager set", "TORCH_COMPILE_DISABLE is set", "enforce_eager=True"),
    pattern=OPENS + r"(?:(?P<reason>Enforce eager set, disabling torch\.compile(?:,| and) CUDAGraphs"
    r"|TORCH_COMPILE_DISABLE is set, disabling torch\.compile)"
    r"|Initializing an? (?:V\d )?LLM engine \(v[^)\s]{1,80}\) with config: .*\benforce_eager=True\b)",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="The whole model runs in eager mode: no torch.compile, and in most cases no CUDA graph.",
    help=_EAGER_HELP,
    seen_in="0.33 (source), WARNING; the line of the configuration since 0.2, INFO",
    matches=(
        "WARNING 01-01 00:00:00 [vllm.py:1773] Enforce eager set, disabling torch.compile and CUDAGraphs. This is equivalent to setting -cc.mode=none -cc.cudagraph_mode=none",
        "TORCH_COMPILE_DISABLE is set, disabling torch.compile. This is equivalent to setting -cc.mode=none",
        "(EngineCore_0 pid=77) INFO 01-01 00:00:00 [core.py:71] Initializing a V1 LLM engine (v0.10.0) with config: model='/app/gate', enforce_eager=True, kv_cache_dtype=auto",
    ),
    ignores=(
        "INFO 01-01 00:00:00 [core.py:71] Initializing a V1 LLM engine (v0.10.0) with config: model='/app/gate', enforce_eager=False, kv_cache_dtype=auto",
        "llm = LLM(model, enforce_eager=True)",
        "prompt: 'Enforce eager set, disabling torch.compile and CUDAGraphs'",
    ),
    read=reads(),
)

NO_CODE = Rule(
    id="vllm/no-compiled-code",
    compiler=NAME,
    anchor=(
        "No execution code found, falling back",
        "Detected eager backend, disabling AOT compile",
        "is turned on, but the model",
    ),
    pattern=OPENS + r"(?P<reason>No execution code found, falling back to graph module execution"
    r"|Detected eager backend, disabling AOT compile"
    r"|`torch\.compile` is turned on, but the model (?P<name>\S{1,200}) does not support it)",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="The model or one of its graphs has no generated code: it runs operator by operator as framework calls.",
    help=_EAGER_HELP,
    seen_in="0.6 to 0.33 (source), WARNING",
    matches=(
        "No execution code found, falling back to graph module execution.",
        "WARNING 01-01 00:00:00 [decorators.py:694] Detected eager backend, disabling AOT compile.",
        "WARNING 01-01 00:00:00 [model_runner.py:1] `torch.compile` is turned on, but the model /app/gate does not support it. Please open an issue on GitHub if you want it to be supported.",
    ),
    read=reads(),
)

MODE = Rule(
    id="vllm/cudagraph-mode",
    compiler=NAME,
    anchor=("; setting cudagraph_mode=", "is not compatible with compilation mode"),
    pattern=OPENS
    + r"(?P<reason>CUDAGraphMode\.\w{1,40} is not supported with (?:spec-decode for attention backend )?"
    r"(?P<name>\w{1,120})(?: backend)? \(support: [^)]{0,120}\); setting cudagraph_mode=\w{1,40}"
    r"|Cudagraph mode \S{1,60} is not compatible with compilation mode \S{1,60}\. Overriding to \w{1,40})",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.PROGRAM,
    meaning="A weaker CUDA graph mode was taken than asked for: NONE captures nothing, PIECEWISE leaves attention out, "
    "FULL_AND_PIECEWISE cuts only the graphs of mixed batches.",
    help=_GRAPH_HELP,
    seen_in="0.33 (source), WARNING and INFO",
    matches=(
        "WARNING 01-01 00:00:00 [compilation.py:1418] CUDAGraphMode.FULL is not supported with FlashInferBackend backend (support: AttentionCGSupport.UNIFORM_BATCH); setting cudagraph_mode=FULL_AND_PIECEWISE",
        "WARNING 01-01 00:00:00 [compilation.py:1418] CUDAGraphMode.FULL is not supported with spec-decode for attention backend TritonBackend (support: AttentionCGSupport.NEVER); setting cudagraph_mode=NONE",
        "INFO 01-01 00:00:00 [vllm.py:1139] Cudagraph mode FULL_AND_PIECEWISE is not compatible with compilation mode 0. Overriding to NONE.",
    ),
    ignores=("INFO 01-01 00:00:00 [vllm.py:1] Cudagraph mode FULL is in use",),
    read=reads(),
)

DISABLED = Rule(
    id="vllm/cudagraph-disabled",
    compiler=NAME,
    anchor=(
        "does not contain piecewise cudagraph",
        ": Disabling CUDA Graphs since",
        "on ROCm yet, fallback to eager mode",
        "disabling cudagraph_mode",
    ),
    pattern=OPENS
    + r"(?P<reason>Piecewise compilation with empty splitting_ops does not contain piecewise cudagraph"
    r"|(?:DeepEP|MoonEP): Disabling CUDA Graphs since [^.]{1,300}"
    r"|CUDA graph is not supported for (?P<name>\S{1,200}) on ROCm yet, fallback to eager mode"
    r"|XPU Graph is not (?:supported in the current PyTorch version|compatible with sleep mode), disabling cudagraph_mode)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.PROGRAM,
    meaning="No CUDA graph is captured: each kernel of each decode step is launched on its own.",
    help=_GRAPH_HELP,
    seen_in="0.33 (source), WARNING and INFO",
    matches=(
        "Piecewise compilation with empty splitting_ops does not contain piecewise cudagraph. Setting cudagraph_mode to NONE. Hint: ...",
        "DeepEP: Disabling CUDA Graphs since DeepEP high-throughput kernels are optimized for prefill and are incompatible with CUDA Graphs.",
        "WARNING 01-01 00:00:00 [model.py:1492] CUDA graph is not supported for mllama on ROCm yet, fallback to eager mode.",
        "XPU Graph is not supported in the current PyTorch version, disabling cudagraph_mode.",
    ),
    ignores=("INFO 01-01 00:00:00 [vllm.py:2005] Cudagraph is disabled under eager mode",),
    read=reads(),
)

DRAFT = Rule(
    id="vllm/draft-eager",
    compiler=NAME,
    anchor=("does not support full CUDA graphs; running the draft",),
    pattern=OPENS
    + r"(?P<op>\w{1,60}) draft attention \((?P<name>[^)]{1,120})\) (?P<reason>does not support full CUDA graphs)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.REGION,
    meaning="The draft model of speculative decoding runs without a CUDA graph.",
    help=_GRAPH_HELP,
    seen_in="0.33 (source), WARNING",
    matches=(
        "DFlash draft attention (TritonAttentionBackend) does not support full CUDA graphs; running the draft eagerly.",
    ),
    read=reads(),
)

RULES = (ENFORCED, NO_CODE, MODE, DISABLED, DRAFT)
