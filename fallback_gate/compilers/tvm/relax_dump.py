"""Room 3: operators of Relax that LegalizeOps left, in the module that TVM printed behind this pass.

    After Running Pass: transform.PassInfo(opt_level=0, name="LegalizeOps", required=(), traceable=False)
    ...
            lv1: R.Tuple(...) = R.topk(lv, k=2, ...)

`PrintAfterAll` of tvm.ir.instrument prints it, at any level of warnings.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.tvm import names
from fallback_gate.compilers.tvm.printed_module import functions
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record


def left(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The calls of Relax operators in a legalized module; none in one with partitions, which keep their own."""
    module = functions(record)
    if any(function.target or function.composite for function in module):
        return
    report = by_groups(rule, record, match)
    for function in module:
        for op, line in function.calls:
            yield names.named(report, names.relax(op))._replace(
                position=record.position_at(line.at),
                text=line.text,
                reason=f"left in {function.name} by LegalizeOps",
            )


_MODULE = """
# from tvm.script import ir as I

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8, 16), dtype="float32")) -> R.Tensor((8, 2), dtype="float32"):
        cls = Module
        lv = R.call_tir(cls.matmul, (x,), out_ty=R.Tensor((8, 32), dtype="float32"))
        gv: R.Tensor((8, 32), dtype="float32") = R.cumsum(lv, axis=0)
        return gv"""
LEFT = Rule(
    id="tvm-relax/left-by-legalization",
    compiler="tvm.relax",
    anchor=("After Running Pass: ",),
    pattern=r"After Running Pass: .{0,80}?\b(?:name=\"LegalizeOps\"|pass name: LegalizeOps\b)",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The operator has no lowering to a generated function: a later pass turns it into a call of a library.",
    help="Register an FLegalize for the operator (custom_legalize_map of LegalizeOps), or allow the library call.",
    seen_in="0.27 (run), PrintAfterAll",
    matches=(
        'After Running Pass: transform.PassInfo(opt_level=0, name="LegalizeOps", required=(), traceable=False)'
        + _MODULE,
        "After Running Pass: The meta data of the pass - pass name: LegalizeOps, opt_level: 0, required passes: []"
        + _MODULE,
    ),
    ignores=(
        'After Running Pass: transform.PassInfo(opt_level=0, name="FoldConstant", required=(), traceable=False)'
        + _MODULE,
    ),
    read=left,
)
