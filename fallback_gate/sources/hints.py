"""Room 1: what was probably meant: a path that is not there, and files of ours that are no logs."""

from __future__ import annotations

import os
import re
from pathlib import Path

from fallback_gate.sources.source import Source

_HEAD = 64 << 10  # bytes that are looked at
_VARIABLE = re.compile(r"\$\{?[A-Za-z_]\w*\}?|\$env:\w+|%[A-Za-z_]\w*%")
_REPORT = re.compile(rb'\A\s*\{\s*"schema":\s*"fallback-gate/[0-9]')
_VERSION = re.compile(rb"^version:\s*1\s*(?:#.*)?$", re.MULTILINE)
_KEYS = re.compile(
    rb"^(?:hot|cold|unhot|unlisted|extends|budgets|proof|expect|rules|instruments):", re.MULTILINE
)


def missing(argument: str, cwd: Path) -> str:
    """What to add to the message that a path is not there; empty where nothing is known."""
    if found := _VARIABLE.search(argument):
        return f": {found[0]} stands there as it is; quotes may keep the shell from setting it"
    if argument.startswith("~"):
        return ": ~ stands there as it is; take it out of the quotes, or write the path out"
    other = argument.replace("\\", "/")
    if other != argument and os.path.lexists(cwd / other):
        return f": did you mean {other}?"
    return ""


def ours(source: Source) -> str | None:
    """What a file is that we wrote or read otherwise, where it was given as a log; None for any other."""
    if not isinstance(source.file, Path) or source.once or source.member is not None:
        return None
    try:
        with open(source.file, "rb") as file:
            head = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf")
    except (OSError, ValueError):
        return None
    if _REPORT.match(head):
        return "this is a JSON report of fallback-gate, no log: give the log that it was made from"
    if _VERSION.search(head) and _KEYS.search(head):
        return "this is a policy, no log: give it with --policy"
    return None
