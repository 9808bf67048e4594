"""Room 3: vLLM's rules for operators that run through another implementation. The manual page is `vllm`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from re import Match

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.serving.python_log import OPENS, OPENS_VLLM
from fallback_gate.compilers.serving.vllm_log import NAME, reads
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_INSTALL = "Install the library that has the kernel, and look at the reason that the message gives."

DEEP_GEMM = Rule(
    id="vllm/deep-gemm-disabled",
    compiler=NAME,
    anchor=("DeepGemm disabled", "CutlassBlockScaledGroupedGemm disabled", "FlashInferExperts disabled"),
    pattern=OPENS
    + r"(?P<reason>DeepGemm disabled (?:due to unaligned problem size|for this problem size|for N <= 512)\. M: \d{1,9}, N: \d{1,9}, K: \d{1,9}"
    r"|(?P<name>DeepGemm|CutlassBlockScaledGroupedGemm|FlashInferExperts) disabled: .{1,300})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The experts' size, type or layout does not fit the fast grouped kernel: the Triton kernel computes them.",
    help="Choose a split of the experts whose N and K are multiples of 128, and a type that the kernel takes.",
    seen_in="0.8 to 0.33 (source), DEBUG, once a text",
    matches=(
        "DEBUG 01-01 00:00:00 [deep_gemm_moe.py:1] DeepGemm disabled due to unaligned problem size. M: 7, N: 100, K: 64. M should >= 128 and N and K must be multiples of 128. This is not an error and we will fall back to triton.",
        "DEBUG 01-01 00:00:00 [deep_gemm_moe.py:55] DeepGemm disabled for this problem size. M: 7, N: 100, K: 64. This log means we will fallback to triton for this specific shape for further speed up.",
        "DEBUG 01-01 00:00:00 [deep_gemm_moe.py:114] DeepGemm disabled: invalid weight dtype(s). w1.dtype: torch.uint8, w2.dtype: torch.uint8",
        "DEBUG 01-01 00:00:00 [cutlass_moe.py:912] CutlassBlockScaledGroupedGemm disabled: unaligned problem size. N: 100, K: 64",
    ),
    read=reads("deep_gemm", "fused_moe"),
)

PAGED = Rule(
    id="vllm/rocm-paged-attention",
    compiler=NAME,
    anchor=("Cannot use ROCm custom paged attention",),
    pattern=OPENS
    + r"(?P<reason>Cannot use ROCm custom paged attention kernel, falling back to Triton implementation)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="Decode attention runs in Triton: the head size, block size or type does not fit the ROCm kernel.",
    help="Choose a block size and a cache type that the custom kernel takes.",
    seen_in="0.33 (source), WARNING, once",
    matches=("Cannot use ROCm custom paged attention kernel, falling back to Triton implementation.",),
    at_least=True,
    read=reads("paged_attention", "attention"),
)

MQA = Rule(
    id="vllm/rocm-paged-mqa",
    compiler=NAME,
    anchor=("AITER paged-MQA logits is unavailable",),
    pattern=OPENS + r"(?P<reason>AITER paged-MQA logits is unavailable; using the PyTorch fallback)",
    kind=Kind.REFERENCE_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The index of sparse attention is computed by a reference implementation in PyTorch.",
    help="Install AITER and set VLLM_ROCM_USE_AITER=1.",
    seen_in="0.33 (source), WARNING, once",
    matches=(
        "WARNING 01-01 00:00:00 [rocm.py:1] AITER paged-MQA logits is unavailable; using the PyTorch fallback. Set VLLM_ROCM_USE_AITER=1",
    ),
    read=reads("paged_mqa_logits"),
)

AITER_MOE = Rule(
    id="vllm/aiter-moe",
    compiler=NAME,
    anchor=("VLLM_ROCM_USE_AITER_MOE=1 was requested, but",),
    pattern=OPENS
    + r"VLLM_ROCM_USE_AITER_MOE=1 was requested, but (?P<reason>.{1,300}?) Falling back to try the remaining",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="AITER's mixture-of-experts kernel was asked for and can't be used: another backend is tried.",
    help=_INSTALL,
    seen_in="0.33 (source), WARNING, once",
    matches=(
        "VLLM_ROCM_USE_AITER_MOE=1 was requested, but aiter is missing. Falling back to try the remaining available MoE backends: triton.",
    ),
    read=reads("fused_moe", "aiter"),
)

SAMPLER = Rule(
    id="vllm/sampler",
    compiler=NAME,
    anchor=(
        "FlashInfer top-p/top-k sampling unavailable",
        "required. Falling back to default sampling",
        "alling back to PyTorch-native",
        "alling back to the PyTorch-native",
        "vocab-parallel top-k uses torch.topk",
    ),
    pattern=OPENS + r"(?:FlashInfer top-p/top-k sampling unavailable: (?P<reason>.{1,300}?); falling back"
    r"|FlashInfer version >= [\d.]{1,12} required\. Falling back to default sampling"
    r"|(?P<why>(?:Currently, )?(?:FlashInfer|aiter|AITER|xpu) [^\"]{1,300}?)[.;] [Ff]alling back to (?:the )?PyTorch-native"
    r"|aiter\.ops\.sampling is not available .{1,200}?\. Falling back to PyTorch-native"
    r"|flashinfer is unavailable; vocab-parallel top-k uses torch\.topk)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="Top-p and top-k sampling runs in PyTorch, which sorts the whole vocabulary at each step.",
    help="Install flashinfer-python in the version that vLLM asks for.",
    seen_in="0.7 to 0.33, WARNING, once; for a request's own generator with FlashInfer DEBUG since 0.12",
    matches=(
        "WARNING 01-01 00:00:07 [topk_topp_sampler.py:46] FlashInfer is not available. Falling back to the PyTorch-native implementation of top-p & top-k sampling. For the best performance, please install FlashInfer.",
        "FlashInfer top-p/top-k sampling unavailable: nvcc missing; falling back. Set VLLM_USE_FLASHINFER_SAMPLER=0 to silence.",
        "WARNING 01-01 00:00:07 [topk_topp_sampler.py:38] FlashInfer version >= 0.2.3 required. Falling back to default sampling implementation.",
        "WARNING 01-01 00:00:07 [topk_topp_sampler.py:62] FlashInfer is available, but it is not enabled. Falling back to the PyTorch-native implementation of top-p & top-k sampling. For the best performance, please set VLLM_USE_FLASHINFER_SAMPLER=1.",
        "INFO 01-01 00:00:07 [topk_topp_sampler.py:44] Currently, FlashInfer top-p & top-k sampling sampler is disabled because FlashInfer>=v0.2.3 is not backward compatible. Falling back to the PyTorch-native implementation of top-p & top-k sampling.",
        "WARNING 01-01 00:00:07 [topk_topp_sampler.py:100] FlashInfer 0.2.3+ does not support per-request generators. Falling back to PyTorch-native implementation.",
        "WARNING 01-01 00:00:07 [topk_topp_sampler.py:393] aiter.ops.sampling is not available on ROCm (no module). Falling back to PyTorch-native implementation.",
        "aiter sampler does not support per-request generators; falling back to PyTorch-native.",
        "INFO 01-01 00:00:07 [logits_processor.py:39] flashinfer is unavailable; vocab-parallel top-k uses torch.topk, at roughly half the speed.",
    ),
    ignores=("INFO 01-01 00:00:07 [topk_topp_sampler.py:62] Using FlashInfer for top-p & top-k sampling.",),
    read=reads("topk_topp_sampler", "top-p", "top-k", "sampling"),
)

FUSION = Rule(
    id="vllm/fusion-not-enabled",
    compiler=NAME,
    anchor=("fusion not enabled",),
    pattern=OPENS + r"QK Norm\+RoPE(?:/MRoPE\+KVCache)? fusion not enabled(?: for a layer)?: "
    r"(?P<reason>.{1,300}?)(?:\. Falling back to (?:the )?unfused|$)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="Norm and rotary embedding of query and key run as separate kernels: the head size or type does not fit.",
    help="A cost of a few kernels a layer: allow it as cold, or add the head size to the fused kernel.",
    seen_in="0.33 (source), WARNING, once a text",
    matches=(
        "QK Norm+RoPE fusion not enabled: layer head_size=96 is not supported by fused_qk_norm_rope kernel (supported: (64, 128, 256)). Falling back to unfused QK norm + RoPE path.",
        "QK Norm+RoPE/MRoPE+KVCache fusion not enabled for a layer: head_size_v=96 differs from head_size=128, which the fused kernel does not support. Falling back to the unfused path.",
        "QK Norm+RoPE fusion not enabled: unsupported dtype torch.float32",
    ),
    read=reads("fused_qk_norm_rope", "QK Norm+RoPE"),
)

NATIVE = Rule(
    id="vllm/native-operator",
    compiler=NAME,
    anchor=("execution fallback to native is possible", ", using native implementation"),
    pattern=OPENS
    + r"(?:Op (?P<op>[\w.:]{1,120}): (?P<reason>No implementation in priority list supports all args, execution fallback to native is possible)"
    r"|Priority not set for op (?P<layer>[\w.:]{1,120}), using native implementation)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="None of the operator's kernels takes all arguments: calls may run as plain PyTorch.",
    help="Add 'native' to the operator's priority list to allow it, or give it a kernel for these arguments.",
    seen_in="0.33 (source), WARNING, once a text",
    matches=(
        "WARNING 01-01 00:00:00 [op.py:1] Op rms_norm: No implementation in priority list supports all args, execution fallback to native is possible. To silence this warning, explicitly add 'native'",
        "WARNING 01-01 00:00:00 [op.py:331] Priority not set for op rms_norm, using native implementation.",
    ),
    read=reads(),
)

_RANKS = Pattern(
    r"\btensor_parallel_size=(?:[2-9]|\d\d)|Defaulting to use \w{1,20} for distributed inference"
)


def _all_reduce(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The engine's configuration says so for one GPU too, which reduces nothing: other lines tell how many run."""
    near = chain(record.following(40), record.preceding(40))
    if match["engine"] is None or any(_RANKS.search(line.text) for line in near):
        yield from reads("all_reduce", "custom_all_reduce")(rule, record, match)


