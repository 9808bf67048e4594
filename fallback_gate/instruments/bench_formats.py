"""The annex: files of benchmarks, each turned into runs of one shape.

vLLM          `vllm bench serve --save-result` (one JSON object; `--append-result` a line for each run):
              median_ttft_ms, median_tpot_ms, output_throughput, total_input_tokens, completed.
SGLang        `sglang.bench_serving --output-file` (a JSON line for each run): the same names and
              input_throughput; it says total_output_tokens_retokenized.
genai-perf    `profile_export_genai_perf.json`, and AIPerf's `profile_export_aiperf.json`: an object for
              each metric with unit, avg and p50: time_to_first_token, inter_token_latency,
              output_token_throughput.
llama-bench   `-o json`, `-o jsonl` or `-o csv`: n_prompt, n_gen, n_depth, avg_ts, samples_ts (each sample
              is a run); a row with only a prompt is prefill, one with only generated tokens is decode.
trtllm-bench  `--report_json`: performance, and streaming_metrics where it streamed (`--streaming`).
CSV           one row for each run, columns named as the quantities: prefill_tokens_per_second,
              decode_tokens_per_second, output_tokens_per_second, ttft_ms, tpot_ms; `case` tells cases
              apart; others are conditions.

Of a server's benchmark, decode is 1000 / TPOT (one sequence, first token left out) and prefill the mean
prompt over the median TTFT, as the client sees it, queue included: compare runs of the same load.

Checked against files of AIPerf 0.13.0 (schema 1.4) and SGLang 0.5.23, written beside a server that is none
(tests/data/instruments), and against the sources: vllm/benchmarks/serve.py at 009e6d4, AIPerf's
export_models.py at 26240f9 (schema 1.0, the shape of genai-perf), TensorRT-LLM's
bench/dataclasses/reporting.py at 0249976, and the printers of llama.cpp's tools/llama-bench/llama-bench.cpp.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fallback_gate.errors import InputError, Unreadable
from fallback_gate.instruments import text

QUANTITIES: Final = (
    "prefill_tokens_per_second",
    "decode_tokens_per_second",
    "output_tokens_per_second",
    "ttft_ms",
    "tpot_ms",
)
_LLAMA_CONDITIONS: Final = (
    *("model_type", "model_size", "n_batch", "n_ubatch", "n_threads", "type_k", "type_v", "n_gpu_layers"),
    "flash_attn",
)
_MILLISECONDS: Final = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "sec": 1e3}


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a benchmark: values by quantity, and the conditions under which they hold.

    `case` tells cases of one benchmark apart, such as `pp512`. `failed` requests are counted. `cut` says that
    the run was ended before its time.
    """

    values: Mapping[str, float]
    conditions: Mapping[str, str] = field(default_factory=dict)
    case: str | None = None
    failed: int = 0
    cut: bool = False


def read(path: str) -> tuple[str, list[Run]]:
    """The name of the format and the runs of a file.

    Raises `InputError` for a file that can't be read, is of no known format, or holds no run.
    """
    try:
        content = text.document(path)
    except Unreadable as cut:
        raise InputError(f"{path}: {cut}") from None
    form, runs = _recognised(path, content)
    if not runs:
        raise InputError(f"{path}: {form} without any run in it")
    return form, runs


def _recognised(path: str, content: str) -> tuple[str, list[Run]]:
    head = content.lstrip()[:1]
    if head in ("{", "["):
        return _json(path, _objects(path, content))
    rows = list(_rows(path, content))
    names = set(rows[0]) if rows else set()
    if "avg_ts" in names:
        return "llama-bench", [run for row in rows for run in _llama(row)]
    if names & set(QUANTITIES):
        return "csv", [run for row in rows for run in _plain(row)]
    raise InputError(
        f"{path}: no JSON of vLLM, SGLang, genai-perf, AIPerf, llama-bench or trtllm-bench, and no CSV with "
        f"a column of {', '.join(QUANTITIES)}"
    )


