r"""transformer_engine: NVIDIA Transformer Engine, for PyTorch and JAX.

    DEBUG:DotProductAttention:Selected backend = UnfusedDotProductAttention.

**What falls back.** Attention runs unfused, with the whole matrix of scores in memory, where neither
FlashAttention nor cuDNN's fused attention takes the mask, the head size or the type. A module runs eager under
torch.compile. A quantised tensor is gathered in high precision. An overlap of communication and GEMM is lost.

**At which setting it speaks.** The choice of attention in PyTorch: only with `NVTE_DEBUG=1
NVTE_DEBUG_LEVEL=2` (the choice and the reasons) or `NVTE_DEBUG_LEVEL=1` (the choice). The rest are Python
warnings, which are on by default and come once for each place in the source.

**When it is silent.** By default: attention is chosen without a word. `Disabling FlashAttention ...` is a reason,
not a choice; it stands above the fused choice too.

**What proves the end.** Nothing: the choice is made anew for each new shape, as long as the program runs. A
marker of your own after the warm-up can say so (`rules` with `proves: [slower_kernel]` and `ends: true`).

Wording from the source of 1.5 to 2.15 and of 2.20 (https://github.com/NVIDIA/TransformerEngine), and public threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.compilers.shared import called
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "transformer_engine"
_REASON = Pattern(
    r"Disabling (?P<what>FlashAttention|FusedAttention|all backends)(?P<why>(?: \d(?: and \d)?)? (?:for|due to|as|because) .{1,200})"
)
_CONFIG = Pattern(
    r"Running with config=\{.{0,2000}?'head_dim_qk': (?P<head>\d{1,6}).{0,2000}?'attn_mask_type': '(?P<mask>\w{1,40})'"
)
_OPENS = "Running with config="


def of_choice(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The choice of attention, with the reasons and the configuration above it."""
    reasons: dict[str, None] = {}
    site = None
    for line in record.preceding(60):
        if said := _REASON.search(line.text):
            reasons[f"{said['what']}{said['why']}".rstrip(". ")] = None
        if _OPENS in line.text:
            if config := _CONFIG.search(line.text):
                site = f"head_dim {config['head']}, {config['mask']} mask"
            break
    reason = "; ".join([*([site] if site else []), *reversed(reasons)])[:600]
    yield by_groups(rule, record, match)._replace(
        op="DotProductAttention",
        names=("DotProductAttention", "attention", "UnfusedDotProductAttention"),
        reason=reason or None,
        site=site,
    )


UNFUSED = Rule(
    id="transformer-engine/unfused-attention",
    compiler=NAME,
    anchor=("Selected backend = UnfusedDotProductAttention", "Running with UnfusedDotProductAttention"),
    pattern=r"(?:^|[:\],] ?)(?:Selected backend = UnfusedDotProductAttention|Running with UnfusedDotProductAttention backend)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="Attention runs as separate kernels, with the whole matrix of scores in memory.",
    help="The `Disabling ...` lines above say why; change the mask, head size, type or layout, or update cuDNN and flash-attn.",
    seen_in="1.9 to 2.15, DEBUG and INFO of the logger DotProductAttention",
    matches=(
        "DEBUG:DotProductAttention:Selected backend = UnfusedDotProductAttention.",
        "[DEBUG    | DotProductAttention]: Selected backend = UnfusedDotProductAttention",
        "INFO:DotProductAttention:Running with UnfusedDotProductAttention backend",
        "DEBUG:2025-11-06 21:39:55,472:Selected backend = UnfusedDotProductAttention",
    ),
    ignores=(
        "DEBUG:DotProductAttention:Disabling FlashAttention to give FusedAttention preference on Hopper+ for performance reasons",
        "DEBUG:DotProductAttention:Available backends = {FlashAttention=False, FusedAttention=False, UnfusedDotProductAttention=True}",
        "DEBUG:DotProductAttention:Disabling FusedAttention due to NVTE_FUSED_ATTN=0",
    ),
    read=of_choice,
)

