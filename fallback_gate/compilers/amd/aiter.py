r"""aiter: AMD's kernel library for inference (under vLLM and SGLang on ROCm), and the shapes it has no tuning for.

    [aiter] shape is M:64, N:1280, K:8192 dtype=torch.bfloat16 ..., not found tuned config in /tmp/aiter_configs/bf16_tuned_gemm.csv, will use default config! using torch solution:0
    [aiter] [fused_moe] using 2stage default for (80, 4096, 4096, 384, 289, 9, 'ActivationType.Silu', ...)

**What falls back.** A matrix product or a fused mixture of experts whose shape is not in the tuned tables
runs with a default kernel; `using torch` is PyTorch's own product. Some paths go to PyTorch or to another
library as a whole.

**At which setting it speaks.** INFO of the logger aiter, which is its default (`AITER_LOG_LEVEL`), once for
each shape and process. `AITER_LOG_TUNED_CONFIG=1` prints the shapes that are tuned, too.

**When it is silent.** With `AITER_LOG_LEVEL=WARNING`, which serving stacks set; for kernels without a table;
where a library that a tuned entry needs is missing (FlyDSL), the next candidate is taken without a word.

**What proves the end.** Nothing by itself: shapes are met while requests run, and no line shows the last one.

Wording seen in the source of 0.1.2 to 0.1.9 and in public logs of vLLM 0.10 to 0.14.
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

NAME = "aiter"
_TUNE = "Tune the shape (https://github.com/ROCm/aiter, `AITER_TUNE_GEMM=1` collects it) and ship the tuned table."
_TABLE = Pattern(r"(?P<name>\w{1,80})\.csv$")


def _shaped(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A matrix product is named after its table: `a8w8_blockscale_tuned_gemm.csv` tunes `a8w8_blockscale_gemm`."""
    table = _TABLE.search(match["table"].strip())
    batched = bool(match["batch"])
    if table:
        name = table["name"].replace("untuned_", "").replace("tuned_", "").replace("_tuned", "")
    else:
        name = f"{match['type'] or 'a8w8'}_batched_gemm" if batched else "gemm"
    report = by_groups(rule, record, match)
    yield report._replace(
        op=name,
        names=tuple(dict.fromkeys((name, "batched_gemm" if batched else "gemm"))),
        reason=f"{report.reason} for {match['shape']}",
        site=match["shape"],
    )


