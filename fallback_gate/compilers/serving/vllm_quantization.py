"""Room 3: vLLM's rules for quantised layers that run emulated, or through a slower kernel. The manual page is `vllm`.

Read in the source of 0.8, 0.11, 0.16, 0.24 and 0.33:
https://github.com/vllm-project/vllm/tree/main/vllm/model_executor/layers/quantization and `fused_moe` beside it.
"""

from __future__ import annotations

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.serving.python_log import OPENS, OPENS_VLLM
from fallback_gate.compilers.serving.vllm_log import NAME, reads
from fallback_gate.model import Kind, Scope

_HELP = (
    "Quantise for a format that has a kernel on this hardware, or install the library that the message names."
)

EMULATED = Rule(
    id="vllm/emulated-quantization",
    compiler=NAME,
    anchor=(
        "imulated weight dequantization",
        "batch-invariant NVFP4 kernel",
        "Aiter Triton kernel not found",
    ),
    pattern=OPENS
    + r"(?P<reason>The current platform (?:does not support native|supports native) MXFP4(?:/MXFP6)? computation.{1,200}?"
    r"[Ss]imulated weight dequantization"
    r"|VLLM_BATCH_INVARIANT is set but the batch-invariant NVFP4 kernel is not supported on this platform"
    r"|\[W4A8 MXFP4\+FP8\] Aiter Triton kernel not found\. Using emulation mode)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="No kernel of this format fits this platform: weights are dequantised at each call, and computed in high "
    "precision.",
    help=_HELP,
    seen_in="0.11 to 0.33 (source), WARNING and INFO, once a text",
    matches=(
        "WARNING 01-01 00:00:00 [quark_ocp_mx.py:91] The current platform does not support native MXFP4/MXFP6 computation. Simulated weight dequantization and activation QDQ (quantize and dequantize) will be used, with the linear layers computed in high precision.",
        "WARNING 01-01 00:00:00 [emulation.py:101] The current platform does not support native MXFP4 computation. Using EmulationMxfp4LinearKernel, with simulated weight dequantization and activation QDQ (quantize and dequantize)",
        "The current platform supports native MXFP4/MXFP6 computation, but kernels for input_dtype=mxfp6 and weight_dtype=mxfp4 are not yet integrated in vLLM. Simulated weight dequantization",
        "INFO 01-01 00:00:00 [__init__.py:1230] VLLM_BATCH_INVARIANT is set but the batch-invariant NVFP4 kernel is not supported on this platform; falling back to emulation for deterministic execution. Reason: x",
        "[W4A8 MXFP4+FP8] Aiter Triton kernel not found. Using emulation mode.",
    ),
    at_least=True,
    read=reads("linear"),
)

EMULATED_MOE = Rule(
    id="vllm/emulated-moe",
    compiler=NAME,
    anchor=("EmulationTritonExperts M",),
    pattern=OPENS + r"(?P<reason>Using (?P<name>\w{1,60}EmulationTritonExperts) M[Oo]E backend)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="No quantised mixture-of-experts kernel fits this GPU: the weights of the experts are dequantised first.",
    help=_HELP,
    seen_in="0.16 to 0.33 (source), WARNING, once",
    matches=(
        "WARNING 01-01 00:00:00 [nvfp4_emulation_moe.py:347] Using Nvfp4QuantizationEmulationTritonExperts MOE backend. This will dequantize weights on the fly and may be slower than native quantized MOE.",
        "Using Mxfp8EmulationTritonExperts MoE backend. Weights are dequantized to BF16 on the fly; this is slower than a native MXFP8 MoE kernel",
    ),
    at_least=True,
    read=reads("fused_moe"),
)

