"""The front door: `fallback-gate coverage`, and `fallback-gate coverage diff OLD NEW`."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import click

from fallback_gate.cli.options import COLOR, EXIT_ZERO, JUDGING, form, reports
from fallback_gate.cli.output import deliver, in_color, to_stdout, width
from fallback_gate.cli.progress import progress

if TYPE_CHECKING:
    from fallback_gate.model.matrix import Held

FORMS: Final = ("text", "json", "csv", "markdown", "html")


class _OrDiff(click.Command):
    """The command; with `diff` as its first word the other one."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of whichever command is meant."""
        if args[:1] == ["diff"]:
            return diff_command.make_context(f"{info_name} diff", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("diff")
@click.argument("old")
@click.argument("new")
@form("text", "json")
@COLOR
@click.option("-v", "--verbose", is_flag=True, help="Also what is unchanged.")
def diff_command(old: str, new: str, format: str, color: str, verbose: bool) -> int:
    """Compare two coverage matrices, such as those of two releases.

    OLD and NEW are files that `coverage --into FILE` keeps.

    Exit codes: 0 nothing is worse, 1 a row is in the fallback column that was not, 3 no row is, but one is
    unknown now or a back end is missing, 2 usage.

    \b
    Examples:
      fallback-gate coverage diff v1/coverage.json v2/coverage.json
    """
    from fallback_gate.coverage import compare, load
    from fallback_gate.reports import coverage_diff

    compared = compare(old, load(old), new, load(new))
    if format == "json":
        to_stdout(coverage_diff.as_json(compared))
    else:
        to_stdout(coverage_diff.text(compared, color=in_color(color), width=width(140), verbose=verbose))
    return compared.exit_code


@click.command("coverage", cls=_OrDiff)
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@click.option("-t", "--trace", metavar="FILE", multiple=True, help="A kernel trace (see `trace`).")
@click.option(
    "--floor",
    metavar="FILE",
    multiple=True,
    help="A trace, profile or graph of the reference implementation: its times are the floor.",
)
@click.option(
    "--into", metavar="FILE", help="Keep the matrix in this file; back ends that are not read now stay in it."
)
@click.option(
    "--backend",
    metavar="NAME",
    help="The back end's name, for all that is read now [default: the compiler's].",
)
@click.option(
    "--target",
    metavar="NAME",
    help="What was asked to run: an execution provider of ONNX Runtime, a device of OpenVINO.",
)
@form(*FORMS)
@reports(*FORMS)
@JUDGING
@EXIT_ZERO
@COLOR
@click.option("-q", "--quiet", is_flag=True, help="Only the verdict and what is over the red line.")
@click.option("-v", "--verbose", is_flag=True, help="All cells; shorten nothing.")
def coverage_command(
    logs: tuple[str, ...],
    trace: tuple[str, ...],
    floor: tuple[str, ...],
    into: str | None,
    backend: str | None,
    target: str | None,
    format: str,
    output: tuple[tuple[str, str], ...],
    policy: str | None,
    today: date | None,
    rules: tuple[str, ...],
    exit_zero: bool,
    color: str,
    quiet: bool,
    verbose: bool,
) -> int:
    """Show whose kernel computes each operator: a library's, a generated one, a hand-written one, a fallback.

    LOG is a compiler log or a structured trace of PyTorch, a profile of ONNX Runtime, the layers or profile
    of a TensorRT engine (JSON), an executed graph of OpenVINO (XML), or a matrix that was kept. The red line:
    an operator of the policy's hot list in the fallback column blocks. `coverage diff OLD NEW` compares two
    matrices.

    Exit codes: 0 each hot operator is covered, 1 one is in the fallback column, 3 one is unknown or nothing
    read tells of it, 2 usage.

    \b
    Examples:
      fallback-gate coverage torch_trace.log --trace decode.json.gz --policy fallback-gate.yaml
      fallback-gate coverage profile.json --target CUDAExecutionProvider --into coverage.json
      fallback-gate coverage diff v1/coverage.json coverage.json
    """
    from fallback_gate.walks.cover import cover

    with progress() as moved:
        held = cover(
            logs,
            trace,
            policy,
            floor=floor,
            kept=into if into and os.path.exists(into) else None,
            backend=backend,
            target=target,
            today=today,
            rules=rules,
            exit_zero=exit_zero,
            progress=moved,
        )
    kept = []
    if into:
        from fallback_gate.reports import coverage_file

        kept = [(into, coverage_file.render(held.matrix))]
    if format == "text":
        from fallback_gate.reports import coverage_report

        colour = in_color(color)
        shown = coverage_report.text(held, color=colour, width=width(140), verbose=verbose, quiet=quiet)
    else:
        shown = _dressed(held, format)
    inputs = [log for log in (*logs, *trace, *floor, policy or "") if log != into]
    deliver(output, lambda name: _dressed(held, name), shown=shown, keep=inputs, beside=kept)
    return held.exit_code


def _dressed(held: Held, name: str) -> str:
    from fallback_gate.reports import coverage_html, coverage_report

    forms: dict[str, Callable[[Held], str]] = {
        "text": coverage_report.text,
        "json": coverage_report.as_json,
        "csv": coverage_report.as_csv,
        "markdown": coverage_report.markdown,
        "html": coverage_html.render,
    }
    return forms[name](held)
