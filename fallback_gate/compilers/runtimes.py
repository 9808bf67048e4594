"""Room 3: inference runtimes and graph compilers beside PyTorch's own, one reader each.

A process owes the proof of those that it shows: a session of ONNX Runtime whose provider is OpenVINO may
speak as both.
"""

from __future__ import annotations

from fallback_gate.compilers import (
    executorch,
    iree,
    jax_xla,
    litert_converter,
    onnxruntime,
    openvino,
    openvino_torch,
    tensorflow,
    tilelang,
    triton,
)

READERS = (
    onnxruntime.READER,
    openvino.READER,
    openvino_torch.READER,
    jax_xla.READER,
    tensorflow.READER,
    litert_converter.READER,
    executorch.READER,
    tilelang.READER,
    triton.READER,
    iree.READER,
)
