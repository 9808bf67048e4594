"""Room 3: TVM's messages, and what its logs prove; wording from its own source and from real runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fallback_gate.compilers.tvm import names as tvm_names
from fallback_gate.model import State
from tests.compilers.conftest import family, states

SAMPLES = Path(__file__).parent.parent.parent / "sample_logs" / "tvm"
Read = Callable[..., Any]


def sample(name: str) -> list[str]:
    """The lines of a sample log."""
    return (SAMPLES / name).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("said", "op", "also"),
    [
        ("dense_pack.x86", "dense", {"nn.dense", "dense_pack.x86", "dense_pack"}),
        ("dense_nopack.x86", "dense", {"nn.dense"}),
        ("batch_matmul_tensorcore.cuda", "batch_matmul", {"nn.batch_matmul"}),
        ("conv2d_NCHWc.x86", "conv2d", {"nn.conv2d", "conv2d_NCHWc.x86"}),
        ("conv2d_nchw_spatial_pack.arm_cpu", "conv2d", {"nn.conv2d"}),
        ("depthwise_conv2d_nhwc.arm_cpu", "depthwise_conv2d", {"nn.conv2d", "nn.depthwise_conv2d"}),
        ("conv2d_transpose_nchw.cuda", "conv2d_transpose", {"nn.conv2d_transpose"}),
        ("group_conv2d_NCHWc_int8.cuda", "group_conv2d", {"nn.conv2d"}),
        ("my_gemm.vendor", "my_gemm", {"my_gemm.vendor"}),
    ],
)
def test_a_template_is_named_after_what_it_computes(said: str, op: str, also: set[str]) -> None:
    names = tvm_names.template(said)
    assert names[0] == op
    assert also <= set(names)


@pytest.mark.parametrize(
    ("said", "op", "also"),
    [
        ("fused_nn_dense_add", "fused_nn_dense_add", {"dense", "nn.dense"}),
        (
            "tvmgen_default_fused_nn_batch_matmul_nn_relu",
            "fused_nn_batch_matmul_nn_relu",
            {"nn.batch_matmul"},
        ),
        ("fused_matmul2_tir_sigmoid_multiply", "fused_matmul2_tir_sigmoid_multiply", {"matmul"}),
        ("matmul", "matmul", set()),
        ("fused_sum", "fused_sum", set()),
    ],
)
def test_a_fused_function_keeps_its_name_and_tells_its_operators(said: str, op: str, also: set[str]) -> None:
    names = tvm_names.fused(said)
    assert names[0] == op
    assert also | {said} <= set(names)


@pytest.mark.parametrize(
    ("said", "op", "also"),
    [
        ("relax.topk", "relax.topk", {"topk"}),
        ("topk", "relax.topk", {"topk"}),
        ("relax.nn.softmax", "nn.softmax", {"softmax", "relax.nn.softmax"}),
    ],
)
def test_a_relax_operator_has_one_name(said: str, op: str, also: set[str]) -> None:
    names = tvm_names.relax(said)
    assert names[0] == op
    assert also <= set(names)


CC = "[00:34:06] /project/src/relax/transform/x.cc:347: Warning: "


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (CC + "No legalization func for relax.nn.attention is found.", ("op_fallback", "nn.attention", "operator")),
        (CC + "Tuning record is not found for primfunc: fused_conv2d_relu", ("untuned_config", "fused_conv2d_relu", "operator")),
        (CC + "Cannot legalize R.take(x, y), missing known shapes for arguments", ("op_fallback", "relax.take", "operator")),
        (CC + "Undefined global var my_kernel", ("op_fallback", "my_kernel", "operator")),
        (CC + "[LayoutInference] Unable to transform block T_add", ("slower_kernel", "T_add", "unknown")),
        (CC + "[LayoutInference] Nested blocks are not supported for layout inference yet", ("slower_kernel", "*", "unknown")),
        ("Warning: Failed to compile TIR function add: boom", ("compile_error", "add", "operator")),
        ("Warning: Failed to compile Relax VM: boom", ("compile_error", "*", "program")),
        (
            "Config for target=cuda -keys=cuda,gpu, workload=('dense_small_batch.gpu', ('TENSOR', (1, 64), 'float16')) is missing in ApplyGraphBest context. A fallback configuration is used",
            ("untuned_config", "dense", "operator"),
        ),
        (
            "WARNING:autotvm:Cannot find config for target=llvm, workload=None. A fallback configuration is used, which may bring great performance regression.",
            ("untuned_config", "*", "unknown"),
        ),
        ("WARNING:strategy:conv3d is not optimized for this platform.", ("untuned_config", "conv3d", "operator")),
        ("depthwise_conv2d NHWC layout is not optimized for x86.", ("untuned_config", "depthwise_conv2d", "operator")),
        ("sparse dense is not optimized for this platform.", ("untuned_config", "sparse_dense", "operator")),
        ("dilation2d_strategy is not optimized for this platform.", ("untuned_config", "dilation2d", "operator")),
        ("[00:34:06] /w/te_compiler_cache.cc:469: Warning: Cannot find workload: tvmgen_default_fused_nn_dense", ("untuned_config", "fused_nn_dense", "operator")),
        ("[00:34:06] /p/opencl_device_api.cc:728: Warning: Using CPU OpenCL device", ("device_fallback", "*", "program")),
        ("AssertionError: Unsupported function types ['foo.Tensor']", ("compile_error", "foo", "operator")),
        ("NotImplementedError: The following operators are not implemented: ['aten::foo']", ("compile_error", "aten::foo", "operator")),
    ],
)  # fmt: skip
def test_one_line(line: str, told: tuple[str, str, str], read: Read) -> None:
    assert read(line).told == [told]


@pytest.mark.parametrize(
    "line",
    [
        "[00:34:06] /p/meta_schedule.cc:95: Warning: Creating JSONDatabase. Workload at: w.json, Tuning records at: t.json",
        "INFO:te_compiler:Using layout_transform.generic for layout_transform based on highest priority (10)",
        "INFO:te_compiler:Using conv2d_nhwc.x86 for nn.conv2d based on highest priority (10)",
        "-----------------------------------",
        "export TVM_COMPILE_FORCE_FALLBACK=1  # cuda_fallback_module.cc",
        "INFO:autotvm:Cannot find tuning records for this month",
        "kubectl: Cannot find workload: web",
        "This page is not optimized for this platform.",
        "WARNING:topi:tensor_a has different data type with tensor_b: float16, float32",
        "        lv: R.Tensor((16, 2)) = R.topk(x, k=2)",
    ],
)
def test_no_fallback(line: str, read: Read) -> None:
    assert read(line).reports == []


FFI = '  File "python/tvm_ffi/cython/function.pxi", line 1038, in tvm_ffi.core.Function.__call__'


def test_an_exception_of_any_type_under_tvms_frames_is_a_failed_build(read: Read) -> None:
    (report,) = read(
        "Traceback (most recent call last):",
        '  File "/app/rx.py", line 103, in <module>',
        '  File "/opt/venv/lib/python3.11/site-packages/tvm/relax/backend/cuda/cutlass.py", line 612, in partition_for_cutlass',
        '  File "/opt/venv/lib/python3.11/site-packages/tvm/ir/transform.py", line 171, in __call__',
        FFI,
        '  File "<unknown>", line 0, in TVMFFIPyCallback(void*, TVMFFIAny const*, int, TVMFFIAny*)',
        '  File "/opt/venv/lib/python3.11/site-packages/tvm/relax/backend/cuda/cutlass.py", line 569, in annotate_workspace',
        "    new_f = annotator.visit_expr(f)",
        "",
        FFI,
        '  File "/opt/venv/lib/python3.11/site-packages/tvm/relax/backend/cuda/cutlass.py", line 553, in visit_function_',
        "",
        "KeyError: 'T.float16'",
    ).reports
    assert (report.kind.value, report.reason) == ("compile_error", "KeyError: 'T.float16'")
    assert report.location == ("/app/rx.py", 103, "<module>")


def test_a_candidate_that_a_tuner_measures_is_no_failed_build(read: Read) -> None:
    said = read(
        "DEBUG:autotvm:No: 1\tGFLOPS: 0.00/0.00\tresult: Traceback (most recent call last):",
        '  File "/opt/venv/lib/python3.8/site-packages/tvm/autotvm/measure/measure_methods.py", line 644, in run_through_rpc',
        '  File "tvm/_ffi/_cython/./packed_func.pxi", line 332, in tvm._ffi._cy3.core.PackedFuncBase.__call__',
        "tvm.error.RPCError: Traceback (most recent call last):",
        "RPCError: Error caught from RPC call:",
    )
    assert said.reports == []


@pytest.mark.parametrize("last", ["KeyboardInterrupt", "SystemExit: 1"])
def test_a_user_who_stops_the_program_is_no_failed_build(last: str, read: Read) -> None:
    frame = '  File "/opt/venv/tvm/ir/transform.py", line 171, in __call__'
    assert read("Traceback (most recent call last):", frame, FFI, last).reports == []


@pytest.mark.parametrize(
    ("line", "ops"),
    [
        ("TVM import failed, serving eager: Unsupported function types ['a.default', 'b.out']", ["a", "b"]),
        ("skipped: The following operators are not supported for frontend ONNX: Foo, Bar", ["Foo", "Bar"]),
        ("fallback to torch: ValueError Cannot find global function target.build.vulkan", ["*"]),
        ("compile failed: RuntimeError Memory verification failed with the following errors:", ["*"]),
        ("RuntimeError: Memory verification failed with the following errors:", ["*"]),
    ],
)
def test_an_error_that_the_program_caught_and_printed(line: str, ops: list[str], read: Read) -> None:
    reports = read(line).reports
    assert [report.op for report in reports] == ops
    assert {report.kind.value for report in reports} == {"compile_error"}


def test_a_function_that_is_printed_alone_shows_what_its_partitions_left(read: Read) -> None:
    said = read(
        "@R.function",
        'def main(x: R.Tensor((1, 3), dtype="float32")) -> R.Tensor((1, 4), dtype="float32"):',
        "    with R.dataflow():",
        '        lv: R.Tensor((1, 4), dtype="float32") = fused_relax_nn_conv2d_cudnn(x, c)',
        '        lv1: R.Tensor((1, 4), dtype="float32") = R.nn.relu(lv)',
        '        gv: R.Tensor((1, 4), dtype="float32") = R.matmul(lv1, w, out_dtype=None)',
        "        R.output(gv)",
        "    return gv",
        "[build] R.nn.softmax(gv)",
    )
    assert [report.op for report in said.reports] == ["nn.relu", "relax.matmul"]
    assert states(said, "tvm.byoc") == {"op_fallback": State.UNPROVEN}


RELAY = [
    "fn (%x: Tensor[(8, 96), float32] /* ty=Tensor[(8, 96), float32] */) -> Tensor[(8, 24), float32] {",
    "  %0 = nn.lrn(%x, alpha=1e-05f) /* ty=Tensor[(8, 96), float32] */;",
    "  %1 = @tvmgen_default_cutlass_main_0(%0, meta[relay.Constant][0]) /* ty=Tensor[(8, 160), float32] */;",
    "  %2 = @tvmgen_default_cutlass_main_3(%1) /* ty=Tensor[(8, 24), float32] */;",
    "  nn.softmax(%2) /* ty=Tensor[(8, 24), float32] */",
    "}",
    "  reshape(%2)",
]


def test_what_a_partition_of_relay_left_beside_its_calls(read: Read) -> None:
    said = read(*RELAY)
    assert [(report.op, report.reason) for report in said.reports] == [
        ("nn.lrn", "left beside the partitions for cutlass"),
        ("nn.softmax", "left beside the partitions for cutlass"),
    ]
    assert states(said, "tvm.byoc") == {"op_fallback": State.UNPROVEN}


LEGALIZED = [
    'After Running Pass: transform.PassInfo(opt_level=0, name="LegalizeOps", required=(), traceable=False)',
    "# from tvm.script import ir as I",
    "@I.ir_module",
    "class Module:",
    "    @R.function",
    '    def main(x: R.Tensor((8, 16), dtype="float32")) -> R.Tensor((8, 2), dtype="float32"):',
    "        cls = Module",
    '        lv = R.call_tir(cls.matmul, (x,), out_ty=R.Tensor((8, 32), dtype="float32"))',
    '        lv1: R.Tuple(R.Tensor((8, 2), dtype="float32")) = R.topk(lv, k=2)',
    "        return lv1",
]


def test_what_legalize_ops_left_in_a_printed_module(read: Read) -> None:
    assert [report.op for report in read(*LEGALIZED).reports] == ["relax.topk"]
    assert read(LEGALIZED[0].replace("LegalizeOps", "FoldConstant"), *LEGALIZED[1:]).reports == []


def test_a_missing_record_is_named_by_its_key_across_ranks(read: Read) -> None:
    block = [
        "DEBUG:autotvm:Cannot find tuning records for:",
        "    target=cuda -keys=cuda,gpu",
        "    key=('batch_matmul.cuda', ('TENSOR', (4, 16, 16), 'float32'))",
        "TVM will apply a default schedule which may negatively impact performance.",
    ]
    lines = [line for part in block for line in (f"[rank1]: {part}", "[rank0]: [run] step 3")]
    said = read(*lines)
    assert said.told == [("untuned_config", "batch_matmul", "operator")]
    assert [process.rank for process in said.processes] == [1]
    assert "(4, 16, 16)" in (said.reports[0].site or "")


def test_the_summary_counts_only_where_nothing_is_named(read: Read) -> None:
    summary = "One or more operators have not been tuned. Please tune your model for better performance."
    (report,) = read(summary).reports
    assert (report.op, report.hint, report.at_least) == ("*", True, True)


MESSAGE = (
    'Cannot find tuned schedules for target=cuda, workload_key=["a6", [16, 64]]. A fallback TOPI schedule is used, '
    "which may hurt performance or fail to compile. Compute DAG info:"
)


@pytest.mark.parametrize(
    ("before", "op"),
    [
        (["---------", "fused_nn_dense"], "fused_nn_dense"),
        (["[rank1]: other", "---------"], "T_matmul_NT"),
        ([], "T_matmul_NT"),
    ],
)
def test_the_auto_scheduler_names_its_function_before_the_message(
    before: list[str], op: str, read: Read
) -> None:
    dag = [
        "p0 = PLACEHOLDER [16, 64]",
        "T_matmul_NT(i0, i1) += (p0[i0, k]*p1[i1, k])",
        "T_add(ax0) = (p0[ax0] + 1f)",
    ]
    said = read(*before, MESSAGE, *dag, "")
    assert said.told == [("untuned_config", op, "operator")]
    assert states(said, "tvm.auto_scheduler") == {"untuned_config": State.UNOBSERVABLE}


def test_a_failed_import_names_each_operator_and_the_users_frame(read: Read) -> None:
    said = read(
        "Traceback (most recent call last):",
        '  File "/app/model/import.py", line 17, in build',
        "    mod = from_exported_program(ep)",
        '  File "/opt/venv/lib/python3.11/site-packages/tvm/relax/frontend/torch/x.py", line 324, in _check',
        '    assert not missing, f"Unsupported function types {missing}"',
        "AssertionError: Unsupported function types ['special_bessel_j0.default', 'foo.Tensor']",
    )
    assert [report.op for report in said.reports] == ["special_bessel_j0", "foo"]
    assert {report.stack for report in said.reports} == {("build",)}
    assert said.reports[0].location == ("/app/model/import.py", 17, "build")


@pytest.mark.parametrize(
    ("above", "reports"),
    [
        (["Traceback (most recent call last):", '  File "/app/b.py", line 3, in build', "    x()"], 1),
        (["[Task #0] Trial #3: Error in building:", "Traceback (most recent call last):", "  0: tvm::x"], 0),
        (
            [
                "Traceback (most recent call last):",
                '  File "/opt/site-packages/tilelang/a.py", line 3, in lower',
            ],
            0,
        ),
        ([], 1),
    ],
)
def test_an_error_of_a_build_but_not_of_a_candidate(above: list[str], reports: int, read: Read) -> None:
    said = read(*above, "tvm.error.InternalError: Check failed: x").reports
    assert [report.id for report in said if report.compiler == "tvm.build"] == ["tvm-build/error"] * reports


def test_frames_of_the_compiler_itself_are_not_the_users(read: Read) -> None:
    said = read(
        "Traceback (most recent call last):",
        '  File "/app/model/build.py", line 25, in build',
        '    ex = tvm.compile(mod, "llvm")',
        '  File "/opt/venv/lib/python3.11/site-packages/tvm/driver/build_module.py", line 90, in compile',
        '  File "python/tvm_ffi/cython/function.pxi", line 1038, in tvm_ffi.core.Function.__call__',
        '  File "/project/src/relax/backend/vm/vm_shape_lower.cc", line 493, in virtual tvm::relax::Expr tvm::relax::VMShapeLowerMutator::VisitExpr_(const tvm::relax::FunctionNode*)',
        "tvm.error.InternalError: VMShapeLower do not work for local functions",
    )
    (report,) = said.reports
    assert (report.op, report.stack, report.location) == (
        "build",
        ("build",),
        ("/app/model/build.py", 25, "build"),
    )


def test_a_build_is_proven_by_its_debug_level_and_by_what_came_after(read: Read) -> None:
    clean = sample("relay-tuned.0.16.log")
    assert states(read(*clean), "tvm.relay") == {"untuned_config": State.PROVEN}
    for cut in range(2, len(clean)):
        if "[build] done" not in clean[:cut][-1]:
            said = read(*clean[:cut])
            if said.evidence.processes:
                assert states(said, "tvm.relay") == {"untuned_config": State.UNPROVEN}, cut


@pytest.mark.parametrize(
    "last",
    [
        "Traceback (most recent call last):",
        "Killed",
        "Segmentation fault (core dumped)",
        "##[error]Process completed with exit code 137.",
        "##[error]The operation was canceled.",
        "KeyboardInterrupt",
        "tvm.error.InternalError: Check failed",
        "Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)",
        "terminate called after throwing an instance of 'tvm::runtime::InternalError'",
        "Bus error",
        "[00:34:06] /project/src/x.cc:1: Warning: x",
        "/opt/tvm/x.py:12: UserWarning: x",
        "INFO:te_c",
        "WAR",
        "DEBUG:autotvm",
        "",
    ],
)
def test_a_build_that_broke_off_proves_nothing(last: str, read: Read) -> None:
    clean = sample("relay-tuned.0.16.log")
    end = max(at for at, line in enumerate(clean) if "te_compiler" in line)
    assert states(read(*clean[: end + 1], last), "tvm.relay") == {"untuned_config": State.UNPROVEN}


def test_a_build_without_the_debug_level_proves_nothing(read: Read) -> None:
    quiet = [line for line in sample("relay-tuned.0.16.log") if "autotvm" not in line]
    assert states(read(*quiet), "tvm.relay") == {"untuned_config": State.UNPROVEN}


LEFT = ("R.topk(", "R.broadcast_to(", "R.one_hot(")


def test_a_module_shows_what_its_partition_left_out(read: Read) -> None:
    lines = sample("byoc-tensorrt-module.0.27.log")
    said = read(*lines)
    assert [(r.op, r.position) for r in said.reports] == [
        (op, number)
        for number, line in enumerate(lines, 1)
        for call, op in zip(LEFT, ("relax.topk", "relax.broadcast_to", "relax.one_hot"), strict=True)
        if call in line
    ]
    assert states(said, "tvm.byoc") == {"op_fallback": State.PROVEN}


def test_a_module_without_partition_says_nothing(read: Read) -> None:
    lines = [line for line in sample("byoc-tensorrt-module.0.27.log") if '"Codegen"' not in line]
    said = read(*lines)
    assert (said.reports, said.evidence.processes) == ([], {})


def test_a_module_in_which_all_is_offloaded_passes_only_whole(read: Read) -> None:
    lines = [
        line for line in sample("byoc-tensorrt-module.0.27.log") if not any(call in line for call in LEFT)
    ]
    said = read(*lines)
    assert said.reports == []
    assert states(said, "tvm.byoc") == {"op_fallback": State.PROVEN}
    for cut in range(1, len(lines) - 1):
        part = read(*lines[:cut])
        assert part.reports == []
        if part.evidence.processes:
            assert states(part, "tvm.byoc") == {"op_fallback": State.UNPROVEN}, cut


def test_what_stands_behind_a_function_is_not_its_own(read: Read) -> None:
    """Lines of another print behind the last `return` neither hide a call nor leave the module whole."""
    lines = sample("byoc-tensorrt-module.0.27.log")
    last = max(at for at, line in enumerate(lines) if line.startswith("        return "))
    lines = lines[: last + 1]
    behind = ['            R.func_attr({"Composite": "tensorrt.nn.softmax"})', "            return gv_1"]
    said = read(*lines, "", *behind)
    assert [r.position for r in said.reports] == [r.position for r in read(*lines).reports] != []
    assert states(said, "tvm.byoc") == {"op_fallback": State.UNPROVEN}


def test_a_module_that_was_lowered_proves_nothing(read: Read) -> None:
    lines = [
        line.replace("= R.topk(", "= R.call_tir(cls.topk, (").replace("= R.one_hot(", "= R.call_tir(")
        for line in sample("byoc-tensorrt-module.0.27.log")
        if "R.broadcast_to(" not in line
    ]
    lines.append("    @T.prim_func(private=True)")
    lines.append("    def topk(x: T.handle):")
    lines.append("        T.evaluate(0)")
    said = read(*lines)
    assert said.reports == []
    assert states(said, "tvm.byoc") == {"op_fallback": State.UNPROVEN}


def test_relax_proves_nothing_by_itself(read: Read) -> None:
    said = read(*sample("relax-zero-warnings.0.27.log"))
    assert states(said, "tvm.relax") == {"op_fallback": State.UNPROVEN, "untuned_config": State.UNPROVEN}


def test_every_reader_has_a_manual_page_of_its_own() -> None:
    for reader in family("tvm"):
        assert reader.manual.startswith(f"{reader.name}: ")
        assert "What proves the end" in reader.manual
