"""The front door: where reports go. Files are written whole or not at all."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import click

from fallback_gate.errors import GateError
from fallback_gate.model import Verdict
from fallback_gate.reports import FORMATS, WITH_PLACES


class OutputError(GateError):
    """A report that could not be written."""


def wants_color(choice: str, environ: Mapping[str, str], terminal: bool) -> bool:
    """`--color` decides; with `auto`, NO_COLOR, then FORCE_COLOR and CLICOLOR_FORCE, then the terminal."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if any(environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return terminal and environ.get("TERM") != "dumb"


def run_at(environ: Mapping[str, str]) -> datetime | None:
    """The time that reports show: now, or SOURCE_DATE_EPOCH, by which builds are made reproducible."""
    pinned = environ.get("SOURCE_DATE_EPOCH", "")
    try:
        return datetime.fromtimestamp(int(pinned), timezone.utc) if pinned else datetime.now(timezone.utc)
    except (ValueError, OverflowError, OSError):
        return datetime.now(timezone.utc)


def dressed(verdict: Verdict, formats: Iterable[str], *, sarif_suppressed: bool = False) -> dict[str, str]:
    """The reports of these formats, with places of the repository around here where they show places."""
    wanted = set(formats)
    if not wanted.isdisjoint(WITH_PLACES):
        from fallback_gate.cli.repository import repository

        verdict = replace(verdict, repository=repository(verdict, Path.cwd(), os.environ))
    return {name: rendered(verdict, name, sarif_suppressed=sarif_suppressed) for name in wanted}


def rendered(verdict: Verdict, name: str, *, sarif_suppressed: bool = False) -> str:
    """The report of a format."""
    if name == "sarif" and sarif_suppressed:
        from fallback_gate.reports import sarif

        return sarif.render(verdict, suppressed=True)
    return FORMATS[name](verdict)


def for_terminal(verdict: Verdict, *, color: bool, verbose: int, quiet: bool) -> str:
    """The text report, as wide as the terminal."""
    from fallback_gate.reports import text

    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    return text.render(verdict, color=color, verbose=verbose, quiet=quiet, width=width)


def to_stdout(report: str) -> None:
    """Print a report, whatever the terminal's encoding can't show.

    A reader that has seen enough (`| head`) changes no verdict: the rest is dropped.
    """
    encoding = sys.stdout.encoding or "utf-8"
    try:
        click.echo(_ended(report).encode(encoding, "backslashreplace"), nl=False)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (nothing is left to close it)


def to_files(reports: Sequence[tuple[str, str]], keep: Sequence[str] = ()) -> None:
    """Write reports to their paths, all of them or none: under temporary names first, then renamed.

    A link stays one, and what is no file (`/dev/stderr`, a named pipe) is written to, never replaced.
    Raises `OutputError`, also where a report would take the place of another one or of a file in `keep`.
    """
    places = [os.path.realpath(path) for path, _ in reports]
    inputs = {os.path.realpath(path) for path in keep if path}
    for real in places:
        if real in inputs:
            raise OutputError(f"the report {real} would overwrite an input; name another place")
        if places.count(real) > 1:
            raise OutputError(f"two reports go to {real}; name another place for one")
    streams = [path for path, _ in reports if os.path.exists(path) and not os.path.isfile(path)]
    written: list[tuple[str, str]] = []
    path = ""
    try:
        for (path, report), real in zip(reports, places, strict=True):
            if path not in streams:
                written.append((_beside(Path(real), report), real))
        for temporary, path in written:
            os.replace(temporary, path)
        for path, report in reports:
            if path in streams:
                with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
                    stream.write(_ended(report))
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise OutputError(f"cannot write the report {path}: {why}; name another place") from None
    finally:
        for temporary, _ in written:
            Path(temporary).unlink(missing_ok=True)


def _beside(place: Path, report: str) -> str:
    """Write a report to a temporary file in the folder of its place, whose name is returned."""
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(_ended(report))
        os.chmod(temporary, 0o644)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return temporary


def _ended(report: str) -> str:
    return report if report.endswith("\n") else report + "\n"
