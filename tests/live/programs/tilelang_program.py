"""A kernel lowered by TileLang for a GPU that need not be there; the first argument says which.

`cluster` copies rows of 12 bytes between the blocks of a cluster, `nothing` rows of 16 bytes.
"""

import sys

import tilelang
import tilelang.language as T
from tilelang import tvm

N = 3 if sys.argv[1] == "cluster" else 4


@T.prim_func
def exchange(A: T.Tensor((2, N), "float32"), B: T.Tensor((2, N), "float32")):
    with T.Kernel(2, threads=32, cluster_dims=(2, 1, 1)) as bx:
        sent = T.alloc_shared((N,), "float32")
        taken = T.alloc_shared((N,), "float32")
        barrier = T.alloc_cluster_barrier([1])
        T.copy(A[bx, 0:N], sent)
        T.copy_cluster(sent, taken, dst_block=1 - bx, remote_barrier=barrier[0])
        T.copy(taken, B[bx, 0:N])


target = tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})
with target:
    built = tilelang.lower(exchange, target=target)
print("lowered", bool(built.kernel_source), flush=True)
