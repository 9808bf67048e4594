"""Room 3: accelerators and frameworks other than NVIDIA, AMD, Apple and Ascend, one reader each.

Each has its own messages and its own proof. Policies name those that plug into PyTorch with `torch.*`.
"""

from __future__ import annotations

from fallback_gate.compilers import (
    gaudi,
    ipex,
    mlc_llm,
    neuron,
    nxd_inference,
    onednn,
    paddle,
    poptorch,
    tf_trt,
    torch_dipu,
    torch_mlu,
    torch_musa,
    torch_xla,
    torch_xpu,
    tpu_inference,
)

READERS = (
    gaudi.READER,
    torch_xpu.READER,
    ipex.READER,
    onednn.READER,
    neuron.READER,
    nxd_inference.READER,
    torch_xla.READER,
    tpu_inference.READER,
    torch_mlu.READER,
    torch_musa.READER,
    torch_dipu.READER,
    poptorch.READER,
    paddle.READER,
    tf_trt.READER,
    mlc_llm.READER,
)
