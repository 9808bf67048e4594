"""The roofline, against figures worked out by hand."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from fallback_gate.cli.main import cli
from fallback_gate.errors import InputError
from fallback_gate.instruments import devices, roofline, roofline_plot
from fallback_gate.instruments.roofline import Work

DATA = Path(__file__).parents[2] / "examples" / "missions" / "gathered-experts"


def _json(*arguments: str, code: int = 0) -> dict[str, object]:
    result = CliRunner().invoke(cli, ["roofline", *arguments, "-f", "json"], standalone_mode=False)
    assert result.exception is None, result.output
    assert result.return_value == code
    document: dict[str, object] = json.loads(result.stdout)
    return document


def test_machine_balance_of_an_h100() -> None:
    assert _json("--peak", "990TFLOPS", "--bandwidth", "3.35TB/s")["balance"] == pytest.approx(990 / 3.35)
    assert round(devices.roof("H100-SXM", "bf16").balance) == 295


def test_matrix_product_of_4096_in_fp32() -> None:
    told = _json("-d", "H100-SXM", "--dtype", "fp32", "--matmul", "4096")
    assert told["intensity"] == pytest.approx(4096 / 6)  # 2n^3 / (3n^2 * 4)
    assert told["naive_intensity"] == 0.25  # two operations for two factors of 4 bytes
    assert told["bound"] == "compute"


@pytest.mark.parametrize(
    ("rows", "cache", "expected"),
    [("32", "60MB", 28), ("64", "30MB", 60)],  # an fp8 cache has half the bytes
)
def test_decode_step(rows: str, cache: str, expected: int) -> None:
    told = _json("-d", "H100-SXM", "--rows", rows, "--weights", "437MB", "--kv", cache)
    assert round(float(str(told["intensity"]))) == expected
    assert told["bound"] == "memory"


def test_a_fusion_gains_the_bytes_that_it_saves() -> None:
    three = ["--kernel", "0:1076MB", "--kernel", "0:384MB", "--kernel", "0:649MB", "--bytes-after", "1873MB"]
    assert _json(*three)["max_speedup"] == pytest.approx(2109 / 1873)  # as Nsight Compute counted them
    assert _json("-d", "H200", *three)["max_speedup"] == pytest.approx(2109 / 1873)
    refused = _json(*three, "--claim", "2x", code=1)
    assert refused["verdict"] == "refused"
    assert _json(*three, "--claim", "12%")["verdict"] == "possible"
    assert _json(*three, "--claim", "15%", code=1)["claim_over_bound"] == pytest.approx(1.15 * 1873 / 2109)


def test_a_policy_sets_how_much_a_claim_may_exceed(tmp_path: Path) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text('version: 1\ninstruments:\n  roofline: {claim_over_bound: "<=110%"}\n')
    arguments = ["--bytes-before", "2GB", "--bytes-after", "1GB", "-p", str(policy)]
    assert _json(*arguments, "--claim", "2.1x")["verdict"] == "possible"
    assert _json(*arguments, "--claim", "2.3x", code=1)["verdict"] == "refused"


def test_an_epilogue_is_fused_into_a_product_that_arithmetic_bounds() -> None:
    roof = devices.Roof("even", "bf16", 100.0, 10.0)
    # 10 s of arithmetic, then 6 s of bytes; fused, 10 s of arithmetic hide 3 s of bytes
    fused = roofline.fusion([Work(1000, 20), Work(0, 60)], Work(0, 30), roof)
    assert fused.max_speedup == pytest.approx(1.6)
    # where only the sums are known, no claim that can be is refused: 10 s and 8 s apart
    apart = roofline.fusion(roofline.unsplit(1000, 80, roof), Work(1000, 30), roof)
    assert apart.max_speedup == pytest.approx(1.8)


_POSITIVE = st.floats(1e-3, 1e15)


@given(st.lists(st.tuples(_POSITIVE, _POSITIVE), min_size=1, max_size=5), _POSITIVE, _POSITIVE, _POSITIVE)
def test_bounds_of_the_bound(
    kernels: list[tuple[float, float]], after: float, peak: float, bandwidth: float
) -> None:
    roof = devices.Roof("any", "bf16", peak, bandwidth)
    works = [Work(*kernel) for kernel in kernels]
    split = roofline.fusion(works, Work(0, after), roof).max_speedup
    flops, moved = sum(w.flops for w in works), sum(w.bytes for w in works)
    sums = roofline.fusion(roofline.unsplit(flops, moved, roof), Work(flops, after), roof).max_speedup
    assert split <= sums * (1 + 1e-9)
    for work in works:
        reached = work.flops / roofline.seconds(work, roof)
        assert reached == pytest.approx(roofline.attainable(work, roof))


def test_dense_and_sparse_are_told_apart() -> None:
    dense, sparse = devices.roof("h100", "fp8"), devices.roof("h100", "fp8", sparse=True)
    assert sparse.peak == pytest.approx(2 * dense.peak)
    with pytest.raises(InputError, match="no figure with sparsity"):
        devices.roof("h100", "fp32", sparse=True)


def test_the_table_is_whole() -> None:
    names = [name for one in devices.table() for name in (one.name.lower(), *one.aliases)]
    assert len(names) == len(set(names))
    for one in devices.table():
        assert one.basis in ("vendor", "third-party")
        assert one.source
        assert 5e10 < one.bandwidth < 2e13
        for dtype, peak in one.peaks.items():
            assert dtype in roofline.BYTES_OF
            assert 1e12 < peak.dense < 1e17
            assert peak.sparse is None or peak.sparse > peak.dense
    assert {"h100-sxm", "h200-sxm", "b200", "a100-sxm-80gb", "mi300x", "mi355x", "ascend-910b3"} <= set(names)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-d", "h10"], "did you mean H100-SXM"),
        (["--peak", "990TFLOPS"], "both --peak and --bandwidth"),
        (["-d", "h100", "--dtype", "int3"], "no peak for 'int3'"),
        (["-d", "h100", "--matmul", "4x4"], "is no size"),
        (["-d", "h100", "--rows", "4"], "--weights"),
        (["--bytes-before", "1GB"], "--bytes-after"),
        (["--bytes-before", "1GB", "--bytes-after", "0"], "above zero"),
        (["-d", "h100", "--claim", "2x"], "held against a fusion"),
        ([], "name a --device"),
        (["-d", "h100", "--plot", "x.gif"], ".svg or .png"),
    ],
)
def test_usage(arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(cli, ["roofline", *arguments], standalone_mode=False)
    assert isinstance(result.exception, InputError)
    assert says in str(result.exception)


def test_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("roof.svg", "roof.png"):
        arguments = ["roofline", "-d", "h100", "--matmul", "128x4096x4096", "--plot", str(tmp_path / name)]
        assert CliRunner().invoke(cli, arguments, standalone_mode=False).exception is None
    assert (tmp_path / "roof.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    root = etree.fromstring((tmp_path / "roof.svg").read_bytes())
    assert len(root.findall("{*}circle")) == 1


@pytest.mark.parametrize("name", ["kernels.svg", "kernels.png"])
def test_a_picture_takes_no_input_s_place(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    there = tmp_path / name
    with gzip.open(DATA / "grouped.ncu.csv.gz", "rb") as packed:
        there.write_bytes(packed.read())
    before = there.read_bytes()
    arguments = ["roofline", "-d", "H200", "--counters", str(there), "--plot", str(there)]
    result = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert "would overwrite an input" in str(result.exception)
    assert there.read_bytes() == before


@given(st.text(), st.floats(), st.floats(), st.floats())
def test_any_point_makes_a_picture_that_parses(
    name: str, intensity: float, rate: float, share: float
) -> None:
    roof = replace(devices.roof("h100", "bf16"), device=name)
    drawn = roofline_plot.svg(roof, [roofline_plot.Point(name, intensity, rate, share)] * 2)
    root = etree.fromstring(drawn.encode("utf-8", "strict"))
    assert not root.findall(".//{*}script")


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Ascend 910B", "Ascend-910B3"),
        ("ascend_950", "Ascend-950PR"),
        ("H100 PCIe", "H100-PCIe"),
        ("M4 max", "Apple-M4-Max"),
    ],
)
def test_a_device_is_known_however_its_words_are_joined(said: str, name: str) -> None:
    assert devices.device(said).name == name
