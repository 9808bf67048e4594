"""Room 3: one sentence of PyTorch, whatever device lacks the operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fallback_gate.compilers.rule import Evidence
from fallback_gate.compilers.torch_device import READER, prove
from fallback_gate.model import Kind, Scope, State

SENTENCE = (
    "The operator '{}' is not currently supported on the {} backend and will fall back to run on the CPU."
)


@pytest.mark.parametrize("device", ["MPS", "NPU", "HPU", "XPU", "MUSA", "XLA"])
@pytest.mark.parametrize(
    "around",
    ["{}", "UserWarning: {} This may have performance implications.", "[W x.ts:51] Warning: CAUTION: {}"],
)
def test_any_device(device: str, around: str, read: Callable[..., Any]) -> None:
    said = read(around.format(SENTENCE.format("aten::isin.Tensor_Tensor_out", device)))
    (report,) = said.reports
    assert (report.compiler, report.kind, report.scope) == (
        "torch.device",
        Kind.DEVICE_FALLBACK,
        Scope.OPERATOR,
    )
    assert report.op == "aten::isin"
    assert "aten::isin.Tensor_Tensor_out" in report.names
    assert report.at_least


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
