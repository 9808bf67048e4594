r"""xformers: memory-efficient attention and fused layers without their compiled kernels.

    WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:

    NotImplementedError: No operator found for `memory_efficient_attention_forward` with inputs:

**What falls back.** The compiled kernels do not load, for they were built for another PyTorch, CUDA or Python:
fused layers run eager, and `memory_efficient_attention` takes another back end or fails. A call that no kernel takes
is an error: the program ends, or its author caught it and went on with other attention.

**At which setting it speaks.** A warning at import, by default; the error always.

**When it is silent.** Which back end each call of the attention takes is never said.

**What proves the end.** Nothing.

Wording from the source of 0.0.16 to 0.0.33; of the error from public threads of 0.0.16 to 0.0.32.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import BEFORE, Pattern
from fallback_gate.scan.record import Record

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

_WHY = Pattern(r"^\s*`(?P<kernel>[\w.@-]{1,60})` is not supported because:")
MOST_LINES = 60


def without_kernel(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The call; below it stands each kernel, with what it refuses the call for on the next lines."""
    refused: list[str] = []
    lines = list(record.following(MOST_LINES))
    for line, below in zip(lines, lines[1:], strict=False):
        if why := _WHY.match(line.text):
            refused.append(f"{why['kernel']}: {below.text.strip()[:80]}")
    report = shared.called(match["op"], "memory_efficient_attention", "attention")(rule, record, match)
    reason = "; ".join(refused[:6]) or "no kernel takes the call"
    yield from (one._replace(reason=reason) for one in report)


NO_KERNEL = Rule(
    id="xformers/no-kernel",
    compiler=NAME,
    anchor=("No operator found for",),
    pattern=rf"^{BEFORE}(?:NotImplementedError: )?No operator found for `(?P<op>memory_efficient_attention_\w{{1,40}})` with inputs:",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="No kernel takes the attention's type, head size, bias or GPU: the call is an error.",
    help="The lines below say why each kernel refuses; change the type or head size, or install the build for this GPU.",
    seen_in="0.0.16 to 0.0.32 (public threads), an exception",
    matches=(
        "NotImplementedError: No operator found for `memory_efficient_attention_forward` with inputs:\n"
        "     query       : shape=(1, 2, 1, 40) (torch.float32)\n"
        "`cutlassF` is not supported because:\n"
        "    xFormers wasn't build with CUDA support",
        "No operator found for `memory_efficient_attention_backward` with inputs:",
    ),
    ignores=("see: No operator found for `memory_efficient_attention_forward` with inputs:",),
    read=without_kernel,
)

REQUIRED = frozenset({Kind.SLOWER_KERNEL})
WHY = "xFormers does not say which kernel a call takes"

READER = Reader(
    name=NAME,
    rules=(NO_EXTENSIONS, NO_KERNEL),
    markers=(),
    required=REQUIRED,
    prove=shared.unended(WHY, "python -m xformers.info", *REQUIRED),
    manual=__doc__,
    silent="partly: kernels that do not load are warned of, the choice of each call is not told",
    seen_in="0.0.16 to 0.0.33 (source and public threads)",
)