def _objects(path: str, content: str) -> list[dict[str, Any]]:
    """One JSON document, or one for each line."""
    try:
        try:
            whole = json.loads(content)
        except ValueError as wrong:
            try:
                whole = [json.loads(line) for line in content.splitlines() if line.strip()]
            except ValueError:
                raise InputError(f"{path}: no JSON: {wrong}") from None
    except RecursionError:
        raise InputError(f"{path}: JSON nested too deep") from None
    entries = whole if isinstance(whole, list) else [whole]
    if not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{path}: JSON that is no object of a benchmark")
    return entries


def _json(path: str, entries: list[dict[str, Any]]) -> tuple[str, list[Run]]:
    if not entries:
        return "JSON", []
    first = entries[0]
    if "avg_ts" in first:
        return "llama-bench", [run for entry in entries for run in _llama(entry)]
    if "median_ttft_ms" in first or "median_tpot_ms" in first or "output_throughput" in first:
        ours = "input_throughput" in first or "total_output_tokens_retokenized" in first
        return ("sglang" if ours else "vllm"), [run for entry in entries for run in _served(entry)]
    if isinstance(first.get("performance"), dict) and "engine" in first:
        return "trtllm-bench", [run for entry in entries for run in _trtllm(entry)]
    if any(isinstance(first.get(name), dict) for name in ("time_to_first_token", "output_token_throughput")):
        return "aiperf", [run for entry in entries for run in _metrics(entry)]
    raise InputError(f"{path}: no benchmark of vLLM, SGLang, genai-perf, AIPerf, llama-bench or trtllm-bench")


def _rows(path: str, content: str) -> Iterator[dict[str, str]]:
    try:
        for row in csv.DictReader(io.StringIO(content)):
            yield {(key or "").strip(): value or "" for key, value in row.items() if isinstance(value, str)}
    except csv.Error as wrong:
        raise InputError(f"{path}: no CSV: {wrong}") from None


def conditions(run: Run) -> dict[str, str]:
    """The conditions of a run by the names that a claim has for them, whoever wrote the file."""
    said = run.conditions
    quantized = said.get("quantization", "")
    lengths = [
        f"{side} {said[key]}"
        for side, key in (("in", "random_input_len"), ("out", "random_output_len"))
        if key in said
    ]
    found = {
        "device": said.get("device"),
        "dtype": quantized if quantized.casefold() not in ("", "none", "no_quant") else said.get("dtype"),
        "model": said.get("model") or said.get("model_id") or said.get("model_type"),
        "shape": said.get("shape") or " ".join(lengths) or run.case,
        "batch": said.get("batch") or said.get("batch_size"),
        "concurrency": said.get("concurrency") or said.get("max_concurrency"),
    }
    return {name: value for name, value in found.items() if value}


