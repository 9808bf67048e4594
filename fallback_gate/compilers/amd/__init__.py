"""Room 3: AMD's stack, one reader each, since each library has its own messages and its own silence.

`migraphx` compiles graphs; `miopen`, `rocm.blas`, `rocm.ck` and `aiter` are the libraries that its kernels, or
PyTorch's, come from; `torch.tunableop` picks among them. `bitsandbytes` and `flash-attn` sit on top.
"""
