r"""triton: the Triton compiler, on NVIDIA and AMD GPUs.

    /app/model/tri_gemm.py:15:16: remark: MMA version 3 acceleration not applied due to unsupported shapes or data types.

**What falls back.** A `tl.dot` takes an older tensor-core instruction, or scalar FMA. A load is not pipelined. A
type that the chip lacks is converted first. A kernel is not compiled at all.

**At which setting it speaks.** Remarks and warnings of MLIR with `MLIR_ENABLE_DIAGNOSTICS=warnings,remarks`, and
only while a kernel is compiled. Conversions of fp8: always, a Python warning. Matrix instructions that NVIDIA's
assembler serializes: with `TRITON_DUMP_PTXAS_LOG=1`. Errors: always.

**When it is silent.** By default, on weaker instructions. With a warm cache at every setting: use
`TRITON_ALWAYS_COMPILE=1` or an empty `TRITON_CACHE_DIR`. `TRITON_INTERPRET=1` runs kernels in Python on the
CPU and says nothing: the closing record of a recorded run tells which. A remark names the place of a `tl.dot`, not the kernel, nor what it got instead.

**What proves the end.** Nothing: no line shows that remarks were on and that kernels were compiled anew.
Under torch.compile, which compiles its own kernels with Triton, the proof is that compiler's.

Remarks on kernels that Inductor wrote (a file of its code cache) are no fallbacks: it compiles many candidates,
and autotuning drops the slow ones. Autotuning itself (`Autotuning kernel`, `Autotuning failed with`, `best config
selected`) picks and drops configurations: no fallbacks. Nor are `TRITON_DEFAULT_FP_FUSION is unset`, `kpack is
deprecated` and `Performed one ping pong cluster transformation`.

Wording seen in 3.3, 3.8 and 3.9 (run); others in its library and in the source of 3.0 to 3.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Reader, Rule
from fallback_gate.compilers.runtimes import triton_errors, triton_ptxas
from fallback_gate.compilers.runtimes.triton_errors import DEF, NAME
from fallback_gate.model import Kind, Location, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_AT = "/app/model/tri_gemm.py:15:16: "
_PLACE = r"^\"?(?P<where>(?:[A-Za-z]:)?[^\s:\"]{1,500})\"?:(?P<at>\d{1,9}):\d{1,9}: "
_GENERATED = Pattern(r"[\\/][a-z2-7]{2}[\\/]c[a-z2-7]{40,60}\.py$")  # a file of Inductor's code cache
_CALL = Pattern(r"\b(?P<call>tl\.(?:dot_scaled|dot|load|store|async_copy\w*))\b")


def placed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A diagnostic of MLIR: its place, and from the source line below it the kernel or the call.

    Not of a kernel that Inductor wrote: it compiles many, and its autotuning drops the slow ones.
    """
    groups = match.groupdict()
    if _GENERATED.search(groups["where"]):
        return
    report = by_groups(rule, record, match)._replace(
        location=Location(groups["where"], int(groups["at"])), files=(groups["where"],), reason=groups["why"]
    )
    below = next(record.following(1), None)
    source = below.text if below else ""
    kernel = DEF.match(source)
    call = _CALL.search(source)
    if kernel:
        name = kernel["name"]
        yield report._replace(
            op=name,
            names=(name,),
            stack=(name,),
            location=Location(groups["where"], int(groups["at"]), name),
        )
        return
    op = call["call"] if call else _default(rule)
    yield report._replace(op=op, names=(op,), scope=rule.scope if op != "*" else Scope.UNKNOWN)


def _default(rule: Rule) -> str:
    """What a message is about where its source line does not tell."""
    return {DOT.id: "tl.dot", OPERAND.id: "tl.dot", LOAD.id: "tl.load"}.get(rule.id, "*")


