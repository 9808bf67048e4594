r"""tilelang: TileLang on CUDA, ROCm and Ascend.

    [00:33:15] : Warning: Cluster bulk copy size T.int64(12) bytes is not a multiple of 16 as required by cp.async.bulk; falling back to element-wise cluster copy. src=s, dst=d

**What falls back.** A copy that TMA or `cp.async` can't do goes element by element through registers; a matrix
product that WGMMA or TCGEN05 can't do takes the older MMA or scalar FMA. A vectorized loop runs serially.

**At which setting it speaks.** Cluster copies, predicated `cp.async`, sparse GEMM and serial loops: always, a warning.

**When it is silent.** On TMA to plain copies and WGMMA to MMA in every released wheel: these messages are
compiled in for debug builds only, and neither TILELANG_LOG_LEVEL nor TVM_LOG_DEBUG brings them back. Scalar
GEMM on CPU and CUDA is chosen without a word.

**What proves the end.** Nothing. `T.tma_copy`, `T.wgmma_gemm` and `T.tcgen05_gemm` fail rather than fall back:
with them, that the build ended well is the proof, by a marker in the policy.

The autotuner's own fallbacks (`fallback to per-config mode`, `Falling back to single-device benchmark`)
concern tuning, not the kernel: no fallbacks.

Wording seen in 0.1.15 (run), its source and its library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Reader, Rule
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "tilelang"
_LOGGED = r"(?:\[\d\d:\d\d:\d\d\][^\]]{0,300}?(?:Warning|Fatal): |InternalError: )"
_AT = "[00:33:15] : Warning: "
_HELP = (
    "Give rows a size of a multiple of 16 bytes and a swizzled layout, tiles the shape that the instruction takes; "
    "T.tma_copy and T.wgmma_gemm fail instead of falling back."
)

CLUSTER_COPY = Rule(
    id="tilelang/cluster-copy",
    compiler=NAME,
    anchor=("alling back to element-wise cluster copy",),
    pattern=_LOGGED
    + r"(?P<reason>.{0,600}?alling back to element-wise cluster copy(?:.{0,298}?\S)?)(?: src=(?P<src>\w{1,100}), dst=(?P<dst>\w{1,100}))?\s*$",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="A copy between the blocks of a cluster goes element by element instead of in bulk.",
    help=_HELP,
    seen_in="0.1.15 (run), WARNING",
    matches=(
        _AT
        + "Cluster bulk copy size T.int64(12) bytes is not a multiple of 16 as required by cp.async.bulk; falling back to element-wise cluster copy. src=s, dst=d",
        _AT
        + "Falling back to element-wise cluster copy: bulk cluster paths require matching element counts for src and dst",
    ),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op="copy_cluster",
            names=("copy_cluster", "T.copy_cluster", "copy"),
            site=f"{match['src']} -> {match['dst']}" if match["src"] else None,
        ),
    ),
)

PLAIN_COPY = Rule(
    id="tilelang/plain-copy",
    compiler=NAME,
    anchor=(
        "allback to normal copy",
        "fall back to normal copy in ",
        "copy rewrite miss",
        "cp.async rewrite miss for copy ",
        "falling back to regular buffer store/load",
        "[WS] skipped: no TMA copies",
        "[WS] rewriter did not fire, falling back",
    ),
    pattern=_LOGGED
    + r"(?P<reason>(?!T\.tma_copy\(\) cannot).{0,800}?(?:fallback to normal copy|Fallback to normal copy|copy rewrite miss|cp\.async rewrite miss for copy |"
    r"falling back to regular buffer store/load|\[WS\] skipped: no TMA copies|\[WS\] rewriter did not fire, falling back).*)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The copy is not asynchronous: neither TMA nor cp.async can do it as it is laid out.",
    help=_HELP,
    seen_in="0.1.15 (source): a warning for predicated cp.async, debug builds for the others",
    matches=(
        "[00:33:15] src/cuda/op/copy.cc:1781: Warning: TMA bulk copy cannot support a non-swizzled global layout, fallback to normal copy.",
        "[00:33:15] src/cuda/op/copy.cc:910: Warning: Fallback to normal copy because cp.async rewrite found no eligible global->shared store.",
        _AT
        + "Cannot extract base indices from vectorized accesses for predicated cp.async; falling back to regular buffer store/load",
        "[00:33:15] src/cuda/transform/producer_consumer_ws.cc:2870: Warning: [WS] rewriter did not fire, falling back",
    ),
    ignores=("fallback to normal copy of the file",),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(op="copy", names=("copy", "T.copy")),
    ),
)

SPARSE_GEMM = Rule(
    id="tilelang/sparse-gemm",
    compiler=NAME,
    anchor=("is not yet available for sparse GEMM",),
    pattern=_LOGGED + r"(?P<reason>\w{1,30} is not yet available for sparse GEMM\. Falling back to .*)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The sparse matrix product uses the tensor cores of an older generation.",
    help="Use the dense product where it is faster, until TileLang has the instruction.",
    seen_in="0.1.15 (source), WARNING",
    matches=(_AT + "TCGEN5MMASP is not yet available for sparse GEMM. Falling back to WGMMA or MMA.",),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(op="gemm_sp", names=("gemm_sp", "T.gemm_sp", "gemm")),
    ),
)

NO_TMA = Rule(
    id="tilelang/tma-refused",
    compiler=NAME,
    anchor=("T.tma_copy() cannot fall back to normal copy",),
    pattern=_LOGGED + r"(?P<reason>T\.tma_copy\(\) cannot fall back to normal copy.*)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The copy must be done by TMA and can't: the kernel is not compiled.",
    help=_HELP,
    seen_in="0.1.15 (run), FATAL and an exception",
    matches=(
        "[00:33:15] : Fatal: T.tma_copy() cannot fall back to normal copy in LowerBulk: shared layout cannot be encoded for TMA: x, src=A, dst=As",
        "tvm.error.InternalError: T.tma_copy() cannot fall back to normal copy in LowerBulk: shared layout cannot be encoded for TMA: x, src=A, dst=As",
    ),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(op="tma_copy", names=("tma_copy", "T.tma_copy", "copy")),
    ),
)


_PRIMITIVE = Pattern(r"\bT\.(?P<op>[a-z]\w{1,60})(?:\(\)|:| )")
_COPY_OR_GEMM = {"tma_copy": ("copy",), "wgmma_gemm": ("gemm",), "tcgen05_gemm": ("gemm",)}


def _of_primitive(report: Report, op: str) -> Report:
    """About a primitive of the tile language, by its own name and by that of what it does."""
    names = (op, f"T.{op}", *_COPY_OR_GEMM.get(op, ()))
    return report._replace(op=op, names=names, scope=Scope.OPERATOR)


def uncaught(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """An error under TileLang's own frames; none while its tuner tries a candidate."""
    frames = []
    for line in record.preceding(120):
        if line.text.startswith("Traceback (most recent call last):"):
            break
        frames.append(line.text)
    if any("tilelang/" in frame for frame in frames) and not any("/autotuner/" in frame for frame in frames):
        report = by_groups(rule, record, match)
        named = _PRIMITIVE.search(match["reason"])
        yield _of_primitive(report, named["op"]) if named else report


