"""nxd_inference: NeuronX Distributed Inference on Trainium and Inf2: hand-written kernels that were not taken.

    SDPA kernel can not be used for the following reason: head dim 96. Falling back to non-kernel version

**What falls back.** Attention or the gated MLP is compiled from plain operators in place of its NKI kernel.

**At which setting it speaks.** DEBUG of the package's logger.

**When it is silent.** By default.

**What proves the end.** Nothing: a kernel that was taken prints no line.

Wording seen in the source of neuronx-distributed-inference.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

NAME = "nxd_inference"
SETTING = "logging.basicConfig(level=logging.DEBUG), and a marker in the policy for the end"
OPERATORS = {
    "SDPA": ("scaled_dot_product_attention", "SDPA kernel", "attention"),
    "Gated MLP": ("gated_mlp", "Gated MLP kernel", "mlp"),
}


def kernel(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator whose kernel refused."""
    names = OPERATORS[match["kernel"]]
    yield by_groups(rule, record, match)._replace(op=names[0], names=names)


NO_KERNEL = Rule(
    id="nxd-inference/no-kernel",
    compiler=NAME,
    anchor=("kernel can not be used for the following reason: ",),
    pattern=r"(?P<kernel>SDPA|Gated MLP) kernel can not be used for the following reason: (?P<reason>.{1,400})\. Falling back to non-kernel version",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The NKI kernel does not take these shapes or types: the compiler makes one from plain operators.",
    help="The line gives the reason; pad the head dimension, or change the type.",
    seen_in="neuronx-distributed-inference (source), DEBUG",
    matches=(
        "SDPA kernel can not be used for the following reason: head dim 96. Falling back to non-kernel version",
        "Gated MLP kernel can not be used for the following reason: hidden size 1000. Falling back to non-kernel version",
    ),
    read=kernel,
)

REQUIRED = frozenset({Kind.SLOWER_KERNEL})

READER = Reader(
    name=NAME,
    rules=(NO_KERNEL,),
    markers=(),
    required=REQUIRED,
    prove=shared.unshown("the default level is silent about kernels", SETTING, *REQUIRED),
    setting=SETTING,
    manual=__doc__,
    silent="yes",
    seen_in="neuronx-distributed-inference (source)",
)
