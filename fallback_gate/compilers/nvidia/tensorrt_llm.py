r"""tensorrt_llm: NVIDIA TensorRT-LLM, building an engine (trtllm-build) or serving by its PyTorch back end.

    [TensorRT-LLM][WARNING] Fall back to unfused MHA because of unsupported head size 96 in sm_75.

**What falls back.** The context phase of attention runs as several kernels with the whole matrix of scores in
memory, where no fused kernel was built for this head size, type and GPU. The tuner of the PyTorch back end
takes a default tactic for a shape that it did not tune. Its experts run through CUTLASS where another back end
was asked for, and collectives through NCCL.

**At which setting it speaks.** WARNING, which is the default (`TLLM_LOG_LEVEL`, `--log_level`); how tokens go to
their experts is told at INFO. The attention warning comes once for each layer and names none; the tuner's comes
once for each operator.

**When it is silent.** A batch that fits no captured CUDA graph runs without one: only AutoDeploy tells it, at DEBUG
(`AUTO_DEPLOY_LOG_LEVEL`). At ERROR. An engine that is loaded was built elsewhere. A server goes on choosing kernels
as requests come: no line ends that.

**What proves the end.** A build that ran to its end, in a log with warnings or notes of the C++ library: both
loggers have a level of their own, and the attention warning is the library's.

Wording from public threads on 0.10 to 1.3, and from the source of 0.12 to 1.3
(https://github.com/NVIDIA/TensorRT-LLM, `tensorrt_llm/_torch/modules/fused_moe`,
`tensorrt_llm/_torch/auto_deploy` and `cpp/tensorrt_llm/plugins`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.compilers.shared import called
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.scan.record import Record

NAME = "tensorrt_llm"
_LOGGER = r"\[(?:TensorRT-LLM\]\[WARNING|TRT-LLM\] \[W)\](?: \[[\w =]{1,20}\]){0,3}(?:\[[\w ]{1,20}\])? ?"
_ATTENTION = "Use a head size, type and mask with a fused kernel for this GPU, or build the kernels for the architecture."


def of_attention(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A message about the attention operator of a layer that it does not name."""
    names = ("attention", "MHA", "context_fmha")
    yield by_groups(rule, record, match)._replace(op="attention", names=names)


def implied(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """What belongs to a warning about attention, if there is one."""
    for report in of_attention(rule, record, match):
        yield report._replace(hint=True)


UNFUSED = Rule(
    id="tensorrt-llm/unfused-attention",
    compiler=NAME,
    anchor=("Fall back to unfused MHA", "FMHA on Volta"),
    pattern=_LOGGER
    + r"(?:Fall back to unfused MHA (?:because of|for) (?P<reason>\S(?:.{0,598}?\S)?)\.?\s*$|Alibi is not supported for FMHA on Volta)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The context phase of attention has no fused kernel here: several kernels, and quadratic memory.",
    help=_ATTENTION,
    seen_in="0.10 to 1.3, WARNING, once a layer",
    matches=(
        "[TensorRT-LLM][WARNING] Fall back to unfused MHA because of unsupported head size 96 in sm_75.",
        "[TensorRT-LLM][WARNING] Fall back to unfused MHA because of unsupported head size 96 in sm_{75}.",
        "[TensorRT-LLM][WARNING] Fall back to unfused MHA for data_type = e4m3, head_size = 64, head_size_V = 0, attention_mask_type = causal, alibi = false in sm_89.",
        "[05/04/2025-10:58:17] [TRT-LLM] [W] Fall back to unfused MHA because of unsupported data type.",
    ),
    ignores=(
        'logs "Fall back to unfused MHA", and the workspace grows',
        "[05/04/2025-10:58:17] [TRT-LLM] [W] padding removal and fMHA are both enabled, max_input_len is not required and will be ignored",
    ),
    read=of_attention,
)

NO_KERNEL = Rule(
    id="tensorrt-llm/no-fused-kernel",
    compiler=NAME,
    anchor=("FMHA kernels are not found with these", "TRTLLM-GEN does not support"),
    pattern=_LOGGER
    + r"(?P<reason>FMHA kernels are not found with these parameters|TRTLLM-GEN does not support the requested kernels)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="A family of fused attention kernels has none for these parameters; another one may be taken instead.",
    help=_ATTENTION,
    seen_in="0.17 to 1.3, WARNING; in some versions also where nothing fell back",
    matches=(
        "[TensorRT-LLM][WARNING] FMHA kernels are not found with these parameters:",
        "[TensorRT-LLM][WARNING] TRTLLM-GEN does not support the requested kernels.",
    ),
    ignores=("RuntimeError: Assertion failed: FMHA kernels are not found",),
    read=implied,
)

UNTUNED = Rule(
    id="tensorrt-llm/untuned-shape",
    compiler=NAME,
    anchor=("fallback tactic, due to cache miss",),
    pattern=r"\[AutoTunn?er\] (?P<op>[\w:.]{1,120}(?= using))?(?: ?[Uu]sing) the (?P<reason>fallback tactic, due to cache miss"
    r"(?: on input shapes=.{0,400})?)",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="The operator runs with a default tactic: the tuner has no entry for this shape.",
    help="Let the warm-up cover the shape, or ship the tuner's cache.",
    seen_in="0.20 to 1.3 (source), WARNING, once an operator",
    matches=(
        "[TRT-LLM] [W] [_torch][RANK 3] [AutoTuner] trtllm::fused_moe::gemm1 using the fallback tactic, due to cache miss on input shapes=(torch.Size([8, 64]),)",
        "[05/04/2025-10:58:17] [TRT-LLM] [W] [AutoTunner] Using the fallback tactic, due to cache miss on input shapes=[torch.Size([8, 64])]",
    ),
    at_least=True,
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            scope=Scope.OPERATOR if match["op"] else Scope.UNKNOWN,
            op=match["op"] or "*",
            names=(match["op"],) if match["op"] else (),
        ),
    ),
)