FAILED = Rule(
    id="tilelang/not-compiled",
    compiler=NAME,
    anchor=("tvm.error.InternalError: ",),
    pattern=r"^tvm\.error\.InternalError: (?P<reason>(?!T\.tma_copy\(\) cannot fall back to normal copy).*)",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.UNKNOWN,
    meaning="The kernel could not be lowered: the program ended, or its author caught the error and went on without it.",
    help="The line says what can't be done; the traceback above it where the kernel is lowered.",
    seen_in="0.1.15 (run), an exception",
    matches=(
        'Traceback (most recent call last):\n  File "/app/tlk.py", line 43, in <module>\n  File "/opt/venv/tilelang/engine/lower.py", line 238, in lower\ntvm.error.InternalError: Check failed: layout_map.count(buffer) != 0 (0 vs. 0) : The layout for fragment Cl can not be inferred correctly.',
        'Traceback (most recent call last):\n  File "/opt/venv/tilelang/engine/lower.py", line 238, in lower\ntvm.error.InternalError: Check failed: (result.supported) is false: T.tma_copy() requires TMA-capable target and global<->shared copy pattern, but TMA is not available for src=A, dst=s',
    ),
    ignores=(
        "tvm.error.InternalError: Check failed: (it != functions.end()) is false",
        'Traceback (most recent call last):\n  File "/opt/venv/tilelang/autotuner/tuner.py", line 700, in target_fn\ntvm.error.InternalError: Check failed: false',
    ),
    read=uncaught,
)

