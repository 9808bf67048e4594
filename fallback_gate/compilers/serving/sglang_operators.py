"""Room 3: SGLang's rules for operators, fusions and collectives that run another way. The manual page is `sglang`.

Read in the source of 0.4.9, 0.5.5, 0.5.10 and 0.5.23:
https://github.com/sgl-project/sglang/tree/main/python/sglang/srt/layers and `srt/distributed`.
"""

from __future__ import annotations

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.serving.python_log import OPENS, OPENS_SGLANG
from fallback_gate.compilers.serving.sglang_log import AT, NAME, reads
from fallback_gate.model import Kind, Scope

_HELP = "Look at the reason: a library, a platform, a size or a mode that the fast kernel needs."

LINEAR_ATTENTION = Rule(
    id="sglang/linear-attention",
    compiler=NAME,
    anchor=(
        "Falling back from fused GDN decode",
        "Falling back to Triton for prefill",
        "; falling back to Triton extend",
        "KDA cannot repack",
        "KDA prefill only supports BF16",
        "KDA prefill needs a gate lower bound",
        "GDN kernels not available",
        "KDA kernel not available",
    ),
    pattern=OPENS + r"(?P<reason>Falling back from fused GDN decode projection/Conv1D: .{1,300}"
    r"|CuTe DSL GDN prefill is not supported on this GPU .{1,80}Falling back to Triton for prefill"
    r"|(?:KDA cutedsl|PTX KDA|NVIDIA KDA) prefill needs SM\d{2,4}.{0,20}; falling back to Triton extend"
    r"|(?:NVIDIA|PTX) KDA (?:cannot repack prefill shape|prefill only supports BF16|prefill needs a gate lower bound)"
    r"|FlashInfer (?:GDN|KDA) kernels? not available: .{1,200})",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The gated delta rule of linear attention layers runs in the generic Triton kernel.",
    help=_HELP,
    seen_in="0.5.23 (source), INFO and WARNING",
    matches=(
        AT + "Falling back from fused GDN decode projection/Conv1D: batch size 3 is not supported",
        AT
        + "CuTe DSL GDN prefill is not supported on this GPU (requires SM10x). Falling back to Triton for prefill.",
        AT + "KDA cutedsl prefill needs SM100; falling back to Triton extend.",
        AT + "NVIDIA KDA cannot repack prefill shape T=7 seq_lens=[3, 4]; falling back to Triton",
        AT
        + "PTX KDA prefill needs a gate lower bound (safe gate), and this model has none. Falling back to Triton.",
    ),
    read=reads("gated_delta_rule", "linear_attention", "gdn", "kda"),
)

