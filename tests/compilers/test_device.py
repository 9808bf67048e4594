"""Room 3: one sentence of PyTorch, whatever device lacks the operator, and what one line of it hides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fallback_gate.compilers.rule import Evidence
from fallback_gate.compilers.torch.device import NAME, READER, prove
from fallback_gate.model import Kind, Scope, State

SENTENCE = (
    "The operator '{}' is not currently supported on the {} backend and will fall back to run on the CPU."
)


@pytest.mark.parametrize("device", ["MPS", "NPU", "HPU", "XPU", "MUSA", "XLA", "MLU"])
@pytest.mark.parametrize(
    "around",
    ["{}", "UserWarning: {} This may have performance implications.", "[W x.ts:51] Warning: CAUTION: {}"],
)
def test_any_device(device: str, around: str, read: Callable[..., Any]) -> None:
    said = read(around.format(SENTENCE.format("aten::isin.Tensor_Tensor_out", device)))
    (report,) = said.reports
    assert (report.compiler, report.kind, report.scope) == (NAME, Kind.DEVICE_FALLBACK, Scope.OPERATOR)
    assert report.op == "aten::isin"
    assert "aten::isin.Tensor_Tensor_out" in report.names
    assert device in report.reason
    assert report.at_least


@pytest.mark.parametrize("quotes", ["''", "\u2018\u2019", '""'])
def test_any_quotes(quotes: str, read: Callable[..., Any]) -> None:
    line = SENTENCE.format("aten::sort", "MPS").replace("'aten::sort'", f"{quotes[0]}aten::sort{quotes[1]}")
    assert [report.op for report in read(line).reports] == ["aten::sort"]


@pytest.mark.parametrize("wording", ["currently", "current"])
def test_an_operator_that_may_not_fall_back(wording: str, read: Callable[..., Any]) -> None:
    said = read(
        f"NotImplementedError: The operator 'aten::sort' is not {wording} implemented for the MPS device."
    )
    assert said.told == [("op_fallback", "aten::sort", "operator")]


@pytest.mark.parametrize(
    "line",
    [
        "The operator 'aten::sort' is not currently implemented for the MPS device.",
        "Warning: something will fall back to run on the CPU.",
        "will fall back to run on the",
    ],
)
def test_another_sentence(line: str, read: Callable[..., Any]) -> None:
    assert read(line).reports == []


def test_a_warning_printed_once_never_proves_the_rest() -> None:
    proof = prove(Evidence())
    assert set(proof) == READER.required == {Kind.DEVICE_FALLBACK}
    assert proof[Kind.DEVICE_FALLBACK].state is State.UNPROVEN
    assert proof[Kind.DEVICE_FALLBACK].setting


@pytest.mark.parametrize(
    ("devices", "why", "setting"),
    [
        (["MPS"], "first operator", "PYTORCH_ENABLE_MPS_FALLBACK=0"),
        (["NPU"], "names each operator once", "TORCH_NPU_FALLBACK_CPU_DISABLE=1"),
        (["MLU"], "once for all its overloads", "ENABLE_FALLBACK_TO_CPU=0"),
        (["NPU", "MPS"], "first operator", "PYTORCH_ENABLE_MPS_FALLBACK=0"),
        (["FOO"], "may be printed once", "TORCH_NPU_FALLBACK_CPU_DISABLE=1"),
    ],
)
def test_what_one_line_hides_differs(
    devices: list[str], why: str, setting: str, read: Callable[..., Any]
) -> None:
    said = read(*(SENTENCE.format("aten::sort", device) for device in devices))
    (by,) = said.evidence.processes.values()
    proof = prove(by[NAME])[Kind.DEVICE_FALLBACK]
    assert proof.state is State.UNPROVEN
    assert why in proof.why
    assert setting in (proof.setting or "")
