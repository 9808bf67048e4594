"""A kernel compiled by Triton for a GPU that need not be there; the first argument says which.

`nothing`: an fp16 dot, for which Hopper has WGMMA. `fp32`: a dot in exact fp32, for which it has none.
`interpret` runs a kernel on the CPU, where TRITON_INTERPRET is set.
"""

import sys

import triton
import triton.language as tl

MODE = sys.argv[1]


@triton.jit
def gate_attn(a, b, c, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    x = tl.load(a + m[:, None] * BK + k[None, :])
    y = tl.load(b + k[:, None] * BN + n[None, :])
    z = tl.dot(x, y, input_precision="ieee")  # the dot
    tl.store(c + m[:, None] * BN + n[None, :], z)


if MODE == "interpret":
    import torch

    x, y, z = (torch.ones(64, 64) for _ in range(3))
    gate_attn[(1,)](x, y, z, BM=64, BN=64, BK=64)
    print("output", float(z[0, 0]))
else:
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kind = "*fp32" if MODE == "fp32" else "*fp16"
    signature = {"a": kind, "b": kind, "c": "*fp32"} | dict.fromkeys(("BM", "BN", "BK"), "constexpr")
    aligned = {(at,): [["tt.divisibility", 16]] for at in range(3)}
    source = ASTSource(gate_attn, signature, {"BM": 64, "BN": 64, "BK": 64}, aligned)
    built = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
    print("wgmma", "wgmma.mma_async" in built.asm["ptx"], flush=True)
