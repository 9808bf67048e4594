"""`check --evidence`, `--environment`, claims and the rollback, as a user gives them; and what every report shows."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from fallback_gate.errors import InputError
from tests.cli.running import run

ROOT = Path(__file__).parents[2]
LOGS = ROOT / "sample_logs" / "moe-decoder-h200"
DATA = ROOT / "tests" / "data" / "instruments"
PASSES, BLOCKS = str(LOGS / "fixed.debug.log.gz"), str(LOGS / "disabled.debug.log.gz")
REAL = ["--evidence", str(DATA / "dmon.a_full.txt"), "--evidence", str(DATA / "nvidia-smi-q.idle.txt")]
INSTALLED = "2026-11-20T10:00:00+00:00"


def check(
    *arguments: str | Path, code: int, form: str = "json", policy: str | Path = "builtin:moe-serving"
) -> Any:
    result = run("check", *arguments, "-p", policy, "--today", "2026-11-30", "-f", form)
    assert result.exception is None, result.exception
    assert result.return_value == code, result.stdout[:2000]
    return json.loads(result.stdout) if form == "json" else result.stdout


def serving(path: Path, rate: float) -> Path:
    line = f"Avg generation throughput: {rate} tokens/s, Running: 24 reqs, Waiting: 0 reqs, GPU KV cache usage: 31.0%\n"
    path.write_text(line * 3, encoding="utf-8")
    return path


def environment(path: Path, **said: object) -> Path:
    told = {
        "schema": "fallback-gate/environment-1",
        "devices": ["NVIDIA H200"],
        "drivers": {"nvidia": "580.159.04"},
        "compilers": [{"name": "torch", "version": "2.11.0+cu130", "installed": INSTALLED}],
        **said,
    }
    path.write_text(json.dumps(told), encoding="utf-8")
    return path


def policy(folder: Path, text: str) -> Path:
    path = folder / "p.yaml"
    path.write_text(f"version: 1\nextends: ['builtin:moe-serving']\n{text}\n", encoding="utf-8")
    return path


def test_what_is_left_is_the_fallback(tmp_path: Path) -> None:
    load = [
        "--evidence",
        serving(tmp_path / "now", 979),
        "--evidence-baseline",
        serving(tmp_path / "good", 4044),
    ]
    told = check(BLOCKS, *REAL, *load, code=1)["exclusions"]
    assert told["conclusion"] == (
        "clocks at boost, no throttling; mean batch unchanged, no queue; so: fallback (gate_attn_disable, decode_step), "
        "as far as these files go"
    )
    assert {one["cause"]: one["state"] for one in told["causes"]} == {
        "clocks": "ruled_out",
        "throttling": "ruled_out",
        "device_errors": "not_ruled_out",
        "batch": "ruled_out",
        "queue": "ruled_out",
    }


def test_nothing_that_is_ruled_out_makes_a_verdict(tmp_path: Path) -> None:
    silent = LOGS / "disabled.default.log"
    for log, code in ((PASSES, 0), (BLOCKS, 1), (silent, 3)):
        with_them, without = check(log, *REAL, code=code), check(log, code=code)
        assert with_them["verdict"] == without["verdict"]
        assert without["exclusions"] is None


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_each_report_for_people_says_it(form: str) -> None:
    said = check(BLOCKS, *REAL, code=1, form=form)
    for words in ("clocks at boost", "not ruled out", "580.159.04"):
        assert words in said, words


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html", "junit", "sarif", "github", "gitlab"])
def test_hostile_evidence_is_harmless(tmp_path: Path, form: str) -> None:
    hostile = tmp_path / "q.txt"
    hostile.write_text(
        "=====NVSMI LOG=====\nDriver Version : ##[group]<script>alert(1)</script>\x1b[31m\n"
        "GPU 00000000:00:06.0\n    Product Name : ::error::x\x07\n    Minor Number : 1\n"
        "    Clocks Event Reasons\n        ##[error]y : Active\n    Utilization\n        Gpu : 99 %\n",
        encoding="utf-8",
    )
    said = check(BLOCKS, "--evidence", hostile, code=1, form=form) if form != "json" else json.dumps(
        check(BLOCKS, "--evidence", hostile, code=1)
    )  # fmt: skip
    assert "\x1b" not in said
    assert "##[error]" not in said or form == "json"
    assert form != "html" or "<script>alert" not in said
    assert not any(line.lstrip().startswith("::error::x") for line in said.splitlines())


def test_usage(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("nothing\n", encoding="utf-8")
    for arguments, says in (
        (["--evidence-baseline", DATA / "dmon.a_full.txt"], "a baseline compares"),
        (["--evidence", tmp_path / "none.txt"], "no such file"),
        (["--evidence", tmp_path / "x.txt"], "known are nvidia-smi -q"),
        (["--environment", tmp_path / "none.json"], "no such file"),
        (["--environment", tmp_path / "x.txt"], "x.txt"),
    ):
        result = run("check", PASSES, *arguments)
        assert isinstance(result.exception, InputError)
        assert says in str(result.exception)


def test_no_report_takes_the_place_of_evidence(tmp_path: Path) -> None:
    load = serving(tmp_path / "now", 979)
    result = run("check", PASSES, "--evidence", load, "-o", f"json={load}", "-p", "builtin:moe-serving")
    assert result.exception is not None
    assert "Running: 24" in load.read_text(encoding="utf-8")


def test_the_environment(tmp_path: Path) -> None:
    told = check(PASSES, "--environment", environment(tmp_path / "e.json"), code=0)["environment"]
    assert told["devices"] == ["NVIDIA H200"]
    assert told["compilers"] == [{"name": "torch", "version": "2.11.0+cu130", "installed": INSTALLED}]
    assert check(PASSES, "--environment", "off", code=0)["environment"] is None
    by_files = check(PASSES, *REAL, code=0)["environment"]
    assert by_files["drivers"] == [
        {"name": "nvidia", "version": "580.159.04"},
        {"name": "cuda", "version": "13.0"},
    ]
    assert (
        check(PASSES, code=0)["environment"] is None
    )  # this log tells no version, and this machine is not asked
    again = tmp_path / "report.json"
    run(
        "check",
        PASSES,
        "-p",
        "builtin:moe-serving",
        "--environment",
        tmp_path / "e.json",
        "-o",
        f"json={again}",
    )
    assert check(PASSES, "--environment", again, code=0)["environment"]["devices"] == ["NVIDIA H200"]


def test_a_stale_cache_is_a_note(tmp_path: Path) -> None:
    cache = {
        "compiler": "torch.compile", "path": "/tmp/torchinductor_root", "files": 9, "older": 3, "of": "torch",
        "oldest": "2026-10-01T00:00:00+00:00",
    }  # fmt: skip
    told = check(PASSES, "--environment", environment(tmp_path / "e.json", caches=[cache]), code=0)
    assert any("holds 3 of 9 files older than torch 2.11.0+cu130" in note for note in told["notes"])


BENCH = "decode_tokens_per_second,device,dtype,shape,batch\n{},NVIDIA H200,bfloat16,in 512 out 64,24\n"
CLAIM = (
    "claims: [{metric: decode_tokens_per_second, value: 180, device: H200, dtype: bf16, shape: in 512 out 64, "
    "batch: 24, source: release notes, at_least: 90%}]"
)


@pytest.mark.parametrize(
    ("rate", "change", "code", "state"),
    [
        (168, {}, 0, "reached"),
        (161, {}, 1, "missed"),
        (168, {"24, source": "25, source"}, 3, "not_comparable"),
        (161, {", at_least: 90%": ""}, 0, "compared"),
        (161, {"24, source": "25, source", ", at_least: 90%": ""}, 0, "not_comparable"),
    ],
)
def test_claims(tmp_path: Path, rate: int, change: dict[str, str], code: int, state: str) -> None:
    text = CLAIM
    for old, new in change.items():
        text = text.replace(old, new)
    runs = tmp_path / "b.csv"
    runs.write_text(BENCH.format(rate), encoding="utf-8")
    told = check(PASSES, "--bench", runs, code=code, policy=policy(tmp_path, text))
    assert told["claims"][0]["state"] == state
    if state == "not_comparable":
        assert told["claims"][0]["why"] == "batch is 25 in the claim and 24 in the measurement"
        assert "not comparable: batch is 25" in check(
            PASSES, "--bench", runs, code=code, policy=policy(tmp_path, text), form="text"
        ).replace("\n", " ").replace("  ", " ")


def test_bench_holds_claims_too(tmp_path: Path) -> None:
    runs = tmp_path / "b.csv"
    for rate, code, state in ((168, 0, "reached"), (161, 1, "missed")):
        runs.write_text(BENCH.format(rate), encoding="utf-8")
        result = run("bench", runs, "-p", policy(tmp_path, CLAIM), "--today", "2026-11-30", "-f", "json")
        assert (result.exception, result.return_value) == (None, code)
        assert [one["state"] for one in json.loads(result.stdout)["claims"]] == [state]


def test_a_claim_that_nobody_measured_decides_nothing(tmp_path: Path) -> None:
    told = check(PASSES, code=0, policy=policy(tmp_path, CLAIM))
    assert told["claims"][0]["state"] == "not_measured"
    assert any("no file measures decode_tokens_per_second" in note for note in told["notes"])


def test_a_measured_peak_is_held_against_a_data_sheet(tmp_path: Path) -> None:
    peak = tmp_path / "peak.json"
    peak.write_text(json.dumps({
        "schema": "fallback-gate/peak-1", "device": "NVIDIA H200", "dtype": "bf16", "gemm_flops": 7.2e14,
        "attention_flops": 5e14, "copy_bandwidth": 4.25e12, "sizes": {"gemm": 8192, "sequence": 4096, "heads": 32},
    }), encoding="utf-8")  # fmt: skip
    text = "claims: [{metric: gemm_flops, value: 990 TFLOPS, device: %s, dtype: bf16, shape: 8192x8192x8192, source: data sheet}]"
    told = check(PASSES, "--evidence", peak, code=0, policy=policy(tmp_path, text % "H200"))
    assert told["claims"][0]["share"] == pytest.approx(720 / 990)
    assert told["exclusions"] is None  # such a file rules nothing out
    other = check(PASSES, "--evidence", peak, code=0, policy=policy(tmp_path, text % "H100-SXM"))
    assert "device is H100-SXM in the claim" in other["claims"][0]["why"]


def test_the_rollback(tmp_path: Path) -> None:
    said = policy(tmp_path, "rollback: {artefact: engine.plan, compiler: torch, version: 2.11.0}")
    around = environment(tmp_path / "e.json")
    gone = check(PASSES, "--environment", around, code=3, policy=said)
    assert "does not exist" in gone["rollback"]["problem"]
    assert gone["proven"] is True  # the logs prove what they did before
    engine = tmp_path / "engine.plan"
    engine.write_bytes(b"x")
    assert check(PASSES, "--environment", around, code=0, policy=said)["rollback"]["problem"] is None
    os.utime(engine, (1_700_000_000, 1_700_000_000))  # 2023
    assert (
        "older than its compiler"
        in check(PASSES, "--environment", around, code=3, policy=said)["rollback"]["problem"]
    )
    assert "can't be told" in check(PASSES, code=3, policy=said)["rollback"]["problem"]
    off = check(PASSES, "--environment", "off", code=0, policy=said)
    assert off["rollback"] is None
    assert "the rollback was not looked at: --environment off" in off["notes"]


def test_a_blocked_run_stays_blocked_whatever_the_rollback(tmp_path: Path) -> None:
    said = policy(tmp_path, "rollback: {artefact: gone.plan, compiler: torch, version: 2.11.0}")
    assert check(BLOCKS, code=1, policy=said)["verdict"] == "blocked"


def test_cases_of_a_policy_need_no_artefact(tmp_path: Path) -> None:
    said = policy(
        tmp_path,
        "rollback: {artefact: gone.plan, compiler: torch, version: 2.11.0}\n"
        f"tests:\n  - {{name: fixed, logs: ['{PASSES}'], verdict: pass, today: 2026-11-30}}",
    )
    result = run("policy", "test", said)
    assert (result.exception, result.return_value) == (None, 0), result.output
