"""Room 3: AMD's compiler and libraries; wording from their source and from public logs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from fallback_gate.model import State
from tests.compilers.conftest import states

Read = Callable[..., Any]
MI = "MIOpen(HIP): "
LIST = MI + "Info2 [GetSolutionsFallback] "


UNTUNED, SLOW, NAIVE = "untuned_config", "slower_kernel", "reference_kernel"
SHAPE = "[aiter] shape is M:16, N:2112, K:7168"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (MI + "Info [FillFindReturnParameters] FW Chosen Algorithm: ConvDirectNaiveConvFwd , 0, 31.6", (NAIVE, "ConvDirectNaiveConvFwd", "operator")),
        (MI + "Info [ConvolutionForwardImmediate] solver_id = ConvDirectNaiveConvFwd, workspace = 0", (NAIVE, "ConvDirectNaiveConvFwd", "operator")),
        ("MIOpen(HIP)   12.345: Info2 [GetSolutions] id: 85, algo: 1, time: 31.6, ws: 0, name: ConvDirectNaiveConvBwd", (NAIVE, "ConvDirectNaiveConvBwd", "operator")),
        (LIST + "Using TunaNet Fallback", (UNTUNED, "convolution", "operator")),
        (MI + "Info [FindSolutionImpl] Perf Db: record not found for: ConvAsm3x3U", (UNTUNED, "ConvAsm3x3U", "operator")),
        (MI + "Warning [FindSolutionImpl] Invalid config loaded from Perf Db: ConvAsm3x3U: 1,2. Performance may degrade.", (UNTUNED, "ConvAsm3x3U", "operator")),
        (MI + "Warning [IsEnoughWorkspace] [GetSolutions] Solver <GemmFwd1x1_0_2>, workspace required: 9, provided ptr: 0000000000000000 size: 0", (SLOW, "GemmFwd1x1_0_2", "operator")),
        ("[WARN] [gemm_impl.cpp:132] degraded perf. in rocBLAS call", (SLOW, "gemm", "unknown")),
        ("[WARN] [hip_gemm_impl.cpp:524] No hipBLASLt algo returned for solution index: 7", (UNTUNED, "gemm", "unknown")),
        ("Exception in gpu::mlir_op: rocMLIR compile failed", (UNTUNED, "gpu::mlir_op", "operator")),
        (SHAPE + ", not found tuned config in /t/a8w8_blockscale_tuned_gemm.csv, will use default config!", (UNTUNED, "a8w8_blockscale_gemm", "operator")),
        (SHAPE + " dtype=torch.bfloat16 otype=torch.bfloat16 bias=False, scaleAB=False, bpreshuffle=False, not found tuned config in /t/bf16_tuned_gemm.csv, will use default config! using torch solution:0", (UNTUNED, "bf16_gemm", "operator")),
        ("[aiter] shape is B:16, M:64, N:512, K:128 dtype is bf16, not found tuned config in CKGEMM, will use default config!", (UNTUNED, "bf16_batched_gemm", "operator")),
        ("[aiter] shape is B:16, M:64, N:512, K:128, not found tuned config in CKGEMM, will use default config!", (UNTUNED, "a8w8_batched_gemm", "operator")),
        ("[aiter] [fused_moe] using 1stage default for (80, 4096, 4096, 384, 289, 9, 'ActivationType.Silu')", (UNTUNED, "fused_moe", "operator")),
        ("opus tuned config found but opus is not available; falling back to torch", ("op_fallback", "gemm", "operator")),
        ("UserWarning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas (Triggered internally at x.cpp:296.)", (SLOW, "hipBLASLt", "program")),
        ("RuntimeError: wrong! device_gemm with the specified compilation parameters does not support this GEMM problem", ("op_fallback", "device_gemm", "operator")),
        ("UserWarning: inner dimension (100) is not aligned for fast kernel with blocksize=64, falling back to slower implementation.", ("op_fallback", "matmul_4bit", "operator")),
        ("[W1130 10:00:00.000000000 Tunable.cpp:400] Warning: Failed validator: ROCM_VERSION (function ValidateAll)", (UNTUNED, "*", "program")),
    ],
)  # fmt: skip
def test_one_line(line: str, told: tuple[str, str, str], read: Read) -> None:
    assert read(line).told == [told]


@pytest.mark.parametrize(
    "line",
    [
        MI + "Info2 [GetWorkspaceSizes] ConvDirectNaiveConvFwd: Not applicable",
        MI + "Warning [CallGemm] The gfx90aFp16Alt is not supported by rocBlas",
        MI + "Info2 [FindSolutionImpl] Perf Db: record loaded: ConvAsm3x3U",
        "@11 = hip::copy_from_gpu(@10) -> float_type, {1, 1, 300}, {300, 300, 1}",
        "/tmp/a8w8.csv has no 'gfx' column -- falling back to cu_num-only key. Re-run the tuner or migrate the CSV.",
        SHAPE + ", found padded_M: 16 is tuned on cu_num = 304 in /tmp/x.csv , kernel name is k!",
        "[aiter] [fused_moe] using 2stage (kernelName1='a', kernelName2='b') for (80, 4096)",
        "Instance: DeviceGemmXdl<256>, does not support this GEMM problem",
        "the policy returned no result, using default",
        "Exception in thread Thread-1: boom",
    ],
)
def test_no_fallback(line: str, read: Read) -> None:
    assert read(line).reports == []


def solution(name: str, time: str) -> str:
    """One row of MIOpen's list of solutions."""
    return LIST + f"id: 85, algo: 1, time: {time}, ws: 0, name: {name}"


