"""The front door: `fallback-gate bench FILE...`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from fallback_gate.cli.amounts import DECODE_STEP
from fallback_gate.cli.instrument import Asked, answer, judging_evidence
from fallback_gate.errors import InputError
from fallback_gate.model import quantity


@click.command("bench")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-b", "--baseline", multiple=True, metavar="FILE", help="Runs in good order; several are pooled."
)
@click.option("--peak", metavar="FILE",
              help="The measured peak (`fallback-gate peak -f json`), for a decode step.")  # fmt: skip
@DECODE_STEP
@judging_evidence
def bench_command(
    files: tuple[str, ...],
    baseline: tuple[str, ...],
    peak: str | None,
    rows: int | None,
    weights: float | None,
    kv: float,
    **shared: Any,
) -> int:
    """Hold throughput and latency against a baseline, prefill and decode apart.

    FILE is the JSON of vLLM's or SGLang's serving benchmark, genai-perf, AIPerf, llama-bench or trtllm-bench,
    or a CSV with a row for each run. Several files are runs of one program.

    Exit codes: 0 within the limits, 1 slower beyond the noise, 2 usage, 3 it can't be told: too noisy, other
    conditions, failed requests.

    \b
    Examples:
      fallback-gate bench run1.json run2.json run3.json --baseline good1.json --baseline good2.json
      fallback-gate bench run.json --peak peak.json --rows 32 --weights 14GB
    """
    from fallback_gate.instruments import bench
    from fallback_gate.policy.instruments import settings

    asked = Asked(**shared)
    rule = asked.rule()
    most = _reachable(peak, rows, weights, kv)
    said = bench.read(files, settings(rule.bounds, bench.INSTRUMENT), baseline=baseline, reachable=most)
    return answer(said, asked, rule, _sheet(said.details))


def _reachable(peak: str | None, rows: int | None, weights: float | None, kv: float) -> float | None:
    """Output tokens a second at the measured peak; None without one."""
    if peak is None:
        if rows or weights or kv:
            raise InputError("--rows, --weights and --kv tell a decode step at the peak: give --peak")
        return None
    if not rows or not weights:
        raise InputError("--peak needs --rows and --weights: what a decode step reads for how many sequences")
    from fallback_gate.instruments import peak as peaks
    from fallback_gate.instruments import roofline

    limits = peaks.roof(peak)
    return rows / roofline.seconds(roofline.decode(rows, weights, kv, limits.dtype), limits)


def _sheet(details: Mapping[str, Any]) -> Iterator[str]:
    """Each case, then what changed."""
    yield "Measured (medians)"
    for row in details["cases"]:
        values = [
            f"{label} {quantity.digits(row[name])} {unit}"
            for name, label, unit in (
                ("prefill_tokens_per_second", "prefill", "tok/s"),
                ("decode_tokens_per_second", "decode", "tok/s"),
                ("output_tokens_per_second", "output", "tok/s"),
                ("ttft_ms", "TTFT", "ms"),
                ("tpot_ms", "TPOT", "ms"),
            )
            if row[name] is not None
        ]
        runs = "1 run" if row["runs"] == 1 else f"{row['runs']} runs"
        yield f"  {row['case'] + ': ' if row['case'] else ''}{', '.join(values)} ({runs})"
    if details["reachable_tokens_per_second"]:
        yield f"  reachable: {quantity.digits(details['reachable_tokens_per_second'])} tok/s of output"
    if details["compared"]:
        yield "Against the baseline"
    for one in details["compared"]:
        noise = "noise unknown" if one["noise"] is None else f"noise {one['noise']:.1%}"
        name = f"{one['name']} of {one['case']}" if one["case"] else one["name"]
        moved = f"{quantity.digits(one['baseline'])} -> {quantity.digits(one['value'])}"
        yield f"  {one['state']:<12}  {name}: {moved} ({_change(one['change'])}, {noise})"


def _change(change: float) -> str:
    if abs(change) < 0.0005:
        return "no change"
    return f"{change:.1%} worse" if change > 0 else f"{-change:.1%} better"
