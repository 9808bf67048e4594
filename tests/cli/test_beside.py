"""Instruments beside the logs: one policy, one verdict, and nothing unproven becomes a pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from fallback_gate.cli.main import cli
from fallback_gate.errors import InputError

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "sample_logs" / "moe-decoder-h200"
DATA = ROOT / "examples" / "missions" / "gathered-experts"
PASSES = [str(LOGS / "fixed.debug.log.gz"), "-p", "builtin:moe-serving", "--today", "2026-11-30"]
SILENT = [str(LOGS / "disabled.default.log"), "-p", "builtin:moe-serving", "--today", "2026-11-30"]
GATHERED, GROUPED = str(DATA / "gathered.ncu.csv.gz"), str(DATA / "grouped.ncu.csv.gz")


def _check(*arguments: str, code: int, form: str = "json") -> Any:
    result = CliRunner().invoke(cli, ["check", *arguments, "-f", form], standalone_mode=False)
    assert result.exception is None, result.exception
    assert result.return_value == code, result.stdout[:2000]
    return json.loads(result.stdout) if form == "json" else result.stdout


def test_counters_block_what_the_log_passes() -> None:
    _check(*PASSES, code=0)
    _check(*PASSES, "--counters", GROUPED, code=0)
    told = _check(*PASSES, "--counters", GATHERED, code=1)
    assert "triton_poi_fused_index_9" in {event["op"] for event in told["events"]}
    text = _check(*PASSES, "--counters", GATHERED, code=1, form="text")
    assert "fingerprints" in text
    assert "grouped GEMM" in text


@pytest.mark.parametrize("form", ["junit", "sarif", "markdown", "html", "github", "gitlab"])
def test_each_report_tells_of_it(form: str) -> None:
    assert "index_9" in _check(*PASSES, "--counters", GATHERED, code=1, form=form)


def test_good_measurements_do_not_prove_a_silent_log(tmp_path: Path) -> None:
    runs = tmp_path / "r.csv"
    runs.write_text("decode_tokens_per_second\n100\n101\n99\n", encoding="utf-8")
    for side in ("reference", "output"):
        np.savez(tmp_path / f"{side}.npz", x=np.ones(4))
    instruments = ["--counters", GROUPED, "--bench", str(runs), "--bench-baseline", str(runs)]
    _check(*SILENT, code=3)
    _check(*SILENT, *instruments, "--numerics", str(tmp_path), code=3)
    _check(*PASSES, *instruments, "--numerics", str(tmp_path), code=0)


def test_throughput_and_numerics_block(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text("decode_tokens_per_second\n100\n101\n99\n", encoding="utf-8")
    bad.write_text("decode_tokens_per_second\n24\n25\n24\n", encoding="utf-8")
    told = _check(*PASSES, "--bench", str(bad), "--bench-baseline", str(good), code=1)
    states = {one["name"]: one["state"] for one in told["measurements"]}
    assert states["decode_slowdown"] == "exceeded"
    np.savez(tmp_path / "reference.npz", x=np.ones(4))
    np.savez(tmp_path / "output.npz", x=np.array([1, 1, np.nan, 1]))
    _check(*PASSES, "--numerics", str(tmp_path), code=1)


def test_a_limit_that_nothing_measured_leaves_it_unproven(tmp_path: Path) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text(
        "version: 1\nextends: [builtin:moe-serving]\ninstruments:\n"
        '  bench: {decode_slowdown: "<=5%"}\n  numerics: {max_ulp_bf16: "<=2"}\n',
        encoding="utf-8",
    )
    runs = tmp_path / "r.csv"
    runs.write_text("decode_tokens_per_second\n100\n", encoding="utf-8")
    arguments = [PASSES[0], "-p", str(policy), "--today", "2026-11-30"]
    _check(*arguments, code=0)
    _check(*arguments, "--bench", str(runs), code=3)
    _check(*arguments, "--bench", str(runs), "--bench-baseline", str(runs), code=0)
    for side in ("reference", "output"):
        np.savez(tmp_path / f"{side}.npz", x=np.ones(4))
    _check(*arguments, "--numerics", str(tmp_path), code=0)  # no tensor is bf16


def test_usage(tmp_path: Path) -> None:
    for arguments, says in (
        (["--bench-baseline", GROUPED], "a baseline compares"),
        (["--trace-baseline", GROUPED], "a baseline compares"),
        (["--counters-baseline", GROUPED], "a baseline compares"),
        (["--numerics", str(tmp_path)], "no reference in it"),
        (["--counters", str(tmp_path / "none.csv")], "no such file"),
    ):
        result = CliRunner().invoke(cli, ["check", *PASSES, *arguments], standalone_mode=False)
        assert isinstance(result.exception, InputError)
        assert says in str(result.exception)