@pytest.mark.parametrize(
    ("others", "mine", "counts"),
    [
        ([], "900", True),
        ([("GemmFwdRest", "10.5")], "1000", False),
        ([("GemmFwdRest", "2000")], "1000", True),
        ([("GemmFwdRest", "-2")], "1000", True),
        ([("GemmFwdRest", "12")], "-1", False),
        ([("GemmFwdRest", "-1")], "-5", False),
        ([("GemmFwdRest", "nan"), ("ConvBinWinogradRxSf3x2", "1.5e+1")], "9.1e+2", False),
    ],
)
def test_the_naive_solution_counts_where_it_is_the_best_one(
    others: list[tuple[str, str]], mine: str, counts: bool, read: Read
) -> None:
    rows = [solution(*other) for other in others]
    naive = solution("ConvDirectNaiveConvFwd", mine)
    for lines in ([*rows, naive], [naive, *rows]):
        said = read(LIST + "maxSolutionCount = 9, available = 3", *lines)
        assert [report.kind.value for report in said.reports] == [NAIVE] * counts


def test_a_find_db_miss_is_known_by_the_problem_that_was_looked_for(read: Read) -> None:
    key = "256-76-54-1x1-1024-76-54-2-0x0-1x1-1x1-0-NCHW-FP32-F"
    said = read(
        MI + f"Info2 [FindRecordUnsafe] Looking for key {key} in file /home/u/.config/miopen/x.ufdb.txt",
        MI + "Info2 [Measure] Db::FindRecord time: 10.6161 ms",
        LIST + "Using WTI Fallback",
    )
    (report,) = said.reports
    assert report.site == key
    assert "aten::convolution" in report.names
    assert set(states(said, "miopen").values()) == {State.UNPROVEN}


def test_miopen_hides_naive_solvers_at_its_default_level(read: Read) -> None:
    said = read(
        MI
        + "Warning [IsEnoughWorkspace] [EvaluateInvokers] Solver <GemmFwdRest>, workspace required: 9, provided ptr: 0 size: 0"
    )
    assert states(said, "miopen")[NAIVE] is State.UNOBSERVABLE


PROGRAM = [
    'module: "main"',
    "@0 = hip::hip_allocate_memory[shape=int8_type, {4096}, {1},id=main:scratch] -> int8_type, {4096}, {1}",
    "@1 = load[offset=0,end=1200](@0) -> float_type, {300}, {1}",
    "boxes = @param:boxes -> float_type, {1, 300, 4}, {1200, 4, 1}",
    "@3 = gpu::code_object[code_object=9,symbol_name=mul_kernel,global=9,local=9,](boxes,@1) -> float_type, {300}, {1}",
    "@4 = hip::copy_from_gpu(@3) -> float_type, {300}, {1}",
    "@5 = hip::sync_stream(@4) -> float_type, {300}, {1}",
    "@6 = nonmaxsuppression[center_point_box=0,use_dyn_output=0](@5,@4) -> int64_type, {300, 3}, {3, 1}",
    "@7 = hip::copy_to_gpu(@6,@1) -> int64_type, {300, 3}, {3, 1}",
    "@8 = @return(@7)",
    "",
]
CLEAN = [line.replace("nonmaxsuppression", "slice") for line in PROGRAM]
INFO = "2026-01-01 00:00:00.000000 [INFO] "
COMPILED = INFO + "[main.cpp:767] Compilation time: 812.3ms"
COMPLETE = (
    INFO + "[main.cpp:1159] [ MIGraphX Version: 2.16.0.f729a52 ] Complete(2.1s): migraphx-driver compile"
)


def test_a_host_operator_is_what_reads_a_value_that_was_waited_for(read: Read) -> None:
    said = read(COMPILED, *PROGRAM, COMPLETE)
    (report,) = said.reports
    assert (report.op, report.kind.value, report.position) == ("nonmaxsuppression", "device_fallback", 9)
    assert states(said, "migraphx")["device_fallback"] is State.PROVEN


@pytest.mark.parametrize("op", ["if", "gpu::loop", "slice", "@return", "scan_slice", "hip::copy"])
def test_what_reads_an_index_from_the_host_does_not_compute_there(op: str, read: Read) -> None:
    assert read(*(line.replace("nonmaxsuppression", op) for line in PROGRAM)).reports == []


