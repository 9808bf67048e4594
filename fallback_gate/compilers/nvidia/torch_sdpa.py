r"""torch.sdpa: the kernel behind PyTorch's scaled_dot_product_attention.

    UserWarning: Flash attention kernel not used because: (Triggered internally at ../aten/src/ATen/native/transformers/cuda/sdp_utils.cpp:1)

**What falls back.** Attention runs by plain matrix products, with the whole matrix of scores in memory, where
no fused kernel takes the mask, head size, type or GPU.

**At which setting it speaks.** Only where the plain way is forbidden (`sdpa_kernel([FLASH_ATTENTION, ...])`) and no
other kernel is left: then each refused one is named with its reasons, and the call fails.

**When it is silent.** By default: with the plain way allowed, no line is ever printed when it is taken.

**What proves the end.** No line can. Forbid the plain way, so that the program fails instead.

Wording from the source of 2.0 to 2.14.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

NAME = "torch.sdpa"


def of_kernel(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """One kernel that was refused; the reasons are warnings of their own, which follow."""
    names = ("aten::scaled_dot_product_attention", "scaled_dot_product_attention", match["backend"])
    reason = f"{match['backend']} kernel not used"
    for line in record.following(3):
        head, _, said = line.text.partition("Warning: ")
        if said and not said.startswith(("Flash", "Memory", "CuDNN", "cuDNN")):
            reason += f": {said.partition(' (Triggered')[0]}"[:300]
            break
    yield by_groups(rule, record, match)._replace(op=names[0], names=names, reason=reason)


REFUSED = Rule(
    id="torch-sdpa/kernel-refused",
    compiler=NAME,
    anchor=(" kernel not used because:",),
    pattern=r"(?:^|Warning: )(?P<backend>Memory [Ee]fficient|Flash [Aa]ttention|[Cc]uDNN attention|[Mm]ath attention)"
    r" kernel not used because:",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="A fused attention kernel does not take the call.",
    help="The next warnings say why: mask, head size, type, strides, or a GPU that is too old.",
    seen_in="2.0 to 2.14 (source), a Python warning, only where no other kernel is left",
    matches=(
        "UserWarning: Flash attention kernel not used because: (Triggered internally at ../aten/src/ATen/native/transformers/cuda/sdp_utils.cpp:1)",
        "/app/model/decode.py:42: UserWarning: Memory efficient kernel not used because: (Triggered internally at sdp_utils.cpp:718.)",
    ),
    ignores=("the kernel not used because: it is slow",),
    read=of_kernel,
)

NOT_COMPILED = Rule(
    id="torch-sdpa/kernel-not-built",
    compiler=NAME,
    anchor=("Torch was not compiled with ",),
    pattern=r"(?:^|Warning: )1?(?P<reason>Torch was not compiled with (?P<backend>flash attention|memory efficient attention|cuDNN attention))",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="This build of PyTorch lacks a fused attention kernel, as those for Windows did.",
    help="Take a build that has it, or name the kernel that the release needs by sdpa_kernel().",
    seen_in="2.0 to 2.14 (source and public threads), a Python warning, once a process",
    matches=(
        "/app/model.py:3: UserWarning: 1Torch was not compiled with flash attention. (Triggered internally at ../aten/src/ATen/native/transformers/cuda/sdp_utils.cpp:263.)",
    ),
    ignores=("Torch was not compiled with distributed support",),
    at_least=True,
    shared_anchor=True,
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op="aten::scaled_dot_product_attention",
            names=("aten::scaled_dot_product_attention", "scaled_dot_product_attention", match["backend"]),
        ),
    ),
)

REQUIRED = frozenset({Kind.SLOWER_KERNEL})
SETTING = (
    "sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]), which makes the call fail"
)


READER = Reader(
    name=NAME,
    rules=(REFUSED, NOT_COMPILED),
    markers=(),
    required=REQUIRED,
    prove=shared.unshown("the plain way of attention is taken without a line", SETTING, *REQUIRED),
    setting=SETTING,
    manual=__doc__,
    silent="yes: the plain way of attention is taken without a line",
    seen_in="PyTorch 2.0 to 2.14 (source)",
)
