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
    anchor=(
        "Enforce eager set",
        "TORCH_COMPILE_DISABLE is set",
        "enforce_eager=True",
        "not supported with CUDA Graphs",
    ),
    pattern=OPENS + r"(?:(?P<reason>Enforce eager set, disabling torch\.compile(?:,| and) CUDAGraphs"
    r"|Enforce eager set, overriding optimization level to -O0"
    r"|Data Parallel: Forcing enforce eager to be True since DP is currently not supported with CUDA Graphs"
    r"|TORCH_COMPILE_DISABLE is set, disabling torch\.compile)"
    r"|Initializing an? (?:V\d )?LLM engine \(v[^)\s]{1,80}\) with config: .*\benforce_eager=True\b)",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="The whole model runs in eager mode: no torch.compile, and in most cases no CUDA graph.",
    help=_EAGER_HELP,
    seen_in="0.8 to 0.33 (source), WARNING; the line of the configuration since 0.2, INFO",
    matches=(
        "WARNING 01-01 00:00:00 [vllm.py:1773] Enforce eager set, disabling torch.compile and CUDAGraphs. This is equivalent to setting -cc.mode=none -cc.cudagraph_mode=none",
        "TORCH_COMPILE_DISABLE is set, disabling torch.compile. This is equivalent to setting -cc.mode=none",
        "WARNING 01-01 00:00:00 [vllm.py:727] Enforce eager set, overriding optimization level to -O0",
        "INFO 01-01 00:00:00 [cuda.py:162] Data Parallel: Forcing enforce eager to be True since DP is currently not supported with CUDA Graphs.",
        "(EngineCore_0 pid=77) INFO 01-01 00:00:00 [core.py:71] Initializing a V1 LLM engine (v0.10.0) with config: model='/app/gate', enforce_eager=True, kv_cache_dtype=auto",
    ),
    ignores=(
        "INFO 01-01 00:00:00 [core.py:71] Initializing a V1 LLM engine (v0.10.0) with config: model='/app/gate', enforce_eager=False, kv_cache_dtype=auto",
        "llm = LLM(model, enforce_eager=True)",
        "INFO 03-01 10:09:01 model_runner.py:1450] Capturing cudagraphs for decoding. This may lead to unexpected consequences if the model is not static. To run the model in eager mode, set 'enforce_eager=True' or use '--enforce-eager' in the CLI. If out-of-memory error occurs during cudagraph capture, consider decreasing `gpu_memory_utilization` or switching to eager mode.",
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
        "disabling vLLM",
    ),
    pattern=OPENS + r"(?P<reason>No execution code found, falling back to graph module execution"
    r"|Detected eager backend, disabling AOT compile"
    r"|VLLM_USE_BREAKABLE_CUDAGRAPH is set, disabling vLLM's torch\.compile pipeline"
    r"|`torch\.compile` is turned on, but the model (?P<name>\S{1,200}) does not support it)",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="The model or one of its graphs has no generated code: it runs operator by operator as framework calls.",
    help=_EAGER_HELP,
    seen_in="0.6 to 0.33 (source), WARNING",
    matches=(
        "No execution code found, falling back to graph module execution.",
        "WARNING 01-01 00:00:00 [decorators.py:694] Detected eager backend, disabling AOT compile.",
        "WARNING 01-01 00:00:00 [vllm.py:1100] VLLM_USE_BREAKABLE_CUDAGRAPH is set, disabling vLLM's torch.compile pipeline. Equivalent to -cc.mode=none.",
        "WARNING 01-01 00:00:00 [model_runner.py:1] `torch.compile` is turned on, but the model /app/gate does not support it. Please open an issue on GitHub if you want it to be supported.",
    ),
    read=reads(),
)

