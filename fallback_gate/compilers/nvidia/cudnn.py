r"""cudnn: cuDNN's front end, which finds an engine for a graph of operations.

    [cudnn_frontend] ERROR: No valid engine configs returned from heuristics.

**What falls back.** cuDNN has no engine for the graph: its caller takes another kernel, or fails.

**At which setting it speaks.** With `CUDNN_FRONTEND_LOG_INFO=1` and `CUDNN_FRONTEND_LOG_FILE=stdout`.

**When it is silent.** By default. Which engine was taken is not said at that level. PyTorch 2.3.0 warns once, `Plan
failed with a cudnnException`, where an engine that cuDNN proposes refuses, and takes the next: no fallback.

**What proves the end.** Nothing.

Wording from the source of cudnn-frontend 1.x.
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Scope

NAME = "cudnn"

NO_ENGINE = Rule(
    id="cudnn/no-engine",
    compiler=NAME,
    anchor=("No valid engine configs returned",),
    pattern=r"\[cudnn_frontend\] (?:\[?ERROR\]?:? ?)(?P<reason>No valid engine configs returned from heuristics)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.UNKNOWN,
    meaning="cuDNN has no engine for the graph of operations: its caller takes another kernel, or fails.",
    help="The lines above show the graph: its types, strides and alignment decide; a newer cuDNN may have an engine.",
    seen_in="1.x (source), with CUDNN_FRONTEND_LOG_INFO=1",
    matches=("[cudnn_frontend] ERROR: No valid engine configs returned from heuristics.",),
    ignores=("RuntimeError: No valid engine configs returned from heuristics",),
)

REQUIRED = frozenset({Kind.OP_FALLBACK})
SETTING = "CUDNN_FRONTEND_LOG_INFO=1 CUDNN_FRONTEND_LOG_FILE=stdout"


READER = Reader(
    name=NAME,
    rules=(NO_ENGINE,),
    markers=(),
    required=REQUIRED,
    prove=shared.unended("cuDNN looks for engines as graphs come, and no line ends that", SETTING, *REQUIRED),
    setting=SETTING,
    manual=__doc__,
    silent="yes",
    seen_in="cudnn-frontend 1.x (source)",
)
