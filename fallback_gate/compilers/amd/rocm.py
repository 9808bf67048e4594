r"""rocm: the libraries that compute matrix products and attention on AMD GPUs, one reader each.

    UserWarning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas
    RuntimeError: wrong! device_gemm with the specified compilation parameters does not support this GEMM problem

`rocm.blas` is hipBLASLt and rocBLAS, `rocm.ck` Composable Kernel, `bitsandbytes` and `flash-attn` the packages
of that name (which speak so on NVIDIA GPUs too).

**What falls back.** All matrix products of the process to the older library, where hipBLASLt does not know
the GPU; a product in xf32 to fp32; a problem that no Composable Kernel instance takes, which is an error;
an 8-bit product to fp32; a 4-bit or 8-bit product to a slow kernel; attention to its Triton implementation.

**At which setting it speaks.** Warnings by default, PyTorch's once a process, Python's once for each source
line. hipBLASLt itself needs `HIPBLASLT_LOG_LEVEL=5`.

**When it is silent.** rocBLAS with `ROCBLAS_USE_HIPBLASLT=1` goes back to Tensile for problems that hipBLASLt
does not solve, and no level shows it. An unsolved product in hipBLASLt shows as the heuristic's empty answer.

**What proves the end.** Nothing: no line shows that all problems were met.

Wording seen for PyTorch 2.4 to 2.9, hipBLASLt 0.7 to 1.1, bitsandbytes 0.35 to 0.48, flash-attn 2.8 (source and threads).
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Scope

BLAS, CK, BITSANDBYTES, FLASH_ATTENTION = "rocm.blas", "rocm.ck", "bitsandbytes", "flash-attn"


OLDER_BLAS = Rule(
    id="rocm-blas/architecture",
    compiler=BLAS,
    anchor=("unsupported architecture! ",),
    pattern=r"(?P<reason>Attempting to use hipBLASLt on an? unsupported architecture! Overriding blas backend to \w{1,20})",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.PROGRAM,
    meaning="hipBLASLt does not know this GPU: all matrix products of the process run on the older library.",
    help="Install a ROCm build for this GPU, or set TORCH_BLAS_PREFER_HIPBLASLT=0 to make it a decision.",
    seen_in="PyTorch 2.4 to 2.9, once a process",
    matches=(
        "/x/torch/nn/modules/linear.py:125: UserWarning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas (Triggered internally at ../aten/src/ATen/Context.cpp:296.)",
    ),
    ignores=("hipBLASLt is not built for an unsupported architecture! See the guide.",),
    at_least=True,
    read=shared.called("hipBLASLt", "gemm", "linear"),
)
NO_SOLUTION = Rule(
    id="rocm-blas/no-solution",
    compiler=BLAS,
    anchor=("solutions found, try to fallback",),
    pattern=r"(?:^|[\]\s])(?P<reason>no (?:xf32 )?solutions found, try to fallback(?: fp32)?)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="hipBLASLt has no xf32 kernel for the matrix product: it is computed in fp32.",
    help="Use a type that the GPU has kernels for, or accept fp32 here.",
    seen_in="hipBLASLt 0.7 to 1.1, HIPBLASLT_LOG_LEVEL=5",
    matches=("no solutions found, try to fallback", "no xf32 solutions found, try to fallback fp32"),
    read=shared.called("hipblasLtMatmul", "gemm"),
)
UNSUPPORTED_PROBLEM = Rule(
    id="rocm-ck/unsupported-problem",
    compiler=CK,
    anchor=("with the specified compilation parameters does not support",),
    pattern=r"Error: wrong! (?P<op>\w{1,200}) with the specified compilation parameters (?P<reason>does not support this \w{1,40} problem)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="No instance of the kernel takes this shape, stride or type: the call is an error.",
    help="Pad the shape, or use another back end for it (https://github.com/ROCm/composable_kernel).",
    seen_in="ROCm 5.7 to 7.1, through AITER and vLLM (threads)",
    matches=(
        "RuntimeError: wrong! device_gemm with the specified compilation parameters does not support this GEMM problem",
    ),
    ignores=(
        "Instance: DeviceGemmXdl<256>, does not support this GEMM problem",
        "wrong! device_gemm with the specified compilation parameters does not support this GEMM problem: see the FAQ",
    ),
)
INT8_IN_FP32 = Rule(
    id="bitsandbytes/int8-in-fp32",
    compiler=BITSANDBYTES,
    anchor=("blasLt algo for shape ",),
    pattern=r"(?P<op>int8_linear_matmul) has (?P<reason>no usable \(hip\|cu\)blasLt algo) for shape "
    r"(?P<site>shapeA=[^;]{1,80} shapeB=[^;]{1,80}); falling back to fp32 matmul",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The library has no 8-bit kernel for the shape: the product is computed in fp32.",
    help="Pad the shape to a multiple of what the library has kernels for.",
    seen_in="0.48 (source), a Python warning",
    matches=(
        "RuntimeWarning: int8_linear_matmul has no usable (hip|cu)blasLt algo for shape shapeA=(3, 64) shapeB=(64, 64); falling back to fp32 matmul.",
    ),
    read=shared.called("int8_linear_matmul"),
)
UNALIGNED = Rule(
    id="bitsandbytes/unaligned",
    compiler=BITSANDBYTES,
    anchor=("is not aligned for fast kernel",),
    pattern=r"(?P<site>inner dimension \(\d{1,9}\)) (?P<reason>is not aligned for fast kernel with blocksize=\d{1,9}), falling back to slower implementation",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The inner dimension does not divide by the block size: the 4-bit product takes its slow path.",
    help="Use a block size that divides the dimension.",
    seen_in="0.41 to 0.48, a Python warning",
    matches=(
        "UserWarning: inner dimension (100) is not aligned for fast kernel with blocksize=64, falling back to slower implementation.",
    ),
    read=shared.called("matmul_4bit"),
)
SLOW_INT8 = Rule(
    id="bitsandbytes/slow-int8",
    compiler=BITSANDBYTES,
    anchor=("Only slow 8-bit matmul is supported",),
    pattern=r"WARNING: (?P<reason>Compute capability < 7\.5 detected! Only slow 8-bit matmul is supported for your GPU)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.PROGRAM,
    meaning="The GPU has no 8-bit tensor cores: 8-bit products run without cublasLt, on a slow kernel.",
    help="Quantise to 4 bits for this GPU, or serve on one of compute capability 7.5 or above.",
    seen_in="0.38 to 0.42 (source, public logs), a Python warning at import",
    matches=(
        "/x/bitsandbytes/cuda_setup/main.py:167: UserWarning: WARNING: Compute capability < 7.5 detected! Only slow 8-bit matmul is supported for your GPU!",
    ),
    read=shared.called("matmul_8bit", "int8_linear_matmul"),
)
CPU_LIBRARY = Rule(
    id="bitsandbytes/cpu-library",
    compiler=BITSANDBYTES,
    anchor=("Defaulting to libbitsandbytes_cpu",),
    pattern=r"^\s{0,8}CUDA SETUP: (?P<reason>Defaulting to libbitsandbytes_cpu\.so)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="No library of the package fits the CUDA version: its library for the CPU is loaded in its place.",
    help="Install a release built for this CUDA version; the line above names the library that is missing.",
    seen_in="0.35 to 0.42 (public logs), printed at import",
    matches=("CUDA SETUP: Defaulting to libbitsandbytes_cpu.so...",),
    ignores=("docs: it prints CUDA SETUP: Defaulting to libbitsandbytes_cpu.so...",),
    read=shared.called("bitsandbytes"),
)
TRITON_ATTENTION = Rule(
    id="flash-attn/triton",
    compiler=FLASH_ATTENTION,
    anchor=("(which has ROCm/HIP kernels) ",),
    pattern=r"(?P<reason>flash_attn_2_cuda \(which has ROCm/HIP kernels\) not found), falling back to Triton implementation",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.PROGRAM,
    meaning="The package was built without its kernels for this GPU: attention runs on the Triton implementation.",
    help="Build flash-attn with its Composable Kernel back end for this GPU.",
    seen_in="2.8 (source), a Python warning",
    matches=(
        "UserWarning: flash_attn_2_cuda (which has ROCm/HIP kernels) not found, falling back to Triton implementation",
    ),
    read=shared.called("flash_attn"),
)


SETTING = "HIPBLASLT_LOG_LEVEL=5, and a marker in the policy for the end of the run"
_AT_IMPORT = "the warning comes at import, and says nothing of the calls"
_MET = "problems are named when they are met, and nothing shows that all of them were"
BLAS_MANUAL = """rocm.blas: hipBLASLt and rocBLAS, which compute PyTorch's matrix products on AMD GPUs.

    UserWarning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas

