"""Room 3: errors of IREE's compiler: operations that no pattern lowers, and executables that are not translated.

    moe.mlir:12:10: error: failed to legalize operation 'torch.aten.special_bessel_j0' that was explicitly marked illegal
    configured_module_moe_dispatch_0.mlir:1:0: error: failed to serialize executables

The second comes after the dump of configurations, which is then whole though there is no program.
"""

from __future__ import annotations

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.model import Kind, Location, Scope
from fallback_gate.patterns import Pattern

NAME = "iree"
PLACE = r"^(?:loc\()?\"?(?P<where>[^\s\"]{1,500}?)\"?:(?P<at>\d{1,9}):\d{1,9}\)?: "
_DISPATCH = Pattern(r"^(?P<function>.+?)_dispatch_\d+(?:_(?P<what>[a-zA-Z_]+?)(?:_[\dDx]+.*|$))?")


def dispatch_names(name: str) -> tuple[str, ...]:
    """The names of a dispatch: itself, the user's function, and the operation that it was formed around."""
    found = _DISPATCH.match(name)
    return tuple(dict.fromkeys(n for n in (name, found and found["function"], found and found["what"]) if n))


NOT_LEGALIZED = Rule(
    id="iree/not-legalized",
    compiler=NAME,
    anchor=("failed to legalize operation ",),
    pattern=PLACE
    + r"error: (?P<why>failed to legalize operation '(?P<what>(?:torch|iree_\w{1,30}|linalg|stablehlo|tosa)\.[\w.]{1,200})')",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="No pattern lowers the operation: nothing is compiled.",
    help="Decompose the operation before it comes to torch-mlir or IREE, or write a lowering.",
    seen_in="torch-mlir and IREE 3.13 (MLIR's own wording), ERROR",
    matches=(
        "model.mlir:12:10: error: failed to legalize operation 'torch.aten.special_bessel_j0' that was explicitly marked illegal",
    ),
    ignores=("<unknown>:0: error: failed to legalize operation 'tf.Foo'",),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op=_spelled(match["what"])[0],
            names=_spelled(match["what"]),
            files=(match["where"],),
            reason=match["why"],
            location=Location(match["where"], int(match["at"])),
        ),
    ),
)


NOT_TRANSLATED = Rule(
    id="iree/not-translated",
    compiler=NAME,
    anchor=("error: failed to serialize executable", "error: failed to run translation of "),
    pattern=PLACE
    + r"error: (?P<why>failed to (?:serialize executables?|run translation of source executable)\b.{0,200})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="An executable could not be translated: nothing is compiled, whatever the dump of configurations shows.",
    help="The errors above the line say what failed: a limit of the back end, a missing linker, an operation.",
    seen_in="3.13 (run), ERROR",
    matches=(
        "configured_module_grouped_gemm_dispatch_0.mlir:2:2: error: failed to serialize executable for target backend llvm-cpu",
        "configured_module_grouped_gemm_dispatch_0.mlir:1:0: error: failed to serialize executables",
        "moe.mlir:7:8: error: failed to run translation of source executable to target executable for backend #hal.executable.target<",
    ),
    ignores=("error: failed to serialize executable",),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op=_executable(match["where"])[0],
            names=_executable(match["where"]),
            reason=match["why"],
            location=Location(match["where"], int(match["at"])),
        ),
    ),
)


def _executable(file: str) -> tuple[str, ...]:
    """The names of the dispatch after which a dumped module is called; else those of the model's file."""
    stem = file.replace("\\", "/").rpartition("/")[2].removesuffix(".mlir")
    return dispatch_names(stem.removeprefix("configured_").removeprefix("module_"))


def _spelled(what: str) -> tuple[str, ...]:
    """The names of an operation: `torch.aten.sort` is `aten::sort`."""
    dialect, _, rest = what.partition(".")
    namespace, _, name = rest.partition(".")
    if dialect != "torch" or not name:
        return (what,)
    name = name.partition(".")[0]
    return (f"{namespace}::{name}", what, name)


RULES = (NOT_LEGALIZED, NOT_TRANSLATED)
