"""Room 3: what MIGraphX's kernels say of themselves: a solution that does not fit, a product without a fast kernel.

`migraphx` is the manual page.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import BEFORE
from fallback_gate.scan.record import Record

NAME = "migraphx"


def _warning(id: str, said: str, kind: Kind, meaning: str, help: str, op: str, example: str) -> Rule:
    """A WARN of the kernels, which tells the kind of operator and no name."""

    def named(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
        yield by_groups(rule, record, match)._replace(op=op, names=(op, "dot") if op == "gemm" else ())

    return Rule(
        id=f"migraphx/{id}",
        compiler=NAME,
        anchor=(example.rstrip("0123456789"),),
        pattern=rf"\[WARN\] \[[\w./-]{{1,80}}:\d{{1,6}}\] (?P<reason>{said})",
        kind=kind,
        scope=Scope.UNKNOWN,
        meaning=meaning,
        help=help,
        seen_in="2.14 to 2.16 (source), WARN",
        matches=(f"2026-01-01 00:00:00.000000 [WARN] [gemm_impl.cpp:132] {example}",),
        ignores=(f"see the FAQ: {example}",),
        read=named,
    )


_TUNE = "Compile again with --exhaustive-tune for this GPU and this version of the library."
WARNINGS = (
    _warning(
        "degraded-gemm",
        r"degraded perf\. in rocBLAS call",
        Kind.SLOWER_KERNEL,
        "rocBLAS has no fast kernel for the matrix product and says so.",
        "Pad or transpose the operands, or set MIGRAPHX_SET_GEMM_PROVIDER=hipblaslt.",
        "gemm",
        "degraded perf. in rocBLAS call",
    ),
    _warning(
        "tuned-solution-invalid",
        "tuned solution is invalid; reverting to default",
        Kind.UNTUNED_CONFIG,
        "The tuned solution does not fit this library or GPU: the default is used.",
        _TUNE,
        "gemm",
        "tuned solution is invalid; reverting to default",
    ),
    _warning(
        "no-algorithm",
        r"No hipBLASLt algo returned for solution index: -?\d{1,9}",
        Kind.UNTUNED_CONFIG,
        "hipBLASLt does not know the tuned solution: the default is used.",
        _TUNE,
        "gemm",
        "No hipBLASLt algo returned for solution index: 7",
    ),
    _warning(
        "needs-normalization",
        r"Instruction needs normalization, performance may be affected\.",
        Kind.SLOWER_KERNEL,
        "An instruction was left with attributes that are normalized at each run.",
        "Fix the axes and sizes in the model, so that they are known when it is compiled.",
        "*",
        "Instruction needs normalization, performance may be affected.",
    ),
)

CANDIDATE_FAILED = Rule(
    id="migraphx/kernel-failed",
    compiler=NAME,
    anchor=("Exception in gpu::",),
    pattern=rf"^{BEFORE}" + r"Exception in (?P<op>gpu::\w{1,100}): (?P<reason>.*\S)",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="A tuned configuration of the kernel did not compile: another one, or the default, is used.",
    help=_TUNE,
    seen_in="2.13 to 2.16 (source), with MIGRAPHX_TRACE_BENCHMARKING=1",
    matches=("Exception in gpu::mlir_op: rocMLIR compile failed",),
    ignores=("Exception in thread main",),
)

RULES = (*WARNINGS, CANDIDATE_FAILED)
