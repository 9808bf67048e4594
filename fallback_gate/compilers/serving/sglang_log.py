"""Room 3: who printed a line of SGLang, and the report of one. The manual page is `sglang`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.model import Report
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "SGLang"
_TAG = Pattern(r"^\[[\d:. -]{19,26}(?P<tag>(?: [A-Z_]{2,12}\d{1,5}){0,6})\] ")
_TP = Pattern(r" TP(?P<rank>\d{1,5})\b")
AT = "[2026-01-01 00:00:00 TP3] "


def tag(record: Record) -> str:
    """The ranks that a line of SGLang names: `DP1 TP3`; empty where it names none."""
    found = _TAG.match(record.text)
    return found["tag"].strip() if found else ""


def rank(record: Record) -> int:
    """The rank in the tag. Lines without one are of a server with one rank, or of the one that starts the ranks."""
    if record.rank is not None:
        return record.rank
    found = _TP.search(" " + tag(record))
    return int(found["rank"]) if found else 0


def reads(op: str | None = None, *names: str) -> Callable[[Rule, Record, Match[str]], Iterable[Report]]:
    """A reading for rules that all name `op`; without it, the pattern's groups `op` and `layer` do.

    The pattern's group `name` is one more name.
    """

    def read(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
        said = match.groupdict()
        about = op or said.get("op") or said.get("layer") or "*"
        more = (about, *names, said.get("name"))
        yield by_groups(rule, record, match)._replace(
            op=about,
            names=tuple(dict.fromkeys(name for name in more if name and name != "*")),
            rank=rank(record),
        )

    return read