def test_two_operators_may_wait_for_one_value_and_each_counts(read: Read) -> None:
    lines = [*PROGRAM[:8], "@9 = my_cpu_op(@4,@5) -> float_type, {300}, {1}", *PROGRAM[8:]]
    assert [report.op for report in read(*lines).reports] == ["nonmaxsuppression", "my_cpu_op"]


def test_a_value_of_another_module_is_not_followed(read: Read) -> None:
    lines = [*CLEAN[:7], *CLEAN[8:], 'module: "next"', "@6 = lrn[size=3](@5) -> float_type, {300}, {1}"]
    assert read(*lines).reports == []


@pytest.mark.parametrize("at", range(len(CLEAN) - 1))
def test_a_program_that_lost_an_instruction_is_no_proof(at: int, read: Read) -> None:
    lines = [COMPILED, *CLEAN[:at], *CLEAN[at + 1 :], COMPLETE]
    assert states(read(*lines), "migraphx")["device_fallback"] is State.UNPROVEN


def test_a_program_that_is_printed_whole_is_proof(read: Read) -> None:
    lines = [COMPILED, *CLEAN, COMPLETE]
    said = read(*lines)
    assert said.reports == []
    assert states(said, "migraphx")["device_fallback"] is State.PROVEN
    for cut in range(1, len(lines)):
        assert states(read(*lines[:cut]), "migraphx")["device_fallback"] is State.UNPROVEN, cut


@pytest.mark.parametrize(
    "lines",
    [
        [COMPILED, COMPLETE],
        [COMPILED, *(line.replace("gpu::", "ref::").replace("hip::", "ref::") for line in CLEAN), COMPLETE],
        [COMPLETE, COMPILED, *CLEAN, "# done"],
        [COMPILED, *CLEAN, COMPLETE, COMPILED, *CLEAN[:5], "Killed"],
        [COMPILED, *CLEAN[:7], *(f"@{n} = gpu::f(@1) -> float_type, {{1}}, {{0}}" for n in range(100, 600)), *PROGRAM[7:], COMPLETE],
    ],
    ids=["perf", "reference target", "no end after it", "cut later", "too far to follow"],
)  # fmt: skip
def test_other_programs_are_not(lines: list[str], read: Read) -> None:
    assert states(read(*lines), "migraphx")["device_fallback"] is State.UNPROVEN


def test_many_values_between_are_too_many_to_follow_and_no_proof(read: Read) -> None:
    between = [f"@{n} = hip::sync_stream(@4) -> float_type, {{300}}, {{1}}" for n in range(100, 109)]
    said = read(COMPILED, *PROGRAM[:7], *between, *PROGRAM[7:], COMPLETE)
    assert said.reports == []
    assert states(said, "migraphx")["device_fallback"] is State.UNPROVEN


def test_a_summary_counts_where_others_of_its_rows_ran_on_the_gpu(read: Read) -> None:
    host = "nonmaxsuppression: 69473.1ms / 1 = 69473.1ms, 74%"
    device = "gpu::topk: 24443.2ms / 5 = 4888.64ms, 26%"
    literal = "@literal: 0.1ms / 5 = 0.02ms, 1%"
    for lines in ([host, device], [device, literal, host], [host, literal, device]):
        assert [r.op for r in read("Summary:", *lines, "").reports] == ["nonmaxsuppression"]
    assert read("Summary:", host, literal, "", device).reports == []


@pytest.mark.parametrize(
    ("before", "told"),
    [
        (["missing params_signature, returning null ResultEntry for GemmTunableOp_float_TN,tn_5120_16_5120"], [(UNTUNED, "GemmTunableOp_float_TN", "operator")]),
        (["missing op_signature, returning null ResultEntry"], [(UNTUNED, "*", "unknown")]),
        (["finding fastest for GemmTunableOp_float_TN"], []),
        ([], []),
    ],
)  # fmt: skip
def test_a_product_without_a_result_is_named_on_the_line_before(
    before: list[str], told: list[tuple[str, str, str]], read: Read
) -> None:
    assert read(*before, "no result, using default").told == told


def test_two_shapes_of_one_product_are_two_sites(read: Read) -> None:
    said = read(
        *(
            f"[aiter] shape is M:{m}, N:2112, K:7168, not found tuned config in /t/a8w8_tuned_gemm.csv, will use default config!"
            for m in (16, 32)
        )
    )
    assert [report.site for report in said.reports] == ["M:16, N:2112, K:7168", "M:32, N:2112, K:7168"]
    assert set(states(said, "aiter").values()) == {State.UNPROVEN, State.UNOBSERVABLE}


def test_every_library_has_a_manual_page() -> None:
    for module in ("migraphx", "miopen", "aiter", "rocm", "tunableop"):
        page = import_module(f"fallback_gate.compilers.amd.{module}").__doc__ or ""
        for part in ("What falls back", "At which setting it speaks", "When it is silent", "What proves"):
            assert part in page
