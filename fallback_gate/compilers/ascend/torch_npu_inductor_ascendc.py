"""Room 3: torch_npu.inductor's rules for AscendC's summary, matrix products and passes. The manual page is `torch_npu_inductor`.

Read in the source of torch_npu 2.14.0: https://github.com/Ascend/pytorch, `torch_npu/_inductor/ascendc` and
`fx_passes` beside it.
"""

from __future__ import annotations

from fallback_gate.compilers.ascend.names import fixed, named, of_aten
from fallback_gate.compilers.rule import Rule
from fallback_gate.model import Kind, Scope

NAME = "torch_npu.inductor"
_SEEN = "torch_npu 2.14 (source)"

SUMMARY = Rule(
    id="torch-npu-inductor/summary-fallback",
    compiler=NAME,
    anchor=("# reason: ",),
    shared_anchor=True,
    pattern=r"^\s{0,8}Fallback \d{1,9}x (?P<op>(?:torch\.ops\.)?[A-Za-z_][\w:.]{0,255})\([^#]{0,4000}# reason: "
    r"(?P<reason>(?:(?!, has_lowering=).){1,300})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="AscendC has no generated kernel for the operator as it is used here: it runs as a framework call.",
    help="The line says why: a type, a shape or an operator without a lowering.",
    seen_in=f"{_SEEN}, INFO, in a summary of each graph and of the process, with TORCH_COMPILE_DEBUG=1",
    matches=(
        "Fallback 2x aten.sort.stable(Tensor(torch.float32, shape=(8, 64), stride=(64, 1), npu:0), stable=True, dim=-1) -> None  # reason: not in lowering whitelist, has_lowering=True, has_decompose=False",
        "Fallback 1x npu.npu_rotary_mul.default(None) -> None  # reason: input dtype torch.float64 not in [torch.float16]",
    ),
    ignores=("Fallback 3x in the last week  # reason: weather",),
    read=of_aten,
)

MATMUL = Rule(
    id="torch-npu-inductor/matmul-not-fused",
    compiler=NAME,
    anchor=("Matmul fusion fallback op=",),
    pattern=r"Matmul fusion fallback op=(?P<op>[\w:.]{1,120}): (?P<reason>[^.]{1,300})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The matrix product is not fused with what is around it: it runs as a framework call.",
    help="The line says what the fusion can't take: the layout, a rank, a factor or the chip.",
    seen_in=f"{_SEEN}, INFO, with TORCH_COMPILE_DEBUG=1",
    matches=(
        "[2026-01-01 00:00:00] [RANK0] [INFO] Matmul fusion fallback op=aten.addmm.default: unsupported_bias_layout. x_size=[3]",
    ),
    read=of_aten,
)

TEMPLATE = Rule(
    id="torch-npu-inductor/untuned-choice",
    compiler=NAME,
    anchor=("[select_algorithm] No timings", "[select_algorithm] Fallback selected choice"),
    pattern=r"\[select_algorithm\] (?:No timings and no usable fallback; returning first|Fallback selected) choice (?P<reason>.{1,300})",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.UNKNOWN,
    meaning="No choice of a template could be timed: the first that builds is taken.",
    help="Look at the errors of the choices above the line.",
    seen_in=f"{_SEEN}, WARNING and INFO",
    matches=(
        "[select_algorithm] No timings and no usable fallback; returning first choice triton_mm_0",
        "[select_algorithm] Fallback selected choice aten_mm",
    ),
    read=fixed(),
)

PASS = Rule(
    id="torch-npu-inductor/fused-operator-missing",
    compiler=NAME,
    anchor=(
        "_pass disabled: torch.ops.npu",
        "NPU streaming create_block_mask failed",
        "Skipping CATLASS backend",
        "Will discard all catlass ops",
    ),
    pattern=r"(?:(?P<pass>\w{1,60})_pass disabled: torch\.ops\.npu\.(?P<op>\w{1,80}) unavailable"
    r"|NPU streaming (?P<mask>create_block_mask) failed; falling back to the PyTorch implementation"
    r"|Failed to import (?P<lib>CATLASS) lib\b.{0,200}Skipping CATLASS backend"
    r"|Cannot detect npu arch .{1,60}\. Will discard all (?P<ops>catlass) ops)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="A fused operator or a library of templates is missing: its parts, or a plain kernel, run.",
    help="Install the version of CANN, torch_npu or CATLASS that has it.",
    seen_in=f"{_SEEN}, WARNING and ERROR",
    matches=(
        "grouped_matmul_fusion_pass disabled: torch.ops.npu.npu_grouped_matmul unavailable",
        "NPU streaming create_block_mask failed; falling back to the PyTorch implementation: ValueError: x",
        "Failed to import CATLASS lib. Please check whether _inductor.config.catlass.catlass_dir is set correctly. Skipping CATLASS backend for now",
    ),
    read=lambda rule, record, match: (
        named(rule, record, match, match["op"] or match["mask"] or "matmul", match["pass"], match["lib"]),
    ),
)

RULES = (SUMMARY, MATMUL, TEMPLATE, PASS)
