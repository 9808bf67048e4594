r"""iree: IREE's compiler, and torch-mlir in front of it.

    func.func @moe_topk_dispatch_2_topk_32x8xf32() attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<Default>>} {
    moe_attn.mlir:34:11: warning: op is not vectorized

**What falls back.** A dispatch gets the default pipeline, without tiles or vectors; an operation stays scalar
loops, or misses its microkernel or the GPU's matrix instruction; a module is built for the VMVX interpreter, or for
a generic CPU.

**At which setting it speaks.** Pipelines: `--iree-hal-dump-executable-configurations-to=-` prints each dispatch.
Scalar loops: the hidden flag `--iree-llvmcpu-check-linalg-vectorization`. The generic CPU: always.

**When it is silent.** By default: a compile that ends well prints nothing, also with `vmvx`. The
vectorization check sees operations of linalg only, not those of `iree_linalg_ext` (topk, sort, scatter). The
Python module `iree.compiler.tools` takes standard output for itself: dump to a folder there, and print its files.

**What proves the end.** The dump, where each executable in it ends and has a pipeline, and no error of the
compiler: it dumps before it translates. Not where a convolution or pooling, or a reduction of several results, is under
`DoubleTilingExpert`: it may stay scalar loops all the same, which only the vectorization check tells.

Wording seen in 2.9, 3.1, 3.6, 3.9 and 3.13 (run); older names of pipelines in the source of 2.x.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Reader, Rule
from fallback_gate.compilers.runtimes import iree_dispatches, iree_errors
from fallback_gate.compilers.runtimes.iree_dispatches import MOST_HEAD, OF_PIPELINE, WHY_NOT
from fallback_gate.compilers.runtimes.iree_errors import NAME, PLACE, dispatch_names, file_of
from fallback_gate.model import Kind, Location, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_OPERATION = Pattern(
    r"(?:^|= |current operation: )\s*(?P<op>(?:linalg|iree_linalg_ext|tensor|vector|tosa|stablehlo|torch)\.\w[\w.]*)"
)
_VMVX = "vmvx-bytecode-fb"
_EXECUTABLE = Pattern(r"hal\.executable (?:public |private )?@(?P<name>[\w$.-]{1,300})")
_FUNCTION = Pattern(r"func\.func (?:public |private )?@(?P<name>[\w$.-]{1,300})\(")


def plain(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A dispatch with a plain pipeline; not one for VMVX, which has no other and is told as such."""
    for line in record.preceding(MOST_HEAD):
        if "hal.executable.variant " in line.text:
            if _VMVX in line.text:
                return
            break
    names = dispatch_names(match["dispatch"])
    yield by_groups(rule, record, match)._replace(
        op=names[0], names=names, stack=names[1:2], reason=f"pipeline {match['pipeline']}"
    )


_DUMPED = (
    "      func.func @{}() attributes {{translation_info = #iree_codegen.translation_info<pipeline = {}>}} {{"
)
PLAIN_PIPELINE = Rule(
    id="iree/plain-pipeline",
    compiler=NAME,
    anchor=("translation_info<",),
    pattern=r"^\s*func\.func @(?P<dispatch>[\w$.-]{1,300})\(.*?"
    + OF_PIPELINE
    + r"(?P<pipeline>(?:CPU|LLVMGPU|SPIRV|VMVX)?(?:Default|Distribute|BaseDistribute|BaseLowering))[>, ]",
    kind=Kind.UNTUNED_CONFIG,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The dispatch is lowered by the plain pipeline: loops over threads or elements, without tiles for vectors or caches.",
    help="Look at the operation that the dispatch is formed around: a tuning spec (--iree-codegen-tuning-spec-path) or another form of it may get a pipeline of its own.",
    seen_in="3.1 to 3.13 (run), --iree-hal-dump-executable-configurations-to=-",
    matches=(
        _DUMPED.format("moe_topk_dispatch_2_topk_32x8xf32", "#iree_cpu.pipeline<Default>"),
        _DUMPED.format(
            "moe_topk_dispatch_2_topk_32x8xf32", "#iree_gpu.pipeline<Distribute> workgroup_size = [64, 1, 1]"
        ),
        _DUMPED.format(
            "moe_topk_dispatch_2_topk_32x8xf32",
            "#iree_gpu.spirv_pipeline<BaseDistribute> workgroup_size = [64, 1, 1]",
        ),
        _DUMPED.format("f_dispatch_0", "CPUDefault"),
    ),
    ignores=(
        _DUMPED.format(
            "gate_attn_dispatch_0_matmul_like_4x32x32x16_f32",
            "#iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}",
        ),
        _DUMPED.format("f_dispatch_1", "#iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1]"),
        'hal.executable public @rank_dispatch_0 {\n  hal.executable.variant public @vmvx_bytecode_fb target(<"vmvx", "vmvx-bytecode-fb", {ukernels = "none"}>) {\n'
        + _DUMPED.format("rank_dispatch_0_sort_16x32xf32", "VMVXDefault"),
    ),
    read=plain,
)


