"""Room 3: Core ML, MLX and ExecuTorch's partitioners for them; wording from real runs and from their source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fallback_gate.model import State
from tests.compilers.conftest import states

SAMPLES = Path(__file__).parent.parent.parent / "sample_logs" / "apple"
Read = Callable[..., Any]


def sample(name: str) -> list[str]:
    """The lines of a sample log; a progress bar's carriage returns stay within its line."""
    return (SAMPLES / name).read_bytes().decode().removesuffix("\n").split("\n")


COREML = "[INFO 2026-01-01 00:00:00,000 coreml_partitioner.py:111] Skipping op for CoreML delegation because it is "


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (COREML + "not supported by CoreML: aten.topk.default", ("op_fallback", "aten::topk", "operator")),
        (COREML + "in skip_ops_for_coreml_delegation: aten.embedding.default", ("op_fallback", "aten::embedding", "operator")),
        ("RuntimeError: PyTorch convert function for op 'hardswish_' not implemented.", ("compile_error", "hardswish_", "operator")),
        ("NotImplementedError: Unsupported fx node gate_attn, kind acme::gate_attn", ("compile_error", "acme::gate_attn", "operator")),
        ("ERROR - converting 'rms_norm' op (located at: 'aten_rms_norm_default'):", ("compile_error", "rms_norm", "operator")),
        ("AOT Metal RoPE kernel not available (no metallib) - falling back to mx.fast.rope.", ("op_fallback", "RoPE", "operator")),
        ("[WARNING 2026-01-01 00:00:00,000 mps_partitioner.py:143] Nothing can be partitioned!", ("eager_frame", "*", "program")),
        ("[WARNING 2026-01-01 00:00:00,000 partitioner.py:304] MLX: Nothing can be partitioned!", ("eager_frame", "*", "program")),
        ("[INFO 2026-01-01 00:00:00,000 partitioner.py:223]   [UNSUPPORTED x3] aten.topk.default", ("op_fallback", "aten::topk", "operator")),
    ],
)  # fmt: skip
def test_one_line(line: str, told: tuple[str, str, str], read: Read) -> None:
    assert read(line).told == [told]


@pytest.mark.parametrize(
    "line",
    [
        COREML + "not get_attr or call_function: placeholder",
        "The int64 is not supported by cast op. Will do best-effort cast to int32",
        "ggml_metal_init: skipping kernel_mul_mm_bf16_f32                     (not supported)",
        "[INFO 2026-01-01 00:00:00,000 mps_partitioner.py:146] Found 3 subgraphs to be partitioned.",
        "[INFO 2026-01-01 00:00:00,000 partitioner.py:223]   [UNSUPPORTED x3] <built-in function getitem>",
        'raise NotImplementedError(f"PyTorch convert function for op {op} not implemented.")',
    ],
)
def test_no_fallback(line: str, read: Read) -> None:
    assert read(line).reports == []


def test_the_kernel_of_sglang_is_also_known_by_the_operator_that_replaces_it(read: Read) -> None:
    (report,) = read(
        "AOT Metal RoPE kernel not available (no metallib) - falling back to mx.fast.rope."
    ).reports
    assert {"RoPE", "rope", "mx.fast.rope"} <= set(report.names)


def test_the_reason_of_the_mlx_partitioner_is_on_the_next_line(read: Read) -> None:
    said = read(
        "[INFO 2026-01-01 00:00:00,000 partitioner.py:219] MLX Partitioner: UNSUPPORTED OPS SUMMARY",
        "[INFO 2026-01-01 00:00:00,000 partitioner.py:223]   [UNSUPPORTED x3] aten.topk.default",
        "[INFO 2026-01-01 00:00:00,000 partitioner.py:224]       Reason: No handler registered",
    )
    assert [(report.op, report.reason) for report in said.reports] == [
        ("aten::topk", "No handler registered")
    ]
    assert set(states(said, "executorch").values()) == {State.UNPROVEN}


def test_a_partitioning_at_info_and_a_whole_conversion_are_proof(read: Read) -> None:
    said = read(*sample("coreml-partition-clean.1.5.log"))
    assert said.reports == []
    assert states(said, "coreml") == {
        "compile_error": State.PROVEN,
        "op_fallback": State.PROVEN,
        "device_fallback": State.UNOBSERVABLE,
    }


def test_a_log_that_is_cut_proves_no_more_than_it_shows(read: Read) -> None:
    clean = sample("coreml-partition-clean.1.5.log")
    done = next(n for n, line in enumerate(clean) if "will take over torch mutable buffer" in line)
    last = max(n for n, line in enumerate(clean) if "Running MIL backend_mlprogram pipeline: 100%" in line)
    for cut in range(len(clean)):
        said = read(*clean[:cut])
        if said.evidence.processes:
            assert (states(said, "coreml")["op_fallback"] is State.PROVEN) == (cut > done), cut
            assert (states(said, "coreml")["compile_error"] is State.PROVEN) == (cut > last), cut


def test_the_default_level_hides_what_the_partitioner_leaves_out(read: Read) -> None:
    said = read(*sample("coreml-partition-gate-default.1.5.log"))
    assert said.reports == []
    assert states(said, "coreml")["op_fallback"] is State.UNPROVEN


def test_a_conversion_alone_does_not_show_that_no_partitioner_was_used(read: Read) -> None:
    bars = [line for line in sample("coreml-partition-gate-default.1.5.log") if "MIL" in line]
    assert states(read(*bars), "coreml")["op_fallback"] is State.UNOBSERVABLE


def test_a_conversion_that_failed_after_another_is_not_proven(read: Read) -> None:
    bars = [line for line in sample("coreml-partition-clean.1.5.log") if "MIL" in line]
    said = read(*bars, bars[0])
    assert states(said, "coreml")["compile_error"] is State.UNPROVEN


def test_a_conversion_that_failed_before_another_is_not_proven(read: Read) -> None:
    bars = [line for line in sample("coreml-partition-clean.1.5.log") if "MIL" in line]
    assert states(read(*bars, *bars), "coreml")["compile_error"] is State.PROVEN
    assert states(read(bars[0], *bars), "coreml")["compile_error"] is State.UNPROVEN
