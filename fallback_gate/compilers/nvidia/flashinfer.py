r"""flashinfer: FlashInfer's kernels for attention, GEMM and mixture of experts, under vLLM, SGLang and others.

    [AutoTuner]: No tuned config covers fp4_gemm input_shapes=((64, 128),); falling back to runner=CutlassRunner tactic=-1.

**What falls back.** An operator runs with its default tactic, for the tuner knows none for the shape, ran out of
memory, or the tuned one failed. Decoding of latent attention, or a delta rule, takes the kernel for older GPUs.

**At which setting it speaks.** WARNING and Python warnings by default; the tactic of each untuned call only with
the logger at DEBUG (`FLASHINFER_LOGGING_LEVEL=debug`).

**When it is silent.** A shape within the tuned range that was not tuned is DEBUG only. The warning comes once for
each operator and range of shapes. Building a kernel at first use (`Falling back to JIT build`) is slow once, and
gives the same kernel.

**What proves the end.** Nothing: kernels are chosen as requests come.

Wording from the source of 0.2 to 0.6 and of 0.7.4 (https://github.com/flashinfer-ai/flashinfer).
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

NAME = "flashinfer"
_TUNE = "Let the warm-up (autotune) cover the shape, and ship its cache with the release."
_WARNS = r"(?:^|[\]:] ?|Warning: |- )"


def of_tuner(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A message of the tuner, which names the operator as it was registered."""
    told = match.groupdict()
    op = told["op"] or told["used"] or told["skipped"]
    yield by_groups(rule, record, match)._replace(
        op=op, names=(op,), site=(told["shapes"] or told["missed"] or "")[:200] or None
    )


UNTUNED = Rule(
    id="flashinfer/untuned-shape",
    compiler=NAME,
    anchor=(
        "[AutoTuner]: No tuned",
        "[AutoTuner]: Using fallback",
        "[AutoTunner]: Using fallback",
        "[AutoTuner]: Skipping autotuning",
        "[AutoTuner]: Skipping ranking",
    ),
    pattern=r"\[AutoTunn?er\]: (?:No tuned config covers (?P<op>[\w:.]{1,120}) input_shapes=(?P<shapes>.{1,1000}?);"
    r" (?P<reason>falling back to runner=\w{1,80} tactic=-1)"
    r"|Using fallback tactic for (?P<used>[\w:.]{1,120}) with input shapes (?P<missed>.{0,1000})"
    r"|Skipping (?:autotuning|ranking) for '(?P<skipped>[\w:.]{1,120})' \(in skip_ops\))",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="The operator runs with its default tactic: no tuned one covers this shape.",
    help=_TUNE,
    seen_in="0.2 to 0.6 (source; the older spell it AutoTunner), WARNING outside of the tuned range, else DEBUG",
    matches=(
        "[AutoTuner]: No tuned config covers fp4_gemm input_shapes=((64, 128),); falling back to runner=CutlassRunner tactic=-1.  This shape is outside the tuning bucket range",
        "[AutoTuner]: Using fallback tactic for fp4_gemm with input shapes (torch.Size([64, 128]),)",
        "flashinfer.jit: [AutoTunner]: Using fallback tactic for flashinfer::fp4_moe with input shapes (torch.Size([64, 128]),)",
        "[AutoTuner]: Skipping autotuning for 'trtllm_fp4_moe' (in skip_ops). Using fallback tactic.",
    ),
    ignores=("[AutoTuner]: Tuning fp4_gemm with 12 tactics", "[Autotuner] Cache hit for fp4_gemm"),
    read=of_tuner,
)

NO_MEMORY = Rule(
    id="flashinfer/tuner-out-of-memory",
    compiler=NAME,
    anchor=("[Autotuner]: OOM detected,",),
    pattern=r"\[Autotuner\]: (?P<reason>OOM detected), falling back to default tactic",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.UNKNOWN,
    meaning="The tuner ran out of memory and kept the default tactic; the line does not say of which operator.",
    help="Tune with less of the memory taken by the model or its cache.",
    seen_in="0.6 (source), WARNING",
    matches=("[Autotuner]: OOM detected, falling back to default tactic",),
)

CUDNN = Rule(
    id="flashinfer/cudnn-tactic-failed",
    compiler=NAME,
    anchor=("falling back to default tactic=-1.",),
    pattern=_WARNS
    + r"cuDNN (?:(?P<type>[\w-]{1,20}) )?GEMM (?:tactic failed|engine/knob tactic|plan index)(?P<what>.{0,120}?);"
    r" falling back to default tactic=-1\.(?: \((?P<reason>.{1,400})\))?",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="The tuned plan of cuDNN failed or is gone: the GEMM runs with its default plan.",
    help="Tune again with this version of cuDNN on this GPU.",
    seen_in="0.6 (source), a Python warning",
    matches=(
        "UserWarning: cuDNN fp8 GEMM tactic failed; falling back to default tactic=-1. (plan rejected)",
        "UserWarning: cuDNN GEMM engine/knob tactic did not match any built execution plan; falling back to default tactic=-1.",
        "UserWarning: cuDNN GEMM plan index 3 is out of range (execution plan count: 2); falling back to default tactic=-1.",
    ),
    at_least=True,
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op="gemm", names=tuple(filter(None, ("gemm", match["type"] and f"cudnn_{match['type']}_gemm")))
        ),
    ),
)

