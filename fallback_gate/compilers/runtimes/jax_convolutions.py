"""Room 3: convolutions that XLA computes in a slower way. The manual page is `jax`.

https://github.com/openxla/xla/blob/main/xla/service/gpu/autotuning/conv_algorithm_picker.cc for GPUs.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.runtimes.jaxpr import NAME
from fallback_gate.compilers.shared import called
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_SHAPES = Pattern(r"Conv: (?P<site>\(.{1,299})")


def picked(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The convolution, with the shapes that the same line or the next one gives."""
    lines = chain((record.text,), (line.text for line in record.following(1)))
    shapes = next(filter(None, map(_SHAPES.search, lines)), None)
    yield by_groups(rule, record, match)._replace(
        op="convolution", names=("convolution",), site=shapes and shapes["site"]
    )


SLOW_CONVOLUTION = Rule(
    id="jax/unoptimized-convolution",
    compiler=NAME,
    anchor=(
        "Falling back to unoptimized convolution: ",
        "Falling back to generic convolution implementation",
    ),
    pattern=r"Falling back to (?:unoptimized convolution: |generic convolution implementation, because "
    r"(?=custom transposed convolution algorithm needs too much memory))(?P<reason>.{0,600})",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="XLA's CPU compiler has no library kernel for the convolution: a plain loop computes it.",
    help="The line names the instruction; change its dimension numbers, padding or types.",
    seen_in="0.10 (its binary)",
    matches=(
        "I0000 00:00:1795998201.1    1221 cpu_compiler.cc:99] Falling back to unoptimized convolution: %convolution.3 = f32[1,8,8,4]{3,2,1,0} convolution(%a, %b)",
        "W0000 00:00:1795998201.1    1221 conv_impl.h:90] Falling back to generic convolution implementation, because custom transposed convolution algorithm needs too much memory (4294967296 bytes).",
    ),
    read=called("convolution"),
)

NO_HEURISTIC = Rule(
    id="jax/cudnn-fallback-convolution",
    compiler=NAME,
    anchor=("provided by cuDNN heuristics worked; trying",),
    pattern=r"(?P<reason>None of the algorithms provided by cuDNN heuristics worked); trying fallback algorithms",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="No algorithm that cuDNN proposes for the convolution runs here: one of its fallback engines does, some of "
    "which are very slow.",
    help="Install the cuDNN that this jaxlib asks for and that knows the GPU, leave it more memory, or change the window's size.",
    seen_in="jaxlib 0.4, TensorFlow 2.12 and PyTorch/XLA 1.13 (public threads), XLA to 2025 (source), WARNING",
    matches=(
        "2026-01-01 00:00:00.000001: W external/xla/xla/service/gpu/conv_algorithm_picker.cc:809] None of the algorithms provided by cuDNN heuristics worked; trying fallback algorithms.\n2026-01-01 00:00:00.000002: W external/xla/xla/service/gpu/conv_algorithm_picker.cc:812] Conv: (f32[2,64,3,3]{3,2,1,0}, u8[0]{0}) custom-call(f32[2,64,33,33]{3,2,1,0}, f32[64,64,31,31]{3,2,1,0}), window={size=31x31}",
        "2026-01-01 00:00:00.000003: W external/org_tensorflow/tensorflow/compiler/xla/service/gpu/gpu_conv_algorithm_picker.cc:825] None of the algorithms provided by cuDNN heuristics worked; trying fallback algorithms.  Conv: (f32[2,64,3,3]{3,2,1,0}, u8[0]{0}) custom-call(f32[2,64,33,33]{3,2,1,0})",
    ),
    ignores=("We saw None of the algorithms provided by cuDNN heuristics worked, but why?",),
    read=picked,
)

RULES = (SLOW_CONVOLUTION, NO_HEURISTIC)
