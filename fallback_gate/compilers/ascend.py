"""Room 3: the compilers and servers of Huawei's Ascend chips, one reader each.

`cann` places and builds the operators of a graph, whoever made it: ATC, MindSpore, TensorFlow, `torchair`.
`torch_npu` is PyTorch's device, `torch_npu.inductor` and `torchair.inductor` two ways of compiling for it,
`tilelang.ascend` kernels by hand; `vllm-ascend`, `mindie` and `sglang.npu` serve models.
"""

from __future__ import annotations

from fallback_gate.compilers import (
    cann,
    mindie,
    mindspore,
    sglang_npu,
    tilelang_ascend,
    torch_npu,
    torch_npu_inductor,
    torchair,
    torchair_inductor,
    vllm_ascend,
)

READERS = (
    cann.READER,
    torch_npu.READER,
    torch_npu_inductor.READER,
    torchair.READER,
    torchair_inductor.READER,
    mindspore.READER,
    tilelang_ascend.READER,
    vllm_ascend.READER,
    mindie.READER,
    sglang_npu.READER,
)
