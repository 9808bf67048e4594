"""Room 3: messages of Inductor that only a GPU gives: no autotuning, no bfloat16, no fast path of CUDA graph trees.

`compile` is the manual page. Read in the source of 2.7 and 2.14: https://github.com/pytorch/pytorch, `torch/_inductor`.

That a GPU is too small or too old for max_autotune_gemm is said of each program with a matrix product, whether or not
it asked for max_autotune: Inductor looks at the GPU first. Where it was asked for, other operators are tuned nearby.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch.log import NAME, base, opened
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

_W = "W1130 00:42:05.094000 12430 torch/_inductor/"


def _of(op: str, *names: str) -> Callable[[Rule, Record, Match[str]], Iterable[Report]]:
    """A record that PyTorch's logger opens with this message, about one operator."""

    def read(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
        log = opened(record.text, match, None, "perf_hints")
        if log:
            names_ = (op, *names) if op != "*" else ()
            yield base(rule, record, log, op)._replace(names=names_, reason=match["reason"])

    return read


_of_product = _of("mm", "aten::mm", "gemm")


def _not_tuned(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Matrix products without tuning, where somebody asked for it."""
    if not match["gpu"] or record.is_near(b"AUTOTUNE "):
        yield from _of_product(rule, record, match)


PENDING = Rule(
    id="torch/cudagraph-fast-path",
    compiler=NAME,
    anchor=("Unable to hit fast path of CUDAGraphs",),
    pattern=r"Warning: (?P<reason>Unable to hit fast path of CUDAGraphs because [^.]{1,200})",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.UNKNOWN,
    meaning="Outputs of an earlier step are still waiting for their backward: the graph is not replayed by its fast path.",
    help="Run inference under torch.no_grad(), or call torch.compiler.cudagraph_mark_step_begin() before each step.",
    seen_in="2.11 (run), 2.1 to 2.14 (in the source), a Python warning",
    matches=(
        "/opt/torch/_inductor/cudagraph_trees.py:2442: UserWarning: Unable to hit fast path of CUDAGraphs because of pending, uninvoked backwards. Consider running with torch.no_grad()",
        "/opt/torch/_inductor/cudagraph_trees.py:3040: UserWarning: Unable to hit fast path of CUDAGraphs because outputs from a previous step still require backward. Ensure backward() is invoked",
    ),
    at_least=True,
    read=lambda rule, record, match: (by_groups(rule, record, match),),
)

NO_AUTOTUNING = Rule(
    id="torch/no-autotuning",
    compiler=NAME,
    anchor=(
        "to use max_autotune_gemm mode",
        "does not support max_autotune_gemm mode",
        "All autotuning benchmarks failed",
        "during collective benchmarking",
    ),
    pattern=r"(?P<reason>(?P<gpu>Not enough SMs to use max_autotune_gemm mode"
    r"|GPU arch does not support max_autotune_gemm mode usage)"
    r"|All autotuning benchmarks failed \(timing=inf\).{1,200}"
    r"|At least one choice failed or timed out during collective benchmarking\. Falling back)",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="max_autotune was asked for and can't be used here: matrix products take the library's kernel, untuned.",
    help="Leave max_autotune off on this GPU, or give it GEMM back ends that it has; look at the choices that failed.",
    seen_in="2.0 to 2.14 (source), WARNING",
    matches=(
        _W
        + "utils.py:1250] [0/0] Not enough SMs to use max_autotune_gemm mode\nAUTOTUNE convolution(8x3x224x224, 64x3x7x7)",
        _W
        + "utils.py:1799] [0/0] GPU arch does not support max_autotune_gemm mode usage\nAUTOTUNE flex_attention(1x16x64x64)",
        _W
        + "select_algorithm.py:4254] [0/0] All autotuning benchmarks failed (timing=inf). Falling back to ExternKernelCaller: extern_mm",
        _W
        + "select_algorithm.py:4571] [0/0] At least one choice failed or timed out during collective benchmarking. Falling back to default implementation.",
    ),
    ignores=(
        "Not enough SMs to use max_autotune_gemm mode",
        _W + "utils.py:1250] [0/0] Not enough SMs to use max_autotune_gemm mode",
        _W + "utils.py:1799] [0/0] GPU arch does not support max_autotune_gemm mode usage",
    ),
    at_least=True,
    read=_not_tuned,
)

NOT_OVERLAPPED = Rule(
    id="torch/collective-not-fused",
    compiler=NAME,
    anchor=("skipping fused_matmul_reduce_scatter", "skipping fuse_matmul_reduce_scatter"),
    pattern=r"(?P<reason>(?:matmul result has more than one user|reduce-scatter result node is an ancestor of matmul), "
    r"skipping fused?_matmul_reduce_scatter fusion)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The matrix product and the reduce-scatter behind it are not overlapped, as micro-pipelining would.",
    help="Let the product have one user only, or allow it.",
    seen_in="2.6 to 2.14 (source), WARNING",
    matches=(
        _W
        + "fx_passes/micro_pipeline_tp.py:1139] [0/0] matmul result has more than one user, skipping fused_matmul_reduce_scatter fusion.",
    ),
    read=_of("reduce_scatter", "fused_matmul_reduce_scatter", "mm"),
)

NO_BFLOAT16 = Rule(
    id="torch/no-bfloat16",
    compiler=NAME,
    anchor=("does not support bfloat16 compilation natively",),
    pattern=r"Warning: (?P<reason>.{1,120} does not support bfloat16 compilation natively), skipping",
    kind=Kind.EAGER_FRAME,
    scope=Scope.UNKNOWN,
    meaning="The GPU has no bfloat16: each frame that uses it is skipped, and runs eager.",
    help="Compile for float16 or float32 on this GPU.",
    seen_in="2.3 to 2.14 (source), a Python warning",
    matches=(
        "/opt/torch/_inductor/compile_fx.py:3403: UserWarning: Tesla T4 does not support bfloat16 compilation natively, skipping",
    ),
    at_least=True,
    read=lambda rule, record, match: (by_groups(rule, record, match),),
)

RULES = (PENDING, NO_AUTOTUNING, NOT_OVERLAPPED, NO_BFLOAT16)
