r"""torch_npu.inductor: Inductor on the NPU, with its three kernel compilers: Triton, AscendNPU-IR (MLIR) and AKG.

    AKG compilation failed for akg_fused_softmax_0; falling back to FX. Reason: unsupported dtype
    All 6 primary configs failed compile for kernel triton_red_fused_3; trying 4 small-tile fallback configs

**What falls back.** A fused kernel that none of its compilers can build runs as an FX graph, operator by
operator; an operator on the user's or torch_npu's own list is not lowered; a template that does not apply
gives way to a plain one.

**At which setting it speaks.** Mostly as a warning, by default. `ANIR_FALLBACK_WARNING=1` prints each kernel
of AscendNPU-IR that runs as an FX graph; `TORCH_LOGS=output_code` shows kernels that were never compiled.

**When it is silent.** AscendNPU-IR's default mode (`auto_fallback`) runs a kernel that failed as an FX graph
without a line.

**What proves the end.** Nothing yet: no line tells that `ANIR_FALLBACK_WARNING` was set.

Of AscendC, what is not lowered and not fused shows with `TORCH_COMPILE_DEBUG=1` alone: its logger is at ERROR.

Wording from torch_npu's source of 2026 and of 2.14.0.
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.ascend import torch_npu_inductor_ascendc
from fallback_gate.compilers.ascend.names import fixed, named, of_aten, of_op
from fallback_gate.compilers.rule import Marker, Reader, Rule
from fallback_gate.model import Kind, Scope
from fallback_gate.patterns import BEHIND

NAME = "torch_npu.inductor"
_SEEN = "torch_npu of 2026 (source)"
_KERNEL = r"(?P<op>[A-Za-z_]\w{0,255})"

EAGER_KERNEL = Rule(
    id="torch-npu-inductor/kernel-as-fx-graph",
    compiler=NAME,
    anchor=(
        "has been fallback to the eager fx graph mode",
        "AKG compilation failed for ",
        "AKG compile skipped for ",
        ", fallback to FX.",
    ),
    pattern=rf"This kernel {_KERNEL} (?P<reason>has been fallback to the eager fx graph mode)"
    rf"|AKG compilation failed for {_KERNEL.replace('op', 'op2')}; falling back to FX\. Reason: (?P<reason2>.*)"
    rf"|AKG compile skipped for {_KERNEL.replace('op', 'op3')}, (?P<reason3>forced fallback to FX)"
    rf"|AKG (?P<reason4>accuracy_failed|runtime_error: .{{0,2000}}) for {_KERNEL.replace('op', 'op5')}, fallback to FX\.",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="No compiler could build the fused kernel: its operators run one by one, as an FX graph.",
    help="Look at the compile error of the kernel (TORCH_COMPILE_DEBUG=1), or keep its operators out of the fusion.",
    seen_in=f"{_SEEN}; of AscendNPU-IR only with ANIR_FALLBACK_WARNING=1",
    matches=(
        "This kernel mlir_fused_gate_mix_3 has been fallback to the eager fx graph mode,  which will lead to a significant decrease in performance.",
        "AKG compilation failed for akg_fused_softmax_0; falling back to FX. Reason: unsupported dtype",
        "AKG compile skipped for akg_fused_softmax_0, forced fallback to FX.",
        "AKG accuracy_failed for akg_fused_softmax_0, fallback to FX.",
    ),
    ignores=('    "AKG compilation failed for %s; falling back to FX. Reason: %s",',),
    read=lambda rule, record, match: (
        named(rule, record, match, match["op"] or match["op2"] or match["op3"] or match["op5"])._replace(
            reason=match["reason"] or match["reason2"] or match["reason3"] or match["reason4"]
        ),
    ),
)

FX_CALL = Rule(
    id="torch-npu-inductor/unnamed-fx-graph",
    compiler=NAME,
    anchor=("fallback to fx graph call",),
    pattern=r"(?:^|[\]:] ?|INFO +)(?P<reason>fallback to fx graph call)" + BEHIND,
    kind=Kind.COMPILE_ERROR,
    scope=Scope.UNKNOWN,
    meaning="A fused kernel could not be built and runs as an FX graph; the message does not name it.",
    help="Run with ANIR_FALLBACK_WARNING=1, which names the kernel.",
    seen_in=f"{_SEEN}, INFO",
    matches=("[INFO] fallback to fx graph call",),
    ignores=("the user wants no fallback to fx graph call here",),
    read=fixed(),
)

NOT_COMPILED = Rule(
    id="torch-npu-inductor/kernel-not-compiled",
    compiler=NAME,
    anchor=("= async_compile.import_fx(",),
    pattern=rf"(?:^|\s){_KERNEL} = async_compile\.import_fx\(",
    kind=Kind.EAGER_FRAME,
    scope=Scope.OPERATOR,
    meaning="The generated code imports the fused kernel as an FX graph: it is never compiled (mode complete_fallback).",
    help="Set the compile mode back to auto_fallback or default.",
    seen_in=f"{_SEEN}, in the output code",
    matches=("mlir_fused_gate_mix_3 = async_compile.import_fx('mlir_fused_gate_mix_3', kernel_meta={})",),
    ignores=('compile_wrapper.writeline(f"async_compile.import_fx({name!r}, kernel_meta={meta})")',),
    read=of_op,
)

NO_AKG = Rule(
    id="torch-npu-inductor/no-akg",
    compiler=NAME,
    anchor=("AKG not found; falling back to",),
    pattern=r"(?P<reason>AKG not found; falling back to torch-mlir) for compilation",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.PROGRAM,
    meaning="The kernel compiler AKG was asked for and is not installed: another one builds all kernels.",
    help="Install AKG, or choose the other compiler on purpose.",
    seen_in=f"{_SEEN}, WARNING",
    matches=("AKG not found; falling back to torch-mlir for compilation.",),
    read=fixed(),
)

UNTUNED_KERNEL = Rule(
    id="torch-npu-inductor/untuned-kernel",
    compiler=NAME,
    anchor=(
        "Tuning accuracy failed, no valid kernels found",
        "primary configs failed compile for kernel",
        "small-block fallback config(s) for kernel",
        "No valid triton configs from costmodel-selected configs",
    ),
    pattern=rf"(?:^|\s){_KERNEL}: (?P<reason>Tuning accuracy failed, no valid kernels found), using fallback"
    rf"|(?P<reason2>All \d{{1,9}} primary configs failed compile) for kernel {_KERNEL.replace('op', 'op2')}; trying \d{{1,9}} small-tile fallback configs"
    rf"|(?P<reason3>All initial configs failed); recovered \d{{1,9}} small-block fallback config\(s\) for kernel {_KERNEL.replace('op', 'op3')}"
    rf"|(?P<reason4>No valid triton configs from costmodel-selected configs) for kernel {_KERNEL.replace('op', 'op4')}; retrying",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="None of the kernel's good configurations could be built or used: a small, slow one runs.",
    help="Look at why they failed (the on-chip buffer overflows, as a rule); split the fusion or the shape.",
    seen_in=f"{_SEEN}, WARNING",
    matches=(
        "mlir_fused_gate_mix_3: Tuning accuracy failed, no valid kernels found, using fallback",
        "All 6 primary configs failed compile for kernel triton_red_fused_3; trying 4 small-tile fallback configs",
        "All initial configs failed; recovered 2 small-block fallback config(s) for kernel triton_red_fused_3",
        "No valid triton configs from costmodel-selected configs for kernel triton_red_fused_3; retrying 8 costmodel-filtered configs.",
    ),
    ignores=("No valid triton configs. All configs failed compilation (including small-block fallback).",),
    read=lambda rule, record, match: (
        named(rule, record, match, match["op"] or match["op2"] or match["op3"] or match["op4"])._replace(
            reason=match["reason"] or match["reason2"] or match["reason3"] or match["reason4"]
        ),
    ),
)

LISTED = Rule(
    id="torch-npu-inductor/listed-fallback",
    compiler=NAME,
    anchor=("User specified fallback: ",),
    pattern=r"\[npu\|inductor\|lowering\|fallback\] (?P<reason>User specified fallback): (?P<op>[\w.:]{1,256})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="NPU_INDUCTOR_FALLBACK_LIST takes the operator out of the compiler: it runs through its eager kernel.",
    help="Take the operator off the list when its lowering works.",
    seen_in=f"{_SEEN}, INFO",
    matches=("[npu|inductor|lowering|fallback] User specified fallback: aten.div",),
    ignores=("[npu|inductor|lowering|fallback] Cannot resolve operator: aten.foo",),
    read=of_aten,
)

GEMM = Rule(
    id="torch-npu-inductor/gemm-without-template",
    compiler=NAME,
    anchor=(
        "for GEMM, using ATen backend as",
        "choices for GEMM were invalid",
        "No suitable Catlass GEMM configs",
    ),
    pattern=r"(?:^|torch_npu/_inductor/[\w/]{1,64}\.py:\d{1,6}\] (?:\[\d{1,6}/\d{1,6}(?:_\d{1,6})?\] )?)"
    r"(?P<reason>(?:No choices for GEMM|All choices for GEMM were invalid), using ATen backend as fallback"
    r"|No suitable Catlass GEMM configs found, fallbacks used)",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.UNKNOWN,
    meaning="No tuned template applies to a matrix product: the framework's own kernel runs, without the fusion.",
    help="Look at the shapes and data types of the product in the autotuning log.",
    seen_in=f"{_SEEN}, WARNING",
    matches=(
        "No choices for GEMM, using ATen backend as fallback",
        "All choices for GEMM were invalid, using ATen backend as fallback",
        "W1130 00:29:06.251000 4674 site-packages/torch_npu/_inductor/kernel/mm.py:802] [0/0] No choices for GEMM, using ATen backend as fallback",
        "No suitable Catlass GEMM configs found, fallbacks used ( len(ops)=0, output_layout=x",
    ),
    ignores=(
        "W1130 00:29:06.251000 4674 site-packages/torch/_inductor/kernel/mm.py:802] [0/0] No choices for GEMM, using ATen backend as fallback",
    ),
    read=fixed(),
)

FLEX = Rule(
    id="torch-npu-inductor/flex-decoding",
    compiler=NAME,
    anchor=("Flex decoding failed, falling back",),
    pattern=r"Flex decoding failed, falling back to flex attention: (?P<reason>.*)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The decoding kernel of flex attention does not apply: the general one runs.",
    help="The reason says which shape or option it refused.",
    seen_in=f"{_SEEN}, WARNING",
    matches=("Flex decoding failed, falling back to flex attention: unsupported head dim 96",),
    ignores=('    "Flex decoding failed, falling back to flex attention",',),
    read=fixed("flex_decoding", "flex_attention"),
)

PLAIN_LOAD = Rule(
    id="torch-npu-inductor/plain-index-select",
    compiler=NAME,
    anchor=("fallback index_select to tl.load",),
    pattern=r"fallback index_select to tl\.load reason: (?P<reason>.*), bound: ",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="An index_select loads row by row, not through the chip's gather template.",
    help="The reason says what the template asks for: one indirect axis, unit stride, a known bound.",
    seen_in=f"{_SEEN}, INFO",
    matches=("fallback index_select to tl.load reason: dynamic bound, bound: None",),
    ignores=('    "fallback index_select to tl.load reason: %s",',),
    read=fixed("aten::index_select", "index_select"),
)

SLICES = Rule(
    id="torch-npu-inductor/copy-by-slice",
    compiler=NAME,
    anchor=("falling back to per-slice copies",),
    pattern=r"multi_slice_concat: (?P<reason>[^:]{1,200}), falling back to per-slice copies",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="A concatenation of slices is copied slice by slice, not by one kernel.",
    help="Give the inputs one layout, or concatenate fewer segments.",
    seen_in=f"{_SEEN}, WARNING",
    matches=(
        "multi_slice_concat: no template config compiled for 12 segments, falling back to per-slice copies",
    ),
    read=fixed("multi_slice_concat", "aten::cat"),
)

RULES = (
    EAGER_KERNEL, FX_CALL, NOT_COMPILED, NO_AKG, UNTUNED_KERNEL, LISTED, GEMM, FLEX, PLAIN_LOAD, SLICES,
    *torch_npu_inductor_ascendc.RULES,
)  # fmt: skip
MARKERS = (
    Marker(
        id="torch-npu-inductor/kernel",
        compiler=NAME,
        anchor=("= async_compile.mlir", "= async_compile.akg"),
        pattern=r"(?:^|\s)[A-Za-z_]\w{0,255} = async_compile\.(mlir|akg)(?:_auto_fallback)?\(",
        shows="The generated code compiles a kernel with AscendNPU-IR or AKG.",
        seen_in=_SEEN,
        matches=("mlir_fused_gate_mix_3 = async_compile.mlir_auto_fallback('mlir_fused_gate_mix_3', '''",),
        ignores=("compile_wrapper.writeline(f\"async_compile.mlir({name!r}, '''\")",),
    ),
)
REQUIRED = frozenset({Kind.COMPILE_ERROR})
SETTING = "ANIR_FALLBACK_WARNING=1"
WHY = "a kernel that AscendNPU-IR can't build runs as an FX graph without a line, unless the warning is switched on"

READER = Reader(
    name=NAME,
    rules=RULES,
    markers=MARKERS,
    required=REQUIRED,
    prove=shared.unshown(WHY, SETTING, *REQUIRED),
    setting=SETTING,
    manual=__doc__,
    silent="partly: AscendNPU-IR runs a kernel that failed as an FX graph without a word",
    seen_in="torch_npu of 2026 (source)",
)
