r"""mindie: MindIE-LLM, Huawei's own server: batches that run without a captured graph.

    Current batch size 96 is larger than 64, using eager mode.

**What falls back.** A batch larger than the largest captured size runs eager, kernel by kernel.

**At which setting it speaks.** At INFO of MindIE's log, for each such batch.

**When it is silent.** At the default level. That the Python graph is deprecated and the C++ graph is used is
no fallback: the C++ graph is the faster one.

**What proves the end.** Nothing: no line shows that INFO was on while batches were small enough.

Wording from MindIE-LLM's source of 2026.
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.ascend.names import fixed
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Scope

NAME = "mindie"

LARGE_BATCH = Rule(
    id="mindie/batch-without-graph",
    compiler=NAME,
    anchor=("Current batch size ",),
    pattern=r"(?P<reason>Current batch size \d{1,9} is larger than \d{1,9}), using eager mode\.",
    kind=Kind.CUDAGRAPH_SKIP,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="The batch is larger than the largest captured graph: it runs eager.",
    help="Capture larger sizes, or limit the batch of the scheduler.",
    seen_in="MindIE-LLM of 2026 (source), INFO",
    matches=("Current batch size 96 is larger than 64, using eager mode.",),
    ignores=(
        "Current batch size 96 is larger than 64, splitting it.",
        "Python Graph is deprecated, config field llm.engine.graph will be removed on 2027/3/31.Automatically falling back to C++ graph.",
    ),
    read=fixed(),
)

REQUIRED = frozenset({Kind.CUDAGRAPH_SKIP})
SETTING = "MINDIE_LOG_LEVEL=info, and a marker in the policy for the line that ends the run"
WHY = "MindIE says it at INFO, and no line shows that this level was on for the whole run"

READER = Reader(
    name=NAME,
    rules=(LARGE_BATCH,),
    markers=(),
    required=REQUIRED,
    prove=shared.unshown(WHY, SETTING, *REQUIRED),
    setting=SETTING,
    manual=__doc__,
    silent="yes: it is said at INFO",
    seen_in="MindIE-LLM of 2026 (source)",
)