MODE = Rule(
    id="vllm/cudagraph-mode",
    compiler=NAME,
    anchor=(
        "; setting cudagraph_mode=",
        "verriding cudagraph_mode",
        "is not compatible with compilation mode",
        "requires piecewise capture, but the loaded",
        "contain piecewise cudagraph. Setting cudagraph_mode to FULL",
    ),
    pattern=OPENS
    + r"(?P<reason>CUDAGraphMode\.\w{1,40} is not supported with (?:spec-decode for attention backend )?"
    r"(?P<name>\w{1,120})(?: backend)? \(support: [^)]{0,120}\); setting cudagraph_mode=\w{1,40}"
    r"|Cudagraph mode \S{1,60} is not compatible with compilation mode \S{1,60}\. ?Overriding to \w{1,40}"
    r"|Cudagraph mode \S{1,60} requires piecewise capture, but the loaded model provides neither [^.]{1,120}"
    r"|[A-Z][^'\"`]{10,300}?\. Overriding cudagraph_mode (?:(?:from )?\S{1,60} )?to [A-Z_]{1,40}"
    r"|Piecewise compilation with empty splitting_ops does not contain piecewise cudagraph\. "
    r"Setting cudagraph_mode to FULL)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.PROGRAM,
    meaning="A weaker CUDA graph mode was taken than asked for: NONE captures nothing, PIECEWISE leaves attention out, "
    "FULL_AND_PIECEWISE and FULL_DECODE_ONLY cut or leave out the graphs of mixed batches.",
    help=_GRAPH_HELP,
    seen_in="0.11 to 0.33 (source), WARNING and INFO",
    matches=(
        "WARNING 01-01 00:00:00 [compilation.py:1418] CUDAGraphMode.FULL is not supported with FlashInferBackend backend (support: AttentionCGSupport.UNIFORM_BATCH); setting cudagraph_mode=FULL_AND_PIECEWISE",
        "WARNING 01-01 00:00:00 [compilation.py:1418] CUDAGraphMode.FULL is not supported with spec-decode for attention backend TritonBackend (support: AttentionCGSupport.NEVER); setting cudagraph_mode=NONE",
        "INFO 01-01 00:00:00 [vllm.py:1139] Cudagraph mode FULL_AND_PIECEWISE is not compatible with compilation mode 0. Overriding to NONE.",
        "INFO 01-01 00:00:00 [vllm.py:1177] Cudagraph mode FULL is not compatible with compilation mode 0.Overriding to NONE.",
        "WARNING 01-01 00:00:00 [vllm.py:1957] Pooling models do not support full cudagraphs. Overriding cudagraph_mode to PIECEWISE.",
        "WARNING 01-01 00:00:00 [vllm.py:1993] KV connector GateConnector requires PIECEWISE CUDA graph mode due to layerwise async operations that cannot be captured in CUDA graphs. Overriding cudagraph_mode from FULL_AND_PIECEWISE to PIECEWISE.",
        "INFO 01-01 00:00:00 [vllm.py:3315] CUDA graphs are not supported with stock torch.compile in Model Runner V2. Overriding cudagraph_mode FULL_AND_PIECEWISE to NONE.",
        "Cudagraph mode PIECEWISE requires piecewise capture, but the loaded model provides neither a compiled submodule nor breakable CUDA graphs. Overriding to NONE.",
        "Piecewise compilation with empty splitting_ops does not contain piecewise cudagraph. Setting cudagraph_mode to FULL.",
    ),
    ignores=(
        "INFO 01-01 00:00:00 [vllm.py:1] Cudagraph mode FULL is in use",
        "Sequence parallelism is incompatible with piecewise cudagraph when use_inductor_graph_partition is off. Setting cudagraph_mode to FULL.",
    ),
    read=reads(),
)

DISABLED = Rule(
    id="vllm/cudagraph-disabled",
    compiler=NAME,
    anchor=(
        "piecewise cudagraph. Setting cudagraph_mode to NONE",
        ": Disabling CUDA Graphs since",
        "CUDA graph is not supported",
        "disabling cudagraph_mode",
        "XPU Graph is disabled by",
        "Skipping CUDA graph capture",
        "decoder CUDA graph capture",
    ),
    pattern=OPENS
    + r"(?P<reason>Piecewise compilation with empty splitting_ops (?:does not |do not ?)contains? "
    r"piecewise cudagraph\. Setting cudagraph_mode to NONE"
    r"|\w{1,30}: Disabling CUDA Graphs since [^.]{1,300}"
    r"|CUDA graph is not supported (?:for (?P<name>\S{1,200}) on ROCm|on XPU|on BitsAndBytes 8bit)(?: yet)?, "
    r"fallback to (?:the )?eager mode"
    r"|XPU Graph is (?:not (?:supported in the current PyTorch version|compatible with sleep mode), "
    r"disabling cudagraph_mode|disabled by environment variable)"
    r"|Skipping (?:encoder and decoder )?CUDA graph capture)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.PROGRAM,
    meaning="No CUDA graph is captured: each kernel of each decode step is launched on its own.",
    help=_GRAPH_HELP,
    seen_in="0.8 to 0.33 (source), WARNING and INFO",
    matches=(
        "Piecewise compilation with empty splitting_ops does not contain piecewise cudagraph. Setting cudagraph_mode to NONE. Hint: ...",
        "Piecewise compilation with empty splitting_ops do notcontains piecewise cudagraph. Setting cudagraph_mode to NONE. Hint: ...",
        "DeepEP: Disabling CUDA Graphs since DeepEP high-throughput kernels are optimized for prefill and are incompatible with CUDA Graphs.",
        "INFO 01-01 00:00:00 [cuda.py:246] WideEP: Disabling CUDA Graphs since DeepEP high-throughput kernels are optimized for prefill and are incompatible with CUDA Graphs.",
        "WARNING 01-01 00:00:00 [model.py:1492] CUDA graph is not supported for mllama on ROCm yet, fallback to eager mode.",
        "WARNING 01-01 00:00:00 [config.py:843] CUDA graph is not supported for mllama on ROCm yet, fallback to the eager mode.",
        "CUDA graph is not supported on BitsAndBytes 8bit yet, fallback to the eager mode.",
        "XPU Graph is not supported in the current PyTorch version, disabling cudagraph_mode.",
        "XPU Graph is disabled by environment variable, please set VLLM_XPU_ENABLE_XPU_GRAPH=1 to enable it.",
        "WARNING 01-01 00:00:00 [gpu_model_runner.py:6419] Skipping CUDA graph capture. To turn on CUDA graph capture, ensure `cudagraph_mode` was not manually set to `NONE`",
        "WARNING 01-01 00:00:00 [model_runner.py:1094] Skipping encoder and decoder CUDA graph capture. To enable encoder capture, ensure `cudagraph_mm_encoder` is enabled",
    ),
    ignores=("INFO 01-01 00:00:00 [vllm.py:2005] Cudagraph is disabled under eager mode",),
    read=reads(),
)

