"""Room 3: Apple's stack: Core ML's converter and partitioner, MLX, and the partitioner for MPS.

PyTorch on the MPS device speaks like PyTorch on any other device: `torch.device` reads it.
"""
