"""The front door: `fallback-gate trace FILE`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from fallback_gate.cli.instrument import Asked, answer, judging_evidence

if TYPE_CHECKING:
    from fallback_gate.instruments.evidence import Evidence


@click.command("trace")
@click.argument("file")
@click.option("-b", "--baseline", metavar="FILE", help="The trace of a good run, to compare with.")
@judging_evidence
def trace_command(file: str, baseline: str | None, **shared: Any) -> int:
    """Judge a kernel trace: how many kernels a step runs, and which operators ran eager.

    FILE is a Chrome trace of the PyTorch profiler, of XLA or JAX (json, gz), an SQLite export or a CSV table
    of Nsight Systems, or a CSV of rocprof, rocprofv3 or msprof.

    Exit codes: 0 within the limits, 1 a limit is exceeded or a hot operator ran eager, 2 usage, 3 the trace
    does not tell: cut short, no steps, no kernels.

    \b
    Examples:
      fallback-gate trace decode.json.gz
      fallback-gate trace decode.json.gz --baseline good.json.gz --policy fallback-gate.yaml
      fallback-gate trace decode.json.gz --format json
    """
    asked = Asked(**shared)
    return answer(traced(file, baseline), asked, asked.rule())


def traced(file: str, baseline: str | None) -> Evidence:
    """What a trace says, beside the trace of a good run."""
    from fallback_gate.instruments.trace import evidence, read

    size = os.path.getsize(file) if os.path.isfile(file) else None
    return evidence(file, read(file), read(baseline) if baseline else None, size)