MOE = Rule(
    id="tensorrt-llm/moe-backend",
    compiler=NAME,
    anchor=("Using CutlassFusedMoE instead", " cannot serve this layer"),
    pattern=_LOGGER
    + r"(?:(?P<name>\w{1,60}) (?P<reason>only supports .{1,600}?)\.? ?Using CutlassFusedMoE instead"
    r"|MoE backend (?P<asked>\w{1,40}) cannot serve this layer(?: \[layer_idx=\d{1,9}\])? \((?P<why>.{1,400}?)\); running (?P<runs>\w{1,60}) instead)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The mixture-of-experts back end that was asked for can't take this quantisation or GPU: CUTLASS runs.",
    help="Ask for a back end that takes the checkpoint's quantisation on this GPU (moe_config.backend).",
    seen_in="0.20 to 1.3 (source), WARNING, since April 2026 with the layer; the sources of August 2026 have new words",
    matches=(
        "[05/04/2025-10:58:17] [TRT-LLM] [W] TRTLLMGenFusedMoE only supports fp8_block_scales, nvfp4, w4a16_mxfp4, w4a8_nvfp4_fp8, w4a8_mxfp4_fp8, and w4a8_mxfp4_mxfp8. Check out details in quant_config: QuantConfig(quant_algo=None). Using CutlassFusedMoE instead.",
        "[05/04/2026-10:58:17] [TRT-LLM] [W] [_torch  ] DenseGEMMFusedMoE only supports SM (100, 103) (got SM 90). Using CutlassFusedMoE instead.",
        "[05/04/2026-10:58:17] [TRT-LLM] [W] [layer_idx=61] CuteDslFusedMoE only supports fp8_block_scales and nvfp4. Check out details in quant_config: None. Using CutlassFusedMoE instead.",
        "[09/04/2026-10:58:17] [TRT-LLM] [W] MoE backend TRTLLM cannot serve this layer [layer_idx=3] (quant_unsupported: no kernel for bf16); running CutlassFusedMoE instead. Full trail: x",
    ),
    ignores=("[09/04/2026-10:58:17] [TRT-LLM] [E] no MoE implementation can serve this layer. x",),
    read=lambda rule, record, match: (
        report._replace(reason=match["reason"] or match["why"])
        for report in called(
            "fused_moe", match["name"] or match["asked"], match["runs"] or "CutlassFusedMoE"
        )(rule, record, match)
    ),
)

