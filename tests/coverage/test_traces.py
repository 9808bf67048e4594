"""Kernel traces as cells: the grouped product of a mixture of experts, names in a CUDA graph, shapes, the floor."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fallback_gate.coverage.gathered import OPERATOR, is_gather
from fallback_gate.coverage.kernel_names import column, computes, family
from fallback_gate.instruments.trace.kernels import EAGER, GENERATED, LIBRARY, OTHER
from fallback_gate.model import Kind, Outcome
from fallback_gate.model.matrix import Column
from tests.coverage.matrices import LOGS, TRACES, cells, columns, held

COMPILED, GATHERED = TRACES / "moe-decoder.compiled.json.gz", TRACES / "moe-decoder.gathered.json.gz"
EXPERTS = [{"op": "aten::_grouped_mm", "why": "the experts of every layer"}]


def test_experts_by_gather_and_small_products_are_no_grouped_kernel(tmp_path: Path) -> None:
    """Counted by another program: 32 gathers a step, each before a product; 88.7% of the time, 66.2% gathers."""
    found = held(tmp_path, traces=[str(GATHERED)], hot=EXPERTS)
    assert found.outcome is Outcome.BLOCKED
    (red,) = found.red
    assert (red.cell.op, red.cell.kind) == (OPERATOR, Kind.REFERENCE_KERNEL)
    assert red.source == f"{tmp_path / 'policy.yaml'}:1"
    assert "32 gathers in a step" in (red.cell.reason or "")
    assert "89% of kernel time, 66% of it copies" in (red.cell.reason or "")
    assert red.cell.microseconds == pytest.approx(18_620.4, abs=0.1)
    assert {"triton_poi_fused_index_9", "triton_poi_fused_index_11"} < set(red.cell.by)
    told = columns(found)
    assert "aten::_grouped_mm" not in told
    assert told["aten::index"] == {Column.GENERATED}
    assert told["matmul"] == {Column.LIBRARY}


def test_experts_by_a_grouped_kernel_are_covered(tmp_path: Path) -> None:
    found = held(tmp_path, traces=[str(COMPILED)], hot=EXPERTS)
    assert found.outcome is Outcome.PASS
    (grouped,) = cells(found, "aten::_grouped_mm")
    assert grouped.column is Column.LIBRARY
    # 10,212 us of CUTLASS's grouped GEMM and 156 us of its preparation in three steps
    assert grouped.microseconds == pytest.approx((10_212 + 156) / 3, abs=0.5)
    assert OPERATOR not in columns(found)


def test_the_wrapper_tells_what_a_librarys_kernel_in_a_cuda_graph_computes(tmp_path: Path) -> None:
    """The recorded log is of 2 layers, the trace of 16: 24 sequences, 16 experts, top 2, hidden 2048.

    What stands between the same two generated kernels in both is told; where layers join it is not.
    """
    log = LOGS / "recorded-h200" / "a_full.log"
    found = held(tmp_path, log, traces=[str(COMPILED)], hot=[*EXPERTS, {"op": "aten::mm"}])
    assert found.outcome is Outcome.PASS
    shapes = {cell.shape: cell.microseconds for cell in cells(found, "aten::_grouped_mm")}
    assert set(shapes) == {"", "48x2048, 16x2048x5632, 16", "48x2816, 16x2816x2048, 16"}
    assert sum(time or 0 for time in shapes.values()) == pytest.approx((10_212 + 156) / 3, abs=0.5)
    products = {cell.shape for cell in cells(found, "aten::mm") if cell.microseconds}
    assert products == {"24x2048, 2048x2048", "24x2048, 2048x16", "24x2048, 2048x5120"}
    (silu,) = cells(found, "aten::silu")
    assert (silu.column, silu.shared) == (Column.GENERATED, True)


def test_an_eager_run_is_all_fallback_but_for_products(tmp_path: Path) -> None:
    found = held(
        tmp_path, traces=[str(TRACES / "moe-decoder.eager-backend.json.gz")], hot=[{"op": "aten::pow"}]
    )
    assert found.outcome is Outcome.BLOCKED
    told = columns(found)
    assert told["aten::pow"] == told["aten::softplus"] == {Column.FALLBACK}
    assert told["aten::mm"] == told["aten::_grouped_mm"] == {Column.LIBRARY}
    assert not any(Column.GENERATED in several for several in told.values())


def test_the_uncompiled_run_is_the_floor(tmp_path: Path) -> None:
    """`aten::sigmoid` is fused in the good run; its own kernel in the eager run takes what a trace counts."""
    eager = TRACES / "moe-decoder.eager-backend.json.gz"
    alone = held(tmp_path, traces=[str(eager)])
    (reference,) = cells(alone, "aten::topk")
    found = held(tmp_path, traces=[str(COMPILED)], floor=[str(eager)])
    (topk,) = cells(found, "aten::topk")
    assert topk.floor == reference.microseconds
    assert topk.floor is not None
    assert topk.floor > (topk.microseconds or 0.0)
    assert not topk.above_floor


def test_a_hot_function_is_judged_by_what_was_launched_under_it(tmp_path: Path) -> None:
    hot = [{"function": "gate_attn"}]
    slow = held(tmp_path, traces=[str(TRACES / "small-decoder.disabled.json.gz")], hot=hot)
    assert slow.outcome is Outcome.BLOCKED
    assert {"aten::softplus", "aten::sigmoid"} <= {red.cell.op for red in slow.red}


def chrome(kernels: list[tuple[str, str, list[Any], list[str]]], steps: int = 3) -> dict[str, Any]:
    """A trace of the PyTorch profiler after libkineto/src/output_json.cpp, with `record_shapes=True`."""
    events: list[dict[str, Any]] = []
    at = 0.0
    for step in range(steps):
        start = at
        for name, op, dims, types in kernels:
            number = len(events)
            event = {"ph": "X", "pid": 1, "tid": 1, "ts": at, "dur": 8.0}
            args = {"External id": number, "Input Dims": dims, "Input type": types}
            events.append({**event, "cat": "cpu_op", "name": op, "args": args})
            called = {"External id": number, "correlation": number}
            events.append({**event, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "args": called})
            events.append({**event, "cat": "kernel", "name": name, "dur": 5.0, "args": called})
            at += 10.0
        span = {"ph": "X", "pid": 1, "tid": 1, "ts": start, "dur": at - start, "args": {}}
        events.append({**span, "cat": "user_annotation", "name": f"ProfilerStep#{step}"})
    return {"schemaVersion": 1, "traceEvents": events}


def trace(folder: Path, kernels: list[tuple[str, str, list[Any], list[str]]]) -> str:
    path = folder / "trace.json"
    path.write_text(json.dumps(chrome(kernels)), "utf-8")
    return str(path)


BF16 = "c10::BFloat16"


def test_shapes_and_types_where_the_profiler_recorded_them(tmp_path: Path) -> None:
    kernels = [
        ("nvjet_tst_64x8", "aten::mm", [[24, 2048], [2048, 512]], [BF16, BF16]),
        ("void at::native::elementwise_kernel<softplus_kernel>", "aten::softplus", [[24, 16], []], ["float", "Scalar"]),
        ("my_gate_kernel", "moe::gate", [[24, 8]], [BF16]),
        ("void vllm::rms_norm_kernel<float>", "_C::rms_norm", [[24, 8]], ["float"]),
        ("memset_like", "", [], []),
    ]  # fmt: skip
    path = trace(tmp_path, kernels)
    found = held(tmp_path, path)
    told = {cell.op: (cell.shape, cell.dtype, cell.column, cell.microseconds) for cell in found.matrix.cells}
    assert told["aten::mm"] == ("24x2048, 2048x512", "bf16", Column.LIBRARY, 5.0)
    assert told["aten::softplus"] == ("24x16", "f32", Column.FALLBACK, 5.0)
    assert told["moe::gate"] == ("24x8", "bf16", Column.HAND_WRITTEN, 5.0)
    assert told["_C::rms_norm"][2] is Column.HAND_WRITTEN
    assert told["memset_like"][2] is Column.UNKNOWN


def test_an_unknown_hot_operator_is_unproven(tmp_path: Path) -> None:
    path = trace(tmp_path, [("something", "", [], []), ("nvjet_a", "aten::mm", [], [])])
    found = held(tmp_path, path, hot=[{"op": "something"}])
    assert found.outcome is Outcome.UNPROVEN
    assert any("unknown column" in why for why in found.open)
    assert held(tmp_path, path, hot=[{"op": "aten::mm"}]).outcome is Outcome.PASS
    assert held(tmp_path, path, hot=[{"op": "aten::bmm"}]).outcome is Outcome.UNPROVEN


def test_a_token_gather_before_a_product_is_no_weight_gather(tmp_path: Path) -> None:
    """The gather is short beside the product: it copies rows, not weights."""
    said = chrome([("triton_poi_fused_index_0", "", [], []), ("nvjet_a", "aten::mm", [], [])])
    for event in said["traceEvents"]:
        if event["name"] == "nvjet_a":
            event["dur"] = 500.0
    (tmp_path / "t.json").write_text(json.dumps(said), "utf-8")
    assert OPERATOR not in columns(held(tmp_path, traces=[str(tmp_path / "t.json")]))


GATHER = ("triton_poi_fused_index_0", "", [], [])
PRODUCT = ("nvjet_a", "aten::bmm", [], [])
GROUPED = ("void cutlass::GemmUniversal<at::cuda::GroupProblemShape>", "aten::_grouped_mm", [], [])


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("triton_poi_fused_index_9", True),
        ("triton_poi_fused_embedding_0", False),
        ("triton_poi_fused_index_mul_9", False),
        ("triton_poi_fused_index_copy_2", False),
        (
            "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<index_kernel_impl>>",
            True,
        ),
        ("void at::native::index_elementwise_kernel<128, 4, at::native::index_copy_kernel_impl>", False),
        ("void at::native::(anonymous namespace)::indexSelectLargeIndex<float>", True),
        ("nvjet_tst", False),
    ],
)
def test_what_gathers_and_nothing_else(kernel: str, expected: bool) -> None:
    assert is_gather(kernel) is expected


def test_steps_without_the_grouped_kernel_are_not_excused_by_those_with_it(tmp_path: Path) -> None:
    """A prefill with a grouped kernel, decode steps without: the decode steps count."""
    prefill, decode = chrome([GROUPED], 1)["traceEvents"], chrome([GATHER, PRODUCT], 3)["traceEvents"]
    for event in decode:
        event["ts"] += 1000.0
        event["args"] = {
            key: value + 1000 if isinstance(value, int) else value for key, value in event["args"].items()
        }
        event["name"] = re.sub(r"#(\d)", lambda found: f"#{int(found[1]) + 1}", event["name"])
    (tmp_path / "t.json").write_text(
        json.dumps({"schemaVersion": 1, "traceEvents": prefill + decode}), "utf-8"
    )
    found = held(tmp_path, traces=[str(tmp_path / "t.json")], hot=EXPERTS)
    assert columns(found)["aten::_grouped_mm"] == {Column.LIBRARY}
    assert [red.cell.op for red in found.red] == [OPERATOR]
    together = trace(tmp_path, [GROUPED, GATHER, PRODUCT])
    assert held(tmp_path, together, hot=EXPERTS).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("kernel", "named"),
    [
        ("nvjet_sm90_tst_512x8_64x3_2x1_v_bz_TNT", "matmul"),
        ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", "matmul"),
        ("void cublasLt::splitKreduce_kernel<32, 16, int>", "matmul"),
        ("Cijk_Alik_Bljk_HHS_BH_MT128x128x16", "matmul"),
        ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>", "attention"),
        ("sm80_xmma_fprop_implicit_gemm_f16f16", "convolution"),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "all_reduce"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "reduce_scatter"),
        ("void at::native::vectorized_elementwise_kernel<4>", None),
    ],
)
def test_families_of_library_kernels(kernel: str, named: str | None) -> None:
    assert family(kernel) == named


@pytest.mark.parametrize(
    ("origin", "kernel", "op", "expected"),
    [
        (LIBRARY, "nvjet_tst", "aten::mm", Column.LIBRARY),
        (GENERATED, "triton_poi_fused_add_0", "aten::add", Column.GENERATED),
        (EAGER, "void at::native::x", "aten::add", Column.FALLBACK),
        (LIBRARY, "void pytorch_flash::flash_fwd_kernel", "aten::_flash_attention_forward", Column.LIBRARY),
        (LIBRARY, "void flash::flash_fwd_kernel<traits>", "attention", Column.HAND_WRITTEN),
        (LIBRARY, "marlin::Marlin<half>", "_C::marlin_gemm", Column.HAND_WRITTEN),
        (OTHER, "my_kernel", "moe::gate", Column.HAND_WRITTEN),
        (OTHER, "my_kernel", "my_kernel", Column.UNKNOWN),
        (OTHER, "my_kernel", "aten::foo", Column.UNKNOWN),
    ],
)
def test_whose_kernel_it_is(origin: str, kernel: str, op: str, expected: Column) -> None:
    assert column(origin, kernel, op) is expected


def test_a_product_in_a_fused_kernels_name_is_not_computed_by_it() -> None:
    assert not computes("triton_poi_fused__grouped_mm_mul_silu_12", "aten::_grouped_mm")
    assert not computes("triton_per_fused_convolution_relu_1", "aten::convolution")
    assert computes("triton_tem_fused_mm_3", "aten::mm")
    assert computes("triton_poi_fused_mul_silu_3", "aten::mul")
