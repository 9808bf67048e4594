"""The front door: `fallback-gate peak`."""

from __future__ import annotations

import click

from fallback_gate.cli.options import form
from fallback_gate.cli.output import to_stdout
from fallback_gate.model.quantity import digits, shown
from fallback_gate.reports.dump import dump


@click.command("peak")
@click.option("-d", "--device", metavar="NAME", help="torch's name of it: cuda, cuda:1, mps, xpu, cpu.")
@click.option("--dtype", default="bf16", show_default=True, help="bf16, fp16 or fp32.")
@click.option("--repeat", type=click.IntRange(1, 1000), default=10, show_default=True,
              help="Repetitions, of which the best counts.")  # fmt: skip
@form("text", "json")
def peak_command(device: str | None, dtype: str, repeat: int, format: str) -> int:
    """Measure what this machine reaches: matrix products, attention, copies. Needs torch.

    The JSON form is what `fallback-gate bench --peak FILE` holds an end-to-end figure against.

    \b
    Examples:
      fallback-gate peak
      fallback-gate peak --device cuda --dtype bf16 -f json > peak.json
    """
    from fallback_gate.instruments.peak import measure

    told = measure(device, dtype, repeat)
    if format == "json":
        to_stdout(dump(told))
        return 0
    to_stdout(
        "\n".join(
            (
                f"{told['device']}, {dtype}, torch {told['torch']}: best of {repeat}",
                f"  product    {shown(told['gemm_flops'], 'FLOPS')}",
                f"  attention  {shown(told['attention_flops'], 'FLOPS')}",
                f"  copy       {shown(told['copy_bandwidth'], 'B/s')}",
                f"  balance    {digits(told['balance'])} FLOP/byte",
            )
        )
    )
    return 0
