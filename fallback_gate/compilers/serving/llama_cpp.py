r"""llama.cpp: ggml's layers, operators and graphs that are not on the device that was asked for.

    sched_reserve: layer 0 is assigned to device CUDA0 but the Flash Attention tensor is assigned to device CPU (usually due to missing support)
    sched_reserve: Flash Attention was auto, set to disabled

**What falls back.** No GPU is found and all layers stay on the CPU. Flash attention, or another fused
operator, is switched off, runs on the CPU, or its kernel for this type of cache was not built. An adapter's tensor
or a sampler stays on the CPU. CUDA graphs are not used. Under Ollama, layers that do not fit the GPU's memory.

**At which setting it speaks.** By default; the reason why CUDA graphs or Vulkan's matrix cores are off, and a
weight that is copied to another device, need `-v`.

**When it is silent.** With `-fa on` flash attention goes to the CPU without a line. Any other operator of the language
model that a back end lacks goes to the CPU without a line: only `graph splits` rises. The image and audio encoder
lists its own.

**What proves the end.** Nothing by default. `GGML_SCHED_DEBUG=2` with `-v` prints each node with its back
end; the count of layers that were offloaded speaks of weights, not of operators.

Wording from the source in llama-cpp-python 0.3.36 (https://github.com/ggml-org/llama.cpp), from the build of October
2026 and from public threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.compilers.serving import llama_cpp_ollama, llama_cpp_operators
from fallback_gate.compilers.serving.llama_cpp_operators import NAME
from fallback_gate.compilers.serving.llama_cpp_operators import OPENS as _OPENS
from fallback_gate.compilers.shared import called
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import BEHIND, Pattern
from fallback_gate.scan.record import Record

_MISMATCH = Pattern(
    r"(?P<reason>layer \d{1,6} is assigned to device \S{1,80} but .{1,120} is assigned to device \S{1,80}) \("
)


def _fused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator, and the reason in the line before it."""
    said = match["said"].strip()
    op = "flash_attn" if said.lower() == "flash attention" else said
    before = next((found for line in record.preceding(2) if (found := _MISMATCH.search(line.text))), None)
    yield by_groups(rule, record, match)._replace(
        op=op,
        names=tuple(dict.fromkeys((op, said))),
        reason=before["reason"] if before else match["reason"],
    )


