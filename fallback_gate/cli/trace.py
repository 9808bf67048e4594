"""The front door: `fallback-gate trace FILE`, and a trace beside the logs of `check`."""

from __future__ import annotations

import os
import sys
from datetime import date
from typing import TYPE_CHECKING

import click

from fallback_gate.cli.options import Day
from fallback_gate.cli.output import dressed, for_terminal, to_stdout, wants_color
from fallback_gate.reports import FORMATS

if TYPE_CHECKING:
    from fallback_gate.instruments.evidence import Evidence


@click.command("trace")
@click.argument("file")
@click.option("-b", "--baseline", metavar="FILE", help="The trace of a good run, to compare with.")
@click.option("-p", "--policy", metavar="FILE|builtin:NAME",
              help="The policy that judges (default: looked up).")  # fmt: skip
@click.option("-f", "--format", type=click.Choice(list(FORMATS)), default="text",
              show_default=True, help="What to print on standard output.")  # fmt: skip
@click.option("--exit-zero", is_flag=True, help="End with 0 where the verdict is blocked; the verdict stays.")
@click.option(
    "--today", type=Day(), metavar="YYYY-MM-DD", help="Judge as of this day (UTC) [default: today]."
)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
              help="Colour the text report.")  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="Only the verdict and the blocked operators.")
@click.option("-v", "--verbose", count=True, help="All operators.")
def trace_command(
    file: str,
    baseline: str | None,
    policy: str | None,
    format: str,
    exit_zero: bool,
    today: date | None,
    color: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Judge a kernel trace: how many kernels a step runs, and which operators ran eager.

    FILE is a Chrome trace of the PyTorch profiler, of XLA or JAX (json, gz), an SQLite export or a CSV table
    of Nsight Systems, or a CSV of rocprof, rocprofv3 or msprof.

    \b
    Examples:
      fallback-gate trace decode.json.gz
      fallback-gate trace decode.json.gz --baseline good.json.gz --policy fallback-gate.yaml
      fallback-gate trace decode.json.gz --format json
    """
    from fallback_gate.judging.weigh import judge
    from fallback_gate.reports import instrument_json

    evidence = traced(file, baseline)
    verdict = judge([evidence], policy, today=today, exit_zero=exit_zero)
    if format == "text":
        in_color = wants_color(color, os.environ, sys.stdout.isatty())
        to_stdout(for_terminal(verdict, color=in_color, verbose=verbose, quiet=quiet))
    elif format in ("json", "json-v1"):
        to_stdout(instrument_json.render(verdict, "trace", evidence.details))
    else:
        to_stdout(dressed(verdict, [format])[format])
    return verdict.exit_code


def traced(file: str, baseline: str | None) -> Evidence:
    """What a trace says, beside the trace of a good run."""
    from fallback_gate.instruments.trace import evidence, read

    size = os.path.getsize(file) if os.path.isfile(file) else None
    return evidence(file, read(file), read(baseline) if baseline else None, size)