**What falls back.** All matrix products of the process run on the older library, where hipBLASLt does not know
the GPU; a product in xf32 is computed in fp32, where hipBLASLt has no kernel for it.

**At which setting it speaks.** PyTorch's warning comes by default, once a process. hipBLASLt itself needs
`HIPBLASLT_LOG_LEVEL=5`.

**When it is silent.** rocBLAS with `ROCBLAS_USE_HIPBLASLT=1` goes back to Tensile for problems that hipBLASLt
does not solve, and no level shows it. An unsolved product in hipBLASLt shows as the heuristic's empty answer.

**What proves the end.** Nothing: no line shows that all products were met.

Wording seen for PyTorch 2.4 to 2.9 and hipBLASLt 0.7 to 1.1 (source and threads).
"""
CK_MANUAL = """rocm.ck: Composable Kernel, AMD's kernel templates, and the problems that none of its instances takes.

    RuntimeError: wrong! device_gemm with the specified compilation parameters does not support this GEMM problem

**What falls back.** A problem that no instance takes is an error; the program goes another way, or ends.

**At which setting it speaks.** By default: it is an exception.

**When it is silent.** Where the caller catches the exception and prints nothing.

**What proves the end.** Nothing: no line shows that all problems were met.

Wording seen for ROCm 5.7 to 7.1, through AITER and vLLM (threads).
"""
BITSANDBYTES_MANUAL = """bitsandbytes: quantised matrix products that leave their fast kernel, on AMD and NVIDIA GPUs.

    UserWarning: inner dimension (100) is not aligned for fast kernel with blocksize=64, falling back to slower implementation.

