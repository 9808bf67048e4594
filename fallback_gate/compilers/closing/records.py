r"""Room 3: closing records, in which a process of a recorded run tells what its compilers did. See docs/closing-record.md.

    {"fallback_gate_closing": 1, "pid": 7, "rank": 0, "ended": true, ..., "compilers": {"torch.compile": {...}}}

`record` has each Python process write one as it ends, and puts them behind the command's output. They tell what no
log setting shows. Text that looks like one may be anybody's: it can add fallbacks, but it proves nothing
unless the log is sealed and holds just as many as its recorder wrote. Where a process did not live to write its
record, nothing else that it said proves anything.

What each compiler tells is read in `torch`, `runtimes` and `graphs`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from re import Match
from typing import Any, NamedTuple

from fallback_gate.compilers.closing import MARK
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.scan.record import Record

ANCHOR = (MARK,)
OPENING = r"^\{\x22fallback_gate_closing\x22: 1, "
LARGEST = 1 << 20  # characters of a record
SEEN_IN = "closing record of fallback-gate 0.1"
SETTING = "fallback-gate record -- COMMAND"
_TIME = re.compile(r"\d{4}-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)")

Facts = Mapping[str, Any]


class Closing(NamedTuple):
    """A closing record, read: times are in the seconds of `Sighting.when`."""

    pid: int | None
    rank: int | None
    began: float | None
    wrote: float | None
    ended: bool
    compilers: Facts


@lru_cache(maxsize=4)
def parse(line: str) -> Closing | None:
    """The record on a line; None where it is cut or not one."""
    try:
        said = json.loads(line) if len(line) <= LARGEST else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or not isinstance(said.get("compilers"), dict):
        return None
    return Closing(
        pid=count(said.get("pid")) or None,
        rank=_whole(said.get("rank")),
        began=_seconds(said.get("began")),
        wrote=_seconds(said.get("wrote")),
        ended=said.get("ended") is True,
        compilers=said["compilers"],
    )


def _seconds(said: object) -> float | None:
    found = _TIME.fullmatch(said) if isinstance(said, str) else None
    if not found:
        return None
    month, day, hours, minutes, seconds = map(int, found.groups())
    return float((((month * 31 + day) * 24 + hours) * 60 + minutes) * 60 + seconds)


def text(said: object, longest: int = 500) -> str:
    """A string of a record, or nothing."""
    return said[:longest] if isinstance(said, str) else ""


def _whole(said: object) -> int | None:
    """A number of a record, or None."""
    return said if isinstance(said, int) and not isinstance(said, bool) and 0 <= said < 1 << 53 else None


def count(said: object) -> int:
    """A number of a record, or 0."""
    return _whole(said) or 0


def table(said: object) -> Facts:
    """An object of a record, or an empty one."""
    return said if isinstance(said, dict) else {}


def rows(said: object) -> list[Facts]:
    """The objects in a list of a record."""
    return [one for one in said if isinstance(one, dict)] if isinstance(said, list) else []


def names(said: object) -> list[str]:
    """The strings in a list of a record."""
    return [one[:500] for one in said if isinstance(one, str)] if isinstance(said, list) else []


def base(
    rule: Rule, record: Record, closing: Closing, op: str, reason: str, *further: str, hint: bool = False
) -> Report:
    """A report of the process that wrote the record, about an operator, a function, or (`*`) all of it."""
    return Report(
        id=rule.id,
        compiler=rule.compiler,
        kind=rule.kind,
        scope=rule.scope,
        op=op,
        position=record.position,
        text=f"closing record of process {closing.pid}: {reason}",
        names=tuple(dict.fromkeys((op, *further))) if op != "*" else further,
        reason=reason,
        pid=closing.pid,
        rank=closing.rank,
        when=closing.wrote,
        hint=hint,
        help=rule.help,
    )


def reading(
    compiler: str, read: Callable[[Rule, Record, Closing, Facts], Iterable[Report]]
) -> Callable[[Rule, Record, Match[str]], Iterable[Report]]:
    """The `Rule.read` that gives what a record tells of a compiler to `read`."""

    def read_rule(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
        closing = parse(record.whole_line())
        if closing and compiler in closing.compilers:
            yield from read(rule, record, closing, table(closing.compilers[compiler]))

    return read_rule


def rule(
    compiler: tuple[str, str],
    identifier: str,
    kind: Kind,
    scope: Scope,
    meaning: str,
    help: str,
    read: Callable[[Rule, Record, Closing, Facts], Iterable[Report]],
    facts: str,
) -> Rule:
    """A rule on closing records; `compiler` is the reader's name and the one that records use."""
    name, told = compiler
    return Rule(
        id=identifier,
        compiler=name,
        anchor=ANCHOR,
        pattern=OPENING,
        kind=kind,
        scope=scope,
        meaning=meaning,
        help=help,
        seen_in=SEEN_IN,
        matches=(example(told, facts),),
        ignores=(example(told, "{}"), f"echo '{example(told, facts)}'"),
        read=reading(told, read),
    )


