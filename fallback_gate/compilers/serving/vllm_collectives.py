"""Room 3: vLLM's rules for fused passes and collectives that were turned off. The manual page is `vllm`.

Read in the source of 0.11 to 0.33: https://github.com/vllm-project/vllm/tree/main/vllm/compilation/passes and
`vllm/distributed/device_communicators`.
"""

from __future__ import annotations

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.serving.python_log import OPENS, OPENS_VLLM
from fallback_gate.compilers.serving.vllm_log import NAME, reads
from fallback_gate.model import Kind, Scope

_HELP = (
    "Look at the reason: a library that is missing, a size, or a link between the GPUs that the kernel needs."
)

ALL_REDUCE_FUSION = Rule(
    id="vllm/allreduce-fusion",
    compiler=NAME,
    anchor=(
        "skipping allreduce fusion pass",
        "allreduce fusion is not supported",
        "Failed to initialize Flashinfer allreduce",
        "allreduce fusions are disabled",
        "AITER allreduce-rmsnorm fusion",
        "AITER AR+RMS",
        "fused allreduce+RMSNorm Lamport",
    ),
    pattern=OPENS
    + r"(?P<reason>Flashinfer is not installed or comm module not found, skipping allreduce fusion pass"
    r"|Flashinfer allreduce fusion is not supported for world size \d{1,6}"
    r"|Failed to initialize Flashinfer allreduce workspace\. .{1,80} will be disabled"
    r"|AITER allreduce fusions are disabled because .{1,200}"
    r"|AITER (?:allreduce-rmsnorm|AR\+RMS\S{1,40}) fusion disabled: .{1,200}"
    r"|Failed to initialize MiniMax fused allreduce\+RMSNorm Lamport workspace)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="All-reduce and the norm behind it run as separate kernels in each layer, where a fused one was to run.",
    help=_HELP,
    seen_in="0.10 to 0.33 (source), WARNING",
    matches=(
        "WARNING 01-01 00:00:00 [allreduce_rms_fusion.py:1006] Flashinfer is not installed or comm module not found, skipping allreduce fusion pass",
        "Flashinfer allreduce fusion is not supported for world size 6 or max size is not provided",
        "Failed to initialize Flashinfer allreduce workspace. Flashinfer allreduce-norm fusion will be disabled.",
        "AITER allreduce-rmsnorm fusion disabled: aiter<0.1.12 only supports hidden_dim in (1, 2); got 7. Upgrade aiter",
        "AITER AR+RMS+per-group-FP8-quant fusion disabled: aiter build is missing 'fused_ar_rms_per_group_quant'.",
        "Failed to initialize MiniMax fused allreduce+RMSNorm Lamport workspace: x. This is expected on GPUs without P2P (IPC peer access) support. Falling back to the eager allreduce + RMSNorm path.",
    ),
    ignores=(
        "WARNING 01-01 00:00:00 [allreduce_rms_fusion.py:990] AllReduce fusion pass is disabled for tp_size <= 1.",
    ),
    read=reads("fused_allreduce_rms", "all_reduce", "rms_norm"),
)

FUSION = Rule(
    id="vllm/fused-kernel-disabled",
    compiler=NAME,
    anchor=(
        ". The fusion will be disabled",
        "splitting_ops is None and",
        "incompatible with GEMM-RS/AR",
        "using the stock path instead",
        "HPC gated MLA disabled",
        "HPC iHC disabled",
        "Disabling MegaMoE shared-expert fusion",
        "FUSION_SHARED_EXPERTS is enabled but cannot",
        "Disabling fused Moondream3",
    ),
    pattern=OPENS
    + r"(?:(?P<op>QK[ -]Norm ?\+ ?RoPE(?:\+KVCache)?|Padding|MLA dual RMS norm|KV cache|MLA KV cache update with RoPE) "
    r"fusion (?P<reason>.{1,120}?)\. The fusion will be disabled"
    r"|(?P<layer>fuse_\w{1,60}) is enabled, but splitting_ops is None and Inductor graph partition is not enabled"
    r"|Some projections are incompatible with (?P<name>GEMM-RS/AR)"
    r"|[^\"]{1,60} specialized decode: .{1,120}; using the stock path instead"
    r"|HPC (?:gated MLA|iHC) disabled: .{1,200}"
    r"|Disabling MegaMoE shared-expert fusion: .{1,200}"
    r"|VLLM_ROCM_USE_AITER_FUSION_SHARED_EXPERTS is enabled but cannot be enabled.{1,200}"
    r"|Disabling fused Moondream3 MoE path and falling back to the Python expert loop)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="A fused kernel that was asked for is turned off: its parts run one after the other.",
    help=_HELP,
    seen_in="0.16 to 0.33 (source), WARNING, once a text",
    matches=(
        "WARNING 01-01 00:00:00 [compilation.py:265] QK Norm + RoPE fusion enabled but the current platform is not CUDA, ROCm or XPU. The fusion will be disabled.",
        "QK-Norm+RoPE+KVCache fusion requires ROCm with AITER. The fusion will be disabled.",
        "fuse_rope_kvcache is enabled, but splitting_ops is None and Inductor graph partition is not enabled.Disabling fuse_rope_kvcache.Please",
        "Some projections are incompatible with GEMM-RS/AR; using the unfused path instead.",
        "DeepSeek-V4.1 specialized decode: moe needs flashinfer-python 0.8 (found 0.7); using the stock path instead.",
        "HPC gated MLA disabled: 'hpc' package is not installed. Please install the HPC library (.so) to enable the fused kernel.",
        "VLLM_ROCM_USE_AITER_FUSION_SHARED_EXPERTS is enabled but cannot be enabled - skipping for this layer: x.",
        "WARNING 01-01 00:00:00 [moondream3.py:525] Disabling fused Moondream3 MoE path and falling back to the Python expert loop: x",
    ),
    read=reads("fusion"),
)

