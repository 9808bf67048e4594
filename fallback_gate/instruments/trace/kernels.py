"""The annex, kernel traces: where a GPU kernel comes from, by its name, and which operator it computes.

A compiler, a vendor's library and an eager framework each name their kernels in a way of their own:

    generated   a compiler wrote it for this program: Inductor's and others' Triton kernels, TVM, TileLang,
                XLA's fusions, CUTLASS and Composable Kernel templates that were compiled for it
    library     a vendor's or a hand-written library: cuBLAS, cuDNN, NCCL, flash attention, hipBLASLt, MIOpen
    eager       the framework's own kernel of one operator: ATen's
    other       anything else: hand-written kernels, copies

ATen's CUTLASS kernels are built ahead of time and count as library, cuBLAS's (`cutlass_80_...`) too.
Sources: aten/src/ATen/native/cuda in pytorch/pytorch; the names in the traces of sample_traces.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

GENERATED, LIBRARY, EAGER, OTHER = "generated", "library", "eager", "other"
ORIGINS: Final = (GENERATED, LIBRARY, EAGER, OTHER)

_ORIGINS: Final = tuple(
    (origin, re.compile(pattern))
    for origin, pattern in (
        (
            LIBRARY,
            r"(?i)flash|fmha|cublas|cudnn|nvjet|^nccl|ncclDev|ncclKernel|rccl|(^|\W)xmma_|gemmk1|gemv\w*_kernel"
            r"|^(void )?cutlass_?\d\d_|cutlass::Kernel2?<cutlass_\d\d_"
            r"|cutlass.*(at::cuda|2at4cuda|at::native)"
            r"|^(ampere|sm\d\d|volta|turing|hopper|maxwell)_|splitKreduce|cusparse|cufft|curand|cusolver|magma_"
            r"|prepare_grouped_gemm_data|^Cijk_|miopen|MIOpen|hipblas|rocblas|rocfft|deep_gemm|tensorrt|trt_"
            r"|flashinfer|marlin|aiter::",
        ),
        (
            GENERATED,
            r"^_?triton|^_?tvm_|^tvmgen_|tilelang|_tilelang|^tl_|cutlass|cute::|(^|\W)ck::|ck_tile|^cuda_fused"
            r"|^(loop|input|wrapped|transpose|concatenate|gemm|softmax|triton)_\w*fusion|^fusion(_\d+)?$"
            r"|^main_kernel(_\d+)?$",
        ),
        (
            EAGER,
            r"softmax_warp_|cunn_\w*SoftMax|elementwise_kernel_with_index|CatArrayBatchedCopy|RowwiseMoments"
            r"|at::native|at::cuda|2at6native|2at4cuda|at_cuda_detail|at::hip|c10::|caffe2::",
        ),
    )
)

OPERATORS: Final = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"multi_tensor_apply_kernel.*::Copy<", "_foreach_copy_"),
        (r"multi_tensor_apply_kernel", "_foreach"),
        (r"index_put_kernel_impl|indexing_backward_kernel", "index_put_"),
        (r"index_copy_kernel_impl", "index_copy_"),
        (r"index_kernel_impl|gpu_index_kernel", "index"),
        (r"indexSelect", "index_select"),
        (r"index_?[aA]dd|indexFunc\w*.*ReduceAdd", "index_add_"),
        (r"embedding", "embedding"),
        (r"CatArrayBatchedCopy", "cat"),
        (r"topk|TopK", "topk"),
        (r"[bB]itonicSort|radixSort|RadixSort|sortKeyValueInplace", "sort"),
        (r"kernelHistogram", "histc"),
        (r"masked_fill", "masked_fill"),
        (r"masked_scatter", "masked_scatter"),
        (r"(?i)log_?softmax|LogSoftMax", "_log_softmax"),
        (r"(?i)softmax", "_softmax"),
        (r"(?i)layer_?norm|RowwiseMoments", "native_layer_norm"),
        (r"(?i)group_?norm", "native_group_norm"),
        (r"(?i)batch_?norm", "native_batch_norm"),
        (r"(?i)tensor_kernel_scan|scan_(inner|outer)", "cumsum"),
        (r"write_indices|DeviceSelect|flag_kernel", "nonzero"),
        (r"arange", "arange"),
        (r"tri(u|l)_", "triu"),
        (r"distribution_elementwise", "random_"),
        (r"(?i)dropout", "native_dropout"),
        (r"_scatter_gather|scatter_gather", "gather"),
        (r"roll_cuda", "roll"),
        (r"max_pool", "max_pool2d"),
        (r"avg_pool", "avg_pool2d"),
        (r"upsample", "upsample"),
        (r"conv_depthwise", "_conv_depthwise2d"),
        (r"ArgMaxOps|argmax", "argmax"),
        (r"ArgMinOps|argmin", "argmin"),
        (r"MeanOps", "mean"),
        (r"MaxNanFunctor|max_values", "amax"),
        (r"MinNanFunctor|min_values", "amin"),
        (r"sum_functor", "sum"),
        (r"prod_functor", "prod"),
        (r"NormOps|NormTwoOps|norm_kernel", "linalg_vector_norm"),
        (r"WelfordOps", "var_mean"),
        (r"or_kernel_cuda", "any"),
        (r"and_kernel_cuda", "all"),
        (r"FillFunctor", "fill_"),
        (r"(direct|bfloat16|float16|half|float8\w*)_copy_kernel", "copy_"),
        (r"CUDAFunctor(OnSelf|OnOther)?_add", "add"),
        (r"addcmul", "addcmul"),
        (r"addcdiv", "addcdiv"),
        (r"MulFunctor", "mul"),
        (r"DivFunctor|div_true_kernel", "div"),
        (r"div_floor_kernel", "floor_divide"),
        (r"remainder_kernel", "remainder"),
        (r"CompareEqFunctor", "eq"),
        (r"CompareFunctor", "comparison"),
        (r"Bitwise(And|Or|Xor)Functor", "bitwise"),
        (r"where_kernel", "where"),
        (r"clamp", "clamp"),
        (r"silu", "silu"),
        (r"Gelu|gelu", "gelu"),
        (r"pow_tensor", "pow"),
        (r"maximum_kernel", "maximum"),
        (r"minimum_kernel", "minimum"),
    )
)
_KERNEL = re.compile(r"\b(\w+?)_kernel(?:_impl|_cuda)+\b|\b(\w+)_kernel\(at::TensorIterator")
_FRAMES = {
    "gpu",
    "elementwise",
    "vectorized_elementwise",
    "unrolled_elementwise",
    "index_elementwise",
    "reduce",
}


@lru_cache(maxsize=65_536)
def origin(name: str) -> str:
    """Where a kernel of this name comes from: one of `ORIGINS`."""
    return next((origin for origin, pattern in _ORIGINS if pattern.search(name)), OTHER)


_LIBRARY_CALLS: Final = re.compile(
    r"^aten::(mm|bmm|addmm|baddbmm|matmul|linear|addmv|mv|dot|\w*_mm|\w*conv\w*|\w*attention\w*|\w*fft\w*|"
    r"\w*cudnn\w*|linalg_\w+|miopen\w*)(\.|$)"
)


def origin_of_call(called: str, name: str) -> str:
    """The origin of a kernel that an operator called: what nobody knows, an ATen operator ran eager."""
    known = origin(name)
    if known != OTHER or not called.startswith("aten::"):
        return known
    return LIBRARY if _LIBRARY_CALLS.match(called) else EAGER


@lru_cache(maxsize=65_536)
def operator(name: str) -> str | None:
    """The ATen operator that an eager kernel of this name computes, such as `aten::softplus`, if it tells."""
    for pattern, known in OPERATORS:
        if pattern.search(name):
            return f"aten::{known}"
    for found in _KERNEL.finditer(name):
        word = found[1] or found[2]
        if word not in _FRAMES:
            return f"aten::{word}"
    return None


def short(name: str) -> str:
    """A kernel's name without its arguments: what a person calls it."""
    plain = name.removeprefix("void ").replace("(anonymous namespace)::", "")
    return plain if plain.startswith("_Z") else re.split(r"[<(]", plain, maxsplit=1)[0]
