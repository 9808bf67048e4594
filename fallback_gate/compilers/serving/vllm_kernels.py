"""Room 3: vLLM's rules for kernels: a weaker one than asked for, or one without a tuned configuration.

The manual page is `vllm`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.serving.python_log import OPENS, OPENS_VLLM
from fallback_gate.compilers.serving.vllm_log import NAME, pid, reads
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

TUNED = {
    "MoE": "fused_moe",
    "W8A8 Block FP8": "w8a8_block_fp8_matmul",
    "W8A8 Block INT8": "w8a8_block_int8_matmul",
    "Mamba SSU": "selective_state_update",
    "FlyDSL MoE": "fused_moe",
}
_ATTENTION_HELP = (
    "Name the backend that the release needs (--attention-backend, VLLM_ATTENTION_BACKEND): vLLM then "
    "fails where it can't be used."
)
_QUANT_HELP = (
    "Quantise for a format that has a kernel on this hardware, or take the layer out of the quantisation."
)
TUNE_HELP = (
    "Tune the kernel for this shape and device, and ship the JSON file (vLLM: "
    "benchmarks/kernels/benchmark_moe.py, SGLang: benchmark/kernels/fused_moe_triton)."
)


def shape_of(path: str) -> str:
    """The shape and device that the name of a missing configuration file tells: `E=64,N=512,device_name=X`."""
    listed = path.replace("\\", "/").rstrip("]'\". ").replace("'", "")
    return PurePosixPath(listed.split(".json,")[-1].strip('[" ')).name.removesuffix(".json")[:200]


def untuned(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A configuration file that is missing: the kernel, and the shape and device in the file's name."""
    op, shape = TUNED[match["kernel"]], shape_of(match["reason"])
    report = by_groups(rule, record, match)
    yield report._replace(op=op, names=(op, shape), site=shape, pid=pid(record))


UNTUNED = Rule(
    id="vllm/default-kernel-config",
    compiler=NAME,
    anchor=("Performance might be sub-optimal! Config file not found at",),
    pattern=OPENS_VLLM
    + r"Using default (?P<kernel>(?:FlyDSL )?MoE|W8A8 Block (?:FP8|INT8)|Mamba SSU)(?: kernel)? config\. "
    r"Performance might be sub-optimal! Config file not found at (?P<reason>\S.*)",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="No tuned tile sizes are shipped for this shape and device: the kernel runs with default ones.",
    help=TUNE_HELP,
    seen_in="0.2 to 0.33, WARNING, once a text",
    matches=(
        "(VllmWorker rank=3 pid=11) WARNING 01-01 00:00:00 [fused_moe.py:1165] Using default MoE config. Performance might be sub-optimal! Config file not found at /app/vllm/model_executor/layers/fused_moe/configs/E=128,N=768,device_name=NVIDIA_X.json",
        "Using default W8A8 Block FP8 kernel config. Performance might be sub-optimal! Config file not found at /x/N=1536,K=7168.json",
        "Using default Mamba SSU config. Performance might be sub-optimal! Config file not found at /x.json",
        "Using default FlyDSL MoE config. Performance might be sub-optimal! Config file not found at /x/E=8,N=64.json",
    ),
    ignores=(
        "WARNING 01-01 00:00:00 [utils.py:276] Using default LoRA kernel configs",
        "docs: Using default MoE config. Performance might be sub-optimal! Config file not found at /x.json",
    ),
    read=untuned,
)

TACTICS = Rule(
    id="vllm/flashinfer-tactics",
    compiler=NAME,
    anchor=(
        "autotune cache entries found",
        "Skipping FlashInfer autotune because",
        "decode autotune because FlashInfer autotuner",
    ),
    pattern=OPENS
    + r"(?P<reason>No FlashInfer .{0,80}?autotune cache entries found\. ?Falling back to .{1,20} default tactic|"
    r"No FlashInfer autotune cache entries found\. ?Falling back to default tactics"
    r"|Skipping FlashInfer (?:autotune because it is disabled"
    r"|SM120 (?P<name>sparse MLA) decode autotune because FlashInfer autotuner is unavailable))",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.PROGRAM,
    meaning="FlashInfer's kernels were not tuned for this model: each takes its default tactic.",
    help="Serve with --enable-flashinfer-autotune, at optimisation level 1 or above.",
    seen_in="0.16 to 0.33 (source), WARNING; where it is turned off INFO",
    matches=(
        "WARNING 01-01 00:00:00 [kernel_warmup.py:179] No FlashInfer autotune cache entries found.Falling back to default tactics.",
        "WARNING 01-01 00:00:00 [flashinfer_sparse_mla_warmup.py:212] No FlashInfer SM120 sparse MLA fp8 decode autotune cache entries found. Falling back to FlashInfer's default tactic heuristic.",
        "INFO 01-01 00:00:00 [kernel_warmup.py:270] Skipping FlashInfer autotune because it is disabled.",
        "Skipping FlashInfer SM120 sparse MLA decode autotune because FlashInfer autotuner is unavailable.",
    ),
    read=reads(None, "flashinfer"),
)