_HELP_DOT = (
    "Give the dot a tile, types and a number of warps that the instruction takes (for WGMMA: M of 64, 4 warps, "
    "fp16, bf16 or fp8; input_precision other than ieee for fp32)."
)
DOT = Rule(
    id="triton/weaker-dot",
    compiler=NAME,
    anchor=(
        "acceleration not applied due to unsupported shapes",
        "It falls back to the FMA path",
        "Attempting to map dot operation to FMA",
        "t use MMA V",
        "Unable to select MFMA intrinsic",
        "Decomposing scaled dot operation into regular",
        "missing native support for fp8 variant",
    ),
    pattern=_PLACE
    + r"(?:remark|warning): (?P<why>(?:Warning: )?(?:MMA version \d acceleration not applied due to unsupported shapes|Dot op using MMA for compute capability \d{1,4} has been deprecated"
    r"|Attempting to map dot operation to FMA|can't use MMA V\d for the dot op|Unable to select MFMA intrinsic|Decomposing scaled dot operation into regular"
    r"|missing native support for fp8 variant).*)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The dot does not use the tensor-core instruction that the chip has: an older one, or scalar FMA, computes it.",
    help=_HELP_DOT,
    seen_in="3.9 (run, and its library), 3.0 (source), remarks",
    matches=(
        _AT + "remark: MMA version 3 acceleration not applied due to unsupported shapes or data types.",
        _AT
        + "remark: Dot op using MMA for compute capability 75 has been deprecated. It falls back to the FMA path.",
        _AT + "remark: Attempting to map dot operation to FMA intrinsic.",
        _AT + "remark: Warning: can't use MMA V3 for the dot op",
        _AT
        + "remark: Unable to select MFMA intrinsic for the request: version=3, result-shape=(16x16), selected-mDim=0",
        _AT + "remark: Decomposing scaled dot operation into regular dot operation with explicit scaling.",
        _AT
        + "remark: missing native support for fp8 variant on current architecture; emulated with fp16 so low performance",
    ),
    ignores=(
        _AT + "note: Target compute capability (90) supports MMA v3.",
        _AT + "remark: Performed one ping pong cluster transformation",
        "MMA version 3 acceleration not applied due to unsupported shapes or data types.",
    ),
    read=placed,
)

OPERAND = Rule(
    id="triton/operand-not-pipelined",
    compiler=NAME,
    anchor=("on SMEM than the register order for the operand",),
    pattern=_PLACE
    + r"warning: (?:Warning: )?(?P<why>Forcing a different order \[[\d, ]{1,40}\] on SMEM than the register order for the operand.*)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="An operand of the dot is transposed in registers: its load is not pipelined.",
    help="Transpose the operand in global memory.",
    seen_in="3.9 (run), a warning of MLIR",
    matches=(
        _AT
        + "warning: Warning: Forcing a different order [0, 1] on SMEM than the register order for the operand 1. Registers will be transposed before SMEM store and the pipelined load for this operand will be disabled, so poor performance is expected.",
    ),
    read=placed,
)

LOAD = Rule(
    id="triton/load-not-pipelined",
    compiler=NAME,
    anchor=(
        "Pipelining load that cannot use vectorized copy",
        "Pipelining load with different use encodings",
        "vectorization fails vec = ",
        "falling back to regular load",
    ),
    pattern=_PLACE
    + r"(?:remark|warning): (?P<why>(?:Warning: )?(?:Pipelining load that cannot use vectorized copy|Pipelining load with different use encodings"
    r"|vectorization fails vec = (?P<got>\d{1,4}) origin vec = (?!(?P=got) )\d|Multicast with bit width \d{1,9} is not supported on \S{1,40} falling back to regular load).*)",
    kind=Kind.SLOWER_KERNEL,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The load is not done in wide asynchronous copies: it goes through registers, or element by element.",
    help="Make the innermost dimension contiguous and a multiple of 16 bytes, and say so (tl.multiple_of, tl.max_contiguous).",
    seen_in="3.9 (its library and source), remarks",
    matches=(
        _AT
        + "remark: Pipelining load that cannot use vectorized copy. This will likely lead to pipelining in registers and severe performance degradation.",
        _AT + "remark: Warning: vectorization fails vec = 1 origin vec = 4 numElems = 4 mask is %3",
        _AT + "remark: Multicast with bit width 16 is not supported on gfx1250 falling back to regular load",
    ),
    # Scalar from the start, as a gather is: nothing was lost.
    ignores=(
        _AT + "remark: Warning: vectorization fails vec = 1 origin vec = 1 elemsPerThread = 32 mask is -1",
        _AT + "remark: Warning: vectorization fails vec = 1 origin vec = 1 numElems = 8 mask is 1",
    ),
    read=placed,
)

