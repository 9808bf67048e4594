"""Room 3: accelerators and frameworks other than NVIDIA, AMD, Apple and Ascend, one reader each.

Each has its own messages and its own proof. Policies name those that plug into PyTorch with `torch.*`.
"""
