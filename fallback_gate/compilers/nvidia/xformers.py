r"""xformers: memory-efficient attention and fused layers without their compiled kernels.

    WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:

**What falls back.** The compiled kernels do not load, for they were built for another PyTorch, CUDA or Python:
fused layers run eager, and `memory_efficient_attention` takes another back end or fails.

**At which setting it speaks.** A warning at import, by default.

**When it is silent.** Which back end each call of the attention takes is never said.

**What proves the end.** Nothing.

Wording from the source of 0.0.16 to 0.0.33.
"""

from __future__ import annotations

from collections.abc import Mapping

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Reader, Rule
from fallback_gate.model import Kind, Proof, Scope, State

NAME = "xformers"

NO_EXTENSIONS = Rule(
    id="xformers/no-extensions",
    compiler=NAME,
    anchor=("load C++/CUDA extensions.",),
    pattern=r"(?:^|[:\]] ?)(?P<reason>xFormers can't load C\+\+/CUDA extensions)\.",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.PROGRAM,
    meaning="None of the compiled kernels is there: what uses them runs eager, on another back end, or fails.",
    help="Install the build of xFormers for this PyTorch, CUDA and Python; python -m xformers.info lists its kernels.",
    seen_in="0.0.16 to 0.0.33 (source), WARNING at import",
    matches=("WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:",),
    ignores=("If xFormers can't load C++/CUDA extensions, reinstall it",),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(names=("memory_efficient_attention", "swiglu")),
    ),
)

REQUIRED = frozenset({Kind.SLOWER_KERNEL})


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """No line says which kernel a call takes."""
    why = "xFormers does not say which kernel a call takes"
    return {Kind.SLOWER_KERNEL: Proof(State.UNPROVEN, why, None, "python -m xformers.info")}


READER = Reader(
    name=NAME,
    rules=(NO_EXTENSIONS,),
    markers=(),
    required=REQUIRED,
    prove=prove,
    manual=__doc__,
    silent="partly: kernels that do not load are warned of, the choice of each call is not told",
    seen_in="0.0.16 to 0.0.33 (source)",
)
