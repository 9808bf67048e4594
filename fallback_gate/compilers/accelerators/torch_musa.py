"""torch.musa: PyTorch on Moore Threads' GPUs: operators that the back end lacks.

    NotImplementedError: Could not run 'aten::sort' with arguments from the 'MUSA' backend. ...

**What falls back.** Nothing silently: torch_musa registers no CPU fallback, so a missing operator is an error,
and its author moves it to the CPU by hand.

**At which setting it speaks.** Always: the error is a Python exception.

**When it is silent.** Where the exception was caught and not printed.

**What proves the end.** Nothing: a program that was not refused prints no line.

Wording from PyTorch's dispatcher, any version; that there is no fallback, from the source of torch_musa.
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Scope

NAME = "torch.musa"

DENIED = Rule(
    id="torch-musa/not-implemented",
    compiler=NAME,
    anchor=("with arguments from the ",),
    pattern=r"(?P<reason>Could not run '(?P<op>[\w:.]+)' with arguments from the 'MUSA' backend)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The back end lacks the operator: the program ended here, or its author went on without it.",
    help="Replace the operator, or run it on the CPU by hand and allow it as cold.",
    seen_in="torch_musa (source), an exception",
    matches=(
        "NotImplementedError: Could not run 'aten::sort' with arguments from the 'MUSA' backend. This could be because the operator doesn't exist for this backend.",
    ),
    ignores=("NotImplementedError: Could not run 'aten::sort' with arguments from the 'CUDA' backend.",),
)

REQUIRED = frozenset({Kind.OP_FALLBACK})

READER = Reader(
    name=NAME,
    rules=(DENIED,),
    markers=(),
    required=REQUIRED,
    prove=shared.unended("a program that was not refused prints no line", "", *REQUIRED),
    manual=__doc__,
    silent="no: a missing operator is an error",
    seen_in="torch_musa (source)",
)
