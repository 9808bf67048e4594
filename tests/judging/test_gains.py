"""A file of gains: claims above what the bytes allow are refused, and what can't be told is not believed."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.instruments.command import run

COLUMNS = (
    ("gpu__time_duration.sum", "us"),
    ("dram__bytes.sum", "Mbyte"),
    ("dram__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
    ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "%"),
)


def counted(path: Path, *kernels: tuple[str, float, float | None, float, float]) -> None:
    """Kernels as Nsight Compute writes them: name, microseconds, megabytes, and two percentages."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, quoting=csv.QUOTE_ALL)
        rows.writerow(["ID", "Kernel Name", *(name for name, _ in COLUMNS)])
        rows.writerow(["", "", *(unit for _, unit in COLUMNS)])
        for number, (name, *values) in enumerate(kernels):
            rows.writerow([number, name, *("" if value is None else value for value in values)])


def judged(folder: Path, text: str, *more: str) -> tuple[int, dict[str, Any]]:
    (folder / "gains.yaml").write_text(text, "utf-8")
    done = run(folder, "roofline", "--gains", "gains.yaml", "--format", "json", *more)
    return done.returncode, json.loads(done.stdout) if done.stdout else {"errors": done.stderr.decode()}


ONE = "gains:\n  - {{name: one, claim: {claim}, counters: c.csv, before: [a, b], after: fused}}\n"


@pytest.mark.parametrize(("claim", "code"), [("1.5x", 0), ("50%", 0), ("1.53x", 0), ("1.54x", 1), ("2x", 1)])
def test_the_bound_is_bytes_before_over_bytes_after(tmp_path: Path, claim: str, code: int) -> None:
    """100 and 200 MB before, 200 MB after: 1.5x, and 2% of tolerance."""
    counted(tmp_path / "c.csv", ("a", 25, 100, 90, 0), ("b", 50, 200, 90, 0), ("fused", 52, 200, 88, 1))
    found, said = judged(tmp_path, ONE.format(claim=claim))
    assert found == code
    (gain,) = said["gains"]
    assert gain["max_speedup"] == pytest.approx(1.5)
    assert gain["speedup"] == pytest.approx(75 / 52)


@pytest.mark.parametrize(
    ("kernels", "word"),
    [
        ([("a", 25, 100, 90, 0), ("fused", 52, 200, 88, 1)], "no kernel 'b'"),
        ([("a", 25, 100, 90, 0), ("b", 50, 200, 30, 80), ("fused", 52, 200, 88, 1)], "not bound by bytes"),
        ([("a", 25, 100, 90, 0), ("b", 50, None, 90, 0), ("fused", 52, 200, 88, 1)], "no bytes of b"),
        (
            [("a", 25, 100, 90, 0), ("b", 50, 200, 90, 0), *[("fused", 52, 200, 88, 1)] * 2],
            "equally often",
        ),
    ],
)
def test_what_can_not_be_told_is_unproven(
    tmp_path: Path, kernels: list[tuple[str, float, float | None, float, float]], word: str
) -> None:
    counted(tmp_path / "c.csv", *kernels)
    code, said = judged(tmp_path, ONE.format(claim="2x"))
    assert (code, said["verdict"]) == (3, "unproven")
    assert any(word in reason for reason in said["reasons"])


def test_arithmetic_counts_where_a_device_is_named(tmp_path: Path) -> None:
    """At 1 TFLOPS and 1 TB/s, 2 GFLOP and 1 GB take 2 ms; fused with another 1 GB read and none written 2 ms."""
    text = (
        "gains:\n  - {name: one, claim: 1.5x, device: H100-SXM, dtype: bf16, kernels: ['989.4GFLOP:1GB', "
        "'0:3.35GB'], flops: 989.4GFLOP, bytes_after: 1GB}\n"
    )
    code, said = judged(tmp_path, text)
    assert code == 0
    assert said["gains"][0]["max_speedup"] == pytest.approx(2.0, rel=0.01)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "gains:\n  - {name: a, claim: 2y, bytes_before: 1GB, bytes_after: 1GB}\n",
            ["gains.yaml:2", "'2y' is no gain"],
        ),
        ("gains:\n  - {name: a, claim: 2x}\n", ["gains.yaml:2", "which bytes the fusion saves"]),
        ("gains:\n  - {name: a, claim: 2x, bytes_befor: 1GB, bytes_after: 1GB}\n", ["bytes_before"]),
        ("gain: []\n", ["gains.yaml:1", "gains is missing"]),
        ("gains:\n  - {name: a, claim: 2x, counters: no.csv, before: a, after: b}\n", ["no.csv"]),
        ("", ["empty"]),
        ("gains: []\n", ["gains.yaml:1", "claims nothing"]),
        ("gains:\n  - {name: a, claim: 2x, kernels: [], bytes_after: 1GB}\n", ["which bytes"]),
        ("gains:\n  - {name: a, claim: true, bytes_before: 1GB, bytes_after: 1GB}\n", ["'True' is no gain"]),
        ("gains:\n  - {name: a, claim: 2x, device: H1000, bytes_before: 1GB, bytes_after: 1GB}\n", ["H1000"]),
    ],
)
def test_a_wrong_file_is_an_error_with_its_place(tmp_path: Path, text: str, words: list[str]) -> None:
    code, said = judged(tmp_path, text)
    assert code == 2
    assert all(word in said["errors"] for word in words), said["errors"]


def test_check_judges_it_beside_the_log(tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text(
        "gains:\n  - {name: one, claim: 2x, bytes_before: 2109MB, bytes_after: 1873MB}\n", "utf-8"
    )
    (tmp_path / "p.yaml").write_text("version: 1\nexpect: {instruments: [roofline]}\n", "utf-8")
    (tmp_path / "c.log").write_text("nothing\n", "utf-8")
    assert run(tmp_path, "check", "c.log", "-p", "p.yaml").returncode == 3
    done = run(tmp_path, "check", "c.log", "--roofline", "g.yaml", "-p", "p.yaml", "-f", "json")
    said = json.loads(done.stdout)
    assert done.returncode == 1
    assert any("claim_over_bound of one is 177.6%" in reason for reason in said["reasons"])
