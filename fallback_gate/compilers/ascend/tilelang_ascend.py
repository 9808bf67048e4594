r"""tilelang.ascend: TileLang's compiler for Ascend: kernels that are not tiled for the cube unit.

    AscendCubePolicy failed: no matmul found, fallback to AscendDefaultPolicy

**What falls back.** The search for tile sizes can't use the policy of the matrix (cube) unit and takes the
one for vectors.

**At which setting it speaks.** DEBUG of the logger tilelang.

**When it is silent.** By default. And at each level on a `T.Parallel` loop that can't be vectorised (an
indirect index, more than two dimensions): it becomes a serial loop, and no line says so.

**What proves the end.** Nothing.

Wording from the source of 2026.
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.ascend.names import fixed
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Scope

NAME = "tilelang.ascend"

DEFAULT_POLICY = Rule(
    id="tilelang-ascend/default-policy",
    compiler=NAME,
    anchor=("AscendCubePolicy failed: ",),
    pattern=r"AscendCubePolicy failed: (?P<reason>.*), fallback to AscendDefaultPolicy",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.UNKNOWN,
    meaning="Tile sizes come from the policy for vectors, not from that of the matrix unit.",
    help="Write the product as T.gemm, with shapes that the matrix unit takes.",
    seen_in="the source of 2026, DEBUG",
    matches=("DEBUG:tilelang:AscendCubePolicy failed: no matmul found, fallback to AscendDefaultPolicy",),
    ignores=('logger.debug(f"AscendCubePolicy failed: {e_msg}")',),
    read=fixed(),
)

REQUIRED = frozenset({Kind.UNTUNED_CONFIG})
WHY = "it is said at DEBUG only, and a loop that is not vectorised is not told at all"

READER = Reader(
    name=NAME,
    rules=(DEFAULT_POLICY,),
    markers=(),
    required=REQUIRED,
    prove=shared.unshown(WHY, "", *REQUIRED),
    manual=__doc__,
    silent="yes: it is said at DEBUG, and a serial loop not at all",
    seen_in="2026 (source)",
)