TRANSFORMERS = Rule(
    id="vllm/transformers-implementation",
    compiler=NAME,
    anchor=("no vLLM implementation, falling back to Transformers", "failed to match and/or fuse any MLA"),
    pattern=OPENS
    + r"(?:(?P<op>\S{1,200}) has (?P<reason>no vLLM implementation, falling back to Transformers implementation)"
    r"|This model uses (?P<layer>MLA) but `MLAFuser` failed to match and/or fuse any MLA attention layers)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.PROGRAM,
    meaning="vLLM has no model of this architecture: the one of Transformers runs, without vLLM's fused layers.",
    help="Add the architecture to vLLM, or serve a model that it knows.",
    seen_in="0.33 (source), WARNING",
    matches=(
        "WARNING 01-01 00:00:00 [utils.py:319] GateForCausalLM has no vLLM implementation, falling back to Transformers implementation. Some features may not be supported and performance may not be optimal.",
        "WARNING 01-01 00:00:00 [base.py:727] This model uses MLA but `MLAFuser` failed to match and/or fuse any MLA attention layers. Falling back to full attention with a padded `value` head dimension.",
    ),
    read=reads(),
)

LAYER = Rule(
    id="vllm/unoptimized-layer",
    compiler=NAME,
    anchor=("Falling back to unoptimized AWQ kernels", "Falling back to Moe WNA16 kernels"),
    pattern=OPENS_VLLM + r"Layer '(?P<layer>[^']{1,300})' is not supported by (?P<name>\w{1,60})\. "
    r"(?P<reason>Falling back to (?:unoptimized AWQ|Moe WNA16) kernels)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The layer's shape does not fit the Marlin kernel: a slower quantised kernel runs.",
    help=_QUANT_HELP,
    seen_in="0.5 to 0.33 (source), WARNING, once a text",
    matches=(
        "Layer 'model.layers.0.mlp.gate_up_proj' is not supported by AutoAWQMarlin. Falling back to unoptimized AWQ kernels.",
        "WARNING 01-01 00:00:00 [gptq_marlin.py:1] Layer 'model.layers.0.mlp.experts' is not supported by GPTQMoeMarlin. Falling back to Moe WNA16 kernels.",
    ),
    ignores=("'Layer 'x' is not supported by AWQMarlin. Falling back to unoptimized AWQ kernels.'",),
    read=reads(),
)

NVFP4 = Rule(
    id="vllm/emulated-quantization",
    compiler=NAME,
    anchor=("falling back to the slow and unoptimized emulation",),
    pattern=OPENS + r"NVFP4 linear (?P<reason>falling back to the slow and unoptimized emulation backend)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="No NVFP4 kernel fits this GPU: weights are dequantised at each call.",
    help=_QUANT_HELP,
    seen_in="0.33 (source), WARNING, once; the reasons follow",
    matches=(
        "WARNING 01-01 00:00:00 [nvfp4_utils.py:1] NVFP4 linear falling back to the slow and unoptimized emulation backend as no optimized backend is available (unavailable reasons:",
    ),
    at_least=True,
    read=reads("nvfp4_linear", "linear"),
)

WEIGHT_ONLY = Rule(
    id="vllm/weight-only-quantization",
    compiler=NAME,
    anchor=("Your GPU does not have native support for",),
    pattern=OPENS_VLLM
    + r"(?P<reason>Your GPU does not have native support for (?P<name>FP[48]) computation but FP[48] quantization is being used)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The GPU has no tensor cores for the format: it only compresses the weights, through the Marlin kernel.",
    help=_QUANT_HELP,
    seen_in="0.5 to 0.33 (source), WARNING, once",
    matches=(
        "WARNING 01-01 00:00:00 [marlin.py:1] Your GPU does not have native support for FP8 computation but FP8 quantization is being used. Weight-only FP8 compression will be used leveraging the Marlin kernel.",
    ),
    at_least=True,
    read=reads("linear"),
)