WEIGHT_ONLY_MOE = Rule(
    id="vllm/moe-quantization",
    compiler=NAME,
    anchor=(
        "lacks native FP4 compute",
        "supports native MXFP4 W4A4 MOE",
        "MoE is enabled on Hopper",
        "Falling back to Marlin FP4",
        "No Mxfp4 MoE backend supports",
    ),
    pattern=OPENS
    + r"(?P<reason>This device lacks native FP4 compute; using weight-only FP4 via the Marlin kernel"
    r"|This platform supports native MXFP4 W4A4 MOE computation via AITER MOE backend, but AITER is not found or not supported"
    r"|MXFP4 MoE is enabled on Hopper/Blackwell but FlashInfer is not available"
    r"|Falling back to Marlin FP4 MoE kernel"
    r"|No Mxfp4 MoE backend supports activation=\S{1,200} for the deployment configuration\. Falling back to '(?P<name>\w{1,60})')",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The experts' format only compresses their weights, or a slower kernel computes them: the library or the "
    "hardware of the faster one is missing.",
    help=_HELP,
    seen_in="0.10 to 0.33 (source), WARNING and INFO, once a text",
    matches=(
        "WARNING 01-01 00:00:00 [inc_mxfp4_moe.py:207] This device lacks native FP4 compute; using weight-only FP4 via the Marlin kernel, which may reduce performance for compute-heavy workloads.",
        "This platform supports native MXFP4 W4A4 MOE computation via AITER MOE backend, but AITER is not found or not supported. Consider installing AITER",
        "WARNING 01-01 00:00:00 [mxfp4.py:142] MXFP4 MoE is enabled on Hopper/Blackwell but FlashInfer is not available. This may result in degraded performance.",
        "INFO 01-01 00:00:00 [nvfp4_moe_support.py:52] Falling back to Marlin FP4 MoE kernel.",
        "No Mxfp4 MoE backend supports activation=mxfp8 for the deployment configuration. Falling back to 'marlin' with BF16 activations.",
    ),
    at_least=True,
    read=reads("fused_moe"),
)

KERNEL = Rule(
    id="vllm/quantized-kernel",
    compiler=NAME,
    anchor=(
        "No MXFP4 linear kernel supports",
        "Falling back to the AITER Triton FP4 GEMM",
        "ZentorchWNA16 fast path",
        "ARK backend is unavailable",
        "alling back to BF16 WO_A",
        "Auto-disabled DeepGemm",
        "quantization is not fully optimized yet",
        "Detected that the model can run with",
    ),
    pattern=OPENS_VLLM
    + r"(?:(?P<reason>No MXFP4 linear kernel supports \S{1,60} activations on this platform"
    r"|AITER ASM FP4 GEMM requires .{1,200}?\. Falling back to the AITER Triton FP4 GEMM"
    r"|\[zen_cpu\] ZentorchWNA16 fast path not eligible for this layer"
    r"|ARK backend is unavailable for(?: MoE)? layer (?P<layer>[^\s;]{1,300}); falling back to the default"
    r"|(?:The )?DeepSeek V4 FP8 WO_A .{1,300}?[Ff]alling back to BF16 WO_A"
    r"|Auto-disabled (?P<name>DeepGemm) for model_type=\S{1,100} on Blackwell"
    r"|(?P<scheme>[\w-]{1,60}) quantization is not fully optimized yet"
    r"|Detected that the model can run with (?P<better>\w{1,60}), however you specified quantization=\w{1,60} explicitly))",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The quantised kernel that fits best can't take this layer, platform or model: a slower one runs.",
    help=_HELP,
    seen_in="0.2 to 0.33 (source), WARNING, for ARK at MoE layers INFO, at others DEBUG",
    matches=(
        "WARNING 01-01 00:00:00 [compressed_tensors_w4a8_mxfp4.py:27] No MXFP4 linear kernel supports mxfp8 activations on this platform; falling back to MXFP4 activations. x",
        "AITER ASM FP4 GEMM requires weight_scale dims divisible by (32, 8), but this layer has weight_scale shape (7, 9). Falling back to the AITER Triton FP4 GEMM for this layer.",
        "DEBUG 01-01 00:00:00 [inc_wna16_scheme.py:109] ARK backend is unavailable for layer model.layers.0.mlp.down_proj; falling back to the default XPU INC path. Error: x",
        "The DeepSeek V4 FP8 WO_A path requires AITER >= 0.1.20; falling back to BF16 WO_A.",
        "DeepSeek V4 FP8 WO_A needs group-128 blocks for 8 groups of 64 outputs, got weight (1, 2) and scale (3, 4). Falling back to BF16 WO_A.",
        "WARNING 01-01 00:00:00 [vllm.py:1633] Auto-disabled DeepGemm for model_type=gate on Blackwell. To disable DeepGemm globally, set VLLM_USE_DEEP_GEMM=0.",
        "WARNING 01-01 00:00:00 [config.py:830] awq quantization is not fully optimized yet. The speed can be slower than non-quantized models.",
        "INFO 01-01 00:00:00 [awq_marlin.py:120] Detected that the model can run with awq_marlin, however you specified quantization=awq explicitly, so forcing awq. Use quantization=awq_marlin for faster inference",
    ),
    ignores=(
        "Detected that the model can run with awq_marlin",
        "Acceleration for non-quantized schemes is not supported by Compressed Tensors. Falling back to UnquantizedLinearMethod",
    ),
    read=reads("linear"),
)

RULES = (EMULATED, EMULATED_MOE, WEIGHT_ONLY_MOE, KERNEL)
