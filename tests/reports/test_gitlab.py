"""The Code Quality report against GitLab's rules."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from fallback_gate.model import Class, Location, Outcome, Verdict
from fallback_gate.reports import gitlab
from tests.reports import consumers, sample
from tests.reports.test_safe import HOSTILE


def read(verdict: Verdict) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(gitlab.render(verdict))
    consumers.validate_code_quality(entries)
    return entries


def test_a_blocked_run() -> None:
    blocked, warned = read(sample.blocked_run())
    assert (blocked["check_name"], blocked["severity"]) == ("torch/graph-break", "blocker")
    assert blocked["location"] == {"path": "model/decoder.py", "lines": {"begin": 42}}
    assert blocked["description"].startswith(
        "gate_attn: graph break at model/decoder.py:42 in gate_attn (hot, 2 times"
    )
    assert (warned["check_name"], warned["severity"]) == ("torch/fallback-kernel", "minor")


def test_nothing_to_tell_is_an_empty_array() -> None:
    assert gitlab.render(sample.passing_run()) == "[]\n"


def test_the_fingerprint_holds_no_line() -> None:
    one = read(sample.blocked_run(findings=(sample.blocked(),)))
    moved = sample.blocked(line=99, lines=(99,), location=Location("model/decoder.py", 50, "gate_attn"))
    assert read(sample.blocked_run(findings=(moved,)))[0]["fingerprint"] == one[0]["fingerprint"]


def test_one_entry_for_one_fingerprint() -> None:
    twice = (sample.blocked(), sample.blocked(log="other.log"))
    (entry,) = read(sample.blocked_run(findings=twice))
    assert "4 times" in entry["description"]


def test_what_is_not_proven() -> None:
    found = read(sample.default_level_run())
    assert {entry["severity"] for entry in found} == {"major"}
    assert sample.SETTING in found[0]["description"]
    assert found[0]["location"]["path"] == "policies/llm-decode.yaml"


def test_waived_is_minor() -> None:
    (entry,) = read(sample.waived_run())
    assert entry["severity"] == "minor"
    assert "waived" in entry["description"]


def test_what_is_left_out_is_an_entry_as_bad_as_the_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gitlab, "MOST", 100)
    cold = tuple(
        replace(sample.blocked(op=f"op{number}", fingerprint=f"{number}"), event_class=Class.UNLISTED)
        for number in range(150)
    )
    found = read(sample.blocked_run(findings=(*cold, sample.blocked()), reasons=("a budget",)))
    assert len(found) == 100
    assert found[0]["severity"] == "blocker"  # the hot one, which came last
    last = found[-1]
    assert (last["check_name"], last["severity"]) == ("fallback-gate/left-out", "critical")
    assert last["description"].startswith("53 more entries left out")


def test_all_that_fit_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gitlab, "MOST", 3)
    findings = tuple(sample.blocked(op=f"op{number}", fingerprint=f"{number}") for number in range(3))
    assert {entry["check_name"] for entry in read(sample.blocked_run(findings=findings))} == {
        "torch/graph-break"
    }


def test_no_place_in_the_repository() -> None:
    run = sample.blocked_run(findings=(sample.blocked(location=Location("/app/x.py", 1, "f")),))
    shipped = replace(
        run,
        policy=run.policy._replace(path="builtin:strict"),
        findings=tuple(replace(f, rule=None) for f in run.findings),
    )
    assert read(shipped)[0]["location"]["path"] == "fallback-gate.yaml"


@settings(max_examples=60)
@given(HOSTILE, HOSTILE, HOSTILE)
def test_hostile_text(one: str, two: str, three: str) -> None:
    event = sample.event(op=one, id=two, reason=three, location=Location(two, None, three), fingerprint=one)
    read(
        sample.verdict(Outcome.BLOCKED, 1, findings=(sample.blocked(event),), reasons=(three,), errors=(one,))
    )