ATTENTION = Rule(
    id="sglang/attention-kernel",
    compiler=NAME,
    anchor=(
        "; falling back to Triton sparse attention",
        "falling back to the Triton sparse path",
        "; using the slower FP8 fallback",
        "preshuffle paged-MQA path",
        "so the standard indexer runs instead",
        "gfx950 fused DSA indexer",
        "FP8_DSA_INDEXER=0 but",
        "draft worker does not support attention_backend",
        "draft worker only supports attention_backend",
        "CUTLASS backend is disabled when piecewise",
        "disabling the gfx950 asm attention",
        "FlashAttention3 only supports fp8_e4m3",
    ),
    pattern=OPENS
    + r"(?P<reason>MiniMax .{1,60} is unavailable .{1,300}; falling back to Triton sparse attention"
    r"|MiniMax-M3 MSA decode disabled: .{1,300}; falling back to the Triton sparse path"
    r"|MSA-v1 Q8KV4 decode (?:is unavailable|indexer failed) .{1,300}; using the slower FP8 fallback"
    r"|ROCm DSA indexer: aiter preshuffle paged-MQA path is unavailable"
    r"|gfx950 fused DSA indexer(?: unavailable, build failed| disabled: |: .{1,200}so the standard indexer runs instead)"
    r"|SGLANG_DISABLE_AITER_FUSED_FP8_DSA_INDEXER=0 but unsupported"
    r"|\w{1,40} draft worker (?:does not support attention_backend|only supports attention_backend in) .{1,300}Falling back to"
    r"|CUTLASS backend is disabled when piecewise cuda graph is enabled"
    r"|\[vattn_asm\] disabling the gfx950 asm attention kernel"
    r"|FlashAttention3 only supports fp8_e4m3 if using FP8(?=; Setting attention backend to triton))",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The attention kernel that was chosen can't be used here: a slower one runs.",
    help=_HELP,
    seen_in="0.4.6 to 0.5.23 (source), WARNING",
    matches=(
        AT + "FlashAttention3 only supports fp8_e4m3 if using FP8; Setting attention backend to triton.",
        AT + "MiniMax MSA backend is unavailable (no module); falling back to Triton sparse attention.",
        AT
        + "MiniMax-M3 MSA decode disabled: page_size=64 != sparse block size 128. Pass --page-size 128 (with an attention backend that allows it, e.g. fa4 or trtllm_mha) to enable the faster MSA kernel; falling back to the Triton sparse path.",
        AT + "MSA-v1 Q8KV4 decode is unavailable (x); using the slower FP8 fallback.",
        AT
        + "ROCm DSA indexer: aiter preshuffle paged-MQA path is unavailable (needs Triton>=3.5.0 or AITER_ENABLE_AOT_GLUON_PA_MQA_LOGITS=1); falling back to legacy page_size=1 / KVBlockSize=1 path.",
        AT + "gfx950 fused DSA indexer: no workspace was preallocated, so the standard indexer runs instead.",
        AT + "DFLASH draft worker does not support attention_backend 'x' on cuda. Falling back to 'triton'.",
    ),
    read=reads("attention"),
)

FUSED = Rule(
    id="sglang/fused-operator",
    compiler=NAME,
    anchor=(
        "for JIT QK",
        "for JIT fused",
        "fused QKNorm+RoPE",
        "is unavailable, falling back:",
        "disabling fast path",
        "disabling fused path",
        "fused KV append",
        "DFLASH fused KV initialization failed",
        "falling back to einsum",
        "falls back to torch.topk",
        "falling back to the PyTorch NVFP4",
        "XPU rotary embedding will use",
        "metadata copy kernel",
        "disabling the gfx950 small-M",
        "Disable DeepGEMM in batch invariant ops",
        "disable ENABLE_JIT_DEEPGEMM",
        "speculative sampling kernel unavailable",
    ),
    pattern=OPENS
    + r"(?:Unsupported (?P<site>[\w ]{1,30}(?:=\w{1,60}| \([^)]{1,80}\)).{0,40}) (?:for|in) (?:JIT (?:fused )?|fused )"
    r"(?P<op>QK-?Norm(?:\+RoPE)?|fused_qk_norm_rope|qk_norm_rope)"
    r"|(?P<layer>(?:AITER|Triton fused|aiter fused) mHC)(?: \w{1,10}| \([^)]{1,40}\)| kernel)? (?P<reason>is unavailable, falling back|failed, disabling)"
    r"|(?P<kernel>fused_\w{1,40}) failed, disabling fused path"
    r"|DFLASH (?P<dflash>fused \S{1,10}(?: \S{1,30}){0,3}) failed[;,] falling back"
    r"|aiter (?P<wo>wo_a) batched_gemm_bf16 failed; disabling the reroute and falling back to einsum"
    r"|flashinfer is unavailable; the DFlash2 selector falls back to (?P<topk>torch\.topk)"
    r"|CuTeDSL dependencies are unavailable; falling back to the PyTorch NVFP4 (?P<finalize>MoE finalize)"
    r"|sgl_kernel\.(?P<rope>[\w.]{1,80}) is unavailable; XPU rotary embedding will use"
    r"|Warning: (?:Multi-backend f|F)used (?P<copy>metadata copy) kernel (?:not available|failed with error)"
    r"|(?P<moe>smallm_moe): disabling the gfx950 small-M MoE kernel"
    r"|Disable (?P<gemm>DeepGEMM) in batch invariant ops"
    r"|Failed to import (?P<jit>deep_gemm), disable ENABLE_JIT_DEEPGEMM"
    r"|(?P<tree>Tree speculative sampling) kernel unavailable)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The operator's fused kernel is missing, failed, or can't take this size or type: its plain parts run.",
    help=_HELP,
    seen_in="0.4.9 to 0.5.23 (source), WARNING; of metadata printed without a level",
    matches=(
        AT + "Unsupported head_dim=96 for JIT QK-Norm kernel",
        AT + "Unsupported dtype=torch.float32 for JIT fused_qk_norm_rope kernel",
        AT + "AITER mHC pre is unavailable, falling back: no module",
        AT + "fused_hy4_ihc_pre failed, disabling fused path",
        AT + "DFLASH fused KV append-by-loc failed; falling back to sequential path: x",
        AT
        + "flashinfer is unavailable; the DFlash2 selector falls back to torch.topk, which roughly halves end-to-end throughput on a large vocabulary.",
        AT
        + "aiter wo_a batched_gemm_bf16 failed; disabling the reroute and falling back to einsum for the rest of this process: x",
        "Warning: Fused metadata copy kernel not available, falling back to individual copies.",
        "Disable DeepGEMM in batch invariant ops. Performance may be suboptimal.",
        AT
        + "Tree speculative sampling kernel unavailable (likely AMD/HIP build). Falling back to greedy verification.",
    ),
    read=lambda rule, record, match: reads(
        next(
            match[name]
            for name in ("op", "layer", "kernel", "dflash", "wo", "topk", "finalize", "rope", "copy", "moe")
            + ("gemm", "jit", "tree")
            if match[name]
        )
    )(rule, record, match),
)