UNASKED = Rule(
    id="vllm/cudagraph-none",
    compiler=NAME,
    anchor=("CUDAGraphMode.NONE",),
    pattern=OPENS
    + r"Initializing an? (?:V\d )?LLM engine \(v[^)\s]{1,80}\) with config: .*\benforce_eager=False\b.*"
    r"(?P<reason>\bcudagraph_mode\b\W{1,4}CUDAGraphMode\.NONE\b)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.PROGRAM,
    meaning="The engine's configuration has no CUDA graphs; only those of a vision encoder may still be captured.",
    help=_GRAPH_HELP,
    seen_in="0.11 to 0.33 (source), the line of the configuration, INFO",
    matches=(
        "(EngineCore_DP0 pid=77) INFO 01-01 00:00:00 [core.py:94] Initializing a V1 LLM engine (v0.33.0) with config: model='/app/gate', enforce_eager=False, kv_cache_dtype=auto, compilation_config={'mode': <CompilationMode.VLLM_COMPILE: 3>, 'cudagraph_mode': <CUDAGraphMode.NONE: 0>, 'cudagraph_capture_sizes': []}",
    ),
    ignores=(
        "INFO 01-01 00:00:00 [core.py:94] Initializing a V1 LLM engine (v0.33.0) with config: enforce_eager=False, compilation_config={'cudagraph_mode': <CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>}",
        "INFO 01-01 00:00:00 [core.py:94] Initializing a V1 LLM engine (v0.33.0) with config: enforce_eager=True, compilation_config={'cudagraph_mode': <CUDAGraphMode.NONE: 0>}",
    ),
    shared_anchor=True,
    read=reads(),
)

CASCADE = Rule(
    id="vllm/cascade-attention-eager",
    compiler=NAME,
    anchor=("No piecewise cudagraph for executing",),
    pattern=OPENS + r"(?P<reason>No piecewise cudagraph for executing cascade attention)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.REGION,
    meaning="Batches with a long common prefix (cascade attention) run without a CUDA graph.",
    help="Take cudagraph_mode=FULL_AND_PIECEWISE, or pass --disable-cascade-attn.",
    seen_in="0.11 to 0.33 (source), WARNING, once",
    matches=(
        "WARNING 01-01 00:00:00 [vllm.py:1402] No piecewise cudagraph for executing cascade attention. Will fall back to eager execution if a batch runs into cascade attentions.",
    ),
    read=reads("cascade_attention", "attention"),
)

DRAFT = Rule(
    id="vllm/draft-eager",
    compiler=NAME,
    anchor=("does not support full CUDA graphs", "proposer only supports cudagraph_mode"),
    pattern=OPENS
    + r"(?:(?P<op>\w{1,60}) draft attention \((?P<name>[^)]{1,120})\) (?P<reason>does not support full CUDA graphs)"
    r"|Currently the (?P<layer>\w{1,60}) proposer only supports cudagraph_mode PIECEWISE)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.REGION,
    meaning="The draft model of speculative decoding runs without a CUDA graph.",
    help=_GRAPH_HELP,
    seen_in="0.11 to 0.33 (source), WARNING",
    matches=(
        "WARNING 01-01 00:00:00 [eagle.py:95] Currently the eagle proposer only supports cudagraph_mode PIECEWISE, if you want the drafter to use cuda graphs, please set compilation_config.cudagraph_mode to PIECEWISE or FULL_AND_PIECEWISE",
        "DFlash draft attention (TritonAttentionBackend) does not support full CUDA graphs; running the draft eagerly.",
    ),
    read=reads(),
)

RULES = (ENFORCED, NO_CODE, MODE, DISABLED, UNASKED, CASCADE, DRAFT)
