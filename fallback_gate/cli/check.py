"""The front door: `fallback-gate check LOG...`."""

from __future__ import annotations

import os
from datetime import date
from typing import Any

import click

from fallback_gate.cli.beside import Beside, beside
from fallback_gate.cli.options import (
    BASELINE,
    COLOR,
    EXIT_ZERO,
    EXPECT_RANKS,
    POLICY,
    RELEASE,
    RULES,
    TODAY,
    WAIVER,
    InSections,
    form,
    reports,
)
from fallback_gate.cli.output import publish, run_at
from fallback_gate.cli.progress import progress, progress_of_many
from fallback_gate.reports import FORMATS, WITH_EXCERPTS

_SECTIONS = {
    "Judging": (
        *("policy", "policy_ref", "rules", "baseline", "waiver", "release", "today"),
        *("strict", "expect_ranks", "sealed"),
    ),
    "Beside the logs": Beside._fields,
    "Reading": ("jobs", "engine"),
    "Reports": (*("format", "output", "exit_zero", "quiet", "verbose", "color", "hash", "sarif_suppressed"),),
}


@click.command("check", cls=InSections, sections=_SECTIONS)
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@POLICY
@click.option("--policy-ref", metavar="REF",
              help="Judge by policy, rules, baseline and waiver as this git commit has them.")  # fmt: skip
@form(*FORMATS)
@reports(*FORMATS)
@EXIT_ZERO
@BASELINE
@WAIVER
@RELEASE
@TODAY
@click.option("--strict", is_flag=True, help="Unproven where a line smells of a fallback that no rule knows.")
@EXPECT_RANKS
@click.option("--sealed", is_flag=True, help="Unproven where a log has no seal (see `record`).")
@beside
@RULES
@click.option(
    "--hash", is_flag=True, help="SHA-256 and line count of each log in the reports (reads it again)."
)
@click.option("--engine", metavar="dask|dask://HOST:PORT",
              help="Read the logs on a Dask cluster: a local one, or the one of this scheduler.")  # fmt: skip
@click.option("-j", "--jobs", type=click.IntRange(1), metavar="N",
              help="Logs, or parts of one, to read at a time [default: one a core].")  # fmt: skip
@COLOR
@click.option("--sarif-suppressed", is_flag=True,
              help="SARIF holds what is allowed or waived too, as suppressed.")  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="Only the verdict and the blocked operators.")
@click.option("-v", "--verbose", count=True, help="All events and all proofs.")
def check_command(
    logs: tuple[str, ...],
    policy: str | None,
    policy_ref: str | None,
    format: str,
    output: tuple[tuple[str, str], ...],
    exit_zero: bool,
    baseline: str | None,
    waiver: str | None,
    release: str | None,
    today: date | None,
    strict: bool,
    expect_ranks: int | None,
    sealed: bool,
    rules: tuple[str, ...],
    hash: bool,
    engine: str | None,
    jobs: int | None,
    color: str,
    sarif_suppressed: bool,
    quiet: bool,
    verbose: int,
    **files: Any,
) -> int:
    """Judge compiler logs by a policy.

    LOG is a file, a folder, a glob, a zip archive of a CI run, or - for standard input; gz, xz, bz2 and
    zst are read as they are. It may be a URL: s3://, gs://, az://, https://, hf://. Without LOG, the
    policy's own `logs` are read.

    \b
    Examples:
      fallback-gate check compile.log
      fallback-gate check build/*.log --policy builtin:llm-decode
      fallback-gate check logs/ -p policies/decode.yaml -o junit=report.xml -o json=report.json
    """
    from fallback_gate.gate import check
    from fallback_gate.reading.jobs import cores

    given = Beside(**files)
    measured = given.measured(policy, today, policy_ref)
    formats = {format, *(name for name, _ in output)}
    with progress() if engine is None else progress_of_many() as moved:
        verdict = check(
            logs,
            policy,
            policy_ref=policy_ref,
            today=today,
            waiver_file=waiver,
            baseline=baseline,
            release=release,
            hash_logs=hash,
            strict=strict,
            rules=rules,
            excerpts=not formats.isdisjoint(WITH_EXCERPTS),
            run_at=None if today else run_at(os.environ),
            expect_ranks=expect_ranks,
            sealed=sealed,
            evidence=measured,
            outside=given.outside(),
            environment=given.machine(),
            exit_zero=exit_zero,
            progress=moved,
            jobs=jobs or cores(),
            engine=engine,
        )
    kept = [policy or "", waiver or "", baseline or "", *rules, *given.files()]
    publish(
        verdict, output, format=format, keep=kept, color=color, verbose=verbose, quiet=quiet,
        sarif_suppressed=sarif_suppressed,
    )  # fmt: skip
    return verdict.exit_code
