"""Room 3: NVIDIA's kernels and libraries: what is an event, what is none, and what no log of theirs proves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fallback_gate.model import State
from tests.compilers.conftest import states

Read = Callable[..., Any]
LLM = "[TensorRT-LLM][WARNING] "


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (LLM + "Fall back to unfused MHA because of unsupported head size 96 in sm_75.", ("slower_kernel", "attention", "operator")),
        (LLM + "Alibi is not supported for FMHA on Volta.", ("slower_kernel", "attention", "operator")),
        ("[TRT-LLM] [W] [_torch][RANK 0] [AutoTuner] trtllm::fused_moe::gemm1 using the fallback tactic, due to cache miss on input shapes=x", ("untuned_config", "trtllm::fused_moe::gemm1", "operator")),
        ("[TRT-LLM] [W] [AutoTunner] Using the fallback tactic, due to cache miss on input shapes=x", ("untuned_config", "*", "unknown")),
        ("INFO:DotProductAttention:Running with UnfusedDotProductAttention backend", ("slower_kernel", "DotProductAttention", "operator")),
        ("UserWarning: Falling back to eager execution under torch.compile: x is unsupported on the compiled path", ("graph_break", "*", "unknown")),
        ("[AutoTuner]: Using fallback tactic for fp4_gemm with input shapes (64,)", ("untuned_config", "fp4_gemm", "operator")),
        ("[Autotuner]: OOM detected, falling back to default tactic", ("untuned_config", "*", "unknown")),
        ("x.py:3: UserWarning: cuDNN bf16 GEMM tactic failed; falling back to default tactic=-1. (no)", ("untuned_config", "gemm", "operator")),
        ("flashinfer.jit: Fall back to cuda-core version of MLA decode kernel.", ("op_fallback", "mla_decode", "operator")),
        ("UserWarning: gemm_and_bias error: CUBLAS_STATUS_NOT_SUPPORTED when calling cublasLtMatmul with m 1 n 2 k 3. Will attempt to recover by calling unfused cublas path.", ("slower_kernel", "aten::addmm", "operator")),
        ("UserWarning: bgemm_internal_cublaslt error: CUBLAS_STATUS_NOT_SUPPORTED when calling cublasLtMatmul with m 1 n 2 k 3. Will attempt to recover by calling cublas instead.", ("slower_kernel", "aten::bmm", "operator")),
        ("UserWarning: Flash attention kernel not used because: (Triggered internally at x.cpp:1)", ("slower_kernel", "aten::scaled_dot_product_attention", "operator")),
        ("WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:", ("slower_kernel", "*", "program")),
        ("[cudnn_frontend] ERROR: No valid engine configs returned from heuristics.", ("op_fallback", "*", "unknown")),
    ],
)  # fmt: skip
def test_one_line(line: str, told: tuple[str, str, str], read: Read) -> None:
    assert read(line).told == [told]


@pytest.mark.parametrize(
    "line",
    [
        "DEBUG:DotProductAttention:Disabling FlashAttention to give FusedAttention preference on Hopper+ for performance reasons",
        "DEBUG:DotProductAttention:Selected backend = FusedAttention (sub-backend 1).",
        "DEBUG:DotProductAttention:Available backends = {FlashAttention=False, FusedAttention=False, UnfusedDotProductAttention=True}",
        "Failed to load AOT artifact /x/k.so: undefined symbol. Falling back to JIT build.",
        "[FORMATTER]: Selected backend=UnfusedDotProductAttention",
        "user: why does it say `Selected backend = UnfusedDotProductAttention`?",
        'the dispatcher logs "Fall back to unfused MHA because of unsupported data type." at start',
        "Unable to load `modelopt_round_and_pack_ext', falling back to python based optimized version",
        "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling cublasLtMatmul with transpose_mat1 1",
        "UserWarning: gemm error: HIPBLAS_STATUS_INTERNAL_ERROR when calling hipblasLtMatmul. Will attempt to recover by calling cublas instead.",
        "[CUPTI] Falling back to CUDA events for benchmarking.",
        "xFormers was built for: PyTorch 2.1",
    ],
)
def test_no_fallback(line: str, read: Read) -> None:
    nvidia = [report for report in read(line).reports if report.compiler in OURS]
    assert nvidia == []


OURS = {"tensorrt_llm", "transformer_engine", "flashinfer", "xformers", "cudnn", "cublaslt", "torch.sdpa"}


def test_attention_that_is_said_for_each_layer_is_one_operator(read: Read) -> None:
    line = LLM + "Fall back to unfused MHA for head_size = 64, alibi = false in sm_89."
    detail = LLM + "FMHA kernels are not found with these parameters:"
    reports = read(line, detail, line, detail).reports
    assert [report.hint for report in reports] == [False, True, False, True]
    assert {report.op for report in reports} == {"attention"}
    assert reports[0].reason == "head_size = 64, alibi = false in sm_89"


def test_the_choice_of_attention_takes_the_reasons_of_its_own_configuration(read: Read) -> None:
    said = read(
        "DEBUG:DotProductAttention:Running with config={'head_dim_qk': 64, 'attn_mask_type': 'causal'}",
        "DEBUG:DotProductAttention:Disabling FlashAttention for dropout",
        "DEBUG:DotProductAttention:Selected backend = FusedAttention (sub-backend 1).",
        "DEBUG:DotProductAttention:Running with config={'head_dim_qk': 264, 'head_dim_v': 8, 'attn_mask_type': 'arbitrary', 'fp8': False}",
        "DEBUG:DotProductAttention:Disabling FlashAttention 2 for arbitrary mask",
        "DEBUG:DotProductAttention:Disabling FusedAttention for arbitrary mask",
        "DEBUG:DotProductAttention:Selected backend = UnfusedDotProductAttention.",
    )
    (report,) = said.reports
    assert report.site == "head_dim 264, arbitrary mask"
    assert report.reason == (
        "head_dim 264, arbitrary mask; FlashAttention 2 for arbitrary mask; FusedAttention for arbitrary mask"
    )
    assert states(said, "transformer_engine") == {"slower_kernel": State.UNPROVEN}


def test_a_fused_choice_does_not_prove_the_choices_to_come(read: Read) -> None:
    said = read("INFO:DotProductAttention:Running with FusedAttention backend (sub-backend 1)")
    assert said.reports == []
    assert states(said, "transformer_engine") == {"slower_kernel": State.UNPROVEN}


def test_the_reasons_of_a_refused_kernel(read: Read) -> None:
    (report,) = read(
        "a.py:1: UserWarning: Flash attention kernel not used because: (Triggered internally at x.cpp:1)",
        "  out = attention(q)",
        "a.py:1: UserWarning: Expected query to be half (Triggered internally at x.cpp:2)",
    ).reports
    assert report.reason == "Flash attention kernel not used: Expected query to be half"


SPEAKS = LLM + "Device 0 peer access Device 1 is not available."
BUILT = "[01/01/2026-00:00:31] [TRT-LLM] [I] Total time of building Unnamed Network 0: 00:00:25"
BEGAN = "[01/01/2026-00:00:06] [TRT-LLM] [I] Build TensorRT engine Unnamed Network 0"
ALL = "[01/01/2026-00:00:31] [TRT-LLM] [I] Total time of building all engines: 00:00:25"


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ((SPEAKS, BUILT), State.PROVEN),
        ((SPEAKS, BEGAN, BUILT, ALL), State.PROVEN),
        ((SPEAKS, BEGAN, BUILT, BEGAN, BUILT, ALL), State.PROVEN),
        ((SPEAKS, BEGAN, BUILT, BEGAN), State.UNPROVEN),
        ((BUILT,), State.UNPROVEN),  # the C++ library may be silent
        ((SPEAKS,), State.UNPROVEN),  # a server, or a build that broke off
        (("[TensorRT-LLM] TensorRT-LLM version: 0.11.0",), State.UNPROVEN),
    ],
)
def test_what_a_build_of_tensorrt_llm_proves(lines: tuple[str, ...], state: State, read: Read) -> None:
    assert states(read(*lines), "tensorrt_llm")["slower_kernel"] is state


@pytest.mark.parametrize(
    ("line", "compiler"),
    [
        ("[Autotuner]: OOM detected, falling back to default tactic", "flashinfer"),
        ("[cudnn_frontend] ERROR: No valid engine configs returned from heuristics.", "cudnn"),
        ("WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions.", "xformers"),
        ("UserWarning: Flash attention kernel not used because:", "torch.sdpa"),
    ],
)
def test_no_log_of_these_proves_anything(line: str, compiler: str, read: Read) -> None:
    assert State.PROVEN not in states(read(line), compiler).values()
