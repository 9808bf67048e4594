"""Benchmarks: each format as its own tool writes it, and comparisons worked out by hand."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.cli.main import cli
from fallback_gate.errors import InputError
from fallback_gate.instruments import bench, bench_formats

VLLM = {
    "date": "20261130-010203", "backend": "vllm", "model_id": "moe", "num_prompts": 100, "max_concurrency": 8,
    "request_rate": "inf", "duration": 10.0, "completed": 100, "failed": 0, "total_input_tokens": 51200,
    "total_output_tokens": 12800, "request_throughput": 10.0, "output_throughput": 1280.0,
    "total_token_throughput": 6400.0, "mean_ttft_ms": 90.0, "median_ttft_ms": 80.0, "std_ttft_ms": 3.0,
    "p99_ttft_ms": 120.0, "mean_tpot_ms": 6.5, "median_tpot_ms": 6.25, "std_tpot_ms": 0.2, "median_itl_ms": 6.0,
}  # fmt: skip
SGLANG = {
    "backend": "sglang", "dataset_name": "random", "request_rate": 4.0, "max_concurrency": 8, "completed": 10,
    "total_input_tokens": 5120, "total_output_tokens": 1280, "total_output_tokens_retokenized": 1281,
    "input_throughput": 512.0, "output_throughput": 128.0, "median_ttft_ms": 40.0, "median_tpot_ms": 5.0,
    "mean_e2e_latency_ms": 700.0,
}  # fmt: skip
AIPERF = {
    "time_to_first_token": {"unit": "ms", "avg": 21.0, "p50": 20.0, "p99": 30.0},
    "inter_token_latency": {"unit": "ms", "avg": 4.2, "p50": 4.0},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 900.0},
    "input_sequence_length": {"unit": "tokens", "avg": 1000.0, "p50": 1000.0},
    "request_count": {"unit": "requests", "avg": 64.0},
    "input_config": {"loadgen": {"concurrency": 4}},
}
LLAMA = [
    {"model_type": "llama 7B", "n_batch": 2048, "n_prompt": 512, "n_gen": 0, "n_depth": 0, "avg_ts": 2000.0,
     "stddev_ts": 10.0, "samples_ns": [1], "samples_ts": [1990.0, 2000.0, 2020.0]},
    {"model_type": "llama 7B", "n_batch": 2048, "n_prompt": 0, "n_gen": 128, "n_depth": 4096, "avg_ts": 60.0,
     "stddev_ts": 1.0, "samples_ns": [1], "samples_ts": [59.0, 60.0, 62.0]},
    {"model_type": "llama 7B", "n_batch": 2048, "n_prompt": 512, "n_gen": 128, "avg_ts": 300.0, "samples_ts": [300.0]},
]  # fmt: skip
TRTLLM = {
    "engine": {"model": "llama", "version": "1.0", "dtype": "bfloat16"},
    "world_info": {"tp_size": 2, "max_batch_size": 64},
    "request_info": {"num_requests": 32, "avg_input_length": 500.0, "avg_output_length": 100.0},
    "performance": {"system_output_throughput_tok_s": 3000.0, "request_throughput_req_s": 30.0},
    "streaming_metrics": {
        "avg_ttft_ms": 26.0, "avg_tpot_ms": 9.0,
        "ttft_percentiles": {"p50": 25.0, "p99": 40.0}, "tpot_percentiles": {"p50": 8.0},
    },
}  # fmt: skip


def _written(folder: Path, content: object, name: str = "bench.json") -> str:
    place = folder / name
    place.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(place)


def _run(*arguments: str, code: int) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["bench", *arguments, "-f", "json"], standalone_mode=False)
    assert result.exception is None, result.exception
    assert result.return_value == code, result.stdout
    told: dict[str, Any] = json.loads(result.stdout)
    return told


@pytest.mark.parametrize(
    ("content", "form", "expected"),
    [
        (VLLM, "vllm", (512 / 0.080, 160.0, 1280.0, 80.0, 6.25)),
        (
            json.dumps(SGLANG) + "\n" + json.dumps(SGLANG) + "\n",
            "sglang",
            (512 / 0.040, 200.0, 128.0, 40.0, 5.0),
        ),
        (AIPERF, "aiperf", (1000 / 0.020, 250.0, 900.0, 20.0, 4.0)),
        (TRTLLM, "trtllm-bench", (500 / 0.025, 125.0, 3000.0, 25.0, 8.0)),
        ("run,decode_tokens_per_second,ttft_ms\n1,100,5\n2,110,7\n", "csv", (None, 105.0, None, 6.0, None)),
    ],
)
def test_formats(tmp_path: Path, content: object, form: str, expected: tuple[float | None, ...]) -> None:
    said = bench.read([_written(tmp_path, content)])
    assert said.format == form
    row = said.details["cases"][0]
    for name, value in zip(bench_formats.QUANTITIES, expected, strict=True):
        assert row[name] == (None if value is None else pytest.approx(value)), name


@pytest.mark.parametrize("form", ["json", "jsonl", "csv"])
def test_llama_bench_in_its_three_forms(tmp_path: Path, form: str) -> None:
    if form == "csv":
        content = "n_batch,n_prompt,n_gen,n_depth,avg_ts\n2048,512,0,0,2000.0\n2048,0,128,4096,60.0\n"
    else:
        content = json.dumps(LLAMA) if form == "json" else "\n".join(map(json.dumps, LLAMA))
    cases = {row["case"]: row for row in bench.read([_written(tmp_path, content)]).details["cases"]}
    assert set(cases) == {"pp512", "tg128 @ d4096"}
    assert cases["pp512"]["prefill_tokens_per_second"] == 2000
    assert cases["tg128 @ d4096"]["decode_tokens_per_second"] == 60
    assert cases["pp512"]["runs"] == (1 if form == "csv" else 3)


DATA = Path(__file__).parents[1] / "data" / "instruments"


def test_a_file_of_aiperf_itself() -> None:
    """Its own medians: 46.78 ms to the first token, 9.494 ms for each further one; 32 tokens in, two at a time."""
    form, (run,) = bench_formats.read(str(DATA / "aiperf-0.13.0.json"))
    assert (form, run.failed, run.cut) == ("aiperf", 0, False)
    assert run.conditions == {"input_tokens": "32", "concurrency": "2", "model": "tiny"}
    assert [round(run.values[name], 2) for name in bench_formats.QUANTITIES] == [
        *(round(32 / 0.046781192, 2), round(1000 / 9.494189133333332, 2), 151.59),
        *(46.78, 9.49),
    ]


def test_a_file_of_sglang_itself() -> None:
    """140 tokens of 8 requests, 28.14 ms to the first token and 5.62 ms for each further one."""
    form, (run,) = bench_formats.read(str(DATA / "sglang-0.5.23.jsonl"))
    assert form == "sglang"
    assert run.conditions["max_concurrency"] == "2"
    assert [round(run.values[name], 1) for name in bench_formats.QUANTITIES] == [
        *(round(140 / 8 / 0.02814137199857214, 1), round(1000 / 5.623405149890459, 1), 180.8),
        *(28.1, 5.6),
    ]


@pytest.mark.parametrize(
    ("config", "concurrency"),
    [
        ({"concurrency": 7, "model_names": ["moe"]}, "7"),  # genai-perf
        ({"perf_analyzer": {"stimulus": {"concurrency": 7}}, "model_names": ["moe"]}, "7"),
        ({"loadgen": {"concurrency": 7}, "endpoint": {"model_names": ["moe"]}}, "7"),  # AIPerf, schema 1.0
        ({"phases": [{"kind": "warmup", "concurrency": 1}, {"kind": "profiling", "concurrency": 7}],
          "models": {"items": [{"name": "moe"}]}}, "7"),  # schema 1.4
    ],
)  # fmt: skip
def test_the_load_is_a_condition_wherever_a_version_says_it(
    tmp_path: Path, config: dict[str, Any], concurrency: str
) -> None:
    _, (run,) = bench_formats.read(_written(tmp_path, {**AIPERF, "input_config": config}))
    assert (run.conditions["concurrency"], run.conditions["model"]) == (concurrency, "moe")


@pytest.mark.parametrize("end", [{"was_cancelled": True}, {"is_complete": False}])
def test_a_benchmark_that_was_cancelled_is_unproven(tmp_path: Path, end: dict[str, bool]) -> None:
    told = _run(_written(tmp_path, {**AIPERF, **end}), code=3)
    assert any("cancelled" in reason for reason in told["reasons"])


def test_units_of_a_metric(tmp_path: Path) -> None:
    told = {**AIPERF, "time_to_first_token": {"unit": "s", "avg": 0.02}}
    assert bench.read([_written(tmp_path, told)]).details["cases"][0]["ttft_ms"] == pytest.approx(20)


def test_decode_falls_and_the_first_token_does_not(tmp_path: Path) -> None:
    good = _written(tmp_path, VLLM, "good.json")
    bad = _written(tmp_path, {**VLLM, "median_tpot_ms": 25.0, "output_throughput": 400.0}, "bad.json")
    told = _run(bad, "--baseline", good, code=1)
    values = {one["name"]: one for one in told["measurements"]}
    assert values["decode_slowdown"]["value"] == pytest.approx(0.75)
    assert values["decode_slowdown"]["state"] == "exceeded"
    assert values["ttft_slowdown"]["value"] == 0
    assert values["prefill_slowdown"]["state"] == "met"
    _run(good, "--baseline", good, code=0)


def _runs(*values: float) -> str:
    return "decode_tokens_per_second\n" + "".join(f"{value}\n" for value in values)


@pytest.mark.parametrize(
    ("before", "now", "code"),
    [
        ((100, 101, 99, 100), (98, 99, 97, 98), 0),  # 2% is under the least effect
        ((100, 101, 99, 100), (92, 93, 91, 92), 1),  # 8%, and quiet
        ((100, 120, 80, 100), (92, 112, 72, 92), 3),  # 8%, which the spread swallows
        ((100, 140, 60, 100), (100, 140, 60, 100), 3),  # equal, but a loss would not show
        ((100, 101, 99, 100), (130, 131, 129, 130), 0),  # faster
        ((100, 101, 99, 100), (100, 101, 20, 100), 0),  # one disturbed run does not move the median
    ],
)
def test_noise(tmp_path: Path, before: tuple[float, ...], now: tuple[float, ...], code: int) -> None:
    base, new = _written(tmp_path, _runs(*before), "a.csv"), _written(tmp_path, _runs(*now), "b.csv")
    _run(new, "--baseline", base, code=code)


def test_the_policy_sets_limits_and_noise(tmp_path: Path) -> None:
    base, new = (
        _written(tmp_path, _runs(100, 101, 99), "a.csv"),
        _written(tmp_path, _runs(92, 93, 91), "b.csv"),
    )
    text = 'version: 1\ninstruments:\n  bench: {decode_slowdown: "<=10%", decode_tokens_per_second: ">=90"}\n'
    policy = _written(tmp_path, text, "p.yaml")
    _run(new, "-b", base, "-p", policy, code=0)
    stricter = _written(tmp_path, text.replace(">=90", ">=95"), "q.yaml")
    assert _run(new, "-b", base, "-p", stricter, code=1)["verdict"] == "blocked"


def test_other_conditions_are_not_compared(tmp_path: Path) -> None:
    good = _written(tmp_path, VLLM, "good.json")
    other = _written(tmp_path, {**VLLM, "max_concurrency": 16}, "other.json")
    told = _run(other, "-b", good, code=3)
    assert told["compared"] == []
    assert any("not comparable: max_concurrency is 16, and 8" in reason for reason in told["reasons"])


def test_failed_requests_and_missing_quantities_do_not_pass(tmp_path: Path) -> None:
    good = _written(tmp_path, VLLM, "good.json")
    _run(_written(tmp_path, {**VLLM, "failed": 3}, "f.json"), code=3)
    without = {name: value for name, value in VLLM.items() if name != "median_tpot_ms"}
    told = _run(_written(tmp_path, without, "w.json"), "-b", good, code=3)
    assert any("the baseline has decode_tokens_per_second" in reason for reason in told["reasons"])


def test_against_the_measured_peak(tmp_path: Path) -> None:
    peak = {"device": "x", "dtype": "bf16", "gemm_flops": 1e15, "copy_bandwidth": 2e12}
    path = _written(tmp_path, peak, "peak.json")
    # 1 GB at 2 TB/s is 0.5 ms a step, so 32 rows are 64,000 tok/s; 1280 are 2% of them
    told = _run(_written(tmp_path, VLLM), "--peak", path, "--rows", "32", "--weights", "1GB", code=1)
    assert told["reachable_tokens_per_second"] == pytest.approx(64_000)
    efficiency = next(one for one in told["measurements"] if one["name"] == "decode_efficiency")
    assert efficiency["value"] == pytest.approx(0.02)
    assert any("order of magnitude" in note for note in told["notes"])
    step = ["--rows", "1", "--weights", "1"]
    wide = _written(tmp_path, {**peak, "dtype": "fp64"}, "wide.json")
    still = _written(tmp_path, {**peak, "copy_bandwidth": 0}, "still.json")
    for options, says in (
        (["--peak", path], "--rows and --weights"),
        (step, "give --peak"),
        (["--peak", wide, *step], "no peak"),
        (["--peak", still, *step], "no peak"),
    ):
        with pytest.raises(InputError, match=says):
            CliRunner().invoke(
                cli,
                ["bench", str(tmp_path / "bench.json"), *options],
                standalone_mode=False,
                catch_exceptions=False,
            )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "no JSON of vLLM"),
        ("a,b\n1,2\n", "no JSON of vLLM"),
        ("{", "no JSON"),
        ("[1, 2]", "no object"),
        ("{}", "no benchmark"),
        ("[]", "without any run"),
        ("[" * 100_000, "no JSON|nested too deep"),
        ('{"output_throughput": NaN}', "without any run"),
        ('{"output_throughput": "many"}', "without any run"),
        ('{"performance": {}, "engine": 3}', "without any run"),
    ],
)
def test_refused(tmp_path: Path, content: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        bench.read([_written(tmp_path, content)])


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["output_throughput", "avg_ts", "n_prompt", "performance", "engine", "streaming_metrics",
                         "time_to_first_token", "p50", "unit", "samples_ts", "failed", "input_config"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(_JSON)
def test_any_json_is_read_or_refused(tmp_path_factory: Any, content: object) -> None:
    try:
        said = bench.read([_written(tmp_path_factory.mktemp("any"), content)])
    except InputError:
        return
    assert said.measurements


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=9))
def test_the_spread_is_about_the_median(values: list[float]) -> None:
    told = bench.spread(values)
    assert told.median == statistics.median(values)
    assert (told.error is None) == (len(values) < 2)
    assert told.error is None or told.error >= 0


def test_peak_needs_torch_and_says_so() -> None:
    torch = pytest.importorskip("torch", reason="torch is there in environments that measure")
    result = CliRunner().invoke(cli, ["peak", "-d", "cpu", "--dtype", "fp32", "--repeat", "1", "-f", "json"],
                                standalone_mode=False)  # fmt: skip
    told = json.loads(result.stdout)
    assert told["torch"] == torch.__version__
    assert told["balance"] == pytest.approx(told["gemm_flops"] / told["copy_bandwidth"])
