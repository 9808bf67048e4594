"""Room 3: models that MIGraphX can't read or compile: the exception of its parser or compiler, whoever prints it.

An exception says where it was thrown before it says why. The C interface writes it to stderr and puts its own
function's name in front, in earlier versions `MIGraphX Error: `; Python and the driver print it as theirs. `migraphx` is the
manual page.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.amd.migraphx_kernels import NAME
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule, compiled
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record


def unread(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator, by its name in the model, or by the parser's file for it."""
    op = match["op"] or match["kind"] or "*"
    report = by_groups(rule, record, match)._replace(op=op, names=(op,) if op != "*" else ())
    scope = Scope.OPERATOR if op != "*" else Scope.PROGRAM
    yield report._replace(scope=scope, reason=match["unknown"] or match["why"])


UNREAD = Rule(
    id="migraphx/model-not-read",
    compiler=NAME,
    anchor=(".cpp:{n}: parse",),
    pattern=r"[\\/](?:onnx|tf)[\\/](?:(?:onnx|tf)_parser|parse_(?P<kind>\w{1,60}))\.cpp:\d{1,6}: parse\w{0,40}: "
    r"(?:(?P<unknown>Unknown operator): (?P<op>[\w.:]{1,120})|(?P<why>\S.{0,300}))",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="MIGraphX can't read the model: the program ended, or another runtime computes what it left.",
    help="Replace the operator, or the attribute that the message names; else cut the model there on purpose.",
    seen_in="2.16 (source), 1.0 to 2.13 (public threads), an exception",
    matches=(
        "MIGraphX Error: /opt/x/src/onnx/onnx_parser.cpp:281: parse_graph: Unknown operator: GateMix",
        "migraphx_parse_onnx: Error: /opt/x/src/onnx/onnx_parser.cpp:625: parse_graph: Unknown operator: GateMix",
        "RuntimeError: /opt/x/src/onnx/parse_pad.cpp:133: parse: PARSE_PAD: number of elements of pads should be equal to 2 *",
    ),
    ignores=("[ 12%] Building CXX object src/onnx/parse_pad.cpp:133: parse",),
    read=unread,
)


def refused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """What was being done, where it is not the parser that says more."""
    if not compiled(UNREAD.pattern).search(record.text):
        yield by_groups(rule, record, match)


REFUSED = Rule(
    id="migraphx/not-compiled",
    compiler=NAME,
    anchor=("MIGraphX Error: ", ": Error: "),
    shared_anchor=True,
    pattern=r"^(?:MIGraphX|migraphx_\w{1,80}:) Error: (?:\S{1,300}:\d{1,6}: )?"
    r"(?:parse_\w{1,40}|compute_shape|compile\w{0,40}|normalize_compute_shape): (?P<reason>\S.{0,400})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="MIGraphX can't read or compile the graph: the program ends, or ONNX Runtime's run fails.",
    help="The line names the operator or the shapes; fix the shapes, or give the model to another provider.",
    seen_in="0.6 to 2.16 (source and public threads), printed by its C interface",
    matches=(
        "MIGraphX Error: /code/AMDMIGraphX/src/include/migraphx/check_shapes.hpp:220: compute_shape: equal: Dimensions do not match",
    ),
    ignores=(
        "MIGraphX Error: /code/AMDMIGraphX/src/targets/gpu/hip.cpp:44: allocate_gpu: out of memory",
        UNREAD.matches[0],
    ),
    read=refused,
)
NO_SOLUTION = Rule(
    id="migraphx/no-solution",
    compiler=NAME,
    anchor=("No solutions provided for ", "No valid tuned compilation for "),
    pattern=r"compile_ops\.cpp:\d{1,6}: \w{1,60}: (?P<reason>No (?:solutions provided|valid tuned compilation)) for (?P<op>[\w:]{1,80}) with (?P<site>.{1,300}?)"
    r"(?: MLIR Fused Kernel:|\s*$)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="rocMLIR or the tuner has no kernel for this problem on this GPU: the program is not compiled.",
    help="Take a newer MIGraphX, compile without exhaustive tuning, or keep the fusion out (MIGRAPHX_MLIR_USE_SPECIFIC_OPS).",
    seen_in="2.5 to 2.16 (source, public threads), an exception",
    matches=(
        "RuntimeError: /opt/x/src/targets/gpu/compile_ops.cpp:147: add_compiles: No solutions provided for gpu::mlir_op with gfx1100\t42\t-t f32 -transQ false -g 48 -seq_len_q 64",
        "/opt/x/src/targets/gpu/compile_ops.cpp:464: benchmark: No valid tuned compilation for gpu::mlir_op with gfx1100\t42\t-t f32",
    ),
    ignores=("No solutions provided for gpu::mlir_op with gfx1100",),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(site=" ".join(match["site"].split())),
    ),
)
RULES = (UNREAD, REFUSED, NO_SOLUTION)