COLLECTIVE = Rule(
    id="tensorrt-llm/collective",
    compiler=NAME,
    anchor=(
        "fallback to AllReduceStrategy",
        "alling back to AllGatherReduceScatter",
        "AllGatherReduceScatter (fallback)",
        "AllReduce can",
    ),
    pattern=r"\[(?:TensorRT-LLM\]\[(?:WARNING|INFO|DEBUG)|TRT-LLM\] \[[WIDV])\](?: ?\[[\w ]{1,20}\]){0,3} ?"
    r"(?P<reason>Since .{1,160}?, fallback to AllReduceStrategy: NCCL"
    r"|(?P<moe>(?:Communication \S{1,20} )?.{1,200}cannot be used \(.{1,160}\)\. Falling back to AllGatherReduceScatter"
    r"|Non-divisible EP .{1,80}: falling back to AllGatherReduceScatter"
    r"|Selected communication strategy: AllGatherReduceScatter \(fallback\))"
    r"|MNNVL ?AllReduce can't be enabled due to .{1,200})",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The collective that was asked for, or that fits best, can't be used: NCCL's runs after each layer, or "
    "experts get all tokens.",
    help="Look at the reason, and at the lines that say what is not available: peer access, NVLink, sizes.",
    seen_in="0.8 to 1.3 (source), WARNING and INFO, for MNNVL DEBUG",
    matches=(
        "[TensorRT-LLM][WARNING] Since Peer to Peer not supported, fallback to AllReduceStrategy: NCCL",
        "[05/04/2025-10:58:17] [TRT-LLM] [W] Since messageSize is greater than maxWorkspaceSize, fallback to AllReduceStrategy: NCCL",
        "[05/04/2026-10:58:17] [TRT-LLM] [I] [_torch  ] Selected communication strategy: AllGatherReduceScatter (fallback)",
        "[05/04/2026-10:58:17] [TRT-LLM] [I] Non-divisible EP (num_experts=62, ep_size=8): falling back to AllGatherReduceScatter",
        "[05/04/2026-10:58:17] [TRT-LLM] [D] MNNVL AllReduce can't be enabled due to num_tokens=7 larger than max_num_tokens=3.",
    ),
    ignores=("[05/04/2026-10:58:17] [TRT-LLM] [I] Selected communication strategy: NVLinkOneSided",),
    read=lambda rule, record, match: called(
        *(("all_to_all", "AllGatherReduceScatter") if match["moe"] else ("all_reduce", "AllReduce"))
    )(rule, record, match),
)

EAGER = Rule(
    id="tensorrt-llm/auto-deploy-eager",
    compiler=NAME,
    anchor=("PiecewiseCapturedGraph: model is not ", "DualModeCapturedGraph: num_tokens="),
    pattern=r"\[TRT-LLM AUTO-DEPLOY\](?: \[[^\]]{1,80}\]){1,4} (?P<reason>PiecewiseCapturedGraph: model is not a GraphModule"
    r"|DualModeCapturedGraph: num_tokens=\d{1,9} exceeds largest bucket \w{1,9}), ",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.PROGRAM,
    meaning="AutoDeploy runs batches with a prompt in them without a CUDA graph, kernel by kernel.",
    help="Raise the largest of piecewise_num_tokens above the batches that are served, or bound their tokens.",
    seen_in="1.3 (source), WARNING, for single batches DEBUG",
    matches=(
        "[05/04/2026-10:58:17] [TRT-LLM AUTO-DEPLOY] [RANK 0] [W] PiecewiseCapturedGraph: model is not a GraphModule, piecewise CUDA graph requires an FX GraphModule. Falling back to eager execution.",
        "[05/04/2026-10:58:17] [TRT-LLM AUTO-DEPLOY] [D] DualModeCapturedGraph: num_tokens=9001 exceeds largest bucket 8192, falling back to eager",
    ),
    ignores=(
        "[05/04/2026-10:58:17] [TRT-LLM AUTO-DEPLOY] [I] PiecewiseCapturedGraph: captured graphs for num_tokens=8192",
    ),
)

