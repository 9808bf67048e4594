"""Room 3: what holds of every report and every proof, whichever line of a reader's own examples made it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fallback_gate.compilers import READERS
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.model import Kind, Proof, State
from tests.compilers.test_examples import RULES, name, only, with_rest


@pytest.mark.parametrize(("rule", "line"), [(r, line) for _, r in RULES for line in r.matches], ids=name)
def test_a_report_is_whole(rule: Rule, line: str, read: Callable[..., Any]) -> None:
    """Two lines further down it is the same report, two lines further down."""
    lines = with_rest(line)
    plain, later = (read(*before, *lines, book=only(rule)).reports for before in ((), ("noise", "noise")))
    assert [report.position + 2 for report in plain] == [report.position for report in later]
    for one, other in zip(plain, later, strict=True):
        if rule.id != "tvm-auto-scheduler/no-tuned-schedule":  # it is named by the line before it
            assert one._replace(position=0, site=None) == other._replace(position=0, site=None)
        assert one.compiler == rule.compiler
        assert one.op.strip() == one.op != ""
        words = (*one.names, *one.stack, *one.files)
        assert all(isinstance(word, str) and word for word in words), words
        assert one.reason is None or one.reason.strip()
        assert one.text.strip()
        assert one.help.strip()
        if one.location is not None:
            assert one.location != (None, None, None)
            assert one.location.line is None or one.location.line > 0


def facts(marker: Marker, line: str, read: Callable[..., Any]) -> Evidence:
    """The evidence of a log that holds this line, two lines down."""
    said = read("noise", "noise", *with_rest(line), book=only(marker))
    (evidence,) = {id(e): e for by in said.evidence.processes.values() for e in by.values()}.values()
    return evidence


def whole(reader: Reader, found: Any) -> None:
    """What a proof must say: why, and nothing that only one of its states has."""
    for kind, proof in found.items():
        assert isinstance(kind, Kind)
        assert isinstance(proof, Proof)
        assert isinstance(proof.why, str)
        assert proof.why.strip() == proof.why != ""
        assert proof.setting is None or (proof.setting.strip() and proof.state is not State.PROVEN)
        assert proof.line is None or proof.line > 0
    assert found.keys() >= reader.required, "a kind that is owed has a state"


@pytest.mark.parametrize("reader", READERS.values(), ids=name)
def test_a_log_that_says_nothing_proves_nothing_in_words(reader: Reader) -> None:
    found = reader.prove(Evidence())
    whole(reader, found)
    assert all(found[kind].state is not State.PROVEN for kind in reader.required)
    if reader.setting:
        assert any(proof.setting for proof in found.values())


@pytest.mark.parametrize(
    ("reader", "marker", "line"),
    [(reader, m, line) for reader in READERS.values() for m in reader.markers for line in m.matches],
    ids=name,
)
def test_one_line_that_proves_something_is_weighed_in_words(
    reader: Reader, marker: Marker, line: str, read: Callable[..., Any]
) -> None:
    evidence = facts(marker, line, read)
    for facts_ in evidence.of(marker.id):
        assert all(isinstance(fact, str) for fact in facts_)
    assert evidence.first(marker.id) in range(3, 3 + len(with_rest(line)))
    whole(reader, reader.prove(evidence))
    version = reader.version(evidence)
    assert version is None or version.strip() == version != ""