EXPERT_LOOP = Rule(
    id="sglang/expert-loop",
    compiler=NAME,
    anchor=("fall back to the PyTorch expert loop",),
    pattern=OPENS
    + r"(?P<reason>[^\"]{1,80} is unavailable; .{1,60} experts fall back to the PyTorch expert loop)",
    kind=Kind.REFERENCE_KERNEL,
    scope=Scope.OPERATOR,
    meaning="Experts are computed one after the other in PyTorch.",
    help=_HELP,
    seen_in="0.5.23 (source), WARNING",
    matches=(
        AT
        + "FlashInfer's TRT-LLM BF16 MoE is unavailable; Muse Spark's BF16 experts fall back to the PyTorch expert loop.",
    ),
    read=reads("fused_moe"),
)

FUSION = Rule(
    id="sglang/fusion-disabled",
    compiler=NAME,
    anchor=(
        ", falling back to standard implementation",
        "FlashInfer AllReduce fusion disabled",
        "FlashInfer allreduce fusion disabled",
        "Disabling flashinfer allreduce fusion",
        "Shared experts fusion optimization is disabled",
        "Disabling Qwen shared-expert fusion",
        "Disable --enable-aiter-allreduce-fusion",
        "Finalize AR fusion unavailable",
        "shared expert will not be quantized or fused",
        "_AR_FUSION requested but",
    ),
    pattern=OPENS
    + r"(?:flashinfer\.comm .{0,60}?(?P<reason>is not available.{0,200}?), falling back to standard implementation"
    r"|FlashInfer not available, falling back to standard implementation"
    r"|FlashInfer [Aa]ll[Rr]educe fusion disabled.{1,300}"
    r"|Failed to initialize FlashInfer workspace.{1,300}Disabling flashinfer allreduce fusion permanently"
    r"|Disable --enable-aiter-allreduce-fusion (?:because|for) .{1,200}"
    r"|Finalize AR fusion unavailable.{1,200}"
    r"|SGLANG_K3_AR_FUSION requested but .{1,200}"
    r"|(?P<experts>[^\"]{1,300}Shared experts fusion optimization is disabled"
    r"|Disabling Qwen shared-expert fusion: .{1,200}"
    r"|--enforce-shared-experts-fusion was passed but .{1,300}))",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="A fused kernel is turned off: its parts run one after the other in each layer.",
    help=_HELP,
    seen_in="0.5.5 to 0.5.23 (source), WARNING, of shared experts INFO",
    matches=(
        AT + "flashinfer.comm is not available, falling back to standard implementation",
        AT
        + "flashinfer.comm allreduce_fusion API is not available (no module), falling back to standard implementation",
        AT
        + "FlashInfer allreduce fusion disabled globally because workspace initialization failed on at least one rank.",
        AT
        + "Failed to initialize FlashInfer workspace (backend=auto): x. Disabling flashinfer allreduce fusion permanently.",
        AT
        + "Deepseek V3/R1 with W4AFP8 quantization can not use shared experts fusion. Shared experts fusion optimization is disabled.",
        AT + "Finalize AR fusion unavailable: custom AR v2 is required. Using separate finalize and AR.",
    ),
    read=lambda rule, record, match: reads(
        *(("shared_experts", "fused_moe") if match["experts"] else ("fused_allreduce_rms", "all_reduce"))
    )(rule, record, match),
)

