"""Room 3: errors of IREE's compiler: operations that no pattern lowers, and executables that are not translated.

    moe.mlir:12:10: error: failed to legalize operation 'torch.aten.special_bessel_j0' that was explicitly marked illegal
    configured_module_moe_dispatch_0.mlir:1:0: error: failed to serialize executables

The second comes after the dump of configurations, which is then whole though there is no program. Where the dump
goes to the same place, it writes in blocks, and a diagnostic may begin in the middle of one of its lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Marker, Rule, Sighting
from fallback_gate.model import Kind, Location, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "iree"
LONGEST = 500  # characters of a path
PLACE = (
    r":(?P<at>\d{1,9}):\d{1,9}\)?: "  # behind the file and, in `loc("m.py":8:0)`, its quote; see `file_of`
)
_FILE = Pattern(r"[^\s\"(]*$")
_GLUED = Pattern(r"^.*[^/\\](?=configured_)")
_DISPATCH = Pattern(r"^(?P<function>.+?)_dispatch_\d+(?:_(?P<what>[a-zA-Z_]+?)(?:_[\dDx]+.*|$))?")


def file_of(match: Match[str]) -> str:
    """The file of a diagnostic. Where a dump goes to the same place, it may stand behind an unfinished line."""
    before = (
        match.string[: match.end("suffix")]
        if "suffix" in match.groupdict()
        else match.string[: match.start()]
    )
    file = _FILE.search(before[-LONGEST:].removesuffix('"'))
    return str(_GLUED.sub("", file[0])) if file else ""


def dispatch_names(name: str) -> tuple[str, ...]:
    """The names of a dispatch: itself, the user's function, and the operation that it was formed around."""
    found = _DISPATCH.match(name)
    return tuple(dict.fromkeys(n for n in (name, found and found["function"], found and found["what"]) if n))


_OPAQUE = Pattern(
    r"torch\.operator\W{1,4}(?:\(.{0,200}?\) <\{name = )?\x22?(?P<name>(?:torch|onnx)\.[\w.]{1,200})\x22"
)


# Dialects of torch-mlir and IREE, and those that come in through them; others are read in a module's own file only, since
# every compiler that is built on MLIR has this wording.
_OWN = Pattern(
    r"^(?:torch|torch_c|tm_tensor|linalg|stablehlo|tosa|iree_\w{1,30}|flow|stream|hal|util|vm|vmvx)$"
)
_OF_OTHERS = {"tf", "tfl", "tf_executor", "tt", "ttg", "ttng"}
_MODULES = (".mlir", ".mlirbc", "<stdin>")


def not_legalized(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operation; where it is torch-mlir's opaque operator, what that one stands for, behind it or below."""
    what, file = match["what"], file_of(match) if match["at"] else ""
    if not _OWN.match(match["dialect"]) and (
        match["dialect"] in _OF_OTHERS or not (file.endswith(_MODULES) or "iree" in file.casefold())
    ):
        return
    if what == "torch.operator":
        for text in (match.string[match.end() :], *(line.text for line in record.following(4))):
            if named := _OPAQUE.search(text):
                what = named["name"]
                break
    yield by_groups(rule, record, match)._replace(
        op=_spelled(what)[0],
        names=tuple(dict.fromkeys((*_spelled(what), match["what"]))),
        files=(file,) if file else (),
        reason=match["why"],
        location=Location(file, int(match["at"])) if match["at"] else None,
    )


NOT_LEGALIZED = Rule(
    id="iree/not-legalized",
    compiler=NAME,
    anchor=("failed to legalize operation ",),
    pattern=r"(?::(?P<at>\d{1,9}):\d{1,9}\)?|<unknown>:0): "
    r"error: (?P<why>failed to legalize operation '(?P<what>(?P<dialect>[a-z]\w{1,30})\.[\w.]{1,200})')",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="No pattern lowers the operation: nothing is compiled.",
    help="Decompose the operation before it comes to torch-mlir or IREE, or write a lowering.",
    seen_in="torch-mlir to October 2026 (run), IREE 3.1 to 3.13 (MLIR's own wording), ERROR",
    matches=(
        "bad.mlir:2:8: error: failed to legalize operation 'torch.operator' that was explicitly marked illegal\n  %0 = torch.operator \"torch.aten.special_bessel_y1\"(%a) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>",
        "custom.mlir:6:10: error: failed to legalize operation 'torch.operator' that was explicitly marked illegal\n    %2 = torch.operator \"onnx.Optional\"(%1) : (!torch.none) -> !torch.none",
        "model.mlir:12:10: error: failed to legalize operation 'torch.aten.special_bessel_j0' that was explicitly marked illegal",
        "model.mlir:12:10: error: failed to legalize operation 'tensor.from_elements' that was explicitly marked illegal",
        "<unknown>:0: error: failed to legalize operation 'torch.constant.float'",
        'loc("/app/model.py":9:0): error: failed to legalize operation \'torch.operator\' that was explicitly marked illegal: %0 = "torch.operator"(%arg0) <{name = "torch.app.gate_attn"}> : (!torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32>',
    ),
    ignores=(
        "<unknown>:0: error: failed to legalize operation 'tf.Foo'",
        "kernel.py:12:4: error: failed to legalize operation 'arith.addf'",
    ),
    read=not_legalized,
)


NOT_TRANSLATED = Rule(
    id="iree/not-translated",
    compiler=NAME,
    anchor=(
        "error: failed to serialize executable",
        "error: failed to run translation of ",
        "error: failed to run configuration of ",
        "error: failed to configure executables",
        "error: target backend ",
    ),
    pattern=PLACE
    + r"error: (?P<why>failed to (?:serialize executables?|configure executables|run (?:translation|configuration) of source executable)\b.{0,200}"
    r"|target backend '.{1,100}?' not registered)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="An executable could not be translated: nothing is compiled, whatever the dump of configurations shows.",
    help="The errors above the line say what failed: a limit of the back end, a missing linker, an operation.",
    seen_in="3.1 to 3.13 (run), ERROR",
    matches=(
        "track.mlir:7:10: error: failed to run configuration of source executable to target executable for backend #hal.executable.target<",
        "track.mlir:7:10: error: failed to configure executables",
        "track.mlir:1:1: error: target backend 'llvm-cpu,vmvx' not registered; registered backends: [cuda, llvm-cpu, vmvx]",
        "configured_module_grouped_gemm_dispatch_0.mlir:2:2: error: failed to serialize executable for target backend llvm-cpu",
        "configured_module_grouped_gemm_dispatch_0.mlir:1:0: error: failed to serialize executables",
        "   %6, %2, offsets = [0, 0], sizes = [64, 8], strides = [1, 1configured_module_echo_dispatch_0.mlir:2:2: error: failed to run translation of source executable to target executable for backend #hal.executable.target<",
        "moe.mlir:7:8: error: failed to run translation of source executable to target executable for backend #hal.executable.target<",
    ),
    ignores=("error: failed to serialize executable",),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op=(_executable(file_of(match)) or ("*",))[0],
            names=_executable(file_of(match)),
            reason=match["why"],
            location=Location(file_of(match), int(match["at"])),
        ),
    ),
)


