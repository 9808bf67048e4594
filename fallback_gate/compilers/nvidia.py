"""Room 3: NVIDIA's stacks, one reader each, since each has its own messages and its own proof.

TensorRT builds engines, Torch-TensorRT cuts a PyTorch graph for it, TensorRT-LLM builds and serves language
models; Transformer Engine, FlashInfer, xFormers, cuDNN, cuBLASLt and PyTorch's own attention choose kernels.
"""

from __future__ import annotations

from fallback_gate.compilers import (
    cublaslt,
    cudnn,
    flashinfer,
    tensorrt,
    tensorrt_llm,
    torch_sdpa,
    torch_tensorrt,
    transformer_engine,
    xformers,
)

READERS = (
    tensorrt.READER,
    torch_tensorrt.READER,
    tensorrt_llm.READER,
    transformer_engine.READER,
    flashinfer.READER,
    xformers.READER,
    cudnn.READER,
    cublaslt.READER,
    torch_sdpa.READER,
)
