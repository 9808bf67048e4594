"""Room 3: NVIDIA's stacks, one reader each, since each has its own messages and its own proof.

TensorRT builds engines, Torch-TensorRT cuts a PyTorch graph for it, TensorRT-LLM builds and serves language
models; Transformer Engine, FlashInfer, xFormers, cuDNN, cuBLASLt and PyTorch's own attention choose kernels.
"""