**What falls back.** An 8-bit product is computed in fp32, where the library has no kernel for its shape; a 4-bit
product takes its slow kernel, where the inner dimension does not divide by the block size. On GPUs before
compute capability 7.5 all 8-bit products are slow; without a library for the CUDA version that for the CPU is loaded.

**At which setting it speaks.** Python warnings and lines at import, which are on by default.

**When it is silent.** Python shows a warning once for each source line, so other shapes may have no line.

**What proves the end.** Nothing: no line shows that all products were met.

Wording seen for 0.35 to 0.48 (0.38 to 0.48 source, before it public logs).
"""
FLASH_ATTENTION_MANUAL = """flash-attn: the attention package, where it was built without its kernels for the AMD GPU.

    UserWarning: flash_attn_2_cuda (which has ROCm/HIP kernels) not found, falling back to Triton implementation

**What falls back.** Attention runs on the Triton implementation, in the whole process.

**At which setting it speaks.** A Python warning at import, on by default.

**When it is silent.** After the import: the warning says nothing of the calls.

**What proves the end.** Nothing: no line says which kernel a call takes.

Wording seen for 2.8 (source).
"""
READERS = (
    Reader(
        name=BLAS,
        rules=(OLDER_BLAS, NO_SOLUTION),
        markers=(),
        required=frozenset({Kind.SLOWER_KERNEL}),
        prove=shared.unended("one warning stands for the whole process", SETTING, Kind.SLOWER_KERNEL),
        setting=SETTING,
        manual=BLAS_MANUAL,
        silent="partly: a GPU that hipBLASLt does not know is warned of, single products are not",
        seen_in="PyTorch 2.4 to 2.9, hipBLASLt 0.7 to 1.1 (source and public threads)",
    ),
    Reader(
        name=CK,
        rules=(UNSUPPORTED_PROBLEM,),
        markers=(),
        required=frozenset({Kind.OP_FALLBACK}),
        prove=shared.unended(_MET, "", Kind.OP_FALLBACK),
        manual=CK_MANUAL,
        silent="no: it is an error",
        seen_in="ROCm 5.7 to 7.1, through AITER and vLLM (public threads)",
    ),
    Reader(
        name=BITSANDBYTES,
        rules=(INT8_IN_FP32, UNALIGNED, SLOW_INT8, CPU_LIBRARY),
        markers=(),
        required=frozenset({Kind.OP_FALLBACK, Kind.SLOWER_KERNEL, Kind.DEVICE_FALLBACK}),
        prove=shared.unended(_MET, "", Kind.OP_FALLBACK, Kind.SLOWER_KERNEL, Kind.DEVICE_FALLBACK),
        manual=BITSANDBYTES_MANUAL,
        silent="no: warned of, once for each source line",
        seen_in="0.35 to 0.48 (0.38 to 0.48 source, before it public logs)",
    ),
    Reader(
        name=FLASH_ATTENTION,
        rules=(TRITON_ATTENTION,),
        markers=(),
        required=frozenset({Kind.SLOWER_KERNEL}),
        prove=shared.unended(_AT_IMPORT, "", Kind.SLOWER_KERNEL),
        manual=FLASH_ATTENTION_MANUAL,
        silent="no: warned of at import",
        seen_in="2.8 (source)",
    ),
)