JAX_UNFUSED = Rule(
    id="transformer-engine/jax-unfused-attention",
    compiler=NAME,
    anchor=(
        "Fused attention is not enabled because",
        "Falling back to the unfused attention backend",
        "attention backend available; falling back to unfused",
    ),
    pattern=r"(?:(?:^|Warning: )(?:Fused attention is not enabled because (?P<reason>\S(?:.{0,298}?\S)?)\.?\s*$"
    r"|Falling back to the unfused attention backend as fused attention does not support this config)"
    r"|(?:^|[:\],] ?)No fused attention backend available; falling back to unfused attention)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning=UNFUSED.meaning,
    help="Update cuDNN and Transformer Engine, or change the layout, mask or head size that the next lines list.",
    seen_in="1.5 to 2.15 (source), a Python warning; 2.20 (source) in other words, and at INFO with NVTE_DEBUG=1",
    matches=(
        "UserWarning: Fused attention is not enabled because there is no available kernel.",
        "UserWarning: Falling back to the unfused attention backend as fused attention does not support this config. Set NVTE_DEBUG=1 and NVTE_DEBUG_LEVEL=2 to see the detailed rejection reason.",
        "[INFO     | DotProductAttention]: No fused attention backend available; falling back to unfused attention.",
    ),
    ignores=("Fused attention is not enabled by default.",),
    at_least=True,
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op="DotProductAttention", names=("DotProductAttention", "attention")
        ),
    ),
)

JAX_SOFTMAX = Rule(
    id="transformer-engine/jax-unfused-softmax",
    compiler=NAME,
    anchor=("Using unfused JAX softmax implementation",),
    pattern=r"(?:^|Warning: )(?P<reason>Using unfused JAX softmax implementation instead of TE fused primitives)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="Scale, mask and softmax run as separate operators of JAX.",
    help="Use the shapes and types of the fused primitives, or the fused attention.",
    seen_in="2.20 (source), a Python warning",
    matches=("UserWarning: Using unfused JAX softmax implementation instead of TE fused primitives. ",),
    at_least=True,
    read=called("softmax", "ScaledMaskedSoftmax"),
)

CUTEDSL = Rule(
    id="transformer-engine/cutedsl-kernel",
    compiler=NAME,
    anchor=(
        "falling back to the CUDA C++ kernel",
        "register CuTeDSL backends",
        "library for CuTeDSL backend",
    ),
    pattern=r"(?:CuTeDSL MXFP8 (?P<reason>backend (?:requires|does not support)|kernel compilation & registration failed).{0,120}?, "
    r"(?:but detected .{1,20}; )?falling back to the CUDA C\+\+ kernel"
    r"|CuTeDSL MXFP8 backend requires .{1,120}; falling back to the CUDA C\+\+ kernel"
    r"|Failed to (?:load tvm-ffi dynamic library for CuTeDSL backend|register CuTeDSL backends): (?P<why>.{1,300})\. Will fall back)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="Quantising to MXFP8 runs through the plain CUDA kernel: the tuned one can't be loaded or takes no such input.",
    help="Install the libraries that the line names, or allow it on this GPU.",
    seen_in="2.20 (source), WARNING and ERROR",
    matches=(
        "CuTeDSL MXFP8 backend requires compute capability >= 10.0 (Blackwell), but detected 9.0; falling back to the CUDA C++ kernel.",
        "CuTeDSL MXFP8 backend does not support this config, falling back to the CUDA C++ kernel: x",
        "CuTeDSL MXFP8 kernel compilation & registration failed, falling back to the CUDA C++ kernel: x",
        "Failed to load tvm-ffi dynamic library for CuTeDSL backend: x. Will fall back to default TE CUDA C++ kernels",
    ),
    at_least=True,
    read=called("quantize_mxfp8", "quantize", "CuTeDSL"),
)

EAGER = Rule(
    id="transformer-engine/eager-under-compile",
    compiler=NAME,
    anchor=("Falling back to eager execution under torch", "Modules will fall back to eager execution"),
    pattern=r"(?:^|Warning: )(?:Falling back to eager execution under torch\.compile: (?P<reason>.{1,300}?) is unsupported on the compiled path"
    r"|Transformer Engine torch\.compile support is disabled: .{1,300}?\. Modules will fall back to eager execution)",
    kind=Kind.GRAPH_BREAK,
    scope=Scope.UNKNOWN,
    meaning="A module of Transformer Engine leaves the compiled graph.",
    help="Drop the feature that the line names, or compile with fullgraph=True to see the place.",
    seen_in="2.14 to 2.20 (source), a Python warning",
    matches=(
        "UserWarning: Transformer Engine torch.compile support is disabled: x. Modules will fall back to eager execution under torch.compile, i.e. a graph break, which is incompatible with fullgraph=True.",
        "UserWarning: Falling back to eager execution under torch.compile: fp8 calibration is unsupported on the compiled path (graph-breaks under fullgraph=True).",
    ),
    at_least=True,
)

