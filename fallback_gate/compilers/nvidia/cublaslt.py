r"""cublaslt: NVIDIA's library of fused matrix products, as PyTorch calls it.

    UserWarning: gemm_and_bias error: CUBLAS_STATUS_NOT_SUPPORTED when calling cublasLtMatmul with transpose_mat1 1 [...]. Will attempt to recover by calling unfused cublas path.

**What falls back.** cuBLASLt has no kernel for the product with its bias and activation, or for this type on
this GPU: PyTorch calls cuBLAS, and adds the bias and the activation with kernels of their own.

**At which setting it speaks.** A warning by default.

**When it is silent.** Python shows the warning once for each place in the source, so other shapes have no line.
Where PyTorch never tries cuBLASLt (`DISABLE_ADDMM_CUDA_LT=1`), there is none either.

**What proves the end.** Nothing.

Wording from the source of PyTorch 2.4 to 2.14 and public threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "cublaslt"
_SHAPE = Pattern(r"\bm (?P<m>\d{1,9}) n (?P<n>\d{1,9}) k (?P<k>\d{1,9})\b")
_OPERATORS = {
    "gemm_and_bias": ("aten::addmm", "addmm", "linear"),
    "scaled_gemm": ("aten::_scaled_mm", "_scaled_mm"),
    "int8_gemm": ("aten::_int_mm", "_int_mm"),
    "bgemm_internal_cublaslt": ("aten::bmm", "bmm"),
    "gemm_internal_cublaslt": ("aten::mm", "mm"),
}


def of_product(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A product, by the operator that PyTorch computes with it."""
    names = _OPERATORS.get(match["what"], (match["what"],))
    shape = _SHAPE.search(record.text)
    yield by_groups(rule, record, match)._replace(
        op=names[0],
        names=tuple(dict.fromkeys((*names, match["what"]))),
        site=f"{shape['m']}x{shape['n']}x{shape['k']}" if shape else None,
    )


REFUSED = Rule(
    id="cublaslt/product-refused",
    compiler=NAME,
    anchor=("Will attempt to recover by calling",),
    pattern=r"(?:^|Warning: )(?P<what>\w{1,60}) error: (?P<reason>CUBLAS_STATUS_\w{1,40} when calling cublasLt\w{1,40})\b"
    r".{0,1000}Will attempt to recover by calling (?:unfused )?cublas",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The fused matrix product failed: cuBLAS computes it, and bias and activation are kernels of their own.",
    help="Align the shapes and strides, or use a type that this GPU has: bfloat16 needs compute capability 8.0.",
    seen_in="2.4 to 2.14 (public threads), a warning",
    matches=(
        "/app/model.py:7: UserWarning: gemm_and_bias error: CUBLAS_STATUS_NOT_SUPPORTED when calling cublasLtMatmul with transpose_mat1 1 transpose_mat2 0 m 64 n 8 k 32 mat1_ld 32 mat2_ld 32 result_ld 64 abType 14 cType 14 computeType 68 scaleType 0. Will attempt to recover by calling unfused cublas path. (Triggered internally at ../aten/src/ATen/cuda/CUDABlas.cpp:1800.)",
    ),
    ignores=(
        "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling cublasLtMatmul with transpose_mat1 1",
        "the client will attempt to recover by calling the service again",
    ),
    at_least=True,
    read=of_product,
)

REQUIRED = frozenset({Kind.SLOWER_KERNEL})
WHY = "the warning comes once for many products, and no line says which kernel the others took"

READER = Reader(
    name=NAME,
    rules=(REFUSED,),
    markers=(),
    required=REQUIRED,
    prove=shared.unended(WHY, "CUBLASLT_LOG_LEVEL=2", *REQUIRED),
    manual=__doc__,
    silent="partly: warned of once for each place in the source",
    seen_in="PyTorch 2.4 to 2.14 (source and public threads)",
)