ALL_REDUCE = Rule(
    id="vllm/custom-allreduce",
    compiler=NAME,
    anchor=("Custom allreduce is disabled", "Disabled the custom all-reduce"),
    pattern=OPENS_VLLM
    + r"(?:Custom allreduce is disabled|(?P<engine>Disabled the custom all-reduce kernel)) (?P<reason>(?:because|due to) (?!.{1,40}current platform).{1,200})",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The one-shot all-reduce can't be used here: NCCL's runs after each layer.",
    help="Place the ranks on GPUs that are joined by NVLink, or pass disable_custom_all_reduce=True and allow it.",
    seen_in="0.2 to 0.33, WARNING, of the engine up to 0.8 INFO",
    matches=(
        "INFO 01-01 00:00:00 config.py:937] Disabled the custom all-reduce kernel because it is not supported on AMD GPUs.\nINFO 01-01 00:00:00 llm_engine.py:98] Initializing an LLM engine (v0.4.0) with config: model='gate', tensor_parallel_size=2, enforce_eager=False",
        "WARNING 01-01 00:00:00 [custom_all_reduce.py:1] Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs. To silence this warning, specify disable_custom_all_reduce=True explicitly.",
    ),
    ignores=(
        "INFO 01-01 00:00:00 config.py:937] Disabled the custom all-reduce kernel because it is not supported on AMD GPUs.",
        "INFO 01-01 00:00:00 [config.py:1794] Disabled the custom all-reduce kernel because it is not supported on current platform.",
    ),
    read=_all_reduce,
)

