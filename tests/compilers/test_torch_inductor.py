"""Room 3: what Inductor prints, read: fallback kernels in each artifact that shows them, and CUDA graphs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fallback_gate import check
from fallback_gate.model import Decision, Kind, Location, Outcome, Scope
from tests.compilers.lines import SITE, code, record

SAMPLES = Path(__file__).parents[2] / "sample_logs" / "torch"

Read = Callable[..., Any]


@pytest.mark.parametrize(
    ("line", "op", "names"),
    [
        ("buf26 = torch.ops.aten.topk.default(buf25, 2, -1, True, True)", "aten::topk", {"aten.topk.default"}),
        ("buf12 = aten.topk(buf11, 2)", "aten::topk", {"aten.topk"}),
        ("buf12 = aten.topk.default(buf11, 2)", "aten::topk", {"aten.topk.default"}),
        ("buf16 = torch.ops.aten.sort.stable(buf15, stable=None, dim=-1)", "aten::sort", {"aten.sort.stable"}),
        ("aten.scatter_reduce_.two(buf33,0,buf32,buf31,reduce='prod',include_self=True)", "aten::scatter_reduce_", {"aten::scatter_reduce", "aten::scatter_reduce.two"}),
        ("aten.scatter_reduce_(buf28,0,buf1,buf2)", "aten::scatter_reduce_", {"aten::scatter_reduce"}),
        ("aten.index_put_(buf37, [buf39], buf38, False)", "aten::index_put_", {"aten::index_put"}),
        ("buf3 = torch.ops.mylib.gate_attn.default(arg0_1, arg1_1)", "mylib::gate_attn", {"mylib.gate_attn.default"}),
        ("torch.ops.mylib.update_.default(buf3, buf4)", "mylib::update_", {"mylib::update"}),
        ("buf0, buf1 = torch.ops.aten.native_dropout.default(arg0_1, 0.5, True)", "aten::native_dropout", set()),
        ("buf20 = torch.ops.higher_order.graphsafe_run_with_rng_state(torch.ops.aten._scaled_dot_product_cudnn_attention.default, buf12, rng_state=fwd_rng_state_0)", "aten::_scaled_dot_product_cudnn_attention", {"higher_order.graphsafe_run_with_rng_state"}),
    ],
)  # fmt: skip
def test_a_call_in_generated_code(read: Read, line: str, op: str, names: set[str]) -> None:
    (report,) = read(*code(line, cid="3/0_1")).reports
    assert (report.id, report.kind, report.scope) == (
        "torch/fallback-kernel",
        Kind.OP_FALLBACK,
        Scope.OPERATOR,
    )
    assert report.op == op
    assert names <= set(report.names)
    assert (report.position, report.pid, report.at_least, report.hint) == (9, 4674, False, False)
    assert report.site
    assert report.site.startswith("3/0 ")


RUNS_ANOTHER = "torch.ops.higher_order.graphsafe_run_with_rng_state"
HINT_OF_ANOTHER = record(f"Using FallbackKernel: {RUNS_ANOTHER}", level="I", artifact="perf_hints")


def test_an_operator_that_runs_another_may_be_any_where_nothing_names_that_one(tmp_path: Path) -> None:
    """A checkpointed or saved random operator: by its own name no entry of a policy could know the one it runs."""
    log, policy = tmp_path / "compile.log", tmp_path / "policy.yaml"
    policy.write_text(
        "version: 1\nname: p\nunlisted: warn\nhot:\n  - {op: 'aten::_scaled_dot_product*', why: each layer}\n"
    )
    log.write_text("\n".join(HINT_OF_ANOTHER) + "\n", encoding="utf-8")
    (finding,) = check([log], policy=policy).findings
    assert (finding.event.scope, finding.decision) == (Scope.REGION, Decision.BLOCKED)
    call = f"buf20 = {RUNS_ANOTHER}(torch.ops.aten._scaled_dot_product_cudnn_attention.default, buf12)"
    log.write_text("\n".join([*HINT_OF_ANOTHER, *code(call)]) + "\n", encoding="utf-8")
    (finding,) = check([log], policy=policy).findings
    named = (finding.event.op, finding.event.scope, finding.decision)
    assert named == ("aten::_scaled_dot_product_cudnn_attention", Scope.OPERATOR, Decision.BLOCKED)


@pytest.mark.parametrize(
    "name", ["torch.ops.aten.sort.stable", "torch.ops.moe.gate_attn.default", "aten.topk"]
)
def test_a_call_whose_line_was_cut_or_folded_behind_its_name(read: Read, name: str) -> None:
    (report,) = read(*code(f"buf3 = {name}")).reports
    assert report.names[-1] == name.removeprefix("torch.ops.")


def test_code_whose_blanks_were_squeezed_proves_nothing(tmp_path: Path) -> None:
    text = (SAMPLES / "clean.2.14.1.log").read_text(encoding="utf-8")
    log = tmp_path / "compile.log"
    for shown, outcome in ((text, Outcome.PASS), (re.sub(" +", " ", text), Outcome.UNPROVEN)):
        log.write_text(shown, encoding="utf-8")
        assert check(log, environ={}).outcome is outcome


def test_each_call_is_a_site_and_a_reprint_is_none(read: Read) -> None:
    calls = [f"buf{n} = torch.ops.aten.topk.default(buf{n - 1}, 2)" for n in (3, 5)]
    sites = [report.site for report in read(*code(*calls), *code(*calls, cid="0/0_1")).reports]
    assert len(sites) == 4
    assert len(set(sites)) == 2


NO_CALLS = [
    "# Topologically Sorted Source Nodes: [topk], Original ATen: [aten.topk]",
    "#   %topk : [num_users=2] = call_function[target=torch.ops.aten.topk.default](args = (%div, 2))",
    "buf1 = empty_strided_cpu((2, 8), (8, 1), torch.float32)  # torch.ops.aten.topk.default(x)",
    "assert_size_stride(buf27, (2, 8, 2), (16, 2, 1), 'torch.ops.aten.topk.default')",
    "assert_alignment(buf27, 16, 'torch.ops.aten.topk.default')",
    "cpp_fused_add_0(buf0)",
    "extern_kernels.mm(buf0, arg1_1, out=buf1)",
    "extern_kernels.bmm(buf0, arg1_1, out=buf1)",
    "aten.randint.low_out(-9223372036854775808, 9223372036854775807, [1], out=buf0)",
    "torch.ops._c10d_functional.wait_tensor.default(buf1)",
    "buf1 = torch.ops._c10d_functional.all_reduce_.default(buf0, 'sum', '0')",
    "buf1 = torch.ops.inductor._reinterpret_tensor(buf0, (2,), (1,))",
    "aten = torch.ops.aten",
    "from torch.ops.aten import topk",
    "fn = torch.ops.aten.topk.default",
]


@pytest.mark.parametrize("line", NO_CALLS)
def test_what_is_no_fallback_in_generated_code(read: Read, line: str) -> None:
    assert read(*code(line)).reports == []


@pytest.mark.parametrize(
    "artifact", ["aot_graphs", "post_grad_graphs", "pre_grad_graphs", "graph_code", "fusion", ""]
)
def test_the_same_call_in_a_dump_is_no_call(read: Read, artifact: str) -> None:
    dump = '        topk: "f32[2]" = torch.ops.aten.topk.default(div, 2);  div = None'
    assert read(*record(dump, artifact=artifact)).reports == []
    assert (
        read(*record("        buf1 = torch.ops.aten.topk.default(buf0, 2)", artifact=artifact)).reports == []
    )


def test_text_that_quotes_generated_code_is_none(read: Read) -> None:
    assert read("[__output_code]     buf1 = torch.ops.aten.topk.default(buf0, 2)").reports == []


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("torch.ops.aten.topk.default", "aten::topk"),
        ("aten.topk", "aten::topk"),
        ("torch.ops.mylib.gate_attn.default", "mylib::gate_attn"),
        ("aten.max_pool2d_with_indices_backward", "aten::max_pool2d_with_indices_backward"),
    ],
)
def test_perf_hints(read: Read, name: str, op: str) -> None:
    (report,) = read(*record(f"Using FallbackKernel: {name}", level="I", artifact="perf_hints")).reports
    assert (report.kind, report.scope, report.op) == (Kind.OP_FALLBACK, Scope.OPERATOR, op)
    assert report.at_least
    old = "[2026-11-30 01:18:36,471] [0/0] torch._inductor.graph.__perf_hints: [INFO] Using FallbackKernel: "
    assert [r.op for r in read(old + name).reports] == [op]


def test_perf_hints_of_2_4_name_nothing(read: Read) -> None:
    (report,) = read(*record("Using FallbackKernel: None", level="I", artifact="perf_hints")).reports
    assert (report.op, report.scope, report.names) == ("*", Scope.UNKNOWN, ())


def test_plumbing_is_no_fallback(read: Read) -> None:
    name = "torch.ops._c10d_functional.all_gather_into_tensor.default"
    assert read(*record(f"Using FallbackKernel: {name}", level="I", artifact="perf_hints")).reports == []


def test_an_operator_without_any_lowering(read: Read) -> None:
    lines = record(
        "Creating implicit fallback for:",
        "  target: mylib.gate_attn.default",
        "  args[0]: TensorBox(StorageBox(",
        level="I",
    )
    (report,) = read(*lines).reports
    assert (report.op, report.scope) == ("mylib::gate_attn", Scope.OPERATOR)
    (cut,) = read(lines[0]).reports
    assert (cut.op, cut.scope) == ("*", Scope.UNKNOWN)


def test_the_scheduler_s_dump(read: Read) -> None:
    new = record(
        "scheduling FallbackKernel(",
        "  python_kernel_name='torch.ops.aten.topk.default',",
        "  name=buf26,",
        ")",
        "scheduling MultiOutput(",
        "  inputs=[FallbackKernel(",
        "    python_kernel_name='torch.ops.aten.topk.default',",
        "  )]",
        ")",
    )
    assert read(*new).told == [("op_fallback", "aten::topk", "operator")]
    old = record(
        "scheduling FallbackKernel(",
        "  python_kernel_name=None,",
        *("  layout=FixedLayout('cpu', torch.float32),",) * 40,
        "  op_overload=aten.topk.default,",
        ")",
    )
    assert read(*old).told == [("op_fallback", "aten::topk", "operator")]
    unnamed = record("scheduling FallbackKernel(", "  name=buf1,", ")", "  op_overload=aten.topk.default,")
    assert read(*unnamed).told == [("op_fallback", "*", "unknown")]


@pytest.mark.parametrize("node", ["ScatterFallback", "IndexPutFallback"])
def test_in_place_fallbacks_in_the_scheduler_s_dump(read: Read, node: str) -> None:
    lines = record(f"scheduling {node}(", "  python_kernel_name='aten.scatter_reduce_.two',", ")")
    assert [op for _, op, _ in read(*lines).told] == ["aten::scatter_reduce_"]


def test_the_post_fusion_dump(read: Read) -> None:
    lines = record(
        "op26: FallbackKernel(...)",
        "op26.node.kernel = torch.ops.aten.topk.default",
        artifact="ir_post_fusion",
    )
    assert read(*lines).told == [("op_fallback", "aten::topk", "operator")]
    assert read(*record("op3.node.kernel = extern_kernels.mm", artifact="ir_post_fusion")).reports == []


def test_ahead_of_time_without_a_shim(read: Read) -> None:
    line = "aten.median.dim is missing a c-shim implementation, using proxy executor as fallback"
    (report,) = read(*record(line, level="W", cid="")).reports
    assert (report.kind, report.op, report.at_least) == (Kind.OP_FALLBACK, "aten::median", True)


@pytest.mark.parametrize(
    ("shim", "op"),
    [
        ("sort_stable", "aten::sort"),
        ("median_dim", "aten::median"),
        ("repeat_interleave_Tensor", "aten::repeat_interleave"),
        ("pow_Tensor_Scalar", "aten::pow"),
        ("unique_dim", "aten::unique_dim"),
        ("index_put", "aten::index_put"),
        ("topk", "aten::topk"),
    ],
)
def test_a_c_shim_without_a_check_behind_it(read: Read, shim: str, op: str) -> None:
    line = f"    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_{shim}(buf5, 1L, 0, &buf7_handle));"
    (report,) = read(*record(line, artifact="output_code")).reports
    assert report.op == op


PROXIED = "    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_proxy_executor_call_function(proxy_executor, 0, 1, nullptr, 2, std::array<AtenTensorHandle, 2>{buf0, buf1}.data()));"


@pytest.mark.parametrize(
    ("behind", "op"),
    [
        (('assert_size_stride(buf1, {4L}, {1L}, "torch.ops.rank.bucketise.default");',), "rank::bucketise"),
        (
            ('assert_size_stride(buf2, {4L}, {1L}, "torch.ops.rank.bucketise.default");',),
            "*",
        ),  # not its result
        (("buf0.reset();",), "*"),
        (
            (
                "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_mm_out(buf1, arg0_1, arg1_1));",
                'assert_size_stride(buf1, {4L}, {1L}, "torch.ops.aten.mm.default");',
            ),
            "*",
        ),
    ],
)
def test_a_call_through_the_proxy_is_named_by_the_check_of_its_result(
    read: Read, behind: tuple[str, ...], op: str
) -> None:
    (report,) = read(*record(PROXIED, *behind, artifact="output_code")).reports
    assert report.op == op
    assert report.scope == (Scope.UNKNOWN if op == "*" else Scope.OPERATOR)


def test_complex_numbers(read: Read) -> None:
    line = f"{SITE}/_inductor/lowering.py:2633: UserWarning: Torchinductor does not support code generation for complex operators. Performance may be worse than eager."
    (report,) = read(line, "  warnings.warn(").reports
    assert (report.kind, report.scope, report.op) == (Kind.OP_FALLBACK, Scope.UNKNOWN, "*")
    assert report.at_least


VMAP = "UserWarning: There is a performance drop because we have not yet implemented the batching rule for aten::histc. Please file us an issue"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/app/moe/modes2.py:19", Location("/app/moe/modes2.py", 19)),
        (r"C:\app\modes2.py:19", Location(r"C:\app\modes2.py", 19)),
        (f"{SITE}/_functorch/vmap.py:479", None),
    ],
)
def test_vmap_without_a_batching_rule(read: Read, path: str, place: Location | None) -> None:
    (report,) = read(f"{path}: {VMAP}").reports
    assert (report.kind, report.op, report.location) == (Kind.OP_FALLBACK, "aten::histc", place)


def test_vmap_without_a_batching_rule_where_no_python_runs(read: Read) -> None:
    text = "Warning: There is a performance drop because we have not yet implemented the batching rule for opt::project. Please file us an issue (function warnFallback)"
    for place in ("[W1130 15:10:51.240824305 BatchedFallback.cpp:81] ", "[W BatchedFallback.cpp:81] "):
        (report,) = read(place + text).reports
        assert (report.op, report.location, report.kind) == ("opt::project", None, Kind.OP_FALLBACK)
    assert read("'[W BatchedFallback.cpp:81] " + text).reports == []


def test_a_graph_without_its_cuda_graph(read: Read) -> None:
    line = "skipping cudagraphs due to mutated inputs (32 instances). Found from : "
    lines = (line, '   File "/app/model/decoder.py", line 84, in forward', "    self.k_cache.copy_(k)", "")
    (report,) = read(*record(*lines, level="W", artifact="cudagraphs", cid="")).reports
    assert (report.id, report.kind, report.scope) == (
        "torch/cudagraph-skip",
        Kind.CUDAGRAPH_SKIP,
        Scope.PROGRAM,
    )
    assert report.reason == "mutated inputs (32 instances)"
    assert report.op == "forward"
    assert report.location == Location("/app/model/decoder.py", 84, "forward")


def test_a_graph_with_an_operator_that_cannot_be_captured(read: Read) -> None:
    line = "skipping cudagraphs due to skipping cudagraphs due to incompatible op aten._foo.default"
    (report,) = read(*record(line, level="W", artifact="cudagraphs", cid="")).reports
    assert report.op == "aten::_foo"
    assert report.reason.startswith("incompatible op")


def partition(*nodes: str, number: int = 1) -> list[str]:
    """The records of one partition: each physical line is its own record with the same prefix."""
    opening = f"  Partition {number}: {len(nodes)} nodes, non-cudagraphable, inputs=11, outputs=4"
    return record(opening, *nodes, artifact="cudagraphs")


def test_a_partition_with_an_unsafe_operator(read: Read) -> None:
    skip, kernel = read(
        *record("Created 33 graph partitions: 17 cudagraphable, 16 non-cudagraphable", artifact="cudagraphs"),
        *partition(
            "    op3: reason=CUDAGraph-unsafe custom ops, ir=FallbackKernel, fx=moe.gate_attn_unsafe.default(q, k)"
        ),
    ).reports
    assert (skip.id, skip.kind, skip.op) == (
        "torch/cudagraph-partition",
        Kind.CUDAGRAPH_SKIP,
        "moe::gate_attn_unsafe",
    )
    assert skip.reason == "CUDAGraph-unsafe custom ops"
    assert (kernel.id, kernel.kind, kernel.op) == (
        "torch/fallback-kernel",
        Kind.OP_FALLBACK,
        "moe::gate_attn_unsafe",
    )


def test_a_partition_on_the_cpu_runs_on_another_device(read: Read) -> None:
    said = read(
        *partition(
            "    op3: reason=DeviceCopy ops, ir=DeviceCopy, fx=prims.device_put.default(x, cpu)",
            "    op4: reason=cpu ops, ir=ComputedBuffer, fx=aten.cumsum.default(y, 0)",
            '      File "/app/model/router.py", line 31, in route',
            "        y = y.cpu().cumsum(0)",
        )
    )
    (report,) = said.reports
    assert (report.id, report.kind, report.op) == (
        "torch/cpu-partition",
        Kind.DEVICE_FALLBACK,
        "aten::cumsum",
    )
    assert report.location == Location("/app/model/router.py", 31, "route")
    assert "cpu ops" in report.reason


@pytest.mark.parametrize("reason", ["DeviceCopy ops", "unbacked binding ops", "dynamic shape ops"])
def test_a_partition_that_costs_the_capture_only(read: Read, reason: str) -> None:
    ir = "DeviceCopy" if reason == "DeviceCopy ops" else "ComputedBuffer"
    (report,) = read(*partition(f"    op3: reason={reason}, ir={ir}, fx=aten.nonzero.default(x)")).reports
    assert (report.kind, report.reason, report.op) == (Kind.CUDAGRAPH_SKIP, reason, "aten::nonzero")


def test_a_partition_for_no_reason_of_its_own(read: Read) -> None:
    noise = "    op3: reason=partition includes all ops when cudagraphs is disabled, ir=ComputedBuffer, fx=aten.add.Tensor(a, b)"
    assert read(*partition(noise)).reports == []
    assert (
        read(
            *record("  Partition 0: 55 nodes, cudagraphable, inputs=34, outputs=1", artifact="cudagraphs")
        ).reports
        == []
    )


def test_two_partitions_are_read_apart(read: Read) -> None:
    lines = partition("    op3: reason=dynamic shape ops, ir=ComputedBuffer, fx=aten.nonzero.default(x)")
    more = partition(
        "    op9: reason=unbacked binding ops, ir=ComputedBuffer, fx=aten.item.default(x)", number=3
    )
    assert [r.op for r in read(*lines, *more).reports] == ["aten::nonzero", "aten::item"]


def test_attention_that_was_not_fused(read: Read) -> None:
    line = f"{SITE}/nn/attention/flex_attention.py:1704: UserWarning: flex_attention called without torch.compile() - this will use an unfused implementation"
    (report,) = read(line).reports
    assert (report.kind, report.op) == (Kind.REFERENCE_KERNEL, "flex_attention")


def test_a_cpu_kernel_in_the_wrapper_of_a_gpu_graph(read: Read) -> None:
    """It counts where no list of partitions tells of it; a wrapper for the CPU has no guard of a device."""
    at = "V1130 15:14:27.909000 2606 torch/_inductor/graph.py:2552] [0/0] "
    code = f"{at}[__output_code]         "
    wrapper = [
        f"{code}with torch.cuda._DeviceGuard(0):",
        f"{code}    triton_poi_fused_gt_0.run(buf0, buf5, 256, stream=stream0)",
        f"{code}cpp_fused__to_copy_relu_1(buf2)",
        f"{code}with torch.cuda._DeviceGuard(0):",
    ]
    reports = read(*wrapper).reports
    assert {(r.id, r.kind, r.op, r.position, r.hint) for r in reports} == {
        ("torch/cpu-kernel", Kind.DEVICE_FALLBACK, "*", 3, True)
    }
    assert {r.compile_id for r in reports} == {"0/0"}
    assert read(*(line for line in wrapper if "Guard" not in line)).reports == []
    for mine, other in (("2606 torch", "2607 torch"), ("[0/0]", "[1/0]")):
        mixed = [line.replace(mine, other) if "cpp_fused" in line else line for line in wrapper]
        assert read(*mixed).reports == []
    assert read(*(line for line in wrapper if "cpp_fused" not in line)).reports == []
    assert read(*(line.replace("__output_code", "__aot_graphs") for line in wrapper)).reports == []


@pytest.mark.parametrize(
    ("before", "op"),
    [
        (("    // Topologically Sorted Source Nodes: [median], Original ATen: [aten.median]",), "aten::median"),
        (("    // Topologically Sorted Source Nodes: [], Original ATen: [serve.clip_rows]",), "serve::clip_rows"),
        (("    // Topologically Sorted Source Nodes: [a, b], Original ATen: [aten.add, aten.mul]",), "*"),
        (("    // Topologically Sorted Source Nodes: [median], Original ATen: [aten.median]", "    buf0.reset();"), "*"),
    ],
)  # fmt: skip
def test_a_call_through_the_proxy_is_named_by_the_comment_above_it(
    read: Read, before: tuple[str, ...], op: str
) -> None:
    """As AOTInductor of 2.11 prints it, where no result is checked; another call's comment names nothing."""
    made = (
        "    AtenTensorHandle buf4_handle;  // output buffer",
        "    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_new_uninitialized_tensor(&buf4_handle));",
        "    RAIIAtenTensorHandle buf4(buf4_handle);",
    )
    call = "    aoti_torch_proxy_executor_call_function(proxy_executor, 1, 1, std::array<int64_t, 1>{-1}.data(), 2, std::array<AtenTensorHandle, 2>{buf2, buf4}.data());"
    (report,) = read(*record(*before, *made, call, artifact="output_code", cid="")).reports
    assert report.op == op
