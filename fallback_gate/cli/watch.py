"""The front door: `fallback-gate watch LOG...`, beside a job that runs."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import click

from fallback_gate.cli.job import Job
from fallback_gate.cli.options import BASELINE, EXPECT_RANKS, JUDGING, day, form, reports
from fallback_gate.cli.output import must_be_writable, publish, run_at, say, to_stderr, to_stdout
from fallback_gate.errors import InputError
from fallback_gate.model import Finding
from fallback_gate.reports import FORMATS, live


@click.command("watch")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@JUDGING
@click.option("--until-idle", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
              help="End when no log has grown for so long.")  # fmt: skip
@click.option("--exit-on", type=click.Choice(["hot", "blocked"]),
              help="End at the first fallback that is hot, or that the policy blocks at all.")  # fmt: skip
@click.option("--stop-pid", type=int, metavar="PID",
              help="End this process (SIGTERM) at such a fallback; end when it has ended.")  # fmt: skip
@click.option("--stop-group", is_flag=True, help="With --stop-pid: end all of its process group.")
@BASELINE
@EXPECT_RANKS
@form(*FORMATS)
@reports(*FORMATS)
@click.option("-q", "--quiet", is_flag=True, help="Only the verdict and the blocked operators.")
def watch_command(
    logs: tuple[str, ...],
    policy: str | None,
    today: date | None,
    rules: tuple[str, ...],
    until_idle: float | None,
    exit_on: str | None,
    stop_pid: int | None,
    stop_group: bool,
    baseline: str | None,
    expect_ranks: int | None,
    format: str,
    output: tuple[tuple[str, str], ...],
    quiet: bool,
) -> int:
    """Follow logs that are being written, and tell each fallback as it comes.

    LOG is a file (which may not be there yet), a folder or a glob (new files are followed too), or - for a
    pipe. It ends with the end of the pipe, with --until-idle, when the process of --stop-pid has ended, or
    with Ctrl-C; then comes the whole report, and the exit code as from `check`. Where that is no text, each
    fallback is told on standard error.

    \b
    Examples:
      python build.py 2>&1 | fallback-gate watch -
      python build.py >build.log 2>&1 & fallback-gate watch build.log --stop-pid $!
      fallback-gate watch 'logs/rank*.log' -p builtin:llm-decode --exit-on hot --until-idle 600
    """
    from fallback_gate.judging.files import Names
    from fallback_gate.judging.terms import Options, terms
    from fallback_gate.walks.watch import Watch

    if stop_group and stop_pid is None:
        raise click.UsageError("--stop-group needs --stop-pid")
    cwd = Path.cwd()
    options = Options(
        today=day(today),
        run_at=None if today else run_at(os.environ),
        expect_ranks=expect_ranks,
    )
    by = terms(Names(policy, rules, baseline), options, cwd, os.environ)
    names_hot = bool(by.files.policy.hot)
    if exit_on == "hot" and not names_hot:
        raise InputError(f"the policy {by.files.policy.name} names nothing hot: use --exit-on blocked")
    job = Job(stop_pid, group=stop_group) if stop_pid is not None else None
    if exit_on is None and job is not None:
        exit_on = "hot" if names_hot else "blocked"
    in_text = format == "text"
    kept = [policy or "", baseline or "", *rules]
    must_be_writable(output, keep=kept)
    watch = Watch(logs, by, lambda finding: _tell(finding, err=not in_text), cwd=cwd, environ=os.environ)
    _await(watch.missing)
    if not watch.is_pipe:
        say(_how_it_ends(until_idle, stop_pid))
    ended = False
    try:
        while not watch.is_over:
            findings = watch.step()
            if exit_on and watch.forbids(findings, hot_only=exit_on == "hot"):
                watch.stop()
                ended = True
                say(job.end() if job else "stopped at the first such fallback")
                break
            if (until_idle is not None and watch.quiet >= until_idle) or (job and job.is_gone):
                watch.drain()
                break
    except KeyboardInterrupt:
        say("interrupted: this is the verdict on what was read")
    watch.drain()
    verdict = watch.verdict()
    if job and exit_on and not ended and watch.forbids(verdict.findings, hot_only=exit_on == "hot"):
        say(job.end())
    publish(verdict, output, format=format, keep=kept, quiet=quiet)
    return verdict.exit_code


def _tell(finding: Finding, *, err: bool) -> None:
    """One line, at once."""
    if err:
        to_stderr(live.line(finding))
    else:
        to_stdout(live.line(finding))


def _how_it_ends(until_idle: float | None, pid: int | None) -> str:
    ends = [f"when no log has grown for {until_idle:g} s"] if until_idle else []
    ends += [f"when process {pid} has ended"] if pid else []
    hint = "" if ends else "; --until-idle SECONDS or --stop-pid PID would end it by itself"
    return f"following; it ends {', '.join([*ends, 'with Ctrl-C'])}{hint}"


def _await(missing: list[str]) -> None:
    if missing:
        more = f" and {len(missing) - 3:,} more" if len(missing) > 3 else ""
        say(f"waiting for {', '.join(missing[:3])}{more}")
