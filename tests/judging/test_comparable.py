"""A claim and a measurement: compared under the same conditions, else which condition differs or is unknown."""

from __future__ import annotations

import pytest

from fallback_gate.judging.comparable import held
from fallback_gate.model.claims import Claim, ClaimState, Figure

SERVING = {
    "device": "H200",
    "dtype": "bf16",
    "model": "m-8b",
    "shape": "in 1024 out 128",
    "concurrency": "64",
}


def claim(
    metric: str = "output_tokens_per_second",
    value: float = 1000.0,
    at_least: float | None = None,
    **said: str,
) -> Claim:
    conditions = {name: text for name, text in {**SERVING, **said}.items() if text}
    return Claim(metric, value, conditions, "vendor", at_least, "p.yaml:3")


def figure(value: float = 900.0, metric: str = "output_tokens_per_second", **said: str) -> Figure:
    return Figure(metric, value, "b.csv", {name: text for name, text in {**SERVING, **said}.items() if text})


def test_under_the_same_conditions() -> None:
    assert held(claim(), [figure()])[1:] == (ClaimState.COMPARED, figure(), 0.9, None)
    assert held(claim(at_least=0.9), [figure()]).state is ClaimState.REACHED
    assert held(claim(at_least=0.91), [figure()]).state is ClaimState.MISSED


def test_less_is_better_for_a_time() -> None:
    fast = held(claim("ttft_ms", 80, at_least=0.9), [figure(100, "ttft_ms")])
    assert (fast.state, fast.share) == (ClaimState.MISSED, 0.8)
    assert held(claim("ttft_ms", 80, at_least=0.9), [figure(70, "ttft_ms")]).state is ClaimState.REACHED


@pytest.mark.parametrize(
    "said",
    [
        {"device": "NVIDIA H200"},
        {"device": "h200"},
        {"device": "1 x H200"},
        {"dtype": "torch.bfloat16"},
        {"model": "org/M-8B"},
        {"shape": "input=1024, output=128"},
        {"concurrency": "64.0"},
    ],
)
def test_other_words_for_the_same(said: dict[str, str]) -> None:
    assert held(claim(), [figure(**said)]).state is ClaimState.COMPARED


@pytest.mark.parametrize(
    ("claimed", "measured", "why"),
    [
        ({"dtype": "fp8"}, {}, "dtype is fp8 in the claim and bf16 in the measurement"),
        ({}, {"device": "NVIDIA H100 80GB HBM3"}, "device is H200 in the claim and NVIDIA H100 80GB HBM3"),
        ({"concurrency": "256"}, {}, "concurrency is 256 in the claim and 64"),
        ({}, {"shape": "in 1024 out 256"}, "shape is in 1024 out 128"),
        ({}, {"concurrency": ""}, "the measurement does not tell its concurrency (claimed: 64)"),
        ({"model": ""}, {}, "the claim does not tell its model (measured: m-8b)"),
        ({"dtype": ""}, {"dtype": ""}, "dtype is told by neither side"),
        ({"concurrency": ""}, {"concurrency": ""}, "how many requests ran at a time is told by neither side"),
        ({}, {"device": "8 x NVIDIA H200"}, "device is H200 in the claim and 8 x NVIDIA H200"),
        ({}, {"batch": "24"}, "the claim does not tell its batch (measured: 24)"),
    ],
)
def test_else_not_comparable_and_why(claimed: dict[str, str], measured: dict[str, str], why: str) -> None:
    found = held(claim(at_least=0.5, **claimed), [figure(**measured)])
    assert found.state is ClaimState.NOT_COMPARABLE
    assert why in (found.why or "")


def test_of_several_measurements_the_nearest_counts() -> None:
    found = held(claim(), [figure(dtype="fp8", device="B200"), figure(500, dtype="fp8"), figure(700)])
    assert (found.state, found.share) == (ClaimState.COMPARED, 0.7)
    wrong = held(claim(), [figure(dtype="fp8", device="B200"), figure(500, dtype="fp8")])
    assert wrong.why == "dtype is bf16 in the claim and fp8 in the measurement"


def test_of_a_kernel_no_load_is_asked_for() -> None:
    conditions = {"device": "H200", "dtype": "bf16", "shape": "8192x8192x8192"}
    peak = Figure("gemm_flops", 720e12, "peak.json", {**conditions, "shape": "8192 × 8192 × 8192"})
    assert held(
        Claim("gemm_flops", 990e12, conditions, "data sheet", None, "p:1"), [peak]
    ).share == pytest.approx(720 / 990)


def test_nothing_measured() -> None:
    assert held(claim(), [figure(metric="ttft_ms")]).state is ClaimState.NOT_MEASURED
