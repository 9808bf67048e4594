"""Room 3: TileLang, Triton and IREE: their messages, and what their logs prove; wording from real runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fallback_gate.compilers import READERS
from fallback_gate.compilers.runtimes.iree import dispatch_names
from fallback_gate.model import Kind, State

Read = Callable[..., Any]
TL = "[00:33:15] : Warning: "
AT = "/app/k.py:15:16: "


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (TL + "Cluster bulk copy size T.int64(12) bytes is not a multiple of 16 as required by cp.async.bulk; falling back to element-wise cluster copy. src=s, dst=d", ("slower_kernel", "copy_cluster", "operator")),
        (TL + "TCGEN5MMASP is not yet available for sparse GEMM. Falling back to WGMMA or MMA.", ("slower_kernel", "gemm_sp", "operator")),
        ("[00:33:15] src/cuda/op/copy.cc:893: Warning: cp.async rewrite miss for copy src=A, dst=As", ("slower_kernel", "copy", "operator")),
        ("[00:33:15] : Fatal: T.tma_copy() cannot fall back to normal copy in LowerBulk: shared layout, src=A, dst=As", ("compile_error", "tma_copy", "operator")),
        (AT + "remark: MMA version 5 acceleration not applied due to unsupported shapes or data types.", ("slower_kernel", "tl.dot", "operator")),
        (AT + "warning: Pipelining load with different use encodings. This will lead to layout conversions", ("slower_kernel", "tl.load", "operator")),
        ("C:\\app\\k.py:15:16: remark: Attempting to map dot operation to FMA intrinsic.", ("slower_kernel", "tl.dot", "operator")),
        ("model.mlir:12:10: error: failed to legalize operation 'torch.aten.sort' that was explicitly marked illegal", ("compile_error", "aten::sort", "operator")),
        ("Defaulting to targeting a generic CPU for the target architecture will result in poor performance. Please", ("slower_kernel", "*", "program")),
    ],
)  # fmt: skip
def test_one_line(line: str, told: tuple[str, str, str], read: Read) -> None:
    assert read(line).told == [told]


@pytest.mark.parametrize(
    "line",
    [
        "#include <tl_templates/cuda/cuda_bf16_fallbacks.cuh>",
        "Multi-GPU benchmark requested but one is visible. Falling back to single-device benchmark.",
        "grouped compilation is currently implemented for CUDA+tvm_ffi only; fallback to per-config mode (hip)",
        AT + "remark: Performed one ping pong cluster transformation",
        AT + "note: Target compute capability (90) supports MMA v3.",
        "/tmp/c/uk/cukhiyhduqg5d2sw5xnwl7iqipfwhtftfg7w6kegnf5kyyu4nrn3.py:19:29: remark: MMA version 3 acceleration"
        " not applied due to unsupported shapes or data types.",
        "UserWarning: kpack is deprecated starting from gfx950 and will be removed in later releases.",
        "UserWarning: TRITON_DEFAULT_FP_FUSION is unset: defaulting to FP fusion ENABLED for backward compatibility",
        "Autotuning kernel matmul with config BLOCK_M: 64, num_warps: 4",
        "Autotuning failed with out of resource: shared memory, Required: 1, Hardware limit: 0",
        "best config selected: BLOCK_M: 64, num_warps: 4;",
        "we saw MMA version 3 acceleration not applied due to unsupported shapes or data types.",
        "func.func @f_dispatch_0() attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64]>} {",
        "cuda_dynamic_symbols.c:66: UNAVAILABLE; CUDA driver library 'libcuda.so' not available",
    ],
)
def test_no_fallback(line: str, read: Read) -> None:
    assert read(line).reports == []


@pytest.mark.parametrize(
    ("source", "op", "function"),
    [
        ("        acc += tl.dot_scaled(x, y)", "tl.dot_scaled", None),
        ("def gate_attn(a, b, c):", "gate_attn", "gate_attn"),
        ("    return helper(x)", "tl.dot", None),
    ],
)
def test_the_source_line_names_the_call_or_the_kernel(
    source: str, op: str, function: str | None, read: Read
) -> None:
    remark = "remark: MMA version 3 acceleration not applied due to unsupported shapes or data types."
    (report,) = read(AT + remark, source, "               ^").reports
    assert report.op == op
    assert report.location == ("/app/k.py", 15, function)


def test_triton_under_torch_compile_owes_no_proof_of_its_own() -> None:
    assert READERS["triton"].inside == {"torch.compile"}


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("moe_topk_dispatch_2_topk_32x8xf32", ("moe_topk_dispatch_2_topk_32x8xf32", "moe_topk", "topk")),
        ("f_dispatch_0_batch_matmul_8x32xDx64_f32", ("f_dispatch_0_batch_matmul_8x32xDx64_f32", "f", "batch_matmul")),
        ("f_dispatch_11", ("f_dispatch_11", "f")),
        ("plain", ("plain",)),
    ],
)  # fmt: skip
def test_the_names_of_a_dispatch(name: str, names: tuple[str, ...]) -> None:
    assert dispatch_names(name) == names


def executable(pipeline: str, target: str = "embedded-elf-x86_64") -> list[str]:
    """One executable of a dump of configurations."""
    back_end = "vmvx" if "vmvx" in target else "llvm-cpu"
    return [
        "hal.executable public @f_dispatch_0 {",
        f'  hal.executable.variant public @v target(<"{back_end}", "{target}", {{}}>) {{',
        f"      func.func @f_dispatch_0_topk_2x2xf32() attributes {{{pipeline}}} {{",
        "      }",
        "  }",
        "}",
    ]


GOOD = "translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>"
PLAIN = GOOD.replace("DoubleTilingExpert", "Default")


@pytest.mark.parametrize(
    ("lines", "told", "state"),
    [
        (executable(GOOD), [], State.PROVEN),
        (executable(GOOD) * 2, [], State.PROVEN),
        (executable(""), [], State.UNPROVEN),
        (executable(GOOD.replace("DoubleTilingExpert", "Novel")), [], State.UNPROVEN),
        (executable(GOOD)[:-1], [], State.UNPROVEN),
        (executable(GOOD)[:-1] + executable(GOOD), [], State.UNPROVEN),
        (executable(PLAIN), [("untuned_config", "f_dispatch_0_topk_2x2xf32")], State.PROVEN),
        (executable(GOOD, "vmvx-bytecode-fb"), [("reference_kernel", "f_dispatch_0_topk_2x2xf32")], State.PROVEN),
        (executable(PLAIN, "vmvx-bytecode-fb"), [("reference_kernel", "f_dispatch_0_topk_2x2xf32")], State.PROVEN),
        (
            executable(GOOD, "vmvx-bytecode-fb")[:-1] + executable(PLAIN)[1:],
            [("reference_kernel", "f_dispatch_0_topk_2x2xf32"), ("untuned_config", "f_dispatch_0_topk_2x2xf32")],
            State.PROVEN,
        ),
    ],
)  # fmt: skip
def test_a_dump_of_configurations(
    lines: list[str], told: list[tuple[str, str]], state: State, read: Read
) -> None:
    said = read(*lines)
    assert [(report.kind.value, report.op) for report in said.reports] == told
    (by,) = said.evidence.processes.values()
    assert READERS["iree"].prove(by["iree"])[Kind.UNTUNED_CONFIG].state is state


WINDOW = (
    "        %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0 + d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, "
    'affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%3, %4 : tensor<9x8xf32>, '
    "tensor<3x8xf32>) outs(%6 : tensor<7x8xf32>) {"
)
ARGMAX = (
    "        %7:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, "
    'affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%3 : tensor<16x128xf32>) '
    "outs(%5, %6 : tensor<16xf32>, tensor<16xi32>) {"
)
SUM = ARGMAX.replace("%7:2", "%7").replace(
    "outs(%5, %6 : tensor<16xf32>, tensor<16xi32>)", "outs(%5 : tensor<16xf32>)"
)


# Which of them ends as scalar loops was told by --iree-llvmcpu-check-linalg-vectorization, of 3.1, 3.9 and 3.13.
@pytest.mark.parametrize(
    ("pipeline", "body", "state"),
    [
        (GOOD, WINDOW, State.UNPROVEN),
        (GOOD, ARGMAX, State.UNPROVEN),
        (GOOD, SUM, State.PROVEN),
        (
            GOOD.replace("#iree_cpu.pipeline<DoubleTilingExpert>", "CPUDoubleTilingExpert"),
            WINDOW,
            State.UNPROVEN,
        ),
        (GOOD.replace("DoubleTilingExpert", "ConvTileAndDecomposeExpert"), WINDOW, State.PROVEN),
        ("translation_info = #iree_codegen.translation_info<CPUDataTiling>", SUM, State.PROVEN),
    ],
)
def test_a_tiling_pipeline_may_leave_an_operation_scalar(
    pipeline: str, body: str, state: State, read: Read
) -> None:
    lines = executable(pipeline)
    said = read(*lines[:3], body, *lines[3:])
    assert said.reports == []
    (by,) = said.evidence.processes.values()
    assert READERS["iree"].prove(by["iree"])[Kind.REFERENCE_KERNEL].state is state


def on_gpu(intrinsics: str, types: str, config: str) -> list[str]:
    """One executable of a dump for a GPU: a product of a dynamic number of rows."""
    return [
        "hal.executable public @serve_dispatch_0 {",
        f'  hal.executable.variant public @v target(<"rocm", "rocm-hsaco-fb", {{wgp = <mma = [{intrinsics}]>}}>) {{',
        "      func.func @serve_dispatch_0_matmul() attributes {translation_info = #iree_codegen.translation_info<pipeline = "
        "#iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1]>} {",
        "        %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, "
        'affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%13, %14 : '
        f"tensor<?x96x{types}>, tensor<96x160x{types}>) outs(%16 : tensor<?x160xf32>) attrs =  {{lowering_config = "
        f"#iree_gpu.lowering_config<{{{config}}}>}} {{",
        "      }",
        "  }",
        "}",
    ]


PLAIN_THREADS = "reduction = [0, 0, 4], thread = [1, 1, 0], workgroup = [1, 64, 0]"
MFMA = "mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, reduction = [0, 0, 2]"


@pytest.mark.parametrize(
    ("intrinsics", "types", "config", "told", "state"),
    [
        ("<MFMA_F32_16x16x16_F16>", "f16", PLAIN_THREADS, ["slower_kernel"], State.UNPROVEN),
        ("<MFMA_F32_16x16x16_F16>", "f16", MFMA, [], State.PROVEN),
        ("<MFMA_F32_16x16x16_BF16>", "f16", PLAIN_THREADS, [], State.PROVEN),
        ("<NV_MMA_SYNC_F32_16x8x16_F16>", "f32", PLAIN_THREADS, [], State.PROVEN),
        ("<MFMA_F32_16x16x4_F32>", "f32", PLAIN_THREADS, [], State.UNPROVEN),
    ],
)
def test_a_product_without_the_matrix_instruction_of_its_target(
    intrinsics: str, types: str, config: str, told: list[str], state: State, read: Read
) -> None:
    said = read(*on_gpu(intrinsics, types, config))
    assert [report.kind.value for report in said.reports] == told
    (by,) = said.evidence.processes.values()
    assert READERS["iree"].prove(by["iree"])[Kind.UNTUNED_CONFIG].state is state


LOWERING = (
    "Traceback (most recent call last):",
    '  File "/opt/venv/tilelang/engine/lower.py", line 238, in lower',
)


@pytest.mark.parametrize(
    ("reason", "op"),
    [
        (
            "No valid warp partition for T.gemm: M=16, N=16 cannot be evenly covered by 4 warps (policy=Square).",
            "gemm",
        ),
        (
            "T.wgmma_gemm() requires Hopper WGMMA lowering, but constraints were not satisfied. Got target={}",
            "wgmma_gemm",
        ),
        ("Check failed: (result.supported) is false: T.tma_copy() requires TMA-capable target", "tma_copy"),
        ("Check failed: (has_best) is false: no available layout found", "*"),
    ],
)
def test_tilelang_names_the_primitive_that_it_refuses(reason: str, op: str, read: Read) -> None:
    reports = read(*LOWERING, f"tvm.error.InternalError: {reason}").reports
    assert [(report.compiler, report.op) for report in reports] == [("tilelang", op)]


def test_a_primitive_that_tilelang_refuses_is_told_where_its_error_is_caught(read: Read) -> None:
    why = "T.wgmma_gemm() requires Hopper WGMMA lowering, but constraints were not satisfied."
    caught = read(
        f"[02:21:46] : Fatal: {why}",
        "  --> /app/tlx.py:96:1",
        "wg32: InternalError, keeping the torch kernel",
    )
    assert [(report.kind, report.op) for report in caught.reports] == [(Kind.COMPILE_ERROR, "wgmma_gemm")]


def test_an_exception_under_tritons_compiler_is_told_once(read: Read) -> None:
    (report,) = read(
        "Traceback (most recent call last):",
        '  File "/app/kernels.py", line 139, in build',
        '  File "/opt/venv/lib/python3.11/site-packages/triton/compiler/compiler.py", line 307, in compile',
        "    module = src.make_ir(target, options, codegen_fns, module_map, context)",
        '  File "/opt/venv/lib/python3.11/site-packages/triton/compiler/compiler.py", line 80, in make_ir',
        '  File "/opt/venv/lib/python3.11/site-packages/triton/language/__init__.py", line 373, in str_to_ty',
        "KeyError: 'int8'",
    ).reports
    assert (report.kind, report.reason, report.location) == (
        Kind.COMPILE_ERROR, "KeyError: 'int8'", ("/app/kernels.py", 139, "build"),
    )  # fmt: skip


def test_an_operation_that_is_not_vectorized_is_named_with_its_function(read: Read) -> None:
    (report,) = read(
        "m.mlir:34:11: warning: op is not vectorized",
        "    %fv = linalg.fill ins(%cneg : f32) outs(%ev : tensor<32x2xf32>) -> tensor<32x2xf32>",
        "          ^",
        "m.mlir:25:3: note: called from",
        "  func.func @moe_topk(%x: tensor<32x64xf32>) -> tensor<32x2xf32> {",
    ).reports
    assert (report.op, report.stack) == ("linalg.fill", ("moe_topk",))
    assert report.location == ("m.mlir", 34, "moe_topk")


@pytest.mark.parametrize("compiler", ["tilelang", "triton"])
def test_a_compiler_whose_log_proves_nothing(compiler: str, read: Read) -> None:
    line = {"tilelang": TL + "TCGEN5MMASP is not yet available for sparse GEMM. Falling back to WGMMA or MMA.",
            "triton": AT + "remark: Attempting to map dot operation to FMA intrinsic."}[compiler]  # fmt: skip
    (by,) = read(line).evidence.processes.values()
    assert State.PROVEN not in {p.state for p in READERS[compiler].prove(by[compiler]).values()}


def test_a_traceback_within_a_loggers_records_is_that_loggers_to_tell(read: Read) -> None:
    """PyTorch prints the error of a kernel with its prefix on each line; what the program prints behind it is no error."""
    prefix = "W1201 04:06:26.430000 2159 torch/_dynamo/convert_frame.py:2147] "
    quoted = [
        "Traceback (most recent call last):",
        '  File "/app/kernels.py", line 9, in build',
        '  File "/opt/venv/triton/compiler/compiler.py", line 307, in compile',
        "KeyError: 'int8'",
    ]
    assert "triton/exception" in {report.id for report in read(*quoted).reports}
    said = read(*(prefix + line for line in quoted), "served")
    assert "triton/exception" not in {report.id for report in said.reports}
