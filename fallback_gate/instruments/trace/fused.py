"""The annex, kernel traces: which operators Inductor fused into a Triton kernel, by the kernel's name.

`triton_per_fused__to_copy_add_mean_mul_pow_rsqrt_1` is a persistent reduction (`poi`: pointwise, `red`: in
loops) of the operators that stand in it in alphabetical order, joined by an underscore, which many have
themselves. C++ kernels are called alike: `cpp_fused_add_mul_0`.

Source: torch/_inductor/codegen/triton.py and utils.get_fused_kernel_name in pytorch/pytorch.
"""

from __future__ import annotations

import re
from typing import Final

from fallback_gate.instruments.trace.kernels import OPERATORS

_NAME = re.compile(r"^_?(?:triton_[a-z]+|cpp)_fused_(?P<names>\w+?)_\d+$")
_KNOWN: Final = """
_to_copy _unsafe_view _grouped_mm _scaled_mm _safe_softmax add addmm amax argmax bitwise_not bmm cat clamp
clone constant_pad_nd convolution copy cos cumsum div embedding eq exp expand floor_divide full gather ge
gelu gt index index_copy index_put index_select le log log1p log_softmax lt masked_fill max maximum mean min
minimum mm mul native_layer_norm ne neg pow reciprocal relu repeat round rsqrt rsub scatter select sigmoid
silu sin slice slice_scatter softmax softplus sort split split_with_sizes sqrt squeeze stack sub sum t tanh
topk transpose unsqueeze var_mean view where zeros
"""
_FREE: Final = """
_unsafe_view clone expand full select slice split split_with_sizes squeeze t transpose unsqueeze view
"""  # views and bookkeeping, which run nothing of their own
_WORDS: Final = frozenset(_KNOWN.split()) | frozenset(name for _, name in OPERATORS)


def fused(name: str) -> tuple[str, ...]:
    """The ATen operators in a Triton kernel of Inductor's, as far as its name tells them."""
    found = _NAME.match(name)
    words = found["names"].split("_") if found else []
    operators: list[str] = []
    at = 0
    while at < len(words):
        ends = range(len(words), at, -1)
        end = next((end for end in ends if "_".join(words[at:end]) in _WORDS), None)
        if end is not None:
            operators.append("_".join(words[at:end]))
        at = end or at + 1
    free = _FREE.split()
    return tuple(dict.fromkeys(f"aten::{word}" for word in operators if word not in free))