def example(compiler: str, facts: str) -> str:
    """A closing record with these facts."""
    return (
        '{"fallback_gate_closing": 1, "pid": 21007, "rank": null, "ended": true, "status": null, "exception": null, '
        '"began": "2026-11-30 05:29:52", "wrote": "2026-11-30 05:29:59", "python": "3.11.7", "argv0": "serve.py", '
        f'"compilers": {{"{compiler}": {facts}}}}}'
    )


def _marker_id(name: str) -> str:
    return f"{name.replace('.', '-')}/closing"


def marker(name: str, told: str) -> Marker:
    """The marker that keeps what a record tells of a compiler: how the process ended, and the facts."""

    def read(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
        closing = parse(record.whole_line())
        if closing is None:
            yield Sighting(marker.id, record.position, ("unreadable", "{}"))
        elif told in closing.compilers:
            state = "ended" if closing.ended else "killed"
            facts = json.dumps(table(closing.compilers[told]), sort_keys=True)
            yield Sighting(
                marker.id,
                record.position,
                (state, facts),
                closing.pid,
                closing.rank,
                closing.wrote,
                closing.began,
            )

    return Marker(
        id=_marker_id(name),
        compiler=name,
        anchor=ANCHOR,
        pattern=OPENING,
        shows="The process tells what the compiler did in it, as it ends.",
        seen_in=SEEN_IN,
        matches=(example(told, '{"version": "1.0"}'),),
        ignores=(example("another", "{}"),),
        read=read,
    )


class Hearing(NamedTuple):
    """What closing records add to a reader: `told` is the compiler's name in them.

    `proves` weighs the facts of one process that ended: the kinds whose absence they prove, and why. `joins` as
    a reader's. `undoes` says why nothing that the process says proves anything, `untold` why its log is
    not whole, since the record tells of more.
    """

    told: str
    rules: tuple[Rule, ...]
    proves: Callable[[Facts], Mapping[Kind, str]]
    joins: Callable[[Evidence, Evidence], bool] = lambda text, trace: False
    undoes: Callable[[Facts], str | None] = lambda facts: None
    untold: Callable[[Evidence, Facts], str | None] = lambda evidence, facts: None


def heard(reader: Reader, hearing: Hearing | None) -> Reader:
    """The reader, with closing records among its evidence."""
    if hearing is None:
        return reader
    return replace(
        reader,
        rules=(*reader.rules, *hearing.rules),
        markers=(*reader.markers, marker(reader.name, hearing.told)),
        prove=lambda evidence: _prove(reader, hearing, evidence),
        joins=lambda text, trace: reader.joins(text, trace) or hearing.joins(text, trace),
        version=lambda evidence: reader.version(evidence) or _version(reader.name, evidence),
    )


def told_by(name: str, evidence: Evidence) -> list[tuple[str, Facts, int]]:
    """Each closing record of a process: how it ended, its facts, and where it stands."""
    return [
        (state, table(json.loads(facts)), at)
        for (state, facts), at in evidence.facts.get(_marker_id(name), {}).items()
    ]


def _version(name: str, evidence: Evidence) -> str | None:
    return next(
        (text(facts["version"], 50) for _, facts, _ in told_by(name, evidence) if "version" in facts), None
    )


def _prove(reader: Reader, hearing: Hearing, evidence: Evidence) -> Mapping[Kind, Proof]:
    """The reader's own proof, made better or undone by what the process tells."""
    proof = dict(reader.prove(evidence))
    records = told_by(reader.name, evidence)
    if not records:
        return proof
    problem = next((why for s, facts, _ in records if (why := _problem(s) or hearing.undoes(facts))), None)
    if problem:
        lost = Proof(State.UNPROVEN, problem, None, SETTING, final=True)
        return dict.fromkeys((*proof, *reader.required), lost)
    lacks = next((why for _, facts, _ in records if (why := hearing.untold(evidence, facts))), None)
    if lacks:
        return dict.fromkeys(
            (*proof, *reader.required), Proof(State.UNPROVEN, lacks, None, SETTING, final=True)
        )
    if not evidence.sealed:
        return proof
    found = [hearing.proves(facts) for _, facts, _ in records]
    line = min(at for _, _, at in records)
    for kind, why in found[0].items():
        if all(kind in one for one in found) and proof.get(kind, _NONE).state is not State.PROVEN:
            proof[kind] = Proof(State.PROVEN, why, line)
    return proof


_NONE = Proof(State.UNOBSERVABLE, "")


def _problem(state: str) -> str | None:
    """Why nothing that this process said proves anything; None where its record is whole."""
    if state == "killed":
        return "the process was killed, or is still running: it did not live to write its closing record"
    if state == "unreadable":
        return "a closing record is cut or can't be read"
    return None
