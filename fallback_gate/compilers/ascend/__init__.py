"""Room 3: the compilers and servers of Huawei's Ascend chips, one reader each.

`cann` places and builds the operators of a graph, whoever made it: ATC, MindSpore, TensorFlow, `torchair`.
`torch_npu` is PyTorch's device, `torch_npu.inductor` and `torchair.inductor` two ways of compiling for it,
`tilelang.ascend` kernels by hand; `vllm-ascend`, `mindie` and `sglang.npu` serve models.
"""
