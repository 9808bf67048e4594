"""torch.dipu: DeepLink's DIPU, a PyTorch layer for several vendors' devices: operators that run on the CPU.

    fallback to cpu, name=aten::sort

**What falls back.** The operator is not in the vendor's library (or is forced out of it) and is computed on the
CPU.

**At which setting it speaks.** `DIPU_DUMP_OP_ARGS` set to 0 or more: once a call site.

**When it is silent.** By default. The notices at import (`will be fallback to cpu`) name each operator that the
vendor lacks, used or not: they are no fallback of this run.

**What proves the end.** Nothing.

Wording seen in the source of deeplink.framework.
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Scope

NAME = "torch.dipu"
SETTING = "DIPU_DUMP_OP_ARGS=0, and a marker in the policy for the end"

FALLBACK = Rule(
    id="torch-dipu/cpu-fallback",
    compiler=NAME,
    anchor=("fallback to cpu, name=",),
    pattern=r"(?P<reason>custom fallback to cpu(?=, name=\w)|fallback to cpu(?=, name=\w{1,60}::)), name=(?P<op>[\w:.]+)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The vendor's library lacks the operator: it is computed on the CPU.",
    help="Replace the operator, or ask the vendor for it.",
    seen_in="DIPU (source), DIPU_DUMP_OP_ARGS=0 or more",
    matches=("fallback to cpu, name=aten::sort.out", "custom fallback to cpu, name=index_put_"),
    ignores=(
        "diopiSort is not yet implemented, sort.out will be fallback to cpu",
        "force fallback has been set, sort.out will be fallback to cpu",
        "model fallback to cpu, name=gate-attn",
    ),
    at_least=True,
)

REQUIRED = frozenset({Kind.DEVICE_FALLBACK})

READER = Reader(
    name=NAME,
    rules=(FALLBACK,),
    markers=(),
    required=REQUIRED,
    prove=shared.unshown("the default level does not print fallbacks", SETTING, *REQUIRED),
    setting=SETTING,
    manual=__doc__,
    silent="yes",
    seen_in="DIPU (source)",
)
