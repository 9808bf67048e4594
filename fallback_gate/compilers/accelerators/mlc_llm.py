"""mlc_llm: MLC-LLM's compile and serve: kernels that its optimisation flags asked for and did not get.

    WARNING compiler_flags.py:90: flashinfer is not supported on CUDA arch < 80

**What falls back.** Attention is compiled by TVM in place of FlashInfer's kernels. What TVM itself leaves
untuned is told by the readers `tvm.*`.

**At which setting it speaks.** WARNING, by default, once for each compile.

**When it is silent.** Where FlashInfer is off for another reason (TVM built without it, a target that is not
CUDA), and for every other flag: they are dropped without a line.

**What proves the end.** Nothing.

Wording seen in the source of 0.1 to 0.20.
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Scope

NAME = "mlc_llm"

FLASHINFER = Rule(
    id="mlc-llm/no-flashinfer",
    compiler=NAME,
    anchor=("flashinfer is not supported on CUDA arch",),
    pattern=r"(?P<reason>flashinfer is not supported on CUDA arch < \d{1,4})\s*$",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The GPU is too old for FlashInfer: TVM compiles the attention.",
    help="Take a GPU of compute capability 8.0 or more, or compile with --opt flashinfer=0 and allow it.",
    seen_in="MLC-LLM 0.1 to 0.19 (source), WARNING",
    matches=(
        "[2026-11-30 00:29:06] WARNING compiler_flags.py:90: flashinfer is not supported on CUDA arch < 80",
    ),
    read=shared.called("attention", "flashinfer"),
)

CACHE = Rule(
    id="mlc-llm/no-flashinfer-cache",
    compiler=NAME,
    anchor=("Error caught when creating FlashInfer PagedKVCache", "will fallback to TIR-based KV cache"),
    pattern=r"(?:Error caught when creating (?P<reason>FlashInfer PagedKVCache: ?.{0,200})|(?P<told>The model will fallback to TIR-based KV cache))",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="FlashInfer's kernels could not be made: attention over the cache is compiled by TVM.",
    help="Install a FlashInfer that can build kernels here (its own error stands behind the colon), and compile again.",
    seen_in="MLC-LLM 0.19 to 0.20 (source and public threads), INFO",
    matches=(
        "[2026-11-30 00:29:06] INFO dispatch_kv_cache_creation.py:243: Error caught when creating FlashInfer PagedKVCache: FlashInfer is not installed.",
        "The model will fallback to TIR-based KV cache.",
    ),
    read=shared.called("attention", "flashinfer"),
)

REQUIRED = frozenset({Kind.SLOWER_KERNEL})

READER = Reader(
    name=NAME,
    rules=(FLASHINFER, CACHE),
    markers=(),
    required=REQUIRED,
    prove=shared.unshown("flags that are dropped print no line, but for this one", "", *REQUIRED),
    manual=__doc__,
    silent="partly: one flag is warned of, the others are dropped",
    seen_in="MLC-LLM 0.1 to 0.20 (source)",
)
