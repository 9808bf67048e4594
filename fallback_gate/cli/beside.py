"""The front door: files of instruments beside the logs of `check`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from fallback_gate.instruments.evidence import Evidence
    from fallback_gate.model.environment import Environment
    from fallback_gate.model.exclusions import Outside

_OPTIONS: Final = (
    click.option("--counters", metavar="FILE", multiple=True,
                 help="Hardware counters to judge beside the logs (see `counters`)."),  # fmt: skip
    click.option("--counters-baseline", metavar="FILE", help="Counters of a good run."),
    click.option("--bench", metavar="FILE", multiple=True,
                 help="Throughput to judge beside the logs (see `bench`); several are runs of one program."),
    click.option("--bench-baseline", metavar="FILE", multiple=True, help="Throughput of good runs."),
    click.option("--numerics", metavar="FOLDER",
                 help="Tensors to compare: a folder with reference and output in it (see `numerics`)."),
    click.option("--roofline", metavar="FILE", multiple=True,
                 help="Gains that fusions are said to bring, to hold against their bytes (see `roofline`)."),
    click.option("--evidence", metavar="FILE", multiple=True,
                 help="What rules other causes out: nvidia-smi -q, dmon, npu-smi, amd-smi, a serving log."),
    click.option("--evidence-baseline", metavar="FILE", multiple=True, help="The same of a good run."),
    click.option("--environment", metavar="auto|FILE|off", default="auto", show_default=True,
                 help="Devices, drivers and versions of the run: what logs tell of them, or a file."),
)  # fmt: skip


def beside(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that name files of instruments."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def measured(
    counters: tuple[str, ...],
    counters_baseline: str | None,
    bench: tuple[str, ...],
    bench_baseline: tuple[str, ...],
    numerics: str | None,
    roofline: tuple[str, ...],
    policy: str | None,
    today: date | None,
    policy_ref: str | None = None,
) -> list[Evidence]:
    """What these files say, looked at as the policy wants it."""
    found: list[Evidence] = []
    if not (counters or bench or numerics or roofline or counters_baseline or bench_baseline):
        return found
    from fallback_gate.cli.instrument import settings
    from fallback_gate.errors import InputError

    if (counters_baseline and not counters) or (bench_baseline and not bench):
        raise InputError("a baseline compares with something: give --counters or --bench too")
    if counters:
        from fallback_gate.instruments.counters import read as read_counters

        chosen = settings("counters", policy, today, policy_ref)
        found += [read_counters(file, chosen, baseline=counters_baseline) for file in counters]
    if bench:
        from fallback_gate.instruments.bench import read as read_bench

        chosen = settings("bench", policy, today, policy_ref)
        found.append(read_bench(bench, chosen, baseline=bench_baseline))
    if numerics:
        from fallback_gate.instruments.numerics import folder
        from fallback_gate.instruments.numerics import read as read_tensors

        found.append(read_tensors(*folder(numerics)))
    if roofline:
        from fallback_gate.judging.gains import read as read_gains

        found += map(read_gains, roofline)
    return found


def outside(evidence: tuple[str, ...], baseline: tuple[str, ...]) -> Outside | None:
    """What files of evidence say of the device and the load; None without any."""
    if not evidence:
        if baseline:
            from fallback_gate.errors import InputError

            raise InputError("a baseline compares with something: give --evidence too")
        return None
    from fallback_gate.instruments.exclusions import read

    return read(evidence, baseline)


def machine(asked: str) -> Environment | str:
    """What `--environment` says: a word, or the record that a file holds."""
    if asked in ("auto", "off"):
        return asked
    from fallback_gate.instruments.environment import read

    return read(asked)