_SHAPE = r"shape is (?P<shape>(?P<batch>B:\d{1,9}, )?M:\d{1,9}, N:\d{1,9}, K:\d{1,9})"
_BF16 = "[aiter] shape is M:64, N:1280, K:8192 dtype=torch.bfloat16 otype=torch.bfloat16 bias=False, scaleAB=False, bpreshuffle=False, not found tuned config in /tmp/aiter_configs/bf16_tuned_gemm.csv, will use default config! using torch solution:0"
UNTUNED_GEMM = Rule(
    id="aiter/gemm-untuned",
    compiler=NAME,
    anchor=("not found tuned config in ",),
    pattern=_SHAPE + r"(?: dtype is (?P<type>\w{1,20}))?(?:[ ,][^!]{0,300})?, "
    r"(?P<reason>not found tuned config) in (?P<table>[^,]{1,300}), will use default config!",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="The shape is not in the tuned table: a default kernel computes it.",
    help=_TUNE,
    seen_in="0.1.2 to 0.1.9, INFO",
    matches=(
        _BF16,
        "[aiter] shape is M:16, N:2112, K:7168, q_dtype_w:torch.int8, not found tuned config in /tmp/aiter_configs/a8w8_blockscale_tuned_gemm.csv, will use default config!",
        "[aiter] shape is B:16, M:64, N:512, K:128 dtype is bf16, not found tuned config in CKGEMM, will use default config!",
    ),
    ignores=("not found tuned config in x.csv, will use default config!",),
    read=_shaped,
)
TORCH_GEMM = Rule(
    id="aiter/caller-falls-back",
    compiler=NAME,
    anchor=("not found tuned/padded config in ",),
    pattern=_SHAPE + r"(?P<type>)?, (?P<reason>not found tuned/padded config) in (?P<table>[^,]{1,300}), "
    "the caller will fall back!",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The shape is in no table of this kernel: the caller computes it in another way.",
    help=_TUNE,
    seen_in="0.1.9 (source), INFO",
    matches=(
        "[aiter] shape is B:16, M:64, N:512, K:128, not found tuned/padded config in /tmp/x.csv, the caller will fall back!",
    ),
    read=_shaped,
)
UNTUNED_MOE = Rule(
    id="aiter/moe-untuned",
    compiler=NAME,
    anchor=("[fused_moe] ", "Fmoe tuning not support for"),
    pattern=r"\[fused_moe\] (?P<reason>using [12]stage(?: xbf16)? default|no tuned FlyDSL config|discarding Opus tuned config"
    r"|Opus stage2 config unsupported)(?: for (?P<site>\S(?:.{0,398}?\S)?))?(?:, using|: both|; using| \(\w|\s*$)"
    r"|(?P<other>Fmoe tuning not support) for\b",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="The fused mixture of experts has no tuned entry for this shape and these types: a default is used.",
    help=_TUNE,
    seen_in="0.1.5 to 0.1.9, INFO and WARNING",
    matches=(
        "(VllmWorker TP1 pid=21407) [aiter] [fused_moe] using 2stage default for (1, 2048, 384, 128, 8, 'ActivationType.Silu', 'torch.bfloat16', 'QuantType.No', True, False) ",
        "[fused_moe] no tuned FlyDSL config for (256, 64, 7168), using heuristic FlyDSL fallback (kn1=k1, kn2=k2)",
        "[aiter] [fused_moe] Opus stage2 config unsupported (is_ep); using default heuristics",
        "[aiter] Fmoe tuning not support for (256, 64, 7168)",
    ),
    ignores=(
        "[aiter] [fused_moe] using 2stage (kernelName1='x', kernelName2='y') for (1, 2048, 384, 128, 8)",
    ),
    read=called("fused_moe"),
)
UNTUNED_KERNEL = Rule(
    id="aiter/kernel-untuned",
    compiler=NAME,
    anchor=("tuned Triton config ", "from tuned config is not recognized", " untuned M="),
    pattern=r"(?P<reason>No tuned Triton config|Unable to load tuned Triton config '[^']{1,200}') for kernel '(?P<op>[^']{1,200})'(?: in '[^']{1,300}')?; using fallback"
    r"|FlyDSL kernel '(?P<flydsl>[^']{1,200})' from tuned config is not recognized by the current catalog; falling back"
    r"|\[gfx\w{1,10}\] (?P<gemm>gemm_\w{1,60}) untuned (?P<site>M=\d{1,9}, N=\d{1,9}, K=\d{1,9}); falling back to flydsl kernel",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="The kernel has no tuned entry that fits: a fallback configuration or the next candidate is used.",
    help=_TUNE,
    seen_in="0.1.7 to 0.1.9 (source), WARNING",
    matches=(
        "No tuned Triton config for kernel 'mha_fwd' in '/x/gfx1101-MHA.json'; using fallback {'BLOCK_M': 64}",
        "[aiter] FlyDSL kernel 'fly_gemm_64' from tuned config is not recognized by the current catalog; falling back to next candidate.",
        "[aiter] [gfx1250] gemm_a8w8_bpreshuffle untuned M=16, N=512, K=7168; falling back to flydsl kernel 'f'.",
    ),
    read=lambda rule, record, match: called(match["op"] or match["flydsl"] or match["gemm"])(
        rule, record, match
    ),
)
UNTUNED_TRITON_MOE = Rule(
    id="aiter/triton-moe-untuned",
    compiler=NAME,
    anchor=("No MoE configuration found for device ",),
    pattern=r"(?P<reason>No MoE configuration found for device '[^']{1,100}' with dtype '[^']{1,60}')\. Using default configuration",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="No table of the Triton mixture-of-experts kernel fits this GPU and type: a default is used.",
    help=_TUNE,
    seen_in="0.1.5 to 0.1.9 (source), a Python warning",
    matches=(
        "UserWarning: No MoE configuration found for device 'gfx942' with dtype 'fp8_w8a8'. Using default configuration.",
    ),
    read=called("fused_moe"),
)
NO_OPUS = Rule(
    id="aiter/opus-missing",
    compiler=NAME,
    anchor=("opus is not available; ",),
    pattern=r"(?P<reason>opus tuned config found but opus is not available); falling back to torch",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The table names a kernel of a library that is not installed: PyTorch computes the product.",
    help="Install the library that the table was tuned with, or tune again without it.",
    seen_in="0.1.9 (source), WARNING",
    matches=("opus tuned config found but opus is not available; falling back to torch",),
    read=called("gemm", "a16w16_gemm"),
)
MLA_REDUCE = Rule(
    id="aiter/mla-reduce-in-torch",
    compiler=NAME,
    anchor=("Triton reduce failed (",),
    pattern=r"Warning: (?P<reason>Triton reduce failed \(.{0,400}\)), falling back to PyTorch",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The reduction of latent attention failed in Triton: PyTorch computes it.",
    help="The line says why the kernel failed; this is a decode path, so fix it before the release.",
    seen_in="0.1.9 (source), print",
    matches=("Warning: Triton reduce failed (out of shared memory), falling back to PyTorch",),
    read=called("mla_reduce", "mla"),
)
WEAKER_GEMM = Rule(
    id="aiter/weaker-kernel",
    compiler=NAME,
    anchor=("; falling back to kernel_type=",),
    pattern=r"(?P<op>[A-Z]\w{1,60}) \[gluon/\w{1,20}\]: (?P<reason>.{1,300}); falling back to kernel_type='\w{1,60}'",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The kernel that was asked for does not fit the shape: a simpler one is used.",
    help="Pad K, or take a smaller BLOCK_K.",
    seen_in="0.1.9 (source), WARNING",
    matches=(
        "GEMM_A16W16 [gluon/gfx1250]: kernel_type='deep' needs num_k_tiles>=4 but num_k_tiles=2 (K=256, BLOCK_K=128); falling back to kernel_type='bandwidth_bound'.",
    ),
)
MOE_QUANTISED = Rule(
    id="aiter/moe-quantised-in-torch",
    compiler=NAME,
    anchor=("FMOE fall into pure torch quant",),
    pattern=r"(?P<reason>FMOE fall into pure torch quant)\.",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="No kernel quantises the activations to the type of the experts' weights: PyTorch does, before each layer.",
    help="Quantise the experts to FP8 or INT8.",
    seen_in="0.1.2 to 0.1.9 (source of 0.1.7), WARNING",
    matches=("[aiter] FMOE fall into pure torch quant...",),
    read=called("fused_moe", "pertoken_quant"),
)
COLLECTIVES = Rule(
    id="aiter/custom-allreduce",
    compiler=NAME,
    anchor=("Custom allreduce is disabled", "Custom quick allreduce is disabled"),
    pattern=r"\[aiter\] Custom (?:quick )?allreduce is disabled (?P<reason>(?:because (?!of missing)|due to ).{1,200})",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The one-shot all-reduce can't be used here: RCCL's runs after each layer.",
    help="Take a world size that the line lists, on GPUs of one node that are joined directly.",
    seen_in="0.1.7 (source), WARNING; DEBUG for more than two PCIe-only GPUs",
    matches=(
        "[aiter] Custom allreduce is disabled due to an unsupported world size: 6. Supported world sizes: [2, 4, 8]. To silence this warning, specify disable_custom_all_reduce=True explicitly.",
        "[aiter] Custom quick allreduce is disabled because this process group spans across nodes.",
    ),
    ignores=(
        "[aiter] Custom quick allreduce is disabled based on env variable AITER_QUICK_REDUCE_QUANTIZATION='NONE'",
    ),
    read=called("all_reduce", "custom_all_reduce"),
)
RULES = (
    UNTUNED_GEMM, TORCH_GEMM, UNTUNED_MOE, UNTUNED_KERNEL, UNTUNED_TRITON_MOE, NO_OPUS, MLA_REDUCE, WEAKER_GEMM,
    MOE_QUANTISED, COLLECTIVES,
)  # fmt: skip
TUNED = Marker(
    id="aiter/tuned",
    compiler=NAME,
    anchor=("is tuned on cu_num = ",),
    pattern=_SHAPE + r".{1,300} is tuned on cu_num = \d{1,6} in ",
    shows="AITER_LOG_TUNED_CONFIG=1 was on, and a shape was found in its table.",
    seen_in="0.1.5 to 0.1.9, INFO",
    matches=(
        "[aiter] shape is M:64, N:1280, K:8192, found padded_M: 64, N:1280, K:8192 is tuned on cu_num = 304 in /tmp/x.csv , kernel name is k!",
    ),
    ignores=("the table is tuned on cu_num = 304",),
)
SETTING = "AITER_LOG_LEVEL=INFO AITER_LOG_TUNED_CONFIG=1, and a marker in the policy for the end of the run"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Shapes are met while requests run; no line shows the last one."""
    why = "a shape is named when it is first met, and nothing shows that all of them were"
    open_ended = Proof(State.UNPROVEN, why, None, SETTING)
    return {
        Kind.UNTUNED_CONFIG: open_ended,
        Kind.OP_FALLBACK: open_ended,
        Kind.SLOWER_KERNEL: Proof(State.UNOBSERVABLE, "few kernels name the one they replace"),
    }


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=(TUNED,),
    required=frozenset({Kind.UNTUNED_CONFIG, Kind.OP_FALLBACK}),
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="partly: shapes without a tuned entry are told, kernels without a table are not",
    seen_in="0.1.2 to 0.1.9 (source), under vLLM 0.10 to 0.14 (public logs)",
)
