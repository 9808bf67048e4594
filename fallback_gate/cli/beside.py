"""The front door: files of instruments beside the logs of `check`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

import click

from fallback_gate.cli.options import together
from fallback_gate.errors import InputError

if TYPE_CHECKING:
    from fallback_gate.instruments.evidence import Evidence
    from fallback_gate.model.environment import Environment
    from fallback_gate.model.exclusions import Outside

beside = together(
    click.option("--trace", metavar="FILE", multiple=True,
                 help="A kernel trace to judge beside the logs (see `trace`)."),
    click.option("--trace-baseline", metavar="FILE", help="The trace of a good run, to compare with."),
    click.option("--counters", metavar="FILE", multiple=True,
                 help="Hardware counters to judge beside the logs (see `counters`)."),
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
"""The options that name files of instruments: `Beside` takes what they say."""


class Beside(NamedTuple):
    """Files beside the logs, by option."""

    trace: tuple[str, ...]
    trace_baseline: str | None
    counters: tuple[str, ...]
    counters_baseline: str | None
    bench: tuple[str, ...]
    bench_baseline: tuple[str, ...]
    numerics: str | None
    roofline: tuple[str, ...]
    evidence: tuple[str, ...]
    evidence_baseline: tuple[str, ...]
    environment: str

    def files(self) -> list[str]:
        """All of them, which no report may take the place of."""
        return [name for said in self if said for name in ([said] if isinstance(said, str) else said)]

    def measured(self, policy: str | None, today: date | None, policy_ref: str | None) -> list[Evidence]:
        """What instruments say, looked at as the policy wants it. Raises `InputError`, `PolicyError`."""
        for name in ("trace", "counters", "bench", "evidence"):
            if getattr(self, f"{name}_baseline") and not getattr(self, name):
                raise InputError(f"a baseline compares with something: give --{name} too")
        return list(self._measured(policy, today, policy_ref))

    def _measured(self, policy: str | None, today: date | None, policy_ref: str | None) -> Iterator[Evidence]:
        if self.trace:
            from fallback_gate.cli.trace import traced

            yield from (traced(file, self.trace_baseline) for file in self.trace)
        if self.counters or self.bench:
            from fallback_gate.cli.instrument import rule
            from fallback_gate.instruments import bench, counters
            from fallback_gate.policy.instruments import settings

            bounds = rule(policy, today, policy_ref).bounds
            chosen = settings(bounds, counters.INSTRUMENT)
            for file in self.counters:
                yield counters.read(file, chosen, baseline=self.counters_baseline)
            if self.bench:
                chosen = settings(bounds, bench.INSTRUMENT)
                yield bench.read(self.bench, chosen, baseline=self.bench_baseline)
        if self.numerics:
            from fallback_gate.instruments import numerics

            yield numerics.read(*numerics.folder(self.numerics))
        if self.roofline:
            from fallback_gate.judging.gains import read

            yield from map(read, self.roofline)

    def outside(self) -> Outside | None:
        """What files of evidence say of the device and the load; None without any."""
        if not self.evidence:
            return None
        from fallback_gate.instruments.exclusions import read

        return read(self.evidence, self.evidence_baseline)

    def machine(self) -> Environment | str:
        """What `--environment` says: a word, or the record that a file holds."""
        if self.environment in ("auto", "off"):
            return self.environment
        from fallback_gate.instruments.environment import read

        return read(self.environment)
