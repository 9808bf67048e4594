"""Room 3: kernels that Triton does not compile, where an exception says so and no diagnostic of MLIR with its place.

    triton.compiler.errors.CompilationError: at 1:0:
    error: failed to legalize operation 'tt.get_program_id' that was explicitly marked illegal
    RuntimeError: PassManager::run failed

The last one stands under Triton's own frames, the innermost of which names the stage (`make_ttgir`).
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.raised import of_user, raised
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch.user_stack import user_stack
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "triton"
DEF = Pattern(r"^\s*def (?P<name>\w{1,200})\(")
_STAGE = Pattern(r"[\\/]triton[\\/].{0,200}, in (?P<stage>make_\w{1,30})\s*$")
_MOST_FRAMES = 120


def refused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The kernel that the error quotes below its first line, and the reason under the caret."""
    name, reason, under = "", None, False
    for line in record.following(40):
        if kernel := DEF.match(line.text):
            name = name or kernel["name"]
        if under and line.text.strip():
            reason = line.text.strip()[:500]
            break
        under = line.text.strip() == "^"
    report = by_groups(rule, record, match)._replace(reason=reason or match["why"])
    if name:
        yield report._replace(op=name, names=(name,), stack=(name,))
    else:
        yield report._replace(scope=Scope.UNKNOWN)


REFUSED = Rule(
    id="triton/compilation-error",
    compiler=NAME,
    anchor=("triton.compiler.errors.",),
    pattern=r"^triton\.compiler\.errors\.(?P<why>CompilationError|CompileTimeAssertionFailure|UnsupportedLanguageConstruct)\b",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The kernel uses what this Triton or this chip lacks, and was not compiled: the program ended, or its author caught the error and went on without it.",
    help="The text under the caret says what is lacking.",
    seen_in="3.3 and 3.8 (run), an exception",
    matches=(
        "triton.compiler.errors.CompilationError: at 1:0:\ndef conv1x1(x, w, o, BM: tl.constexpr, BN: tl.constexpr):\n^\nValueError(\"type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')\")",
    ),
    ignores=("from triton.compiler.errors import CompilationError",),
    read=refused,
)


def passes(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """An error under Triton's frames; none of a kernel that Inductor wrote, which compiles many candidates."""
    stage = None
    for line in record.preceding(_MOST_FRAMES):
        if "_inductor" in line.text:
            return
        if found := _STAGE.search(line.text):
            stage = stage or found["stage"]
        if line.text.startswith("Traceback (most recent call last):"):
            break
    if stage:
        yield by_groups(rule, record, match)._replace(hint=True, reason=f"{match['why']} in {stage}")


PASSES = Rule(
    id="triton/passes-failed",
    compiler=NAME,
    anchor=("RuntimeError: PassManager::run failed",),
    pattern=r"^RuntimeError: (?P<why>PassManager::run failed)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.UNKNOWN,
    meaning=REFUSED.meaning,
    help="The diagnostics above the traceback, which MLIR prints to the error stream, say what failed and where.",
    seen_in="3.0 to 3.9 (run, and public threads), an exception",
    matches=(
        'Traceback (most recent call last):\n  File "/opt/venv/triton/backends/nvidia/compiler.py", line 321, in make_ttgir\n    pm.run(mod)\nRuntimeError: PassManager::run failed',
    ),
    ignores=(
        "RuntimeError: PassManager::run failed",
        'Traceback (most recent call last):\n  File "/opt/venv/torch/_inductor/runtime/triton_heuristics.py", line 600, in _precompile_config\n  File "/opt/venv/triton/backends/nvidia/compiler.py", line 321, in make_ttgir\nRuntimeError: PassManager::run failed',
    ),
    read=passes,
)

NOT_LEGALIZED = Rule(
    id="triton/not-legalized",
    compiler=NAME,
    anchor=("failed to legalize operation ",),
    pattern=r"\berror: (?P<why>failed to legalize operation '(?P<what>tt(?:g|ng|gc|cpu)?\.\w{1,80})')",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=REFUSED.meaning,
    help="The back end has no lowering for the operation: take a version of Triton that has one for this chip, or write the kernel without it.",
    seen_in="3.0 (public threads, MLIR's own wording), ERROR",
    matches=("error: failed to legalize operation 'tt.get_program_id' that was explicitly marked illegal",),
    ignores=("error: failed to legalize operation 'torch.aten.sort'",),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op=match["what"], names=(match["what"],), reason=match["why"]
        ),
    ),
)