ALL_REDUCE = Rule(
    id="vllm/custom-collectives",
    compiler=NAME,
    anchor=(
        "Custom quick allreduce is disabled",
        "Custom collectives are disabled",
        "failed on at least one rank",
        "FlashInfer mnnvl allreduce",
        "; falling back to another",
        "FlashInfer All Reduce is disabled because",
        "symmetric memory initialization failed",
        "; falling back to gloo",
        "CPU SHM communicator disabled",
    ),
    pattern=OPENS_VLLM
    + r"(?P<reason>Custom quick allreduce is disabled(?:: | because (?!of missing)| due to ).{1,200}"
    r"|Custom collectives are disabled because .{1,200}"
    r"|MNNVL multimem \S{1,40} symmetric-memory \w{1,20} failed on at least one rank"
    r"|FlashInfer mnnvl allreduce .{0,60}workspace unavailable"
    r"|FlashInfer PCIe IPC all-reduce .{1,200}; falling back to another"
    r"|FlashInfer All Reduce is disabled because .{1,120}"
    r"|SymmMemCommunicator: symmetric memory initialization failed"
    r"|Distributed backend \S{1,60} is not available; falling back to gloo"
    r"|CPU SHM communicator disabled for group)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The collective that was asked for can't be used here: a slower one runs after each layer.",
    help=_HELP,
    seen_in="0.10 to 0.33 (source), WARNING and INFO",
    matches=(
        "WARNING 01-01 00:00:00 [quick_all_reduce.py:130] Custom quick allreduce is disabled due to an unsupported world size: 6. Supported world sizes: [2, 4, 8].",
        "Custom collectives are disabled because this multi-node group does not support MNNVL multicast.",
        "MNNVL multimem reduce-scatter symmetric-memory allocation failed on at least one rank; falling back to NCCL.",
        "FlashInfer mnnvl allreduce workspace unavailable (likely no NVSwitch multicast support); falling back to trtllm backend for single node.",
        "FlashInfer PCIe IPC all-reduce does not support dtype=torch.float32; falling back to another all-reduce backend.",
        "INFO 01-01 00:00:00 [flashinfer_all_reduce.py:402] FlashInfer All Reduce is disabled because flashinfer is not available",
        "SymmMemCommunicator: symmetric memory initialization failed: x Communicator is not available.",
        "Distributed backend xccl is not available; falling back to gloo.",
        "CPU SHM communicator disabled for group tp:0: ranks do not share the same SHM group name, falling back to torch.distributed.",
    ),
    ignores=(
        "INFO 01-01 00:00:00 [quick_all_reduce.py:103] Custom quick allreduce is disabled because of missing custom quick allreduce library",
    ),
    read=reads("all_reduce"),
)

ALL_TO_ALL = Rule(
    id="vllm/all-to-all",
    compiler=NAME,
    anchor=(
        "Falling back to AllGather+ReduceScatter",
        "all2all backend has been removed",
        "all2all manager is not supported on",
    ),
    pattern=OPENS
    + r"(?P<reason>Detected DP deployment with no --enable-expert-parallel\. Falling back to AllGather\+ReduceScatter"
    r"|The '(?P<name>\w{1,60})' all2all backend has been removed"
    r"|`(?P<layer>\w{1,60})` all2all manager is not supported on \w{1,20}\. Falling back)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="Tokens go to their experts by an all-gather of all of them, in place of a targeted exchange.",
    help="Serve with --enable-expert-parallel and an --all2all-backend that this platform has.",
    seen_in="0.11 to 0.33 (source), WARNING and INFO",
    matches=(
        "INFO 01-01 00:00:00 [all2all_utils.py:219] Detected DP deployment with no --enable-expert-parallel. Falling back to AllGather+ReduceScatter dispatch/combine.",
        "WARNING 01-01 00:00:00 [parallel.py:538] The 'pplx' all2all backend has been removed. Falling back to 'allgather_reducescatter'.",
        "`deepep_low_latency` all2all manager is not supported on XPU. Falling back to AgRs manager for XPU, which is the Default backend",
    ),
    read=reads("all_to_all", "all2all"),
)

RULES = (ALL_REDUCE_FUSION, FUSION, ALL_REDUCE, ALL_TO_ALL)
