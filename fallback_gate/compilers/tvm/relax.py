r"""tvm.relax: TVM's graph compiler since 0.13, from the warnings of its passes.

    [00:34:06] /project/src/relax/transform/legalize_ops.cc:347: Warning: No legalization func for relax.topk is found.

**What falls back.** An operator has no lowering and stays a call into a library. A function has no tuning
record and gets no schedule, or the default one. Fusion, a layout or a constant is given up.

**At which setting it speaks.** Missing lowerings and missing records: only with `enable_warning=True`, an
argument of `relax.get_pipeline("zero", ...)`, `LegalizeOps` and `MetaScheduleApplyDatabase`. No environment
variable turns it on, and `TVM_LOG_DEBUG` does nothing in the released wheels. A module that `PrintAfterAll` prints
behind LegalizeOps shows what it left. The rest: always.

**When it is silent.** By default, on all of that. With an empty database, which the pipeline takes for none.
At every setting: `dl.gpu.Fallback` scheduling a
compute operator, packed calls, what a partition left out (print the module: see `tvm.byoc`).

**What proves the end.** Nothing that TVM prints: a clean run with warnings on prints the same as a run with
warnings off. So a log proves something only with a marker in the policy, for a line that the build script
prints after it compiled with `enable_warning=True`.

Wording seen in 0.27 (run, and its source).
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.compilers.tvm import names, relax_dump
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "tvm.relax"
_SRC = "[00:34:06] /project/src/relax/"
_LOGGED = r"(?:^\W*\[?\d\d:\d\d:\d\d\]|\.(?:cc|h):\d+:|Warning:).{0,200}?"

_TUNE = (
    "Tune the function with MetaSchedule and apply the database, or schedule it (dlight, a schedule rule of your own); "
    "a record must match structure, shapes and target (https://tvm.apache.org/docs/)."
)

NO_LEGALIZATION = Rule(
    id="tvm-relax/no-legalization",
    compiler=NAME,
    anchor=("No legalization func for ",),
    pattern=r"No legalization func for (?P<op>[\w.]+) is found",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The operator has no lowering to a generated function: a later pass turns it into a call of a library.",
    help="Register an FLegalize for the operator (custom_legalize_map of LegalizeOps), or allow the library call.",
    seen_in="0.27, WARNING with enable_warning=True",
    matches=(_SRC + "transform/legalize_ops.cc:347: Warning: No legalization func for relax.topk is found.",),
    ignores=("No legalization func for the operator was registered.",),
    read=names.of_relax,
)


def cannot_legalize(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """`Cannot legalize CALL, missing known shapes ...`, in which the call may be printed on several lines."""
    report = by_groups(rule, record, match)
    lines = [match["call"]]
    if "missing known shapes" not in match["call"]:
        for line in record.following(30):
            lines.append(line.text)
            if "missing known shapes" in line.text:
                break
    for text in lines:
        if found := _CALL.search(text):
            yield names.named(report, names.relax(found["op"]))
            return
    yield report._replace(scope=Scope.UNKNOWN)


_CALL = Pattern(r"\b(?:R|relax)\.(?P<op>(?!func_attr|dataflow|Tensor|output)[a-z_][\w.]*)\(")

CANNOT_LEGALIZE = Rule(
    id="tvm-relax/cannot-legalize",
    compiler=NAME,
    anchor=("Cannot legalize ",),
    pattern=_LOGGED + r"Cannot legalize (?P<call>.*)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="Shapes that must be known to lower the operator are not: it stays a call into a library.",
    help="Give the model static shapes, or name the dynamic ones so that shape inference can follow them.",
    seen_in="0.27 (source), WARNING with enable_warning=True",
    matches=(
        _SRC
        + "transform/legalize_ops.cc:349: Warning: Cannot legalize R.topk(x, k=2), missing known shapes for arguments and return value",
        _SRC + "transform/legalize_ops.cc:349: Warning: Cannot legalize # from tvm.script import relax as R",
    ),
    ignores=("Cannot legalize nodes of this type",),
    read=cannot_legalize,
)

NO_RECORD = Rule(
    id="tvm-relax/no-tuning-record",
    compiler=NAME,
    anchor=("Tuning record is not found for primfunc: ",),
    pattern=r"Tuning record is not found for primfunc: (?P<op>[\w.]+)",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="The database holds no record for the function: it runs as it was lowered, or with a default schedule.",
    help=_TUNE,
    seen_in="0.27, WARNING with enable_warning=True and a database in scope",
    matches=(
        _SRC
        + "transform/meta_schedule.cc:142: Warning: Tuning record is not found for primfunc: fused_matmul4_relu",
    ),
    ignores=(_SRC + "transform/meta_schedule.cc:95: Warning: Creating JSONDatabase. Workload at: w.json",),
    read=names.of_fused,
)

NOT_FUSED = Rule(
    id="tvm-relax/not-fused",
    compiler=NAME,
    anchor=("There are dead codes in the current IRModule",),
    pattern=r"(?P<reason>There are dead codes in the current IRModule)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.PROGRAM,
    meaning="FuseOps gave up on a function: its operators run one by one.",
    help="Run DeadCodeElimination before FuseOps.",
    seen_in="0.27 (source), WARNING",
    matches=(
        _SRC
        + "transform/fuse_ops.cc:561: Warning: There are dead codes in the current IRModule, please run the DeadCodeElimination Pass before FuseOps",
    ),
)

PACKED = Rule(
    id="tvm-relax/packed-call",
    compiler=NAME,
    anchor=("Undefined global var ",),
    pattern=_LOGGED + r"Undefined global var (?P<op>[\w.]+)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The function is not in the module: the call goes to a packed function of that name at run time.",
    help="Look for the pass that dropped the function, or for a partition whose code generator is not built in.",
    seen_in="0.27 (source), WARNING",
    matches=(_SRC + "backend/vm/codegen_vm_tir.cc:404: Warning: Undefined global var fused_matmul4_relu",),
    ignores=("PHP Warning: Undefined global variable $x in a.php", "Undefined global var x"),
    read=names.of_fused,
)

LAYOUT = Rule(
    id="tvm-relax/layout-given-up",
    compiler=NAME,
    anchor=("[LayoutInference] ",),
    pattern=r"\[LayoutInference\] (?P<reason>(?:Unable to (?:transform block (?P<op>\w+))?|Nested blocks are not|Exactly one write|Buffer: ).*)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.UNKNOWN,
    meaning="A layout could not be carried through a function: it keeps the old one, with conversions around it.",
    help="Look at the function's index expressions; a layout travels through affine ones only.",
    seen_in="0.27 (source), WARNING",
    matches=(
        _SRC
        + "analysis/layout_transformation.cc:122: Warning: [LayoutInference] Unable to get spatial layout of access: v0 + v1",
    ),
    ignores=("[LayoutInference] done",),
)

BUILD_FAILED = Rule(
    id="tvm-relax/function-not-built",
    compiler=NAME,
    anchor=("Build failure for function ", "Failed to compile TIR function ", "Warning: TIR function "),
    pattern=r"(?:Build failure for function (?P<op1>[\w.]+), Error message|Warning: Failed to compile TIR function (?P<op2>[\w.]+)"
    r"|Warning: TIR function (?P<op3>[\w.]+) execution failed): ?(?P<reason>.*)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="One function could not be built or run: the program went on without it.",
    help="Build the function alone (tvm.compile) to see the whole error; results of such a run can't be trusted.",
    seen_in="0.27 (source), printed by the Python converter; debug builds for constants",
    matches=(
        "Warning: Failed to compile TIR function matmul: Check failed: (f) is false",
        "Warning: TIR function matmul execution failed: no device",
        "[00:34:06] /project/src/relax/transform/fold_constant.cc:128: Build failure for function add, Error message: no llvm",
    ),
    ignores=("Warning: TIR function matmul was built",),
    read=lambda rule, record, match: (
        names.named(
            by_groups(rule, record, match), names.fused(match["op1"] or match["op2"] or match["op3"])
        ),
    ),
)

NOT_COMPILED = Rule(
    id="tvm-relax/not-compiled",
    compiler=NAME,
    anchor=("Warning: Failed to compile ",),
    pattern=r"Warning: Failed to compile (?:one or more TIR functions|Relax VM): (?P<reason>.*)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="Compiling failed and the error was swallowed: the module runs its Python functions.",
    help="Compile the module with tvm.compile to see the whole error.",
    seen_in="0.27 (source), printed",
    matches=(
        "Warning: Failed to compile one or more TIR functions: no llvm",
        "Warning: Failed to compile Relax VM: Check failed",
    ),
    ignores=("Warning: Failed to compile regular expression: x",),
)

NUMPY = Rule(
    id="tvm-relax/numpy-copy",
    compiler=NAME,
    anchor=("DLPack conversion ",),
    pattern=r"Warning: DLPack conversion (?:from|to) TVM failed \((?P<reason>.*)\), using numpy fallback",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.PROGRAM,
    meaning="Tensors are copied through numpy between TVM and PyTorch.",
    help="Use versions of TVM and PyTorch whose DLPack agree.",
    seen_in="0.27 (source), printed",
    matches=("Warning: DLPack conversion from TVM failed (no capsule), using numpy fallback",),
)

SCALAR_COPY = Rule(
    id="tvm-relax/scalar-copy",
    compiler=NAME,
    anchor=("copy/fallback (scalar single-thread) picked for",),
    pattern=r"(?P<op>copy)/fallback \(scalar single-thread\) picked for (?P<reason>.*)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="A tile copy is done element by element by one thread: every faster form was rejected.",
    help="Look at layout, alignment and scope of both sides of the copy.",
    seen_in="0.27 (source), a Python warning",
    matches=(
        "/opt/tvm/backend/cuda/tile_primitive/copy/fallback.py:49: UserWarning: copy/fallback (scalar single-thread) picked for global -> shared at scope_kind=thread; all faster variants rejected.",
    ),
    read=lambda rule, record, match: (names.named(by_groups(rule, record, match), ("copy",)),),
)

UNKNOWN_RANK = Rule(
    id="tvm-relax/unknown-rank",
    compiler=NAME,
    anchor=("opset<=12 fallback: ",),
    pattern=r"\b(?P<op>\w{1,40}) opset<=12 fallback: (?P<reason>.*?)(?:, using\b.*)?$",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The rank of the input is unknown, so the ONNX operator is imported in a plain form.",
    help="Give the ONNX model static shapes, or export it at opset 13 or later.",
    seen_in="0.27 (source), a Python warning",
    matches=(
        "/opt/tvm/relax/frontend/onnx/onnx_frontend.py:1016: UserWarning: Softmax opset<=12 fallback: static rank/shape is unavailable, using",
    ),
    read=lambda rule, record, match: (
        names.named(by_groups(rule, record, match), (match["op"], match["op"].lower())),
    ),
)

RULES = (
    NO_LEGALIZATION, CANNOT_LEGALIZE, NO_RECORD, NOT_FUSED, PACKED, LAYOUT, BUILD_FAILED, NOT_COMPILED, NUMPY,
    SCALAR_COPY, UNKNOWN_RANK, relax_dump.LEFT,
)  # fmt: skip
REQUIRED = frozenset({Kind.OP_FALLBACK, Kind.UNTUNED_CONFIG})
SETTING = (
    "enable_warning=True for get_pipeline('zero'), LegalizeOps and MetaScheduleApplyDatabase, and a marker in "
    "the policy for the line that the build script prints when it is done"
)


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=(),
    required=REQUIRED,
    prove=shared.unended(
        "TVM prints nothing at the end of a compile, and the same with warnings off as when all is well",
        SETTING,
        *REQUIRED,
    ),
    setting=SETTING,
    manual=__doc__,
    silent="yes: missing lowerings and missing records",
    seen_in="0.27 (run)",
)