TOO_LARGE = Rule(
    id="triton/kernel-does-not-fit",
    compiler=NAME,
    anchor=("triton.runtime.errors.OutOfResources: ", "Internal Triton PTX codegen error"),
    pattern=r"^(?:triton\.runtime\.errors\.OutOfResources: (?P<why>out of resource: .{1,300})"
    r"|(?:RuntimeError: |triton\.runtime\.errors\.PTXASError: (?:PTXAS error: )?)(?P<ptx>Internal Triton PTX codegen error))",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.UNKNOWN,
    meaning="A kernel needs more shared memory, registers or threads than the chip has, or its assembly was refused: the "
    "program ended, or its author caught the error and went on without it.",
    help="Make the kernel's blocks or num_stages smaller for this chip; the frames above the line tell which kernel it is.",
    seen_in="2.1 to 3.5 (public threads), an exception",
    matches=(
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.",
        "RuntimeError: Internal Triton PTX codegen error: ",
        "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error",
    ),
    ignores=(
        "Autotuning failed with out of resource: shared memory, Required: 131072, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.",
        "except triton.runtime.errors.OutOfResources: pass",
    ),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(reason=match["why"] or match["ptx"]),
    ),
)

_OWN_FRAME = r"File \x22[^\x22]{1,500}/triton/compiler/compiler\.py\x22, line \d{1,7}, in \w"
_OWN = Pattern(_OWN_FRAME)
_TOLD = ("triton.compiler.errors.", "triton.runtime.errors.")  # by the rules above, as are these texts
_TOLD_TEXT = ("PassManager::run failed", "Internal Triton PTX codegen error")


def exception(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """An exception of any type under Triton's compiler; none while Inductor or an autotuner tries candidates."""
    found = raised(record, _OWN)
    if found is None or found.type.startswith(_TOLD) or found.text.startswith(_TOLD_TEXT):
        return
    if any("_inductor" in frame or "autotuner" in frame for frame in found.frames):
        return
    stack = user_stack(of_user(found.frames, "triton"))
    yield by_groups(rule, record, match)._replace(
        position=record.position_at(found.line.at),
        text=found.line.text,
        reason=f"{found.type}: {found.text}"[:500],
        stack=stack.functions,
        files=stack.files,
        location=stack.innermost,
    )


_FRAMES = 'Traceback (most recent call last):\n  File "/app/kernels.py", line 9, in build\n'
_COMPILE = '  File "/opt/venv/triton/compiler/compiler.py", line 307, in compile\n'
RAISED = Rule(
    id="triton/exception",
    compiler=NAME,
    anchor=("triton/compiler/compiler.py",),
    pattern=_OWN_FRAME,
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.UNKNOWN,
    meaning=REFUSED.meaning,
    help="Read the traceback: the frames above Triton's tell which kernel it is.",
    seen_in="3.4 and 3.8 (run), an exception of any type",
    matches=(
        _FRAMES
        + _COMPILE
        + "Exception: ROCm linker /opt/rocm/llvm/bin/ld.lld not found. Set 'TRITON_HIP_LLD_PATH' to its path.",
        _FRAMES + _COMPILE + "KeyError: 'int8'",
    ),
    ignores=(
        _FRAMES + _COMPILE + "triton.compiler.errors.CompilationError: at 1:0:",
        _FRAMES + _COMPILE + "RuntimeError: PassManager::run failed",
        _FRAMES
        + '  File "/opt/venv/torch/_inductor/async_compile.py", line 9, in _\n'
        + _COMPILE
        + "KeyError: 'int8'",
        _COMPILE + "KeyError: 'int8'",
    ),
    read=exception,
)

RULES = (REFUSED, TOO_LARGE, PASSES, NOT_LEGALIZED, RAISED)
