"""The annex, the coverage matrix: what the name of a kernel tells where no operator is known to have called
it.

Inside a CUDA graph, and in traces that hold kernels alone, only names are left. A library's kernel tells its
family: `matmul`, `convolution`, `attention`, a collective. Kernel collections that are no vendor's are told
apart from the vendor's libraries by the names of their projects.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from fallback_gate.instruments.trace import kernels
from fallback_gate.model.matrix import Column

MATMUL: Final = "matmul"
GROUPED: Final = "aten::_grouped_mm"

_HAND_WRITTEN = re.compile(
    r"(?i)vllm::|\bsgl_|sgl_kernel|flashinfer|deep_gemm|marlin|aiter::|xformers|exllama|machete|flash_mla"
    r"|tensorrt_llm::kernels|mscclpp|causal_conv1d|selective_scan|punica|bgmv|paged_attention|reshape_and_cache"
    r"|(?<!pytorch_)\bflash::|\bflash_(?:fwd|bwd)|moe_align_block"
)
_PRODUCT = re.compile(r"::(?:\w*mm|mv|matmul|linear|\w*convolution\w*|\w*attention\w*)$")
_FUSED = re.compile(r"^_?(?:triton_(?:poi|per|red|for|split_scan|mix)_|cpp_fused)")
_OF_ATEN = re.compile(r"at::cuda|at::native|2at4cuda|2at6native|pytorch_flash")
_COLLECTIVE = re.compile(
    r"(?i)(?:nccl|rccl)\w*?_?(AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|SendRecv|AllToAll)"
)
_FAMILIES: Final = tuple(
    (re.compile(pattern), family)
    for pattern, family in (
        (r"(?:at::cuda|2at4cuda).*GroupProblemShape|at::cuda::detail::prepare_grouped_gemm", GROUPED),
        (r"(?i)GroupProblemShape|grouped_?gemm|moe_gemm|fused_moe|group_?gemm", "grouped_mm"),
        (r"(?i)flash|fmha|attention|mha_", "attention"),
        (r"(?i)conv(?!ert)|fprop|dgrad|wgrad|winograd", "convolution"),
        (r"(?i)gemm|gemv|nvjet|^Cijk_|splitKreduce|matmul|cutlass", MATMUL),
    )
)  # fmt: skip
_COLUMNS: Final = {
    kernels.LIBRARY: Column.LIBRARY,
    kernels.GENERATED: Column.GENERATED,
    kernels.EAGER: Column.FALLBACK,
}


def column(origin: str, kernel: str, operator: str) -> Column:
    """The column of a kernel: its origin, and who wrote it where the vendor did not.

    A kernel of no known name that a custom operator called (`moe::gate`) is that operator's own.
    """
    if (
        origin in (kernels.LIBRARY, kernels.OTHER)
        and _HAND_WRITTEN.search(kernel)
        and not _OF_ATEN.search(kernel)
    ):
        return Column.HAND_WRITTEN
    if origin == kernels.OTHER:
        is_custom = "::" in operator and not operator.startswith(("aten::", "at::", "c10::", "prims::"))
        return Column.HAND_WRITTEN if is_custom and kernels.short(kernel) != operator else Column.UNKNOWN
    return _COLUMNS[origin]


def computes(kernel: str, operator: str) -> bool:
    """Whether a generated kernel can be what computes an operator that its name or its comment tells.

    A fused kernel is called after all operators around it: a product among them is one that it feeds or whose
    result it takes, unless the kernel comes from a template.
    """
    return not _PRODUCT.search(operator) or not _FUSED.match(kernel)


@lru_cache(maxsize=65_536)
def family(kernel: str) -> str | None:
    """What a library's kernel computes, as far as its name tells."""
    collective = _COLLECTIVE.search(kernel)
    if collective:
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", collective[1]).lower()
    return next((family for pattern, family in _FAMILIES if pattern.search(kernel)), None)