FATAL = Rule(
    id="tilelang/primitive-refused",
    compiler=NAME,
    anchor=(": Fatal: T.", ": Fatal: No valid warp partition for T."),
    pattern=r"\[\d\d:\d\d:\d\d\][^\]]{0,300}?: Fatal: "
    r"(?P<reason>(?!T\.tma_copy\(\) cannot fall)(?:No valid warp partition for )?T\.(?P<op>[a-z]\w{1,60})(?:\(\))?\b.*)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The target or the tile's shape does not allow the primitive: the kernel is not compiled, whoever catches the error.",
    help=_HELP,
    seen_in="0.1.15 (run), FATAL",
    matches=(
        "[00:33:15] : Fatal: T.wgmma_gemm() requires Hopper WGMMA lowering, but constraints were not satisfied. Got target={}",
        "[00:33:15] : Fatal: No valid warp partition for T.gemm: M=16, N=16 cannot be evenly covered by 4 warps (policy=Square).",
    ),
    ignores=(
        "[00:33:15] : Fatal: T.tma_copy() cannot fall back to normal copy in LowerBulk: x, src=A, dst=As",
    ),
    read=lambda rule, record, match: (_of_primitive(by_groups(rule, record, match), match["op"]),),
)

NOT_BUILT = Rule(
    id="tilelang/not-built",
    compiler=NAME,
    anchor=("Failed to build prim_func from ",),
    pattern=r"\bFailed to build prim_func from (?P<op>\w{1,200})\s*$",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The kernel's function was refused before it was lowered: the program ended, or its author caught the error and went on without it.",
    help="The exception below the line says what can't be done.",
    seen_in="0.1.15 (run), CRITICAL of its logger",
    matches=(
        "2026-11-30 00:31:33  [TileLang:tilelang.language.eager.builder:CRITICAL] (builder.py:1797): Failed to build prim_func from bad_shape",
    ),
    ignores=('    logger.critical(f"Failed to build prim_func from {name}")',),
)

SERIAL_LOOP = Rule(
    id="tilelang/serial-loop",
    compiler=NAME,
    anchor=("is lowered as a serial loop because TileLang",),
    pattern=_LOGGED
    + r"(?P<reason>T\.vectorized loop over `?(?P<loop>\w{1,100})`? with extent \S{1,40} is lowered as a serial loop because TileLang could not find a valid vectorization plan)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="A loop that was to be vectorized runs element by element.",
    help="Make its accesses contiguous and aligned; move reductions out of it (T.unroll, T.serial).",
    seen_in="0.1.15 (run), WARNING",
    matches=(
        _AT
        + "T.vectorized loop over `local_id` with extent 4 is lowered as a serial loop because TileLang could not find a valid vectorization plan. Scalar accumulator updates inside the loop are a common cause; move reductions to T.unroll or T.serial if this is intended.",
    ),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op="vectorized", names=("vectorized", "T.vectorized", match["loop"]), site=match["loop"]
        ),
    ),
)

SCHEDULE = Rule(
    id="tilelang/ascend-schedule",
    compiler=NAME,
    anchor=("falling back to topological sort", "falling back to sequential schedule"),
    pattern=r"(?P<reason>Python Z3 (?:loop )?scheduler .{0,100}?, falling back to topological sort|\[Python Z3 Loop\] No feasible II found; falling back to sequential schedule)",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.PROGRAM,
    meaning="Operations are not scheduled by the solver: they run one after the other, or in the order of the graph.",
    help="Install z3-solver, or give the solver more time.",
    seen_in="0.1.15 (its library and source), Ascend",
    matches=(
        _AT + "Python Z3 scheduler not registered, falling back to topological sort",
        "[Python Z3 Loop] No feasible II found; falling back to sequential schedule",
    ),
)

REQUIRED = frozenset({Kind.SLOWER_KERNEL})
SETTING = "T.tma_copy and T.wgmma_gemm in place of T.copy and T.gemm, and a marker in the policy for the end of the build"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Released wheels hold only some of the messages."""
    why = "released wheels hold only some of the messages on slower copies and products"
    proof = {Kind.SLOWER_KERNEL: Proof(State.UNOBSERVABLE, why, None, SETTING)}
    if Kind.COMPILE_ERROR in evidence.reported:
        why = "a kernel was not compiled, and nothing shows that it was after all"
        proof[Kind.COMPILE_ERROR] = Proof(State.UNPROVEN, why, None, SETTING)
    return proof


READER = Reader(
    name=NAME,
    rules=(CLUSTER_COPY, PLAIN_COPY, SPARSE_GEMM, SERIAL_LOOP, NO_TMA, FATAL, FAILED, NOT_BUILT, SCHEDULE),
    markers=(),
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="partly: cluster copies, predicated cp.async, sparse GEMM and serial loops are told, the rest is not in released wheels",
    seen_in="0.1.15 (run)",
)
