"""The reading of `roofline` at a terminal: figures of the H200's data sheet, 989.4 TFLOPS and 4.8 TB/s, by hand."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from fallback_gate.cli.main import cli


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        # 989.4 / 4.8 is 206.1 FLOP a byte; 1 TFLOP takes 1e12 / 989.4e12 s
        ("--device H200 --flops 1TFLOP --bytes 1GB", ("206.1 FLOP/byte", "compute:", "1,010.7 us"), 0),
        # 1 FLOP a byte is far below: 4.8 TB/s give 4.8 TFLOPS, and 1 GB takes 1e9 / 4.8e12 s
        ("--device H200 --flops 1GFLOP --bytes 1GB", ("memory", "4.80 TFLOPS", "208.3 us"), 0),
        # of a square product of 4096 in two bytes each: 2 * 4096^3 FLOP, 3 * 2 * 4096^2 bytes
        ("--device H200 --matmul 4096", ("137.4 GFLOP, 100.7 MB", "1,365.3 FLOP/byte"), 0),
        ("--bytes-before 2109MB --bytes-after 1873MB", ("at most 1.13x", "2.11 GB before, 1.87 GB after"), 0),
        ("--bytes-before 2109MB --bytes-after 1873MB --claim 2x", ("REFUSED", "1.13x"), 1),
        ("--devices", ("H200-SXM: 4.80 TB/s", "bf16  989.4 TFLOPS dense", "balance 206 FLOP/byte"), 0),
    ],
)
def test_what_is_said(arguments: str, said: tuple[str, ...], code: int) -> None:
    done = CliRunner().invoke(
        cli, ["roofline", *arguments.split()], catch_exceptions=False, standalone_mode=False
    )
    words = " ".join(done.output.split())
    assert [one for one in said if " ".join(one.split()) not in words] == []
    assert (done.return_value or 0) == code