CONVERTED = Rule(
    id="triton/fp8-converted",
    compiler=NAME,
    anchor=("and can cause significant slow down",),
    pattern=r"UserWarning: (?P<why>(?:the use of )?(?P<type>fp8\w{1,20}) is .{0,120}?and can cause significant slow down)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The chip lacks this form of fp8: operands of the dot are converted to fp16 first.",
    help="Use the OCP forms of fp8 (fp8e4nv, fp8e5) where the chip has them.",
    seen_in="3.9 (run), a Python warning",
    matches=(
        "/opt/venv/triton/language/semantic.py:1577: UserWarning: fp8e4b8 is AMD gfx942 specific and not supported on gfx950 so it's upcasted to fp16 and can cause significant slow down. Please use OCP fp8 variants on gfx950 for performance",
        "/opt/venv/triton/language/semantic.py:1564: UserWarning: the use of fp8e4b15 is deprecated on Hopper and later architectures and can cause significant slow down. It will be removed in a future triton release",
    ),
    ignores=("UserWarning: kpack is deprecated starting from gfx950 and will be removed",),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op="tl.dot", names=("tl.dot", match["type"]), reason=match["why"], site=match["type"]
        ),
    ),
)

FAILED = Rule(
    id="triton/not-compiled",
    compiler=NAME,
    anchor=(
        "error: unsupported target: ",
        "Failures have been detected while processing an MLIR pass pipeline",
    ),
    pattern=_PLACE
    + r"error: (?P<why>unsupported target: '?\w{1,40}'?|Failures have been detected while processing an MLIR pass pipeline)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The kernel was not compiled: the program ended, or its author caught the error and went on without it.",
    help="Read the error above the line; an unsupported target needs another version of Triton, or another chip.",
    seen_in="3.9 (run), ERROR",
    matches=(
        "/app/model/tri_gemm.py:8:1: error: unsupported target: 'gfx1030'\ndef gate_attn_qk(a, b, c, M, N, K):",
        "/app/model/tri_gemm.py:8:1: error: Failures have been detected while processing an MLIR pass pipeline\ndef gate_attn_qk(a, b, c, M, N, K):",
    ),
    ignores=("<unknown>:0: error: x",),
    read=placed,
)


REQUIRED = frozenset({Kind.SLOWER_KERNEL})
SETTING = (
    "MLIR_ENABLE_DIAGNOSTICS=warnings,remarks TRITON_ALWAYS_COMPILE=1, and a marker in the policy for the end"
)


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Neither a setting nor a compile shows in the log."""
    why = "nothing shows that remarks were on, and that each kernel was compiled rather than taken from the cache"
    proof = {Kind.SLOWER_KERNEL: Proof(State.UNPROVEN, why, None, SETTING)}
    if Kind.COMPILE_ERROR in evidence.reported:
        why = "a kernel was not compiled, and nothing shows that it was after all"
        proof[Kind.COMPILE_ERROR] = Proof(State.UNPROVEN, why, None, SETTING)
    return proof


READER = Reader(
    name=NAME,
    rules=(DOT, OPERAND, LOAD, CONVERTED, FAILED, *triton_errors.RULES, triton_ptxas.SERIALIZED),
    markers=(),
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    inside=frozenset({"torch.compile"}),
    manual=__doc__,
    silent="partly: conversions of fp8 and errors are told, weaker instructions not",
    seen_in="3.3 to 3.9 (run), 3.0 to 3.9 (source)",
)