def interpreted(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """An executable for the VMVX interpreter: its name is on the line before, its function's on one below."""
    report = by_groups(rule, record, match)
    before = next(record.preceding(1), None)
    named = before and _EXECUTABLE.search(before.text)
    function = None
    for line in record.following(MOST_HEAD):
        if _EXECUTABLE.match(line.text):
            break
        if function := _FUNCTION.search(line.text):
            break
    if named or function:
        known = [*dispatch_names(function["name"])] if function else []
        known += dispatch_names(named["name"]) if named else ()
        names = tuple(dict.fromkeys(known))
        yield report._replace(op=names[0], names=names, stack=names[1:2], scope=Scope.OPERATOR)
    else:
        yield report


VMVX = Rule(
    id="iree/reference-backend",
    compiler=NAME,
    anchor=("vmvx-bytecode-fb",),
    pattern=r"hal\.executable\.variant .{0,200}?target\(<\"(?P<reason>vmvx)\", \"vmvx-bytecode-fb\"",
    kind=Kind.REFERENCE_KERNEL,
    scope=Scope.PROGRAM,
    meaning="The dispatch is bytecode for VMVX, IREE's reference back end, which interprets it.",
    help="Compile for llvm-cpu or a GPU (--iree-hal-target-device, --iree-hal-local-target-device-backends).",
    seen_in="3.1 to 3.13 (run), --iree-hal-dump-executable-configurations-to=-",
    matches=(
        'hal.executable public @rank_dispatch_0 {\n  hal.executable.variant public @vmvx_bytecode_fb target(<"vmvx", "vmvx-bytecode-fb", {ukernels = "none"}>) {\n    builtin.module {\n'
        + _DUMPED.format("rank_dispatch_0_sort_16x32xf32", "VMVXDefault"),
        'hal.executable public @topk_dispatch_0 {\n  hal.executable.variant public @vmvx_bytecode_fb target(<"vmvx", "vmvx-bytecode-fb", {ukernels = "none"}>) {',
    ),
    read=interpreted,
)


def at_source(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A diagnostic of MLIR: the operation from the source line below it, the function from a note."""
    file, line = file_of(match), match["at"]
    operation, function = "", ""
    for below in record.following(14):
        if not operation and (found := _OPERATION.search(below.text)):
            operation = found["op"]
        if named := _FUNCTION.search(below.text):
            function = named["name"]
        if ": warning: " in below.text or ": error: " in below.text:
            break
    report = by_groups(rule, record, match)._replace(
        location=Location(file, int(line), function or None), files=(file,), reason=match["why"]
    )
    names = tuple(dict.fromkeys(n for n in (operation, function) if n))
    if names:
        yield report._replace(op=names[0], names=names, stack=(function,) if function else ())
    else:
        yield report._replace(scope=Scope.UNKNOWN)


_TOPK = "    %fv = linalg.fill ins(%cneg : f32) outs(%ev : tensor<32x2xf32>) -> tensor<32x2xf32>"
SCALAR = Rule(
    id="iree/not-vectorized",
    compiler=NAME,
    anchor=("warning: op is not vectorized", "one or more ops not vectorized"),
    pattern=PLACE + r"warning: (?P<why>op is not vectorized|found one or more ops not vectorized)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The operation ends as scalar loops.",
    help="Give it static shapes that are multiples of the vector size, or another form; see its pipeline in the dump of configurations.",
    seen_in="3.13 (run), --iree-llvmcpu-check-linalg-vectorization",
    matches=(f"moe_attn.mlir:34:11: warning: op is not vectorized\n{_TOPK}",),
    ignores=("remark: op is not vectorized",),
    read=at_source,
)

NO_UKERNEL = Rule(
    id="iree/no-microkernel",
    compiler=NAME,
    anchor=("Linalg op not converted to microkernel",),
    pattern=PLACE
    + r"warning: (?P<why>Linalg op not converted to microkernel and will be implemented with fallback scalar loops)",
    kind=Kind.REFERENCE_KERNEL,
    scope=Scope.OPERATOR,
    meaning="No microkernel fits the operation: scalar loops compute it.",
    help="The note below the line shows the operation with its types and layouts; change those that no microkernel has.",
    seen_in="3.13 (run), pass option warn-on-unconverted",
    matches=(
        f"moe_attn.mlir:34:11: warning: Linalg op not converted to microkernel and will be implemented with fallback scalar loops\n{_TOPK}",
    ),
    read=at_source,
)

GENERIC_CPU = Rule(
    id="iree/generic-cpu",
    compiler=NAME,
    anchor=("Defaulting to targeting a generic CPU",),
    pattern=r"(?P<reason>Defaulting to targeting a generic CPU for the target architecture will result in poor performance)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.PROGRAM,
    meaning="The code is for the oldest CPU of the architecture: none of its vector extensions is used.",
    help="Name the CPU of the fleet: --iree-llvmcpu-target-cpu=... (host only for the machine that compiles).",
    seen_in="3.13 (run), WARNING",
    matches=(
        "Defaulting to targeting a generic CPU for the target architecture will result in poor performance. Please specify a target CPU and/or a target CPU feature set.",
    ),
)

MARKERS = (iree_dispatches.DUMPED, iree_errors.NOTE)
RULES = (
    PLAIN_PIPELINE, VMVX, iree_dispatches.NO_MATRIX_UNIT, SCALAR, NO_UKERNEL, GENERIC_CPU, *iree_errors.RULES,
)  # fmt: skip
REQUIRED = frozenset({Kind.UNTUNED_CONFIG, Kind.REFERENCE_KERNEL})
SETTING = "--iree-hal-dump-executable-configurations-to=-"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """The dump shows each dispatch with its pipeline."""
    states = {state for _, state in evidence.of(iree_dispatches.DUMPED.id)}
    if Kind.COMPILE_ERROR in evidence.reported:
        proof = Proof(State.UNPROVEN, "compiling ended in an error: nothing was compiled", None, SETTING)
    elif evidence.of(iree_errors.NOTE.id):
        why = "a note belongs to a diagnostic that the log lacks, which may be an error"
        proof = Proof(State.UNPROVEN, why, None, SETTING)
    elif states == {"whole"}:
        why = "each executable is dumped to its end, with its pipeline"
        proof = Proof(State.PROVEN, why, evidence.first(iree_dispatches.DUMPED.id))
    elif states:
        why = next(said for state, said in WHY_NOT.items() if state in states)
        proof = Proof(State.UNPROVEN, why, None, SETTING)
    else:
        proof = Proof(State.UNOBSERVABLE, "this level shows no pipelines", None, SETTING)
    return dict.fromkeys(REQUIRED, proof)


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="yes, but for a generic CPU",
    seen_in="3.13 (run)",
)