COLLECTIVE = Rule(
    id="sglang/collective",
    compiler=NAME,
    anchor=(
        "educe is disabled because",
        "educe is disabled due to",
        "educeV2 is disabled because",
        "educeV2 is disabled due to",
        "quick allreduce is disabled:",
        "PyMscclpp is disabled due to",
        "Setup Custom allreduce failed",
        "all-reduce not available; falling back",
        "call path: NCCL (custom AR disabled)",
        "PCIE_IPC_ALLREDUCE is set but",
        "multimem all-gather disabled",
        "; falling back to MORI EPv1",
    ),
    pattern=OPENS_SGLANG
    + r"(?P<reason>(?:Custom (?:quick )?allreduce|\w{0,30}All[Rr]educe\w{0,10}|PyMscclpp) is disabled "
    r"(?:because (?!of missing)|due to ).{1,200}"
    r"|Setup Custom allreduce failed with .{1,200}"
    r"|\[AR\] Aiter custom all-reduce not available; falling back"
    r"|\[AR\] All-reduce call path: NCCL \(custom AR disabled\)"
    r"|SGLANG_ENABLE_PCIE_IPC_ALLREDUCE is set but .{1,200}; falling back to NCCL"
    r"|multimem all-gather disabled .{1,120}"
    r"|MORI EPv2 does not support .{1,200}; falling back to MORI EPv1)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The collective that was asked for can't be used here: a slower one runs after each layer.",
    help="Place the ranks on GPUs that are joined by NVLink, or turn it off by its option and allow it.",
    seen_in="0.4.9 to 0.5.23 (source), WARNING and INFO",
    matches=(
        AT
        + "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs. To silence this warning, specify disable_custom_all_reduce=True explicitly.",
        AT
        + "CustomAllreduce is disabled because your platform lacks GPU P2P capability or P2P test failed. To silence this warning",
        AT
        + "Custom quick allreduce is disabled due to an unsupported world size: 6. Supported world sizes: [2, 4, 8].",
        AT
        + "Setup Custom allreduce failed with x. To silence this warning, specify --disable-custom-all-reduce explicitly.",
        AT + "[AR] All-reduce call path: NCCL (custom AR disabled)",
        AT + "multimem all-gather disabled because the TP group spans across nodes.",
    ),
    ignores=(AT + "Custom quick allreduce is disabled because of missing custom quick allreduce library",),
    read=reads("all_reduce"),
)

RULES = (LINEAR_ATTENTION, ATTENTION, FUSED, EXPERT_LOOP, FUSION, COLLECTIVE)
