"""Amounts, as data sheets write them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.model import quantity


@pytest.mark.parametrize(
    ("text", "units", "value"),
    [
        ("437MB", quantity.BYTES, 437_000_000),
        ("1 MiB", quantity.BYTES, 1_048_576),
        ("2_147_483_648", quantity.BYTES, 2**31),
        ("1,024 bytes", quantity.BYTES, 1024),
        ("3.35TB/s", quantity.BANDWIDTH, 3.35e12),
        ("546 GB/s", quantity.BANDWIDTH, 546e9),
        ("990TFLOPS", quantity.RATE, 990e12),
        ("1.979 PFLOP/s", quantity.RATE, 1.979e15),
        ("3958 TOPS", quantity.RATE, 3.958e15),
        ("137GFLOP", quantity.FLOPS, 137e9),
        ("1e12", quantity.FLOPS, 1e12),
    ],
)
def test_amounts(text: str, units: dict[str, float], value: float) -> None:
    assert quantity.amount(text, units) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("text", ["", "MB", "-3MB", "3 parsecs", "1e999", "nan", "3MB/s", "3.3.3MB", "٣MB"])
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"437MB|too large"):
        quantity.amount(text, quantity.BYTES)


@given(st.text(max_size=80))
def test_any_text_is_an_amount_or_refused(text: str) -> None:
    try:
        value = quantity.amount(text, quantity.BYTES)
    except ValueError:
        return
    assert math.isfinite(value)
    assert value >= 0


def test_shown() -> None:
    assert quantity.shown(3.35e12, "B/s") == "3.35 TB/s"
    assert quantity.shown(0, "B") == "0 B"
    assert quantity.shown(989.4e12, "FLOPS") == "989.4 TFLOPS"
