"""Room 3: who printed a line of vLLM, and the report of one.

vLLM's processes name themselves in front of the line: `(EngineCore_DP0 pid=11)`, `(Worker_TP1 pid=13)`. The
server in front of the engines, `(APIServer pid=1)`, compiles nothing: what it reports is about the engines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Marker, Rule, Sighting
from fallback_gate.model import Report
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "vLLM"
Read = Callable[[Rule, Record, Match[str]], Iterable[Report]]

_WRITER = Pattern(r"^(?:EngineCore|\w*Worker)\w*(?: rank=\d{1,6})? pid=(?P<pid>\d{1,9})$")


def pid(record: Record) -> int | None:
    """The process id of the engine or worker that printed the record, where its envelope names one."""
    for fact in reversed(record.envelope.stream):
        if writer := _WRITER.match(fact):
            return int(writer["pid"])
    return None


def reads(op: str | None = None, *names: str) -> Read:
    """A reading for rules that all name `op`; without it, the pattern's groups `op` and `layer` do.

    The pattern's group `name` is one more name.
    """

    def read(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
        said = match.groupdict()
        about = op or said.get("op") or said.get("layer") or "*"
        more = (about, *names, said.get("name"), said.get("layer"))
        yield by_groups(rule, record, match)._replace(
            op=about,
            names=tuple(dict.fromkeys(name for name in more if name and name != "*")),
            pid=pid(record),
        )

    return read


def sighted(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """A sighting with the pattern's groups as its facts."""
    yield Sighting(
        marker.id, record.position, tuple(str(group or "") for group in match.groups()), pid(record)
    )