LINEAR = Rule(
    id="vllm/linear-kernel",
    compiler=NAME,
    anchor=("--linear-backend=",),
    pattern=OPENS
    + r"(?:--linear-backend=(?P<name>\S{1,60}) (?P<reason>was requested, but no \S{1,60} kernel exists for .{1,120}? layers|"
    r"requested FlashInfer mm_bf16 backend \S{1,60}, but it is unavailable)"
    r"|VLLM_BATCH_INVARIANT overrides --linear-backend=\S{1,60}; using the (?:emulation|Triton) backend)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The kernel that was asked for has no version for this layer's format, hardware or mode: another one is taken.",
    help=_QUANT_HELP,
    seen_in="0.24 to 0.33 (source), WARNING, once a text",
    matches=(
        "--linear-backend=cutlass was requested, but no cutlass kernel exists for MXFP4 layers; falling back to normal kernel selection for this layer.",
        "--linear-backend=flashinfer requested FlashInfer mm_bf16 backend 'cudnn', but it is unavailable on the current hardware or environment; using automatic selection for unquantized linear layers.",
        "VLLM_BATCH_INVARIANT overrides --linear-backend=cutlass; using the emulation backend for deterministic execution.",
    ),
    ignores=("vllm serve /app/gate --linear-backend=cutlass",),
    read=reads("linear"),
)

ONEDNN = Rule(
    id="vllm/torch-linear",
    compiler=NAME,
    anchor=("Failed to create oneDNN linear",),
    pattern=OPENS + r"Failed to create oneDNN linear, fallback to torch linear\. Exception: (?P<reason>.*)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="oneDNN refused the weight: the linear layer runs as a framework call.",
    help="Look at the exception: most often the type of the weights.",
    seen_in="0.33 (source), WARNING, once a text",
    matches=(
        "WARNING 01-01 00:00:00 [utils.py:1] Failed to create oneDNN linear, fallback to torch linear. Exception: bad dtype",
    ),
    read=reads("linear", "oneDNN linear"),
)

ATTENTION = Rule(
    id="vllm/attention-backend",
    compiler=NAME,
    anchor=(
        "Cannot use Flash",
        "precluded higher-priority backend",
        "Falling back to Triton Attention backend",
    ),
    pattern=OPENS
    + r"(?P<reason>Cannot use (?P<name>Flash Attention|FlashAttention(?:-2)?) backend (?:because|due to|for) .{1,200}"
    r"|--block-size \d{1,6} precluded higher-priority backend\(s\) .{1,200}?\. Using \w{1,60} instead"
    r"|Flash Attention on XPU does not support .{1,120}?\. Falling back to Triton Attention backend)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="A faster attention backend was refused: another one runs in each layer.",
    help=_ATTENTION_HELP,
    seen_in="0.2 to 0.8 (public threads) INFO, 0.33 (source) WARNING",
    matches=(
        "(VllmWorker rank=3 pid=12) INFO 01-01 00:00:07 [cuda.py:202] Cannot use Flash Attention backend for Turing GPUs.",
        "INFO 12-06 17:06:57 selector.py:261] Cannot use FlashAttention-2 backend for Volta and Turing GPUs.",
        "--block-size 48 precluded higher-priority backend(s) FLASH_ATTN. Using TRITON_ATTN instead, which may result in reduced performance.",
        "Flash Attention on XPU does not support float32 dtype. Falling back to Triton Attention backend.",
    ),
    ignores=(
        "INFO 01-01 00:00:00 [cuda.py:508] Using TRITON_ATTN attention backend out of potential backends: ['TRITON_ATTN', 'FLEX_ATTENTION'].",
        "- `Cannot use FlashAttention-2 backend for Volta and Turing GPUs`: expected",
    ),
    read=reads("attention", "Flash Attention"),
)

RULES = (UNTUNED, TACTICS, TRANSFORMERS, LAYER, NVFP4, WEIGHT_ONLY, LINEAR, ONEDNN, ATTENTION)