def _executable(file: str) -> tuple[str, ...]:
    """The names of the dispatch after which a dumped module is called; else those of the model's file.

    None where the place is one in a Python program, as a traced model has them.
    """
    if not file.endswith(_MODULES):
        return ()
    stem = file.replace("\\", "/").rpartition("/")[2].removesuffix(".mlir")
    return dispatch_names(stem.removeprefix("configured_").removeprefix("module_"))


def _spelled(what: str) -> tuple[str, ...]:
    """The names of an operation: `torch.aten.sort` is `aten::sort`."""
    dialect, _, rest = what.partition(".")
    namespace, _, name = rest.partition(".")
    if dialect != "torch" or not name or namespace == "constant":
        return (what,)
    name = name.partition(".")[0]
    return (f"{namespace}::{name}", what, name)


ERROR = Rule(
    id="iree/error",
    compiler=NAME,
    anchor=(": error: ",),
    pattern=r"(?P<suffix>\.mlir(?:bc)?|<stdin>)" + PLACE + r"error: "
    r"(?P<why>(?!failed to (?:legalize operation|serialize executables?|configure executables|run (?:translation|configuration) of)\b|target backend ).*)",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="The module was refused: nothing is compiled of it, whatever else the log shows.",
    help="The line says what MLIR refuses, and the source line below it where.",
    seen_in="3.1 to 3.13 (MLIR's own wording), ERROR",
    matches=(
        "track.mlir:7:10: error: missing GPU target in #hal.executable.target",
        "rank.mlir:3:10: error: 'linalg.matmul' op inferred input/output operand #1 has shape's dimension #0 to be 24, but found 25",
    ),
    ignores=(
        "track.c:7:10: error: expected ';' after expression",
        "track.mlir:7:10: warning: op is not vectorized",
    ),
    # Where a line of the rules above says what was refused, that one tells.
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            hint=True,
            op="*",
            reason=match["why"],
            files=(file_of(match),),
            location=Location(file_of(match), int(match["at"])),
        ),
    ),
)


def alone(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """A note without its diagnostic, which names the same place before it: the log lost its beginning, or lines."""
    said = [f"{match['place']}{level}: " for level in ("error", "warning", "remark")]
    if not any(one in line.text for line in record.preceding(MOST_NOTES) for one in said):
        yield Sighting(marker.id, record.position)


MOST_NOTES = 60  # lines of calls between a diagnostic and its last note
NOTE = Marker(
    id="iree/note-alone",
    compiler=NAME,
    anchor=("note: see current operation:",),
    pattern=r"(?:\.mlir(?:bc)?|<stdin>)(?P<place>\"?:\d{1,9}:\d{1,9}\)?: )note: see current operation:",
    shows="An operation is printed for a diagnostic, mostly an error, that the log lacks.",
    seen_in="3.13 (run), behind errors and warnings",
    matches=("configured_module_gemm_dispatch_0.mlir:1:0: note: see current operation: ",),
    ignores=(
        "m.mlir:3:4: warning: op is not vectorized\n   %0 = linalg.add\n   ^\nm.mlir:3:4: note: see current operation: %0",
        "kernel.py:3:4: note: see current operation: %0",
    ),
    read=alone,
)

UNKNOWN_CPU = Rule(
    id="iree/unknown-cpu",
    compiler=NAME,
    anchor=("Unknown CPU for target architecture ",),
    pattern=r"^\W{0,12}(?P<reason>Unknown CPU for target architecture \w{1,20})\.\s*$",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="The CPU that was named does not exist for the architecture: LLVM ends the compile.",
    help="Take a name from the list below the line (--iree-llvmcpu-target-cpu), or `host`.",
    seen_in="3.13 (run), ERROR",
    matches=("Unknown CPU for target architecture x86_64.",),
    ignores=("Unknown CPU for target architecture of the cluster",),
)

RULES = (NOT_LEGALIZED, NOT_TRANSLATED, ERROR, UNKNOWN_CPU)
