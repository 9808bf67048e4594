"""Inductor's output code, a small wrapper by hand after torch/_inductor/codegen/wrapper.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from fallback_gate.coverage.alignment import aligned, calls
from fallback_gate.coverage.gathered import OPERATOR, of_code
from fallback_gate.coverage.output_code import Part, read
from fallback_gate.model.matrix import Column
from tests.coverage.matrices import LOGS, columns, held

PREFIX = "V1130 00:31:36.193000 5156 torch/_inductor/graph.py:2722] [0/0] [__output_code] "
WRAPPER = """\
# Topologically Sorted Source Nodes: [a], Original ATen: [aten.silu, aten.mul, aten.view, aten.mm]
# Graph fragment:
#   %exp : Tensor "f32[4, 8][8, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.exp.default](args = (%x,))
#   %mul_1 : Tensor "bf16[4, 8][8, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%x, %y))
#   %view : Tensor "bf16[32][1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%z,))
triton_poi_fused_mul_silu_0 = async_compile.triton('triton_poi_fused_mul_silu_0', '''
def call(self, args):
    buf0 = empty_strided_cuda((4, 8), (8, 1), torch.bfloat16)
    # Topologically Sorted Source Nodes: [a], Original ATen: [aten.silu, aten.mul]
    triton_poi_fused_mul_silu_0.run(arg0_1, arg1_1, buf0, 32, stream=stream0)
    buf1 = empty_strided_cuda((4, 16), (16, 1), torch.bfloat16)
    extern_kernels.mm(buf0, reinterpret_tensor(arg2_1, (8, 16), (1, 8), 0), out=buf1)
    buf2 = buf1; del buf1  # reuse
    triton_poi_fused_add_1.run(buf2, arg3_1, 64, stream=stream0)
    buf3 = torch.ops.aten.topk.default(buf2, 2)
    extern_kernels.bmm(reinterpret_tensor(buf2, (2, 2, 16), (32, 16, 1), 0), arg4_1, out=reinterpret_tensor(buf0, (2, 2, 4), (8, 4, 1), 0))
    triton_poi_fused_mul_silu_0.run(buf0, buf2, buf0, 32, stream=stream0)
"""


def wrapper(prefix: str) -> list[str]:
    return [prefix + line for line in WRAPPER.splitlines()]


@pytest.mark.parametrize("prefix", [PREFIX, "\t"], ids=["text log", "structured trace"])
def test_generated_kernels_and_library_calls(prefix: str) -> None:
    code = read(wrapper(prefix))
    assert set(code.kernels) == {"triton_poi_fused_mul_silu_0"}
    assert set(code.kernels["triton_poi_fused_mul_silu_0"]) == {
        Part("aten::exp", "out 4x8", "f32"),
        Part("aten::mul", "out 4x8", "bf16"),
        Part("aten::silu"),  # decomposed: no node of its own
    }  # a view runs nothing, and a pointwise kernel computes no product
    told = {(cell.op, cell.shape, cell.dtype, cell.column) for cell in code.cells()}
    assert ("aten::mm", "4x8, 8x16", "bf16", Column.LIBRARY) in told
    assert ("aten::bmm", "2x2x16", "bf16", Column.LIBRARY) in told
    assert not any(op == "aten::topk" for op, *_ in told)


MIXTURE = """\
# Original ATen: [aten.index]
triton_poi_fused_index_0 = async_compile.triton('triton_poi_fused_index_0', '''
# Original ATen: [aten.embedding]
triton_poi_fused_embedding_1 = async_compile.triton('triton_poi_fused_embedding_1', '''
def call(self, args):
    buf0 = empty_strided_cuda((4, 8), (8, 1), torch.bfloat16)
    triton_poi_fused_embedding_1.run(arg0_1, arg1_1, buf0, 32, stream=stream0)
    buf1 = empty_strided_cuda((4, 16), (16, 1), torch.bfloat16)
    extern_kernels.mm(buf0, reinterpret_tensor(arg2_1, (8, 16), (1, 8), 0), out=buf1)
    buf2 = empty_strided_cuda((4, 2, 16, 8), (256, 128, 8, 1), torch.bfloat16)
    triton_poi_fused_index_0.run(arg3_1, arg4_1, buf2, 1024, stream=stream0)
    buf3 = empty_strided_cuda((4, 1, 32), (32, 32, 1), torch.bfloat16)
    extern_kernels.bmm(reinterpret_tensor(buf0, (4, 1, 8), (8, 8, 1), 0), reinterpret_tensor(buf2, (4, 8, 32), (256, 1, 8), 0), out=buf3)
"""


def test_gathered_weights_are_found_by_their_buffers() -> None:
    """The second product reads what a kernel gathered, as its larger operand; the first one rows of a table."""
    found = of_code(read("\t" + line for line in MIXTURE.splitlines()), "torch.compile")
    assert found is not None
    assert (found.op, found.column, found.by) == (
        OPERATOR,
        Column.FALLBACK,
        ("triton_poi_fused_index_0", "extern_kernels.bmm"),
    )
    assert (found.reason or "").startswith("1 product in the output code")
    assert "aten::_grouped_mm" in found.names
    small = MIXTURE.replace("(4, 8, 32), (256, 1, 8)", "(1, 1, 1), (1, 1, 1)")
    assert of_code(read("\t" + line for line in small.splitlines()), "torch.compile") is None
    assert of_code(read(wrapper("\t")), "torch.compile") is None


def test_other_lines_are_no_code() -> None:
    lines = [line.replace("[__output_code]", "[__ir_post_fusion]") for line in wrapper(PREFIX)]
    code = read([*lines, *WRAPPER.splitlines(), "", "x" * 100])
    assert not code.kernels
    assert not code.starts


def test_kernels_of_a_trace_beside_the_wrapper() -> None:
    code = read(wrapper("\t"))
    mm, bmm = Part("aten::mm", "4x8, 8x16", "bf16"), Part("aten::bmm", "2x2x16", "bf16")
    first, second = "triton_poi_fused_mul_silu_0", "triton_poi_fused_add_1"
    assert calls(code)[first, second] == (mm,)
    ran = ["memset", first, "nvjet_a", "cublas_splitKreduce", second, "at::native::topk", "nvjet_b", first]
    anchors = [first, second]
    assert aligned(ran, anchors, calls(code)) == {2: mm, 3: mm, 6: bmm}
    assert aligned([first, "nvjet_a", "other_anchor"], [*anchors, "other_anchor"], calls(code)) == {}


def test_a_gap_that_is_not_always_the_same_tells_nothing() -> None:
    code = read([*wrapper("\t"), *(line.replace("(8, 16)", "(8, 32)") for line in wrapper("\t"))])
    assert calls(code)["triton_poi_fused_mul_silu_0", "triton_poi_fused_add_1"] is None


def test_a_real_log_of_the_cpu(tmp_path: Path) -> None:
    """Its wrapper calls bmm and mm in six shapes, counted in the log by hand."""
    found = held(tmp_path, LOGS / "torch" / "clean.2.14.1.log")
    told = columns(found)
    assert told["aten::rsqrt"] == told["aten::silu"] == {Column.GENERATED}
    shapes = {(cell.op, cell.shape) for cell in found.matrix.cells if cell.column is Column.LIBRARY}
    assert shapes == {
        ("aten::mm", "16x32, 32x128"),
        ("aten::mm", "16x32, 32x4"),
        ("aten::bmm", "2x8x32, 2x32x8"),
        ("aten::bmm", "2x8x8, 2x8x32"),
        ("aten::bmm", "4x16x64, 4x64x32"),
        ("aten::bmm", "1x16x32, 1x32x256"),
    }
    assert Column.FALLBACK not in {cell.column for cell in found.matrix.cells}