GATHER = Rule(
    id="transformer-engine/high-precision-all-gather",
    compiler=NAME,
    anchor=("Attempting to all-gather an unsupported", "Performing all-gather in high precision"),
    pattern=r"(?:^|Warning: )(?:Attempting to (?P<op>all-gather) an (?P<reason>unsupported quantized tensor)\. Falling back to high-precision"
    r"|Cannot quantize input tensor\. Performing all-gather in high precision)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="A quantised tensor is sent in high precision: two to four times the bytes.",
    help="Use a recipe whose tensors can be gathered quantised, or align the shard to the block size.",
    seen_in="2.5 to 2.15 (source), a Python warning",
    matches=(
        "UserWarning: Attempting to all-gather an unsupported quantized tensor. Falling back to high-precision all-gather.",
        "UserWarning: Cannot quantize input tensor. Performing all-gather in high precision.",
    ),
    at_least=True,
    read=called("all-gather", "all_gather"),
)

OVERLAP = Rule(
    id="transformer-engine/no-bulk-overlap",
    compiler=NAME,
    anchor=("does not support bulk overlaps for",),
    pattern=r"(?:^|Warning: )cuBLASMp backend does not support bulk overlaps for '(?P<op>[\w.-]{1,120})' and '(?P<b>[\w.-]{1,120})' GEMMs\. Falling back",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="Communication of this GEMM is overlapped less than asked.",
    help="Call initialize_ub with with_cublasmp=False, or do not ask for the bulk overlap.",
    seen_in="2.13 to 2.15 (source), a Python warning",
    matches=(
        "UserWarning: cuBLASMp backend does not support bulk overlaps for 'fc1_dgrad' and 'fc1_wgrad' GEMMs. Falling back on DGRAD+RS overlap for 'fc1_dgrad' GEMM",
    ),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            names=(match["op"], match["b"]), reason="no bulk overlap with cuBLASMp"
        ),
    ),
)

MARKERS = (
    Marker(
        id="transformer-engine/chosen",
        compiler=NAME,
        anchor=(
            " backend (sub-backend ",
            " backend (version ",
            "Selected backend = F",
            "Selected backend = NoBackend",
        ),
        pattern=r"(?:^|[:\],] ?)(?:Selected backend = (?P<a>FlashAttention|FusedAttention|NoBackend)\b"
        r"|Running with (?P<b>FlashAttention|FusedAttention) backend \()",
        shows="The debug output is on, and another choice was made for a configuration.",
        seen_in="1.9 to 2.15",
        matches=(
            "INFO:DotProductAttention:Running with FusedAttention backend (sub-backend 1)",
            "INFO:DotProductAttention:Running with FlashAttention backend (version 2.7.4)",
            "DEBUG:DotProductAttention:Selected backend = FlashAttention (2.7.2+torch.2.9.1)",
        ),
        ignores=("[probe] selected backend = ALSA",),
    ),
)
REQUIRED = frozenset({Kind.SLOWER_KERNEL})
SETTING = "NVTE_DEBUG=1 NVTE_DEBUG_LEVEL=2, and a marker of your own that ends the warm-up"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """A choice that is shown says nothing about the shapes to come; without the debug output none is shown."""
    if evidence.facts or "transformer-engine/unfused-attention" in evidence.rules:
        why = "attention is chosen anew for each new configuration, and no line ends that"
        return {Kind.SLOWER_KERNEL: Proof(State.UNPROVEN, why, None, SETTING)}
    why = "without NVTE_DEBUG the choice of attention has no line"
    return {Kind.SLOWER_KERNEL: Proof(State.UNOBSERVABLE, why, None, SETTING)}


READER = Reader(
    name=NAME,
    rules=(UNFUSED, JAX_UNFUSED, JAX_SOFTMAX, CUTEDSL, EAGER, GATHER, OVERLAP),
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="partly: attention is chosen without a word, the rest is warned of",
    seen_in="1.5 to 2.20 (source and public threads)",
)
