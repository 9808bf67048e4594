"""The front door: where reports go. Files are written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import click

from fallback_gate.errors import GateError, InputError
from fallback_gate.model import Verdict
from fallback_gate.reports import FORMATS, WITH_PLACES, safe
from fallback_gate.sources.own import marked


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


def in_color(choice: str) -> bool:
    """Whether `--color` colours standard output here."""
    return wants_color(choice, os.environ, sys.stdout.isatty())


def width(most: int) -> int:
    """Columns of the terminal, not more than so many."""
    return min(shutil.get_terminal_size((100, 24)).columns, most)


def dressed(verdict: Verdict, formats: Iterable[str], *, sarif_suppressed: bool = False) -> dict[str, str]:
    """The reports of these formats, with places of the repository around here where they show places."""
    wanted = set(formats)
    if not wanted.isdisjoint(WITH_PLACES):
        from fallback_gate.cli.repository import repository

        verdict = replace(verdict, repository=repository(verdict, Path.cwd(), os.environ))
    found = {name: FORMATS[name](verdict) for name in wanted}
    if "sarif" in wanted and sarif_suppressed:
        from fallback_gate.reports import sarif

        found["sarif"] = sarif.render(verdict, suppressed=True)
    return found


def for_terminal(verdict: Verdict, *, color: bool, verbose: int = 0, quiet: bool = False) -> str:
    """The text report, as wide as the terminal."""
    from fallback_gate.reports import text

    return text.render(verdict, color=color, verbose=verbose, quiet=quiet, width=width(120))


def logs_of(verdict: Verdict) -> list[str]:
    """The files that its logs are in, which no report may take the place of."""
    return [log.path.partition("!/")[0] for log in verdict.logs]


def publish(
    verdict: Verdict,
    output: Sequence[tuple[str, str]],
    *,
    format: str | None,
    keep: Sequence[str],
    color: str = "auto",
    verbose: int = 0,
    quiet: bool = False,
    sarif_suppressed: bool = False,
) -> None:
    """Give out what `--output` asks for and, on standard output, the report of `format`, if any.

    No file of the verdict's logs or in `keep` is written over. Raises `OutputError`.
    """
    wanted = [name for name, _ in output]
    if format is not None and format != "text":
        wanted.append(format)
    written = dressed(verdict, wanted, sarif_suppressed=sarif_suppressed)
    shown = written.get(format) if format else None
    if format == "text":
        shown = for_terminal(verdict, color=in_color(color), verbose=verbose, quiet=quiet)
    deliver(output, written.__getitem__, shown=shown, keep=[*logs_of(verdict), *keep])


def deliver(
    output: Sequence[tuple[str, str]],
    report: Callable[[str], str],
    *,
    shown: str | None,
    keep: Sequence[str] = (),
    beside: Sequence[tuple[str, str]] = (),
) -> None:
    """Write the files of `--output` by the `report` of each format, and those `beside`; then print what is
    `shown` anyway and what goes to `-`. Raises as `to_files`."""
    files = [
        (path, report(name) if _is_stream(path) else marked(name, _data(report(name))))
        for name, path in output
        if path != "-"
    ]
    to_files([*files, *beside], keep)
    printed = [report(name) for name, path in output if path == "-"]
    for text in printed if shown is None else [shown, *printed]:
        to_stdout(text)


def must_be_writable(output: Sequence[tuple[str, str]], keep: Sequence[str]) -> None:
    """Raise `OutputError` for what `to_files` would refuse, before the work whose reports they are."""
    import tempfile

    paths = [path for _, path in output if path != "-"]
    _must_not_clash(paths, keep)
    for path in paths:
        place = Path(os.path.realpath(path))
        try:
            if place.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if _is_stream(path):
                continue  # which opening would disturb
            above = next(folder for folder in place.parents if os.path.lexists(folder))
            with tempfile.TemporaryDirectory(dir=above, prefix=".fallback-gate-"):
                pass
        except OSError as problem:
            raise _unwritable(path, problem) from None


def must_be_new(path: str | None, force: bool) -> None:
    """Raise `InputError` for a file that stands where one is to be written, unless it may be replaced."""
    if path and os.path.lexists(path) and not force:
        raise InputError(f"{path} is there; name another file, or take its place with --force")


def to_new_file(path: str | None, text: str, hint: str, keep: Sequence[str]) -> None:
    """Write a file that a command made for its user, with a hint what to do with it; without a path print it.
    Raises as `to_files`."""
    if path is None:
        to_stdout(text)
        return
    to_files([(path, text)], keep)
    to_stdout(safe.inline(f"wrote {path}: {hint}"))


def say(text: str) -> None:
    """One line on standard error, which no terminal and no CI runner obeys."""
    to_stderr(f"fallback-gate: {safe.inline(text)}")


def to_stdout(report: str) -> None:
    """Print a report, whatever the terminal's encoding can't show.

    A reader that has seen enough (`| head`) changes no verdict: the rest is dropped.
    """
    encoding = sys.stdout.encoding or "utf-8"
    try:
        click.echo(_ended(report).encode(encoding, "backslashreplace"), nl=False)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (nothing is left to close it)


def to_stderr(text: str) -> None:
    """The same on standard error: whoever read it may be gone too (`2>&1 | head`)."""
    encoding = sys.stderr.encoding or "utf-8"
    try:
        click.echo(_ended(text).encode(encoding, "backslashreplace"), err=True, nl=False)
    except BrokenPipeError:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (as above)


def to_files(reports: Sequence[tuple[str, str | bytes]], keep: Sequence[str] = ()) -> None:
    """Write reports to their paths, all of them or none: under temporary names first, then renamed.

    A link stays one, and what is no file (`/dev/stderr`, a named pipe) is written to, never replaced.
    Raises `OutputError`, also where a report would take the place of another one or of a file in `keep`.
    """
    places = _must_not_clash([path for path, _ in reports], keep)
    streams = [path for path, _ in reports if _is_stream(path)]
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
                with open(path, "wb") as stream:
                    stream.write(_data(report))
    except OSError as problem:
        raise _unwritable(path, problem) from None
    finally:
        for temporary, _ in written:
            Path(temporary).unlink(missing_ok=True)


def _must_not_clash(paths: Sequence[str], keep: Sequence[str]) -> list[str]:
    """Where these paths really are. Raises `OutputError` where one is that of another, or in `keep`."""
    places = [os.path.realpath(path) for path in paths]
    inputs = {os.path.realpath(path) for path in keep if path}
    for real in places:
        if real in inputs:
            raise OutputError(f"the report {real} would overwrite an input; name another place")
        if places.count(real) > 1:
            raise OutputError(f"two reports go to {real}; name another place for one")
    return places


def _unwritable(path: str, problem: OSError) -> OutputError:
    why = problem.strerror or str(problem)
    return OutputError(f"cannot write the report {path}: {why}; name another place")


def _is_stream(path: str) -> bool:
    """A device or a pipe."""
    return os.path.exists(path) and not os.path.isfile(path)


def _beside(place: Path, report: str | bytes) -> str:
    """Write a report to a temporary file in the folder of its place, whose name is returned."""
    place.parent.mkdir(parents=True, exist_ok=True)
    import tempfile  # not at a start that writes no file

    handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_data(report))
        os.chmod(temporary, 0o644)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return temporary


def _data(report: str | bytes) -> bytes:
    return report if isinstance(report, bytes) else _ended(report).encode("utf-8", "backslashreplace")


def _ended(report: str) -> str:
    return report if report.endswith("\n") else report + "\n"