GGUF_MOE = Rule(
    id="vllm/slow-moe",
    compiler=NAME,
    anchor=("There is no support for fast MoE kernel",),
    pattern=OPENS_VLLM
    + r"(?P<reason>There is no support for fast MoE kernel for current quantization method)\. Falling back to slow",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="Experts of this quantisation are computed one after the other.",
    help="Quantise for a format that has a fused mixture-of-experts kernel.",
    seen_in="0.7 to 0.33 (source), WARNING, once",
    matches=(
        "There is no support for fast MoE kernel for current quantization method. Falling back to slow implementation. ",
    ),
    at_least=True,
    read=reads("fused_moe"),
)

REFERENCE = Rule(
    id="vllm/python-operator",
    compiler=NAME,
    anchor=("CUDA-fused xIELU not available", "flash-maxsim scoring failed"),
    pattern=OPENS
    + r"(?P<reason>CUDA-fused (?P<op>xIELU) not available|(?P<layer>flash-maxsim) scoring failed)",
    kind=Kind.REFERENCE_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The fused kernel is missing or failed: the operator runs in its version in Python.",
    help=_INSTALL,
    seen_in="0.10 to 0.33 (source), WARNING, once",
    matches=(
        "WARNING 01-01 00:00:00 [activation.py:735] CUDA-fused xIELU not available (No module named 'xielu') - falling back to a Python version.",
        "WARNING 01-01 00:00:00 [late_interaction_runner.py:173] flash-maxsim scoring failed (x); falling back to the reference MaxSim path for this process.",
    ),
    read=reads(),
)

HELION = Rule(
    id="vllm/helion-kernel",
    compiler=NAME,
    anchor=("Helion kernel",),
    pattern=OPENS + r"Helion kernel '(?P<op>[^']{1,120})' is disabled: (?P<reason>.{1,300})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The tuned kernel of this operator has no configuration for this platform, and is not used.",
    help="Tune it for this platform, or allow it as cold.",
    seen_in="0.16 to 0.33 (source), WARNING",
    matches=(
        "WARNING 01-01 00:00:00 [register.py:290] Helion kernel 'silu_mul_fp8' is disabled: no configs for x",
    ),
    read=reads(),
)

FLASHINFER = Rule(
    id="vllm/flashinfer-disabled",
    compiler=NAME,
    anchor=("FlashInfer kernels are disabled",),
    pattern=OPENS + r"(?P<reason>FlashInfer kernels are disabled: .{1,200})",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.UNKNOWN,
    meaning="No kernel of FlashInfer can be built or loaded: attention, sampling, experts and collectives take others.",
    help=_INSTALL,
    seen_in="0.24 to 0.33 (source), WARNING, once",
    matches=(
        "WARNING 01-01 00:00:00 [flashinfer.py:99] FlashInfer kernels are disabled: flashinfer-cubin is not installed and nvcc (CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda) or ninja (PATH) is missing.",
    ),
    at_least=True,
    read=reads(),
)

RULES = (
    DEEP_GEMM,
    PAGED,
    MQA,
    AITER_MOE,
    SAMPLER,
    FUSION,
    NATIVE,
    ALL_REDUCE,
    GGUF_MOE,
    REFERENCE,
    HELION,
    FLASHINFER,
)
