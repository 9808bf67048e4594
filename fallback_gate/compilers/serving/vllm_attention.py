"""Room 3: vLLM's rules for attention and its kin: another version or backend than asked for, or none. The manual page is `vllm`.

Read in the source of 0.8, 0.11, 0.16, 0.24 and 0.33: https://github.com/vllm-project/vllm/tree/main/vllm/v1/attention
and `vllm/platforms`.
"""

from __future__ import annotations

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.serving.python_log import OPENS
from fallback_gate.compilers.serving.vllm_log import NAME, reads
from fallback_gate.model import Kind, Scope

_HELP = (
    "Name the backend that the release needs (--attention-backend, VLLM_ATTENTION_BACKEND): vLLM then fails "
    "where it can't be used; or take the setting back that the message names."
)

VERSION = Rule(
    id="vllm/flash-attention-version",
    compiler=NAME,
    anchor=("defaulting to FA version", "Overriding flash_attn_version to", "fallback to flash attention"),
    pattern=OPENS
    + r"(?P<reason>(?:Cannot use FA version \d|FA4(?:'s| on) Blackwell) .{1,200}?,? defaulting to FA version \d"
    r"|\w{1,60} is not yet compatible with FlashAttention >= \d\. Overriding flash_attn_version to \d"
    r"|flash attention \d not available! fallback to flash attention \d)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="An older FlashAttention runs than the hardware has: the newer one can't take this model or setting.",
    help=_HELP,
    seen_in="0.8 to 0.33 (source), WARNING, once a text",
    matches=(
        "WARNING 01-01 00:00:00 [fa_utils.py:128] Cannot use FA version 3 with ALiBi, defaulting to FA version 2.",
        "Cannot use FA version 3 on Blackwell platform, defaulting to FA version 4 if supported, otherwise FA2.",
        "WARNING 01-01 00:00:00 [fa_utils.py:31] Cannot use FA version 3 on Blackwell platform defaulting to FA version 2.",
        "WARNING 01-01 00:00:00 [fa_utils.py:204] FA4 on Blackwell does not support head_size=512 due to TMEM capacity limits, defaulting to FA version 2.",
        "TurboQuant is not yet compatible with FlashAttention >= 3. Overriding flash_attn_version to 2. To silence this warning, pass --attention-config.flash_attn_version=2",
        "flash attention 3 not available! fallback to flash attention 2 implementation",
    ),
    read=reads("attention", "FlashAttention", "flash_attn"),
)

BACKEND = Rule(
    id="vllm/attention-kernel",
    compiler=NAME,
    anchor=(
        "native FlashInfer decode",
        "TRTLLM prefill does not support",
        "TRTLLM attention is",
        "falling back to the cute-dsl backend",
        "; falling back to Triton MLA",
        "is incompatible with this layer",
        "Found incompatible backend(s)",
        "FA4 not available, forcing",
        "Xformers is not available, falling back",
        "ASM decode instead",
        "AITER_TRITON_SPARSE_MLA is set",
        "; using Triton fallback",
        "Falling back to SoA Triton decode",
        "Sparse MLA top-k mask workspace",
    ),
    pattern=OPENS + r"(?P<reason>FlashInfer XQA decode does not support .{1,200}?native FlashInfer decode"
    r"|TRTLLM prefill does not support DCP, reverting to FlashInfer"
    r"|TRTLLM attention is (?:not supported .{1,160}? is set to 1|disabled because .{1,200})"
    r"|trtllm-gen MLA decode does not support .{1,120}; falling back to the cute-dsl backend"
    r"|FlashAttnMLA on XPU is not valid for this configuration .{1,300}; falling back to Triton MLA backend"
    r"|Selected backend (?P<name>\w{1,60}) is incompatible with this layer .{1,400}"
    r"|Found incompatible backend\(s\) \[[^\]]{1,200}\] with \S{1,60}\. Overriding with \w{1,60}"
    r"|Gemma4 model has heterogeneous head dimensions .{1,120}FA4 not available, forcing TRITON_ATTN backend"
    r"|Xformers is not available, falling back"
    r"|(?:KV cache is [\d.]{1,12} GiB per layer|VLLM_ROCM_AITER_MLA_ASM_PADDING=gluon requested), .{1,200}ASM decode instead"
    r"|VLLM_ROCM_USE_AITER_TRITON_SPARSE_MLA is set, but .{1,200}"
    r"|(?:FlyDSL \w{1,40} decode|UltraQuant FlyDSL) .{1,300}(?:; using Triton fallback|Falling back to SoA Triton decode)"
    r"|Sparse MLA top-k mask workspace .{1,60} is too small for some prefill batches)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The attention kernel that was chosen can't take this head size, layout or setting: a slower one runs.",
    help=_HELP,
    seen_in="0.11 to 0.33 (source), WARNING and INFO, once a text",
    matches=(
        "WARNING 01-01 00:00:00 [flashinfer.py:1022] FlashInfer XQA decode does not support head_dim=96; reverting this KV-cache group to native FlashInfer decode.",
        "TRTLLM prefill does not support DCP, reverting to FlashInfer",
        "WARNING 01-01 00:00:00 [flashinfer.py:756] TRTLLM attention is not supported on this platform for decode, but --attention-config.use_trtllm_attention is set to 1",
        "TRTLLM attention is disabled because KV transfer (P/D disaggregation) is enabled. TRTLLM attention requires strictly contiguous KV cache tensors",
        "trtllm-gen MLA decode does not support num_heads=24 (query/kv head ratio); falling back to the cute-dsl backend.",
        "INFO 01-01 00:00:00 [rocm.py:894] Found incompatible backend(s) [ROCM_AITER_FA] with decoder. Overriding with TRITON_ATTN out of potential backends: ['TRITON_ATTN'].",
        "INFO 01-01 00:00:00 [rocm.py:830] Selected backend ROCM_AITER_FA is incompatible with this layer (decoder) of the turboquant run; using the auto-selected per-layer backend. Reason: ['kv_cache_dtype']",
        "INFO 01-01 00:00:00 [config.py:364] Gemma4 model has heterogeneous head dimensions {256, 512}. FA4 not available, forcing TRITON_ATTN backend.",
        "WARNING 01-01 00:00:00 [layer.py:76] Xformers is not available, falling back.",
        "KV cache is 2.4 GiB per layer, past the 2 GiB where the Gluon MLA kernel drops its KV bounds mask; using the padded ASM decode instead. Lower --gpu-memory-utilization",
        "FlyDSL UltraQuant decode is unavailable (no module); using Triton fallback.",
        "Sparse MLA top-k mask workspace (64 MiB) is too small for some prefill batches; those fall back to slower sparse MQA.",
    ),
    ignores=("INFO 01-01 00:00:00 [flashinfer.py:791] Using TRTLLM decode attention (auto-detected).",),
    at_least=True,
    read=reads("attention"),
)

