"""Room 3: every active rule and marker by its anchors, ready for the scan."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import cast

from fallback_gate.compilers import lost, near_miss
from fallback_gate.compilers.library import anchors_of
from fallback_gate.compilers.rule import Marker, Reader, Rule
from fallback_gate.compilers.user_markers import by_markers
from fallback_gate.model import Kind, Report
from fallback_gate.scan.anchors import Anchors
from fallback_gate.scan.window import Hit
from fallback_gate.sources import seal

MOST_TOGETHER = 4096  # sets of anchors whose rules are kept


class Book:
    """The rules of all readers, and of the user, ready for the scan.

    `anchors` is what the scan looks for: those of the rules, then phrases that smell of a fallback or tell that
    lines are missing, and a seal.
    `readers` holds a reader for each compiler that any rule names: one that only the user's rules name
    takes its proof from the user's markers. `own` are the user's rules.
    """

    def __init__(self, readers: Mapping[str, Reader], own: Iterable[Rule | Marker] = ()) -> None:
        self.own = tuple(own)
        self.own_markers: dict[str, dict[str, Marker]] = {}
        kinds: dict[str, set[Kind]] = {}
        self._own: dict[str, list[Rule | Marker]] = {}  # the user's, by anchor
        for mine in self.own:
            for anchor in mine.anchor:
                self._own.setdefault(anchor, []).append(mine)
            known = kinds.setdefault(mine.compiler, set())
            if isinstance(mine, Marker):
                self.own_markers.setdefault(mine.compiler, {})[mine.id] = mine
            else:
                known.add(mine.kind)
        others = {
            compiler: _reader_of(compiler, frozenset(reported or {Kind.OP_FALLBACK}))
            for compiler, reported in kinds.items()
            if compiler not in readers
        }
        self.readers: Mapping[str, Reader] = ChainMap(others, cast("dict[str, Reader]", readers))
        self._waiting = anchors_of(readers)
        self._anchors = list(dict.fromkeys((*self._waiting, *self._own)))
        self.anchors = Anchors(self._anchors, (*near_miss.PHRASES, *lost.PHRASES, seal.HEADER))
        self._entries: dict[int, list[Rule | Marker]] = {}  # by anchor, once it was hit
        self._together: dict[tuple[int, ...], list[Rule | Marker]] = {}  # by the anchors of a line
        self._helps: dict[str, dict[str, list[str]]] = {}  # by compiler and id, once they are asked for

    def of(self, hit: Hit) -> list[Rule | Marker]:
        """The rules and markers of which an anchor stands in the line, each once."""
        found = self._together.get(hit.anchors)
        if found is None:
            known = [anchor for anchor in hit.anchors if anchor < len(self._anchors)]
            found = list({id(rule): rule for anchor in known for rule in self._at(anchor)}.values())
            if len(self._together) < MOST_TOGETHER:
                self._together[hit.anchors] = found
        return found

    def _at(self, place: int) -> list[Rule | Marker]:
        """The rules and markers that wait for an anchor."""
        found = self._entries.get(place)
        if found is None:
            anchor = self._anchors[place]
            named = self._waiting.get(anchor, ())
            entries = (entry for name in named for entry in self.readers[name].entries)
            found = [entry for entry in entries if anchor in entry.anchor]
            found += self._own.get(anchor, [])
            self._entries[place] = found
        return found

    def advised(self, report: Report, rule: Rule | None = None) -> Report:
        """The report with the help of the rule whose id it bears, where it was made with that of another."""
        if rule is not None and rule.id == report.id:
            return report
        helps = self._helps.get(report.compiler)
        if helps is None:
            helps = self._helps[report.compiler] = {}
            for one in self.readers[report.compiler].rules:
                helps.setdefault(one.id, []).append(one.help)
        own = helps.get(report.id)
        if not own or report.help in own or not any(report.help in some for some in helps.values()):
            return report
        return report._replace(help=own[0])

    def smells(self, hit: Hit) -> bool:
        """Whether the line has a phrase that no rule waits for."""
        return max(hit.anchors) >= len(self._anchors)

    def tells_of_loss(self, hit: Hit) -> bool:
        """Whether one of these is of those that tell that lines are missing, or of a seal."""
        return max(hit.anchors) >= len(self._anchors) + len(near_miss.PHRASES)


def _reader_of(compiler: str, required: frozenset[Kind]) -> Reader:
    """The reader of a compiler that only the user's rules know: it owes the proof of the kinds they report."""
    return Reader(
        name=compiler,
        rules=(),
        markers=(),
        required=required,
        prove=lambda evidence: by_markers(evidence, required | evidence.reported),
    )
