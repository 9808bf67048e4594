"""Room 6: a waiver covers what is blocked, for one release, until one day, and nothing else."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from fallback_gate.errors import PolicyError
from fallback_gate.model import Class, Decision, Event, Finding, Kind, Outcome, Scope
from fallback_gate.verdict.waiver import Waiver, apply, load

TODAY = date(2026, 12, 1)
TEXT = """release: "1.4.0"
who: release-manager
why: hot fix ships today
expires: 2026-12-31
events: all
"""


def written(folder: Path, text: str) -> str:
    path = folder / "waiver.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def finding(fingerprint: str, decision: Decision = Decision.BLOCKED) -> Finding:
    event = Event(
        id="x",
        compiler="c",
        kind=Kind.OP_FALLBACK,
        scope=Scope.OPERATOR,
        op=f"op-{fingerprint}",
        names=(),
        stack=(),
        files=(),
        reason=None,
        log="l",
        line=1,
        lines=(1,),
        count=1,
        sites=1,
        count_is_lower_bound=False,
        ranks=(),
        location=None,
        layer=None,
        text="",
        fingerprint=fingerprint,
        help="",
    )
    return Finding(event, Class.UNLISTED, decision)


def test_load(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT)
    expected = Waiver(path, "1.4.0", "release-manager", "hot fix ships today", date(2026, 12, 31), None)
    assert load(path) == expected
    assert load(written(tmp_path, TEXT.replace("all", "[f1, f2]"))).events == {"f1", "f2"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["empty"]),
        ("- x\n", ["mapping"]),
        ("release: x\n", ["who is missing", "why is missing", "expires is missing", "events is missing"]),
        (TEXT.replace('"1.4.0"', "1.4"), ["release", ":1:"]),
        (TEXT.replace("who: release-manager", "who: ''"), ["blank"]),
        (TEXT.replace("2026-12-31", "2026-12-1"), ["YYYY-MM-DD"]),
        (TEXT.replace("2026-12-31", "tomorrow"), ["YYYY-MM-DD"]),
        (TEXT.replace("events: all", "events: f1"), ["'f1'", "all"]),
        (TEXT.replace("events: all", "events: []"), ["waives nothing"]),
        (TEXT.replace("events: all", "events: [all]"), ["events: all"]),
        (TEXT.replace("events: all", "events: [1]"), ["events[0]"]),
        (TEXT.replace("events: all", "events:"), ["events", "list"]),
        (TEXT + "event: f1\n", ["'event'", "nearest known key is events"]),
        (TEXT + "who: me\n", ["twice"]),
    ],
)
def test_bad_waivers(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(PolicyError) as caught:
        load(written(tmp_path, text))
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="can't be read"):
        load(str(tmp_path / "nothing.yaml"))


ALL = Waiver("w.yaml", "1.4.0", "me", "because", date(2026, 12, 31), None)
SOME = Waiver("w.yaml", "1.4.0", "me", "because", date(2026, 12, 31), frozenset({"f1", "f2"}))
F1, F2, F3 = finding("f1"), finding("f2"), finding("f3")
FINE = finding("f4", Decision.ALLOWED)


@pytest.mark.parametrize(
    ("waiver", "release", "today", "outcome", "findings", "budget", "problem"),
    [
        (ALL, "1.4.0", TODAY, Outcome.BLOCKED, [F1, F3], False, None),
        (ALL, "1.4.0", date(2026, 12, 31), Outcome.BLOCKED, [F1], False, None),
        (ALL, "1.4.0", date(2027, 1, 1), Outcome.BLOCKED, [F1], False, "expired on 2026-12-31"),
        (ALL, "1.4.1", TODAY, Outcome.BLOCKED, [F1], False, "this release is '1.4.1'"),
        (ALL, "1.4.0 ", TODAY, Outcome.BLOCKED, [F1], False, "this release is"),
        (ALL, "1.4", TODAY, Outcome.BLOCKED, [F1], False, "this release is"),
        (ALL, "", TODAY, Outcome.BLOCKED, [F1], False, "this release is ''"),
        (ALL, "1.4.0", TODAY, Outcome.UNPROVEN, [], False, "never what is unproven"),
        (ALL, "1.4.0", TODAY, Outcome.PASS, [], False, "nothing is blocked"),
        (ALL, "1.4.0", TODAY, Outcome.BLOCKED, [], True, None),
        (SOME, "1.4.0", TODAY, Outcome.BLOCKED, [F1, F2, FINE], False, None),
        (SOME, "1.4.0", TODAY, Outcome.BLOCKED, [F1], False, None),
        (SOME, "1.4.0", TODAY, Outcome.BLOCKED, [F1, F3], False, "(f3)"),
        (SOME, "1.4.0", TODAY, Outcome.BLOCKED, [F3, finding("f5")], False, "and 1 more"),
        (SOME, "1.4.0", TODAY, Outcome.BLOCKED, [F1], True, "limit"),
    ],
)
def test_apply(
    waiver: Waiver,
    release: str,
    today: date,
    outcome: Outcome,
    findings: list[Finding],
    budget: bool,
    problem: str | None,
) -> None:
    found = apply(waiver, release, today, outcome, findings, budget)
    assert found.applied is (problem is None)
    assert (found.path, found.release, found.who, found.why, found.expires) == (
        "w.yaml",
        "1.4.0",
        "me",
        "because",
        date(2026, 12, 31),
    )
    if problem is None:
        assert found.problem is None
    else:
        assert found.problem is not None
        assert problem in found.problem
        assert not found.problem.startswith("the waiver does not cover") or found.problem.endswith(problem)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ["1: the file is empty; give it release, who, why, expires, events"]),
        ("a: [", ["1: this is not valid YAML: "]),
        ("&a *a", ["1: this is not valid YAML: "]),
        ("!x y", ["1: the tag '!x' is not allowed here; "]),
        (TEXT.replace('"1.4.0"', "1.4"), ["1: must be text and is a number (release); "]),
        (TEXT.replace("release-manager", "7"), ["2: must be text and is a number (who); "]),
        (TEXT.replace("hot fix ships today", "''"), ["3: must not be blank (why); "]),
        (TEXT.replace("2026-12-31", "soon"), ["4: 'soon' is no date (expires); "]),
        (TEXT.replace("events: all", "events: f1"), ["5: 'f1' is no list (events); list fingerprints of the report"]),
        (TEXT.replace("events: all", "events: []"), ["5: an empty list waives nothing (events); "]),
        (TEXT.replace("events: all", "events: [f1, all]"), ["5: `all` stands in a list (events); "]),
        (TEXT.replace("events: all", "events: [f1, 2]"), ["5: must be text and is a number (events[1]); "]),
        (TEXT.replace("events: all", ""), ["1: events is missing; "]),
        ("release: 1\nwho: 2\n", ["1: must be text and is a number (release)", "2: must be text and is a number (who)",
                                  "1: why is missing", "1: expires is missing", "1: events is missing"]),
    ],
)  # fmt: skip
def test_each_fault_with_its_line(tmp_path: Path, text: str, told: list[str]) -> None:
    path = written(tmp_path, text)
    with pytest.raises(PolicyError) as caught:
        load(path)
    name = Path(path).as_posix()
    assert len(caught.value.problems) == len(told), caught.value.problems
    assert all(any(one.startswith(f"{name}:{words}") for one in caught.value.problems) for words in told)


def test_why_a_file_can_t_be_read(tmp_path: Path) -> None:
    with pytest.raises(
        PolicyError, match=r"can't be read \(No such file or directory\); name a readable file"
    ):
        load(str(tmp_path / "nothing.yaml"))
    with pytest.raises(PolicyError, match=r"can't be read \(embedded null byte\); name a readable file"):
        load("waiver\0.yaml")