def _flash(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    yield by_groups(rule, record, match)._replace(
        op="flash_attn", names=("flash_attn", "flash attention"), site=match["device"]
    )


def _tensor(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    yield by_groups(rule, record, match)._replace(op=match["layer"], names=(match["layer"], match["buft"]))


FUSED_OFF = Rule(
    id="llama-cpp/fused-operator-disabled",
    compiler=NAME,
    anchor=(", set to disabled",),
    pattern=_OPENS
    + r"\w{1,80}: (?P<said>[A-Za-z][\w ]{1,80}?) (?P<reason>was auto|not supported), set to disabled"
    + BEHIND,
    kind=Kind.SLOWER_KERNEL,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The device lacks the fused operator, so it is computed in several steps, with the full matrix in memory.",
    help="Use a cache type and a head size that the back end's kernel takes, and keep the cache on the GPU.",
    seen_in="b6300 to 0.3.36 (source), WARN, INFO before",
    matches=(
        "sched_reserve: Flash Attention was auto, set to disabled",
        "0.00.512.004 W llama_context: fused Gated Delta Net not supported, set to disabled",
    ),
    ignores=(
        "sched_reserve: Flash Attention was auto, set to enabled",
        "systemd: the option was auto, set to disabled by you",
    ),
    read=_fused,
)
WARMUP = Rule(
    id="llama-cpp/flash-attention-of-encoder",
    compiler=NAME,
    anchor=("WARNING: flash attention not supported by",),
    pattern=_OPENS
    + r"\w{1,80}: WARNING: (?P<reason>flash attention not supported by (?P<device>[^\s,]{1,80}))",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The image or audio encoder runs without flash attention.",
    help="Look at the parameters of the operator in the lines below the message.",
    seen_in="b7000 and later (public threads), WARN",
    matches=(
        "warmup: WARNING: flash attention not supported by CUDA0, memory usage will increase",
        "0.01.843.056 W mtmd       warmup: WARNING: flash attention not supported by CUDA0, memory usage will increase",
    ),
    read=_flash,
)
NO_GPU = Rule(
    id="llama-cpp/no-gpu",
    compiler=NAME,
    anchor=(
        "gpu-layers option will be ignored",
        "gpu-layers-draft option will be ignored",
        "compiled without support for GPU offload",
    ),
    pattern=_OPENS
    + r"warning: (?P<reason>(?:no usable GPU found|not compiled with GPU offload support), --(?:n-)?gpu-layers(?:-draft)? option will be ignored"
    r"|(?:llama\.cpp was )?compiled without support for GPU offload\b)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="Layers were to go to a GPU and none can be used: all of the model runs on the CPU.",
    help="Build with the GPU's back end (GGML_CUDA, GGML_HIP, GGML_VULKAN, GGML_METAL), and look at the driver.",
    seen_in="2023 to 0.3.36, on the command line",
    matches=(
        "warning: no usable GPU found, --gpu-layers option will be ignored",
        "warning: no usable GPU found, --gpu-layers-draft option will be ignored",
        "warning: llama.cpp was compiled without support for GPU offload. Setting the main GPU has no effect.",
    ),
)
LORA = Rule(
    id="llama-cpp/adapter-on-cpu",
    compiler=NAME,
    anchor=("cannot use buft",),
    pattern=_OPENS
    + r"\w{1,80}: lora for '(?P<layer>[^']{1,200})' (?P<reason>cannot use buft '(?P<buft>[^']{1,80})', fallback to CPU)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The adapter's tensor stays in the host's memory: its product runs on the CPU.",
    help="Merge the adapter into the model, or split by layer in place of by row.",
    seen_in="0.3.36 (source), WARN",
    matches=(
        "llama_adapter_lora_init_impl: lora for 'blk.0.attn_q.weight' cannot use buft 'CUDA_Split', fallback to CPU",
    ),
    ignores=(
        "load_tensors: tensor 'token_embd.weight' (q4_K) (and 0 others) cannot be used with preferred buffer type CPU_REPACK, using CPU instead",
    ),
    read=_tensor,
)
FLASH_ON_CPU = Rule(
    id="llama-cpp/flash-attention-on-cpu",
    compiler=NAME,
    anchor=("flash attention is not supported by the current backend",),
    pattern=_OPENS
    + r"\w{1,80}: (?P<reason>flash attention is not supported by the current backend); falling back to CPU",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The back end has no kernel for flash attention: it runs on the CPU, with copies there and back in each layer.",
    help="Switch flash attention off (-fa off), or use a cache type and a head size that the back end's kernel takes.",
    seen_in="the build of October 2026 (its binary), WARN",
    matches=(
        "llama_init_from_model: flash attention is not supported by the current backend; falling back to CPU (performance will be degraded)",
    ),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(op="flash_attn", names=("flash_attn", "flash attention")),
    ),
)
CUDA_GRAPH = Rule(
    id="llama-cpp/cuda-graph-disabled",
    compiler=NAME,
    anchor=("disabling CUDA graphs due to",),
    pattern=_OPENS + r"\w{1,80}: disabling CUDA graphs due to (?P<reason>.{1,200})",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.PROGRAM,
    meaning="CUDA graphs are not used: each kernel of each token is launched on its own.",
    help="Look at the reason: an old GPU, several sequences, an operator that can't be captured.",
    seen_in="b2900 to 0.3.36 (source), DEBUG",
    matches=("ggml_backend_cuda_graph_compute: disabling CUDA graphs due to GPU architecture",),
)
ATTENTION = Rule(
    id="llama-cpp/attention-kernel",
    compiler=NAME,
    anchor=(
        "no FlashAttention vector kernel compiled",
        "-> running DENSE",
        "falling back to TILE kernel",
        "- forcing off",
    ),
    pattern=_OPENS
    + r"\w{1,80}: (?P<reason>no FlashAttention vector kernel compiled for K/V types (?P<site>\S{1,40}), converting K and V to f16"
    r"|(?:flash attention disabled; MSA requires it|unified KV cache with n_seq_max > 1; MSA needs per-sequence streams) -> running DENSE"
    r"|oneDNN (?:did not fuse the SDPA graph|SDPA partition build failed .{1,200}); falling back to TILE kernel"
    r"|flash_attn (?:is not compatible with \w{1,40}|requires .{1,80}) - forcing off)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The attention kernel that fits the model or the type of the cache is missing or off: a slower one runs.",
    help="Build the kernel for these types (GGML_CUDA_FA_QUANTS, GGML_CUDA_FA_ALL_QUANTS), or choose another cache type.",
    seen_in="b3000 to 0.3.36 (source), WARN, once",
    matches=(
        'ggml_cuda_flash_attn_ext_vec: no FlashAttention vector kernel compiled for K/V types q4_0-q8_0, converting K and V to f16 instead (slow). Add "q4_0-q8_0" to GGML_CUDA_FA_QUANTS to compile it.',
        "llm_build_minimax_m3: flash attention disabled; MSA requires it -> running DENSE attention (output may be degraded). Enable flash attention for MSA.",
        "llama_init_from_model: flash_attn is not compatible with Grok - forcing off",
        "ggml_sycl_fattn: oneDNN did not fuse the SDPA graph; falling back to TILE kernel",
    ),
    at_least=True,
    read=called("flash_attn", "flash attention", "attention"),
)
LOADED = Marker(
    id="llama-cpp/loaded",
    compiler=NAME,
    anchor=("layers to GPU",),
    pattern=_OPENS + r"\w{1,80}: offloaded (?P<on_gpu>\d{1,6})/(?P<all>\d{1,6}) layers to GPU",
    shows="A model was loaded, and how many layers' weights are on the GPU.",
    seen_in="2023 to 0.3.36, INFO",
    matches=(
        "load_tensors: offloaded 24/33 layers to GPU",
        "llm_load_tensors: offloaded 33/33 layers to GPU",
    ),
)
SETTING = "GGML_SCHED_DEBUG=2 and -v"
REQUIRED = frozenset({Kind.DEVICE_FALLBACK, Kind.SLOWER_KERNEL})


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """The scheduler places operators in silence; weights on the GPU do not say where operators run."""
    counts = sorted(evidence.of(LOADED.id))
    said = f": of {counts[0][1]} layers' weights {counts[0][0]} are on the GPU" if counts else ""
    why = f"operators go to the CPU without a line at this level{said}"
    placed = Proof(State.UNOBSERVABLE, why, evidence.first(LOADED.id), SETTING)
    why = "flash attention is reported only where it is auto, and by its first layer"
    return {Kind.DEVICE_FALLBACK: placed, Kind.SLOWER_KERNEL: Proof(State.UNOBSERVABLE, why, None, SETTING)}


READER = Reader(
    name=NAME,
    rules=(
        FUSED_OFF,
        WARMUP,
        NO_GPU,
        LORA,
        FLASH_ON_CPU,
        CUDA_GRAPH,
        ATTENTION,
        *llama_cpp_operators.RULES,
        llama_cpp_ollama.LAYERS_LEFT,
    ),
    markers=(LOADED,),
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="partly: a GPU or a fused operator that is off is told, an operator that goes to the CPU is not",
    seen_in="llama-cpp-python 0.3.36 (source), public threads",
)
