"""The front door: `fallback-gate counters FILE`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from fallback_gate.cli.instrument import Asked, answer, judging_evidence

MOST_KERNELS = 12


@click.command("counters")
@click.argument("file")
@click.option("-b", "--baseline", metavar="FILE", help="Counters of the same program in good order.")
@click.option(
    "-d", "--device", metavar="NAME", help="The device, where a tool counts bytes (rocprof, msprof)."
)
@judging_evidence
def counters_command(
    file: str,
    baseline: str | None,
    device: str | None,
    **shared: Any,
) -> int:
    """Find kernels that keep the memory busy and the matrix units idle.

    FILE is a CSV of Nsight Compute, output of `dcgmi dmon -e 1001,1004,1005`, DCGM's Prometheus text, a
    counter collection of rocprof, or an op_summary of msprof.

    Exit codes: 0 none, 1 the whole or a kernel of weight has the fingerprint, 2 usage, 3 the file lacks the
    counters that would show it.

    \b
    Examples:
      fallback-gate counters ncu.csv
      fallback-gate counters counter_collection.csv --device MI300X --format json
    """
    from fallback_gate.instruments import counters, devices
    from fallback_gate.policy.instruments import settings

    asked = Asked(**shared)
    rule = asked.rule()
    roof = None
    if device:
        one = devices.device(device)
        roof = devices.roof(one.name, next(iter(one.peaks)))
    chosen = settings(rule.bounds, counters.INSTRUMENT)
    said = counters.read(file, chosen, device=roof, baseline=baseline)
    return answer(said, asked, rule, _sheet(said.details, None if asked.verbose else MOST_KERNELS))


def _sheet(details: Mapping[str, Any], most: int | None) -> Iterator[str]:
    """The kernels that take longest, and what they look like."""
    yield "Counters (per cent of the peak, weighted by time)"
    yield f"  {'HBM':>5}  {'matrix':>6}  {'time':>6}  kernel"
    kernels = details["kernels"]
    for row in (details["whole"], *kernels[:most]):
        mark = "  <- memory busy, matrix units idle" if row["fingerprint"] else ""
        name = row["name"] if len(row["name"]) <= 70 or most is None else row["name"][:67] + "..."
        dram, tensor = _per_cent(row["dram_pct"]), _per_cent(row["tensor_pct"])
        yield f"  {dram:>5}  {tensor:>6}  {row['share']:>6.1%}  {name}{mark}"
    if most is not None and len(kernels) > most:
        yield f"  and {len(kernels) - most:,} more (--verbose)"


def _per_cent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