LATENT = Rule(
    id="flashinfer/mla-cuda-cores",
    compiler=NAME,
    anchor=("cuda-core version of MLA",),
    pattern=_WARNS + r"Fall back to (?P<reason>cuda-core version of MLA decode kernel)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="Decoding of latent attention runs without tensor cores.",
    help="Use page sizes, head counts and types of the tensor-core kernel, on a GPU that has it.",
    seen_in="0.2 to 0.6 (source), INFO",
    matches=(
        "2026-01-01 00:00:00,000 - INFO - modules.py:261 - flashinfer.jit: Fall back to cuda-core version of MLA decode kernel.",
    ),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(op="mla_decode", names=("mla_decode", "MLA")),
    ),
)

DELTA = Rule(
    id="flashinfer/delta-rule",
    compiler=NAME,
    anchor=("CP dispatch is unavailable: ",),
    pattern=r"CP delta rule heuristic matched but CP dispatch is unavailable: (?P<reason>.{1,300}?); falling back to non-CP delta rule",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The delta rule of linear attention is not split over the chunks of the sequence.",
    help="The line says what is missing.",
    seen_in="0.6 (source), a Python warning",
    matches=(
        "RuntimeWarning: CP delta rule heuristic matched but CP dispatch is unavailable: sm90 only; falling back to non-CP delta rule.",
    ),
    at_least=True,
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(op="delta_rule", names=("delta_rule", "gdn_prefill")),
    ),
)

UNFUSED = Rule(
    id="flashinfer/composable-path",
    compiler=NAME,
    anchor=(
        "; using the composable torch path",
        ", using the composable ",
        ", using the fallback path",
        ": the device refused a cooperative ",
        "; using the native finalize",
        "; using the staged token path",
        "disabled, using the Triton kernel",
        "falling back to the portable",
        "kernel implementation needs f16 input",
        "the FA2 kernel serves",
    ),
    pattern=_WARNS
    + r"(?:flashinfer\.(?P<a>concat_mla_kv_quant_fp8): .{1,200}; using the composable torch path"
    r"|(?P<b>allreduce_mhc_post_prenorm|mhc_\w{1,60}): .{1,80}, using the (?:composable|fallback) (?:path|implementation)"
    r"|(?P<c>KDA prefill): the device refused a cooperative .{1,60}; the plan runs"
    r"|(?P<d>TP MoE finalize) .{1,200}; using the (?:native finalize|staged token path)"
    r"|Gluon (?P<e>MXFP8 quantizer) disabled, using the Triton kernel"
    r"|prepare_(?P<f>bgmv_moe): falling back to the portable"
    r"|Our current (?P<g>prefill) kernel implementation needs f16 input"
    r"|(?P<h>eagle_verify_fp8kv_sm90): disabled by .{1,120}; the FA2 kernel serves)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The fused or tuned kernel of this operator can't be loaded or launched here: another one runs.",
    help="The line says what is missing: a library, a launch that the device refused, a setting.",
    seen_in="0.2 to 0.7 (source), WARNING, Python warnings and INFO",
    matches=(
        "flashinfer.concat_mla_kv_quant_fp8: workload allowlist unavailable (OSError: x); using the composable torch path",
        "mhc_fused_post_pre: specialized kernel unavailable, using the fallback path: x",
        "allreduce_mhc_post_prenorm: fused module unavailable, using the composable path: x",
        "KDA prefill: the device refused a cooperative bin-mix launch; the plan runs m64 instead",
        "TP MoE finalize requires NVLink multicast memory; using the native finalize.",
        "RuntimeWarning: prepare_bgmv_moe: falling back to the portable bgmv_moe_shrink/bgmv_moe_expand path (x). Pass fallback=False to raise instead.",
        "Our current prefill kernel implementation needs f16 input, the f8 inputs  are casted to f16, which could result in performance degradation.",
    ),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op=(about := next(filter(None, match.groups()))), names=(about,), reason=match[0][:300]
        ),
    ),
)

REQUIRED = frozenset({Kind.UNTUNED_CONFIG})
SETTING = "FLASHINFER_LOGGING_LEVEL=debug, and a marker of your own that ends the warm-up"
WHY = "kernels are chosen as requests come, and the warning comes once for many"

READER = Reader(
    name=NAME,
    rules=(UNTUNED, NO_MEMORY, CUDNN, LATENT, DELTA, UNFUSED),
    markers=(),
    required=REQUIRED,
    prove=shared.unended(WHY, SETTING, *REQUIRED),
    setting=SETTING,
    manual=__doc__,
    silent="partly: a shape outside of the tuned range is warned of, one within it is told at DEBUG",
    seen_in="0.2 to 0.7 (source)",
)
