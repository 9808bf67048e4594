"""mlx: Apple's MLX under SGLang, and the fused Metal kernels that are missing.

    AOT Metal RoPE kernel not available (no metallib) - falling back to mx.fast.rope.

**What falls back.** MLX's own operator runs in place of a fused Metal kernel that was compiled ahead of time.

**At which setting it speaks.** By default.

**When it is silent.** MLX's `fast` operators compose themselves of others where their kernel does not fit the
shape, without a line: no log shows it.

**What proves the end.** Nothing: no line says which kernel a call takes.

Wording seen in SGLang 0.5.23 (source).
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

NAME = "mlx"


def known_kernel(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator that MLX uses in place of the kernel names both."""
    report = by_groups(rule, record, match)
    yield report._replace(names=tuple(dict.fromkeys((report.op, match["op"].lower(), match["instead"]))))


NO_KERNEL = Rule(
    id="mlx/no-metal-kernel",
    compiler=NAME,
    anchor=("AOT Metal ",),
    pattern=r"AOT Metal (?P<op>\w{1,60}) kernel not available \((?P<reason>.{0,300})\) - falling back to (?P<instead>mx(?:\.\w{1,40}){1,4})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The kernel that was compiled ahead of time is missing: MLX's own operator is used.",
    help="Build the Metal library for this system, and install it with the package.",
    seen_in="SGLang 0.5.23 (source), INFO",
    matches=("AOT Metal RoPE kernel not available (no metallib) - falling back to mx.fast.rope.",),
    ignores=("AOT Metal RoPE kernel loaded",),
    read=known_kernel,
)

READER = Reader(
    name=NAME,
    rules=(NO_KERNEL,),
    markers=(),
    required=frozenset({Kind.OP_FALLBACK}),
    prove=shared.unended(
        "MLX says nothing where a fused operator composes itself of others", "", Kind.OP_FALLBACK
    ),
    manual=__doc__,
    silent="partly: a missing Metal kernel is told, a fused operator made of others is not",
    seen_in="SGLang 0.5.23 (source)",
)