GDN = Rule(
    id="vllm/gated-delta-net",
    compiler=NAME,
    anchor=("Falling back to Triton/FLA", "Falling back to the Triton GDN"),
    pattern=OPENS
    + r"(?:GDN prefill backend '(?P<name>\w{1,60})' (?P<reason>(?:is selected but cannot use this kernel"
    r"|was requested but) .{1,300}?)\. Falling back to Triton/FLA"
    r"|Falling back to the Triton GDN spec decode path: (?P<why>.{1,300}))",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The gated delta rule of linear attention layers runs in the generic Triton kernel.",
    help="Look at the reason: the platform, the head sizes or the library that the faster kernel needs.",
    seen_in="0.24 to 0.33 (source), WARNING and INFO, once a text",
    matches=(
        "WARNING 01-01 00:00:00 [qwen_gdn_linear_attn.py:382] GDN prefill backend 'flashinfer' is selected but cannot use this kernel on the current platform. Falling back to Triton/FLA.",
        "GDN prefill backend 'aiter_flydsl' was requested but head_k_dim=96. Falling back to Triton/FLA.",
        "INFO 01-01 00:00:00 [qwen_gdn_linear_attn.py:715] Falling back to the Triton GDN spec decode path: no kernel for 3 tokens",
    ),
    read=reads("gdn_linear_attn", "gated_delta_rule", "linear_attention"),
)

ROTARY = Rule(
    id="vllm/rotary-embedding",
    compiler=NAME,
    anchor=("Falling back to PyTorch implementation for rotary",),
    pattern=OPENS
    + r"(?P<reason>flash_attn is not installed\. Falling back to PyTorch implementation for rotary embeddings)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="Rotary embeddings run as several PyTorch kernels in place of one fused kernel.",
    help="Install flash-attn in the version that vLLM asks for.",
    seen_in="0.10 to 0.11 (source), WARNING",
    matches=(
        "WARNING 01-01 00:00:00 [common.py:90] flash_attn is not installed. Falling back to PyTorch implementation for rotary embeddings.",
    ),
    read=reads("rotary_embedding", "apply_rotary_emb"),
)

REFUSED = Rule(
    id="vllm/no-attention-backend",
    compiler=NAME,
    anchor=("ValueError: No valid ", "is not valid for this configuration. Reason: "),
    pattern=OPENS
    + r"ValueError: (?P<reason>No valid (?:attention|MLA prefill) backend found (?:for \S{1,60} )?with .{1,4000}"
    r"|No valid attention backend found for --block-size \d{1,6}\. .{1,4000}"
    r"|Selected (?:[\w ]{1,20} )?backend (?:AttentionBackendEnum\.)?(?P<name>\w{1,60}) is not valid for this configuration\. Reason: .{1,4000})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="No attention backend, or not the one asked for, takes this head size, KV cache type or layout: the engine does not start.",
    help="Look at the reasons: change --kv-cache-dtype or --block-size, or name another --attention-backend.",
    seen_in="0.11 to 0.33 (source and public threads), an exception in each worker",
    matches=(
        "ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=576, dtype=torch.bfloat16, kv_cache_dtype=auto, use_sparse=True). Reasons: {TRITON_MLA: [sparse not supported]}.",
        "ValueError: No valid attention backend found for cuda with head_size: 80, dtype: torch.float16, kv_cache_dtype: fp8, block_size: 16, use_mla: False. Reasons: {FLASH_ATTN: [kv_cache_dtype not supported]}.",
        "ValueError: No valid attention backend found for --block-size 106. Reasons: {FLASH_ATTN: [block_size not supported]}. Either remove --block-size to auto-select, or choose a compatible value.",
        "ValueError: No valid MLA prefill backend found with MLAPrefillSelectorConfig(dtype=torch.bfloat16). Reasons: {FLASH_ATTN: [Model does not have supported MLA dimensions]}.",
        "ERROR 01-01 00:00:00 [core.py:866] ValueError: Selected backend AttentionBackendEnum.FLASHINFER is not valid for this configuration. Reason: ['sink setting not supported']",
    ),
    ignores=(
        'raise ValueError(f"No valid attention backend found for {cls.device_name} with {config_str}.")',
        "The user sent: ValueError: No valid attention backend found for cuda with head_size: 80",
        "ValueError: No valid token found with this id",
    ),
    read=reads("attention"),
)

RULES = (VERSION, BACKEND, GDN, ROTARY, REFUSED)
