"""generic: the one line that an in-house compiler can print to be understood without a reader.

    fallback to eager: op=gate_attn reason=no lowering

**What falls back.** The operator after `op=` runs in eager mode; `reason=` is optional and takes the rest
of the line.

**When it is silent.** The gate can't know: nothing in the form says at which level it is printed or when
compiling ends. So it takes its proof from a marker in the policy (`rules`, with `proves` and `ends`);
without one, a log with only this form is unproven, allowed operators or not.
"""

from __future__ import annotations

from collections.abc import Mapping

from fallback_gate.compilers.rule import Evidence, Reader, Rule
from fallback_gate.compilers.user_markers import by_markers
from fallback_gate.model import Kind, Proof, Scope

NAME = "generic"

FALLBACK = Rule(
    id="generic/fallback-to-eager",
    compiler=NAME,
    anchor=("fallback to eager: op=", "Fallback to eager: op="),
    # Quotes around a name and the full stop of a sentence are no part of it: a hot name is then compared as it is.
    pattern=r"[Ff]allback to eager: op=[\"'`]?(?P<op>[^\s,;\"'`]*[^\s,;\"'`.])(?:[\s,;\"'`.]+reason=(?P<reason>.*\S))?",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The compiler left this operator to the eager interpreter.",
    help="Ask the compiler's owner for a lowering of the operator, or allow it as cold with a reason.",
    seen_in="every version: it is this tool's own form",
    matches=(
        "2026-11-30 09:14:07 WARNING build: fallback to eager: op=gate_attn",
        "fallback to eager: op=aten::sort reason=no lowering",
        "Fallback to eager: op=gate_attn.",
    ),
    ignores=("fallback to eager: none", "no fallback to eager"),
)


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Weigh the policy's markers: they state what they prove, and whether they end the compile phase."""
    return by_markers(evidence, required=REQUIRED)


REQUIRED = frozenset({Kind.OP_FALLBACK})
READER = Reader(
    name=NAME,
    rules=(FALLBACK,),
    markers=(),
    required=REQUIRED,
    prove=prove,
    manual=__doc__,
    silent="no: the form is printed or it is not",
    seen_in="every version: it is our own form",
)
