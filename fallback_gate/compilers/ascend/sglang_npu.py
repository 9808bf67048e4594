r"""sglang.npu: what SGLang says on Ascend alone: weights in a plain format, and a kernel package that is too old.

    Skipping FRACTAL_NZ format cast: tensor shape (100, 33) dtype torch.bfloat16 is not aligned to NZ requirements. Falling back to 'ND' format, ...

**What falls back.** A weight whose shape does not fit the chip's blocked format stays in the plain one, and
its matrix products are slower; the fused rotary embedding gives way to the generic one.

**At which setting it speaks.** As a warning, by default, once for each text.

**When it is silent.** On weights that nobody tried to cast. SGLang's other fallbacks are its own reader's.

**What proves the end.** Nothing: no line tells that all weights were cast.

Wording from SGLang 0.5.23.
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.ascend.names import fixed, of_op
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Scope

NAME = "sglang.npu"

PLAIN_FORMAT = Rule(
    id="sglang-npu/plain-format",
    compiler=NAME,
    anchor=("Skipping FRACTAL_NZ format cast",),
    pattern=r"Skipping FRACTAL_NZ format cast: (?P<reason>tensor shape \([\d, ]{1,64}\) dtype \S{1,64} is not aligned to NZ requirements)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.UNKNOWN,
    meaning="A weight stays in the plain format: its matrix products can't use the blocked kernels.",
    help="Pad the weight so that both sizes are multiples of the block.",
    seen_in="SGLang 0.5.23, WARNING, once",
    matches=(
        "Skipping FRACTAL_NZ format cast: tensor shape (100, 33) dtype torch.bfloat16 is not aligned to NZ requirements. Falling back to 'ND' format, which may reduce NPU performance.",
    ),
    at_least=True,
    read=fixed(),
)

GENERIC_ROPE = Rule(
    id="sglang-npu/generic-rope",
    compiler=NAME,
    anchor=("is unavailable; falling back to the generic rope",),
    pattern=r"\bsgl_kernel_npu\.norm\.(?P<op>\w{1,128}) (?P<reason>is unavailable); falling back to the generic rope implementation",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The fused kernel of rotary embedding and norm is missing: the generic operators run.",
    help="Upgrade sgl_kernel_npu.",
    seen_in="SGLang 0.5.23, WARNING",
    matches=(
        "sgl_kernel_npu.norm.fused_rope_qk_mqa is unavailable; falling back to the generic rope implementation. Upgrade sgl_kernel_npu to enable the fused kernel.",
    ),
    read=of_op,
)

REQUIRED = frozenset({Kind.SLOWER_KERNEL})
WHY = "the warning is printed once for each text, and no line tells that all weights were cast"

READER = Reader(
    name=NAME,
    rules=(PLAIN_FORMAT, GENERIC_ROPE),
    markers=(),
    required=REQUIRED,
    prove=shared.unended(WHY, "", *REQUIRED),
    manual=__doc__,
    silent="no",
    seen_in="0.5.23 (source)",
)
