"""Room 3: the small pieces that many readers share: fixed names, listed operators, steps, honest refusals to prove.

Most vendors' stacks say what falls back, and nothing that shows that all of it was said. Their readers then
prove nothing: `unshown` where the default level is silent, `unended` where no line shows that a compile ended.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from operator import lt
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Rule, Sighting
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.model.names import operator
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

MOST = 500  # operators that are taken of one list
_WORD = Pattern(r"[A-Za-z_][\w.:]{0,200}")

Read = Callable[[Rule, Record, Match[str]], Iterable[Report]]
Prove = Callable[[Evidence], Mapping[Kind, Proof]]


def called(op: str, *names: str) -> Read:
    """Read a message that always speaks of the same operator, which it may spell differently.

    The pattern's group `site`, such as a shape, tells two problems of it apart.
    """

    def read(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
        site = match.groupdict().get("site")
        yield by_groups(rule, record, match)._replace(
            op=op, names=tuple(dict.fromkeys((op, *names))), site=site and site[:300]
        )

    return read


def hinted(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Read a message of something that other lines tell more of."""
    yield by_groups(rule, record, match)._replace(hint=True)


def named(report: Report, said: str, *names: str) -> Report:
    """The report, for an operator that is said like this: a namespace is written `aten::`, an overload left off."""
    op = operator(said)
    return report._replace(op=op, names=tuple(dict.fromkeys((op, said, *names))))


def words(listed: str) -> list[str]:
    """The names in a list, whatever quotes, brackets and commas stand around them."""
    found: dict[str, None] = {}
    while (word := _WORD.search(listed)) and len(found) < MOST:
        found.setdefault(word[0].rstrip(".:"))
        listed = listed[word.end() :]
    return list(found)


def listed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """One report for each operator of the group `ops`; one that names nothing where it is empty."""
    report = by_groups(rule, record, match)
    found = words(match["ops"])
    for op in found:
        yield named(report, op)
    if not found:
        yield report._replace(scope=Scope.UNKNOWN)


def partly(
    id: str, compiler: str, kind: Kind, position: int, text: str, help: str, reason: str | None = None
) -> Report:
    """What a line reports that tells how much of a model was taken, where that is not all and nothing is named.

    Without a `reason` the text is the reason, and tells two models apart.
    """
    return Report(
        id, compiler, kind, Scope.PROGRAM, "*", position, text, reason=reason or text, site=None if reason else text,
        help=help,
    )  # fmt: skip


def step(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """Read a marker that tells no more than where it stands."""
    yield Sighting(marker.id, record.position, (str(record.position),))


def steps(evidence: Evidence, marker: Marker) -> list[int]:
    """Where a marker that `step` reads stands, in order."""
    return sorted(int(position) for (position,) in evidence.of(marker.id))


def each_ended(begun: Sequence[int], ended: Sequence[int]) -> bool:
    """Whether something began, and an end stands behind each beginning and before the next one; both in order."""
    ends = (*ended, inf)
    behind = (ends[bisect(ended, start)] for start in begun)
    return bool(begun) and all(map(lt, behind, (*begun[1:], inf)))


def unshown(why: str, setting: str, *kinds: Kind) -> Prove:
    """A proof for a stack whose default level does not show these kinds."""
    return _refused(State.UNOBSERVABLE, why, setting, kinds)


def unended(why: str, setting: str, *kinds: Kind) -> Prove:
    """A proof for a stack that speaks at its default level, and has no line that shows that it said all."""
    return _refused(State.UNPROVEN, why, setting, kinds)


def _refused(state: State, why: str, setting: str, kinds: tuple[Kind, ...]) -> Prove:
    return lambda evidence: {kind: Proof(state, why, None, setting or None) for kind in kinds}