MARKERS = (
    Marker(
        id="tensorrt-llm/library-speaks",
        compiler=NAME,
        anchor=("[TensorRT-LLM][WARNING]",),
        pattern=r"^\[TensorRT-LLM\]\[WARNING\] ",
        shows="Warnings of the C++ library are on.",
        seen_in="0.8 to 1.3",
        matches=("[TensorRT-LLM][WARNING] Device 0 peer access Device 1 is not available.",),
    ),
    Marker(
        id="tensorrt-llm/building",
        compiler=NAME,
        anchor=("Build TensorRT engine ",),
        pattern=r"\[TRT-LLM\] \[I\] Build TensorRT engine \S",
        shows="The build of an engine began.",
        seen_in="0.8 to 0.17 (source)",
        matches=("[01/01/2026-00:00:06] [TRT-LLM] [I] Build TensorRT engine Unnamed Network 0",),
    ),
    Marker(
        id="tensorrt-llm/built",
        compiler=NAME,
        anchor=("Total time of building ",),
        pattern=r"\[TRT-LLM\] \[I\] Total time of building (?P<what>.{1,80}?): ?[\d:]{7,10}",
        shows="An engine was built; INFO of the Python logger is on.",
        seen_in="0.8 to 1.3",
        matches=(
            "[01/01/2026-00:00:31] [TRT-LLM] [I] Total time of building Unnamed Network 0: 00:00:25",
            "[01/01/2026-00:00:31] [TRT-LLM] [I] Total time of building all engines: 00:00:25",
        ),
    ),
    Marker(
        id="tensorrt-llm/version",
        compiler=NAME,
        anchor=("TensorRT-LLM version: ",),
        pattern=r"^\[TensorRT-LLM\] TensorRT-LLM version: (?P<version>[\w.+]{1,40})\s*$",
        shows="TensorRT-LLM was loaded, and which version.",
        seen_in="0.8 to 1.3",
        matches=("[TensorRT-LLM] TensorRT-LLM version: 0.11.0",),
    ),
)
REQUIRED = frozenset({Kind.SLOWER_KERNEL})
SETTING = "TLLM_LOG_LEVEL=INFO and --log_level info, and the log of the build to its end"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """A build to its end, with the C++ library's warnings on."""
    tuned = "the tuner speaks once for an operator, and no line ends its work"
    batches = "a batch that no captured graph fits is told by AutoDeploy alone, at DEBUG"
    proof = {
        Kind.UNTUNED_CONFIG: Proof(State.UNPROVEN, tuned),
        Kind.CUDAGRAPH_SKIP: Proof(State.UNOBSERVABLE, batches, None, "AUTO_DEPLOY_LOG_LEVEL=DEBUG"),
    }
    built, speaks = evidence.first("tensorrt-llm/built"), evidence.first("tensorrt-llm/library-speaks")
    ended = sum(
        evidence.times("tensorrt-llm/built", what)
        for what in evidence.of("tensorrt-llm/built")
        if what != ("all engines",)
    )
    if built is None:
        why = "no build ended in this log; a server goes on choosing kernels"
        return proof | {Kind.SLOWER_KERNEL: Proof(State.UNPROVEN, why, None, SETTING)}
    if evidence.counts.get("tensorrt-llm/building", 0) > ended:
        why = "a build that began did not end in this log"
        return proof | {Kind.SLOWER_KERNEL: Proof(State.UNPROVEN, why, None, SETTING)}
    if speaks is None:
        why = "no line of the C++ library, so its warnings may be off"
        return proof | {Kind.SLOWER_KERNEL: Proof(State.UNPROVEN, why, None, SETTING)}
    why = "the engine was built to its end, with the library's warnings on"
    return proof | {Kind.SLOWER_KERNEL: Proof(State.PROVEN, why, built)}


def version(evidence: Evidence) -> str | None:
    """The version that the library prints when it is loaded."""
    return next((said for (said,) in sorted(evidence.of("tensorrt-llm/version"))), None)


READER = Reader(
    name=NAME,
    rules=(UNFUSED, NO_KERNEL, UNTUNED, MOE, COLLECTIVE, EAGER),
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    version=version,
    manual=__doc__,
    silent="no: warned of, once for each layer or operator",
    seen_in="0.10 to 1.3 (public threads), 0.12 to 1.3 (source)",
)
