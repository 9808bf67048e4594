"""Room 3: SGLang's rules for kernels without a tuned configuration, and slower ones. The manual page is `sglang`."""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.serving.python_log import OPENS, OPENS_SGLANG
from fallback_gate.compilers.serving.sglang_log import AT, NAME, rank, reads
from fallback_gate.compilers.serving.vllm_kernels import TUNE_HELP, TUNED, shape_of
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record


def _untuned(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The kernel, and the shape and device in the name of the file that is missing."""
    shape = shape_of(match["path"])
    said = match.groupdict()
    op = "fused_moe_down" if said.get("down") else TUNED.get(said.get("kernel") or "", "fused_moe")
    names = tuple(dict.fromkeys((op, "fused_moe", shape) if op.startswith("fused_moe") else (op, shape)))
    yield by_groups(rule, record, match)._replace(op=op, names=names, site=shape, rank=rank(record))


UNTUNED = Rule(
    id="sglang/default-kernel-config",
    compiler=NAME,
    anchor=("Performance might be sub-optimal! Config file not found at",),
    pattern=rf"(?:{OPENS}Using (?:default MoE kernel config|MoE kernel config with (?P<down>down_moe)=\w{{1,5}})"
    rf"|{OPENS_SGLANG}Using default (?P<kernel>MoE|W8A8 Block (?:FP8|INT8))(?: kernel)? config)\. "
    r"Performance might be sub-optimal! Config file not found at (?P<path>\S.{0,1000}?(?:\.json|$))",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="No tuned tile sizes are shipped for this shape and device: the kernel runs with default ones.",
    help=TUNE_HELP,
    seen_in="0.2 to 0.5.23 (source), WARNING",
    matches=(
        AT
        + "Using default MoE kernel config. Performance might be sub-optimal! Config file not found at /x/E=64,N=96,device_name=X.json, you can create them with",
        AT
        + "Using MoE kernel config with down_moe=False. Performance might be sub-optimal! Config file not found at /x/E=64,N=96,device_name=X_down.json, you can create them with",
        AT
        + "Using default W8A8 Block FP8 kernel config. Performance might be sub-optimal! Config file not found at /x/N=1536,K=7168.json",
        AT
        + "Using default MoE kernel config. Performance might be sub-optimal! Config file not found at /x/E=64,N=96,device_name=X,dtype=fp8_w8a8,block_shape=[128, 128].json, you can create them with",
        AT
        + "Using default MoE kernel config. Performance might be sub-optimal! Config file not found at /x/configs/triton_3_5_1/E=64,N=96,device_name=NVIDIA_",
    ),
    ignores=(
        "docs: Using default MoE kernel config. Performance might be sub-optimal! Config file not found at /x.json",
    ),
    read=_untuned,
)
OTHER_TRITON = Rule(
    id="sglang/config-of-another-triton",
    compiler=NAME,
    anchor=(
        "Fallback to triton version",
        "Down MoE config file not found at",
        "reusing the tuned up-projection",
    ),
    pattern=OPENS
    + r"(?:(?P<down>Down MoE c)|C)onfig file not found at (?P<path>\S.{0,1000}?)(?:\. (?P<reason>Fallback to triton version [\d.]{1,20}?) and use"
    r"|; reusing the tuned up-projection config)",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="The tile sizes were tuned for another Triton version, or for the other projection.",
    help=TUNE_HELP,
    seen_in="0.5.23 (source), WARNING",
    matches=(
        AT
        + "Config file not found at /x/configs/triton_3_5_1/E=64,N=96,device_name=NVIDIA_X.json. Fallback to triton version 3.2.0 and use MoE kernel config from /x/configs/triton_3_2_0/E=64,N=96,device_name=NVIDIA_X.json. Performance might be sub-optimal!",
        AT
        + "Config file not found at /x/configs/triton_3_5_1/E=64,N=96,device_name=X,dtype=fp8_w8a8,block_shape=[128, 128].json. Fallback to triton version 3.2.0 and use MoE kernel config from /x/configs/triton_3_2_0/E=64,N=96,device_name=X,dtype=fp8_w8a8,block_shape=[128, 128].json. Performance might be sub-optimal!",
        "Down MoE config file not found at /x_down.json; reusing the tuned up-projection config without TMA. Performance might be sub-optimal.",
    ),
    ignores=("Error: Config file not found at config.yaml. Fallback to triton version 3",),
    read=_untuned,
)
AMX = Rule(
    id="sglang/no-amx",
    compiler=NAME,
    anchor=("The current platform does not support Intel",),
    pattern=OPENS
    + r"(?P<reason>The current platform does not support Intel (?P<name>AMX|XMX), will fallback to \w{1,40} backend)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The matrix units that the attention backend needs are not there: a plain one runs.",
    help="Run on a processor with AMX or XMX, or ask for the other backend by name.",
    seen_in="0.5.23 (source), WARNING",
    matches=("The current platform does not support Intel AMX, will fallback to torch_native backend.",),
    read=reads("attention", "intel_amx"),
)
QUANTISED = Rule(
    id="sglang/slow-quantized-kernel",
    compiler=NAME,
    anchor=(
        "There is no support for fast MoE kernel",
        "Falling back to unoptimized AWQ kernels",
        "Falling back to Moe WNA16 kernels",
        "Your GPU does not have native support for",
        "is not fully optimized yet. The speed can be slower",
        "; using triton MoE runner",
        "CPU device enabled, using torch native backend",
    ),
    pattern=OPENS_SGLANG
    + r"(?:(?P<reason>There is no support for fast MoE kernel for current quantization method"
    r"|aiter CK fused-MoE does not support this layer: .{1,300}?; using triton MoE runner)"
    r"|Layer '(?P<layer>[^']{1,300})' is not supported by (?P<name>\w{1,60})\. Falling back to (?:unoptimized AWQ|Moe WNA16) kernels"
    r"|(?P<linear>Your GPU does not have native support for FP[48] computation but FP[48] quantization is being used"
    r"|[\w-]{1,60} quantization is not fully optimized yet\. The speed can be slower"
    r"|CPU device enabled, using torch native backend, low performance expected))",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The quantised layer does not fit the fast kernel: a slower one runs.",
    help="Quantise for a format that has a kernel on this hardware, or take the layer out of the quantisation.",
    seen_in="0.4.9 to 0.5.23 (source), WARNING, once a text",
    matches=(
        AT
        + "Layer 'model.layers.0.mlp.experts' is not supported by AWQMoeMarlin. Falling back to Moe WNA16 kernels.",
        AT
        + "Your GPU does not have native support for FP8 computation but FP8 quantization is being used. Weight-only FP8 compression will be used leveraging the Marlin kernel.",
        AT
        + "awq quantization is not fully optimized yet. The speed can be slower than non-quantized models.",
        AT
        + "aiter CK fused-MoE does not support this layer: inter dim 96 is no multiple of 128; using triton MoE runner.",
        AT + "CPU device enabled, using torch native backend, low performance expected.",
        AT
        + "There is no support for fast MoE kernel for current quantization method. Falling back to slow implementation. ",
        AT
        + "Layer 'model.layers.0.mlp.down_proj' is not supported by AWQMarlin. Falling back to unoptimized AWQ kernels.",
    ),
    read=lambda rule, record, match: reads(
        None if match["layer"] else "linear" if match["linear"] else "fused_moe"
    )(rule, record, match),
)
MODEL = Rule(
    id="sglang/transformers-implementation",
    compiler=NAME,
    anchor=("no SGLang implementation, falling back to Transformers",),
    pattern=OPENS
    + r"(?P<op>\S{1,200}) has (?P<reason>no SGLang implementation, falling back to Transformers implementation)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.PROGRAM,
    meaning="SGLang has no model of this architecture: the one of Transformers runs, without SGLang's fused layers.",
    help="Add the architecture to SGLang, or serve a model that it knows.",
    seen_in="0.4.7 to 0.5.23 (source), WARNING",
    matches=(
        AT + "GateForCausalLM has no SGLang implementation, falling back to Transformers implementation.",
    ),
    read=reads(),
)
OPERATOR = Rule(
    id="sglang/operator",
    compiler=NAME,
    anchor=("FlashInfer GDN mutable buffer", "Forced fused-op backend", "fast path is not bit-exact against"),
    pattern=OPENS
    + r"(?:FlashInfer GDN mutable buffer \S{1,80} (?P<reason>has data_ptr .{1,200}?); falling back to Triton for this call"
    r"|Forced fused-op backend '?(?P<backend>[^\s']{1,80})'? is not implemented by (?P<op>[\w.:]{1,120}); falling back to normal dispatch"
    r"|(?P<site>[\w.:]{1,120}) fast path is not bit-exact against this platform's reference dispatch; falling back to eager)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The operator's fast kernel can't take this call: another implementation runs.",
    help="Look at the reason; a backend that is forced and missing should not be forced.",
    seen_in="0.5.23 (source), WARNING",
    matches=(
        "FlashInfer GDN mutable buffer 'state' has data_ptr 140 (mod 32 = 12); falling back to Triton for this call.",
        "Forced fused-op backend 'cutedsl' is not implemented by rms_norm; falling back to normal dispatch for this op.",
        "residual_gate fast path is not bit-exact against this platform's reference dispatch; falling back to eager. max diff 0.1.",
    ),
    read=lambda rule, record, match: reads(
        match["op"] or match["site"] or "gated_delta_rule", *filter(None, (match["backend"],))
    )(rule, record, match),
)
DEFAULT = Rule(
    id="sglang/default-tactic",
    compiler=NAME,
    anchor=(
        "is enabled, using default MoE kernel config",
        "no tuned tile for sm_",
        "Falling back to /",
        "is outside the tuned domain of table",
        " SMs for DeepEP communication",
        "DEEPEP_CONFIG is not initialized",
        "seed policy",
    ),
    pattern=OPENS + r"(?:(?P<reason>Deterministic inference is enabled, using default MoE kernel config)"
    r"|(?P<op>triton_sparse_mla): no tuned tile for sm_\d{1,4}"
    r"|LoRA (?P<kernel>[\w -]{1,60}) config not found for Triton \S{1,20}\. Falling back to /"
    r"|(?P<lora>MoE LoRA) geometry .{1,120} is outside the tuned domain of table"
    r"|Only use \d{1,4} SMs for (?P<deepep>DeepEP) communication"
    r"|(?P<config>DEEPEP)_CONFIG is not initialized, using default config"
    r"|FlashInfer PCIe-IPC (?P<reduce>all-reduce).{1,120} seed policy)",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="The kernel runs with a default configuration: nothing was tuned for this shape, device or mode.",
    help=TUNE_HELP,
    seen_in="0.4.9 to 0.5.23 (source), WARNING and INFO",
    matches=(
        AT + "Deterministic inference is enabled, using default MoE kernel config.",
        AT
        + "triton_sparse_mla: no tuned tile for sm_120; falling back to (64, 64). Sweep and add it to _PINNED for best throughput.",
        AT + "LoRA shrink config not found for Triton 3.6.0. Falling back to /x/triton_3_5_0/a.json.",
        AT
        + "MoE LoRA geometry (hidden=4096, local_experts=64) is outside the tuned domain of table 'h200'; serving the fallback rows",
        AT
        + "Only use 20 SMs for DeepEP communication. This may result in highly suboptimal performance. Consider using --deepep-config to change the behavior.",
        AT + "DEEPEP_CONFIG is not initialized, using default config",
    ),
    read=lambda rule, record, match: reads(_tuned(match))(rule, record, match),
)


def _tuned(match: Match[str]) -> str:
    """The kernel that a message about a default configuration is about."""
    said = match.groupdict()
    if said["deepep"] or said["config"]:
        return "deepep"
    if said["kernel"] or said["lora"]:
        return "lora"
    return "all_reduce" if said["reduce"] else said["op"] or "fused_moe"


RULES = (UNTUNED, DEFAULT, OTHER_TRITON, AMX, QUANTISED, MODEL, OPERATOR)
