"""The front door: `fallback-gate check LOG...`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from datetime import date

import click

from fallback_gate.cli.beside import beside, machine, measured, outside
from fallback_gate.cli.options import Day, InSections, Typed
from fallback_gate.cli.output import dressed, for_terminal, run_at, to_files, to_stdout, wants_color
from fallback_gate.cli.progress import progress, progress_of_many
from fallback_gate.reports import FORMATS, WITH_EXCERPTS


class Output(Typed[tuple[str, str]]):
    """FORMAT=PATH."""

    name = "format=path"

    def __init__(self, formats: Iterable[str] = FORMATS) -> None:
        self.formats = tuple(formats)

    def convert(
        self, value: str | tuple[str, str], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Split at the first equals sign."""
        if isinstance(value, tuple):
            return value
        name, equals, path = value.partition("=")
        if not equals or not path or name not in self.formats:
            known = ", ".join(self.formats)
            self.fail(
                f"{value!r} is not FORMAT=PATH with a format of {known}; for example json=report.json",
                param,
                ctx,
            )
        return name, path


_SECTIONS = {
    "Judging": (
        *("policy", "policy_ref", "rules", "baseline", "waiver", "release", "today"),
        *("strict", "expect_ranks", "sealed"),
    ),
    "Beside the logs": (
        *("trace", "trace_baseline", "counters", "counters_baseline", "bench", "bench_baseline"),
        *("numerics", "roofline", "evidence", "evidence_baseline", "environment"),
    ),
    "Reading": ("jobs", "engine"),
    "Reports": (*("format", "output", "exit_zero", "quiet", "verbose", "color", "hash", "sarif_suppressed"),),
}


@click.command("check", cls=InSections, sections=_SECTIONS, context_settings={"max_content_width": 100})
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@click.option(
    "-p",
    "--policy",
    metavar="FILE|builtin:NAME",
    help="The policy that judges (default: looked up).",
)
@click.option("--policy-ref", metavar="REF",
              help="Judge by policy, rules, baseline and waiver as this git commit has them.")  # fmt: skip
@click.option("-f", "--format", type=click.Choice(list(FORMATS)), default="text",
              show_default=True, help="What to print on standard output.")  # fmt: skip
@click.option("-o", "--output", type=Output(), multiple=True, metavar="FORMAT=PATH",
              help="Also write this report to a file; may be given several times.")  # fmt: skip
@click.option("--exit-zero", is_flag=True, help="End with 0 where the verdict is blocked; the verdict stays.")
@click.option("-b", "--baseline", metavar="FILE",
              help="Fallbacks that may stay; none may be added.")  # fmt: skip
@click.option("--waiver", metavar="FILE", help="A waiver for the release named by --release.")
@click.option("--release", metavar="NAME", help="The release that is being judged.")
@click.option(
    "--today", type=Day(), metavar="YYYY-MM-DD", help="Judge as of this day (UTC) [default: today]."
)
@click.option("--strict", is_flag=True, help="Unproven where a line smells of a fallback that no rule knows.")
@click.option("--expect-ranks", type=click.IntRange(1), metavar="N",
              help="Unproven where one of the ranks 0 to N-1 is missing.")  # fmt: skip
@click.option("--sealed", is_flag=True, help="Unproven where a log has no seal (see `record`).")
@click.option("--trace", metavar="FILE", multiple=True,
              help="A kernel trace to judge beside the logs (see `trace`).")  # fmt: skip
@click.option("--trace-baseline", metavar="FILE", help="The trace of a good run, to compare with.")
@beside
@click.option("--rules", metavar="FILE", multiple=True, help="Your own messages, beside the policy's.")
@click.option(
    "--hash", is_flag=True, help="SHA-256 and line count of each log in the reports (reads it again)."
)
@click.option("--engine", metavar="dask|dask://HOST:PORT",
              help="Read the logs on a Dask cluster: a local one, or the one of this scheduler.")  # fmt: skip
@click.option("-j", "--jobs", type=click.IntRange(1), metavar="N",
              help="Logs, or parts of one, to read at a time [default: one a core].")  # fmt: skip
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
              help="Colour the text report.")  # fmt: skip
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
    trace: tuple[str, ...],
    trace_baseline: str | None,
    counters: tuple[str, ...],
    counters_baseline: str | None,
    bench: tuple[str, ...],
    bench_baseline: tuple[str, ...],
    numerics: str | None,
    roofline: tuple[str, ...],
    evidence: tuple[str, ...],
    evidence_baseline: tuple[str, ...],
    environment: str,
    rules: tuple[str, ...],
    hash: bool,
    engine: str | None,
    jobs: int | None,
    color: str,
    sarif_suppressed: bool,
    quiet: bool,
    verbose: int,
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

    instruments = []
    if trace:
        from fallback_gate.cli.trace import traced

        instruments = [traced(file, trace_baseline) for file in trace]
    instruments += measured(
        counters, counters_baseline, bench, bench_baseline, numerics, roofline, policy, today, policy_ref
    )
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
            evidence=instruments,
            outside=outside(evidence, evidence_baseline),
            environment=machine(environment),
            exit_zero=exit_zero,
            progress=moved,
            jobs=jobs or cores(),
            engine=engine,
        )
    reports = dressed(
        verdict, formats - {"text"} | {name for name, _ in output}, sarif_suppressed=sarif_suppressed
    )
    kept = [log.path.partition("!/")[0] for log in verdict.logs]
    kept += [policy or "", waiver or "", baseline or "", *rules, *trace, trace_baseline or ""]
    kept += [*counters, counters_baseline or "", *bench, *bench_baseline, *roofline]
    kept += [*evidence, *evidence_baseline, environment]
    to_files([(path, reports[name]) for name, path in output if path != "-"], keep=kept)
    if format == "text":
        in_color = wants_color(color, os.environ, sys.stdout.isatty())
        to_stdout(for_terminal(verdict, color=in_color, verbose=verbose, quiet=quiet))
    else:
        to_stdout(reports[format])
    for name, path in output:
        if path == "-":
            to_stdout(reports[name])
    return verdict.exit_code
