"""poptorch: Graphcore's PyTorch for the IPU: operators that its compiler refuses.

    Unsupported ops found in compiled model: [aten::sort]. Not all operations are supported yet ...

**What falls back.** Nothing silently: an operator without a lowering is an error; one on the CPU stands in a
CPU block that the author wrote.

**At which setting it speaks.** By default, as an error.

**When it is silent.** Where the exception was caught and not printed.

**What proves the end.** Nothing.

Wording seen in the source of PopTorch 3.x.
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Scope

NAME = "poptorch"

UNSUPPORTED = Rule(
    id="poptorch/unsupported-operations",
    compiler=NAME,
    anchor=("Unsupported ops found in compiled model: [",),
    pattern=r"(?P<reason>Unsupported ops found in compiled model): \[(?P<ops>[^\]]{0,8000})\]",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The IPU's compiler has no lowering for the operator: the model is not compiled.",
    help="Replace the operator, write a custom one, or put it in a CPU block and allow that as cold.",
    seen_in="PopTorch 3.x (source), an error",
    matches=(
        "Unsupported ops found in compiled model: [aten::sort, aten::nonzero]. Not all operations are supported yet by Graphcore's PyTorch compiler.",
    ),
    read=shared.listed,
)

REQUIRED = frozenset({Kind.OP_FALLBACK})

READER = Reader(
    name=NAME,
    rules=(UNSUPPORTED,),
    markers=(),
    required=REQUIRED,
    prove=shared.unended("a model that was compiled prints no line", "", *REQUIRED),
    manual=__doc__,
    silent="no: a missing operator is an error",
    seen_in="PopTorch 3.x (source)",
)