def number(value: object) -> float | None:
    """A finite number above zero: a rate or a time of zero was not measured."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) and found > 0 else None


def _known(values: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in values.items() if value is not None}


def _conditions(entry: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    return {name: str(entry[name])[:200] for name in names if entry.get(name) is not None}


def _count(value: object) -> int:
    return int(number(value) or 0)


def _rates(
    prompt: float | None, ttft: float | None, tpot: float | None, output: float | None
) -> dict[str, float]:
    """What the client of a server saw, from the mean prompt, both times (ms), and the output (tok/s)."""
    return _known(
        {
            "prefill_tokens_per_second": prompt / ttft * 1e3 if prompt and ttft else None,
            "decode_tokens_per_second": 1e3 / tpot if tpot else None,
            "output_tokens_per_second": output,
            "ttft_ms": ttft,
            "tpot_ms": tpot,
        }
    )


def _served(entry: Mapping[str, Any]) -> Iterator[Run]:
    """vLLM and SGLang."""
    ttft, tpot = number(entry.get("median_ttft_ms")), number(entry.get("median_tpot_ms"))
    prompts, completed = number(entry.get("total_input_tokens")), number(entry.get("completed"))
    mean = prompts / completed if prompts and completed else None
    names = ("model_id", "model", "num_prompts", "max_concurrency", "request_rate", "dataset_name")
    conditions = _conditions(entry, (*names, "random_input_len", "random_output_len"))
    if mean is not None:
        conditions["mean_input_tokens"] = f"{mean:.0f}"
    if values := _rates(mean, ttft, tpot, number(entry.get("output_throughput"))):
        yield Run(values, conditions, failed=_count(entry.get("failed")))


def _metrics(entry: Mapping[str, Any]) -> Iterator[Run]:
    """genai-perf and AIPerf: a median where there is one, else the mean."""

    def value(name: str, *, time: bool = False) -> float | None:
        metric = entry.get(name)
        if not isinstance(metric, dict):
            return None
        found = number(metric.get("p50")) or number(metric.get("avg"))
        scale = _MILLISECONDS.get(str(metric.get("unit", "ms")).lower()) if time else 1.0
        return found * scale if found is not None and scale is not None else None

    ttft, tpot = value("time_to_first_token", time=True), value("inter_token_latency", time=True)
    prompt = value("input_sequence_length")
    conditions: dict[str, str] = {}
    if prompt is not None:
        conditions["input_tokens"] = f"{prompt:.0f}"
    conditions |= _asked(entry.get("input_config"))
    if values := _rates(prompt, ttft, tpot, value("output_token_throughput")):
        cut = entry.get("was_cancelled") is True or entry.get("is_complete") is False
        yield Run(values, conditions, failed=_count(value("error_request_count")), cut=cut)


def _asked(config: object) -> dict[str, str]:
    """Model and load by an `input_config`, wherever a version keeps them."""
    if not isinstance(config, dict):
        return {}
    phases = [phase for phase in _list(config.get("phases")) if phase.get("kind") == "profiling"]
    stimulus = _part(_part(config, "perf_analyzer"), "stimulus")
    conditions: dict[str, str] = {}
    for load in (config, _part(config, "loadgen"), stimulus, *phases):
        conditions |= _conditions(load, ("concurrency", "request_rate", "rate"))
    models = [one.get("name") for one in _list(_part(config, "models").get("items"))]
    models += [*_texts(config.get("model_names")), *_texts(_part(config, "endpoint").get("model_names"))]
    if named := next((str(model)[:200] for model in models if model), None):
        conditions["model"] = named
    return conditions


def _part(of: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = of.get(name)
    return part if isinstance(part, dict) else {}


def _list(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _llama(entry: Mapping[str, Any]) -> Iterator[Run]:
    prompt, generated = _count(entry.get("n_prompt")), _count(entry.get("n_gen"))
    if bool(prompt) == bool(generated):
        return  # a mixed test is neither prefill nor decode
    depth = _count(entry.get("n_depth"))
    case = (f"pp{prompt}" if prompt else f"tg{generated}") + (f" @ d{depth}" if depth else "")
    name = "prefill_tokens_per_second" if prompt else "decode_tokens_per_second"
    conditions = _conditions(entry, _LLAMA_CONDITIONS)
    samples = entry.get("samples_ts")
    for sample in samples if isinstance(samples, list) and samples else [entry.get("avg_ts")]:
        value = number(sample)
        if value is not None:
            yield Run({name: value}, conditions, case)


def _trtllm(entry: Mapping[str, Any]) -> Iterator[Run]:
    speed, stream = _part(entry, "performance"), _part(entry, "streaming_metrics")

    def median(percentiles: str, mean: str) -> float | None:
        return number(_part(stream, percentiles).get("p50")) or number(stream.get(mean))

    ttft, tpot = median("ttft_percentiles", "avg_ttft_ms"), median("tpot_percentiles", "avg_tpot_ms")
    prompt = number(_part(entry, "request_info").get("avg_input_length"))
    conditions = _conditions(_part(entry, "engine"), ("model", "dtype", "quantization", "kv_cache_dtype"))
    conditions |= _conditions(_part(entry, "world_info"), ("tp_size", "pp_size", "max_batch_size"))
    conditions |= _conditions(_part(entry, "request_info"), ("num_requests", "avg_input_length"))
    if values := _rates(prompt, ttft, tpot, number(speed.get("system_output_throughput_tok_s"))):
        yield Run(values, conditions)


def _plain(row: Mapping[str, str]) -> Iterator[Run]:
    values = _known({name: number(row.get(name, "")) for name in QUANTITIES})
    told = {name: value for name, value in row.items() if name and value and name not in (*QUANTITIES, "run")}
    if values:
        yield Run(values, {k: v[:200] for k, v in told.items() if k != "case"}, told.get("case"))
