"""By what a run is judged: the files that judge, all readers and the user's own messages, and the options."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import NamedTuple

from fallback_gate.compilers import READERS
from fallback_gate.compilers.book import Book
from fallback_gate.errors import InputError
from fallback_gate.instruments.evidence import Evidence
from fallback_gate.judging.files import JudgingFiles, Names, read, read_at
from fallback_gate.judging.surroundings import AUTO
from fallback_gate.model.environment import Environment
from fallback_gate.model.exclusions import Outside
from fallback_gate.policy.compilers import by_known_names


class Options(NamedTuple):
    """What else the caller asks for, as the arguments of `gate.check` of these names."""

    today: date
    release: str = ""
    exit_zero: bool = False
    strict: bool = False
    excerpts: bool = False
    run_at: datetime | None = None
    expect_ranks: int | None = None
    sealed: bool = False
    evidence: tuple[Evidence, ...] = ()
    outside: Outside | None = None
    environment: Environment | str = AUTO


class Terms(NamedTuple):
    """All of it, read and found valid."""

    files: JudgingFiles
    book: Book
    options: Options


def terms(
    names: Names, options: Options, cwd: Path, environ: Mapping[str, str], policy_ref: str | None = None
) -> Terms:
    """Read the files, as they stand here or as the commit `policy_ref` holds them.

    Raises PolicyError for what is invalid, and InputError for a waiver without the release that it is for.
    """
    if policy_ref is None:
        files = read(names, environ, cwd, options.today)
    else:
        files, _ = read_at(policy_ref, names, environ, cwd, options.today)
    if names.waiver is not None and not options.release:
        raise InputError("a waiver holds for one release: name it with --release NAME")
    book = Book(READERS, (*files.policy.rules, *files.rules))
    return Terms(files._replace(policy=by_known_names(files.policy, book.readers)), book, options)
