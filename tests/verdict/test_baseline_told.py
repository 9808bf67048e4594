"""Room 6: what a baseline holds and says, word for word; when it may be written, and what a file may be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fallback_gate.errors import PolicyError
from fallback_gate.events.fingerprint import fingerprint
from fallback_gate.model import (
    BaselineSummary,
    Class,
    CompilerProof,
    Decision,
    Kind,
    Location,
    Outcome,
    PolicySummary,
    ProcessVerdict,
    RuleSource,
    Verdict,
)
from fallback_gate.model.history import Baseline, Held
from fallback_gate.policy import document
from fallback_gate.reports import baseline_file
from fallback_gate.verdict import baseline_file as reading
from fallback_gate.verdict.baseline import held, judge, notes, refusal, silent
from fallback_gate.verdict.baseline_file import load
from tests.policy.make import TODAY
from tests.verdict.test_baseline import finding, of

PRINT = fingerprint("torch.compile", Kind.OP_FALLBACK, "aten::sort", Location("model.py", None, "forward"))


@pytest.mark.parametrize("file", ["/app/x y/model.py", "C:\\work\\x y\\model.py", "model.py", "a/model.py"])
def test_an_entry_says_what_it_holds(file: str) -> None:
    (entry,) = held([finding(at=(file, 3, "forward"), sites=2)])
    assert entry == Held(
        "torch.compile", "op_fallback", "aten::sort", "model.py", "forward", "unlisted", 2, PRINT
    )
    assert [(entry.file, entry.function) for entry in held([finding()])] == [("", "")]
    assert [(entry.file, entry.function) for entry in held([finding(at=(None, None, None))])] == [("", "")]


def test_the_entry_of_two_spellings_is_the_same_in_any_order() -> None:
    one, other = finding("aten.sort"), finding("aten::sort")
    assert one.event.fingerprint == other.event.fingerprint
    assert held([one, other]) == held([other, one])
    assert [entry.op for entry in held([other, one])] == ["aten.sort"]


def test_what_stays_names_the_entry() -> None:
    (judged,) = judge(of(finding(sites=2)), [replace(finding(), why="not listed")]).findings
    entry = {
        "fingerprint": finding().event.fingerprint,
        "sites": 2,
        "reason": "it was there when the baseline was made",
    }
    assert (judged.decision, judged.rule, judged.why) == (Decision.ALLOWED, RuleSource(entry, "b.json"), None)


@pytest.mark.parametrize(
    ("before", "now", "why"),
    [
        (finding(sites=1), finding(sites=2), "2 sites, and the baseline b.json holds 1"),
        (finding("aten::topk"), finding(), "new: it is not in the baseline b.json"),
        (finding(found_as=Class.COLD), finding(), "the baseline b.json holds it as cold, and no cold entry allows it now"),
        (finding("aten::topk", Class.COLD), finding(found_as=Class.COLD), "new: it is not in the baseline b.json"),
        (finding(found_as=Class.COLD), finding("*"), "it names nothing, so no baseline can tell it from another"),
    ],
)  # fmt: skip
def test_why_it_may_not_stay(before: Any, now: Any, why: str) -> None:
    (judged,) = judge(of(before), [now]).findings
    assert (judged.decision, judged.why) == (Decision.BLOCKED, why)


def test_what_can_t_be_told_is_open_only_where_it_stays() -> None:
    once = finding(count_is_lower_bound=True, sites=2)
    assert judge(of(finding("aten::topk")), [once]).open == ()
    assert judge(of(once), [replace(once, event_class=Class.HOT)]).open == ()
    assert judge(of(once), [once]).open == (
        "the baseline holds 2 sites of aten::sort (op_fallback), met by at least 2 sites: the compiler says it once for many",
    )  # fmt: skip
    single = finding(count_is_lower_bound=True)
    (said,) = judge(of(single), [single]).open
    assert "holds 1 site of" in said


def test_the_summary_repeats_the_baseline() -> None:
    before = of(finding(sites=2), finding("aten::topk"))._replace(
        path="x/b.json", tool_version="9.1", policy=PolicySummary("p", None, "ff")
    )
    assert judge(before, [finding()]).summary == BaselineSummary("x/b.json", "9.1", "ff", 2, 1, 1, 1)
    assert judge(before, [finding(sites=2)]).summary.fewer == 0
    assert judge(before, [finding(sites=3)]).summary.fewer == 0


@pytest.mark.parametrize(
    ("gone", "fewer", "proven", "sha", "told"),
    [
        (0, 0, True, "ff", []),
        (2, 1, True, "ff", ["3 entries of the baseline b.json could be tighter"]),
        (1, 0, True, "ff", ["1 entry of the baseline b.json could be tighter"]),
        (0, 2, True, "ff", ["2 entries of the baseline"]),
        (2, 1, False, "ff", []),
        (0, 0, True, None, ["was made under another policy"]),
        (1, 0, True, "ee", ["could be tighter", "was made under another policy"]),
    ],
)
def test_what_its_owner_should_know(
    gone: int, fewer: int, proven: bool, sha: str | None, told: list[str]
) -> None:
    found = notes(BaselineSummary("b.json", "1", "ff", 5, 5 - gone, gone, fewer), sha, proven)
    assert len(found) == len(told)
    assert all(words in note for words, note in zip(told, found, strict=True))


def verdict(outcome: Outcome | None, proven: bool, *compilers: str, **said: Any) -> Verdict:
    at_work = tuple(CompilerProof(name, None, {}, frozenset()) for name in compilers)
    processes = (ProcessVerdict("a.log", None, 1, Outcome.PASS, at_work),)
    return Verdict(
        outcome,
        0,
        TODAY,
        PolicySummary("p", None, None),
        (),
        processes,
        proven=proven,
        **{"findings": (), **said},
    )


@pytest.mark.parametrize(
    ("outcome", "proven", "why"),
    [
        (Outcome.PASS, True, None),
        (None, True, "an input could not be read"),
        (None, False, "an input could not be read"),
        (Outcome.PASS, False, "the run is not proven"),
        (Outcome.BLOCKED, False, "the run is not proven"),
        (Outcome.UNPROVEN, False, "the run is not proven"),
        (Outcome.BLOCKED, True, "the run is blocked: a baseline is frozen"),
        (Outcome.WAIVED, True, "the run is waived: a baseline is frozen"),
    ],
)
def test_when_it_may_be_written(outcome: Outcome | None, proven: bool, why: str | None) -> None:
    found = refusal(verdict(outcome, proven))
    assert found == why if why is None else found is not None and found.startswith(why)


def test_entries_of_compilers_that_are_not_at_work_prove_nothing() -> None:
    """Triton works inside torch.compile: it is at work where that one is."""
    entries = tuple(
        Held(name, "op_fallback", "x", "", "", "unlisted", 1, name)
        for name in ("torch.compile", "triton", "tvm")
    )

    def still(run: Verdict) -> list[str]:
        return [entry.compiler for entry in silent(Baseline("b.json", entries), run)]

    assert still(verdict(Outcome.PASS, True)) == ["torch.compile", "triton", "tvm"]
    assert still(verdict(Outcome.PASS, True, "tvm")) == ["torch.compile", "triton"]
    assert still(verdict(Outcome.PASS, True, "torch.compile")) == ["tvm"]
    assert still(verdict(Outcome.PASS, True, "tvm", findings=(finding(),))) == []


GOOD = of(finding(), finding("aten::topk", Class.COLD))


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    made = GOOD._replace(tool_version="1.2", policy=PolicySummary("strict", None, "ff"))
    path.write_text(baseline_file.render(made), encoding="utf-8")
    assert load(str(path)) == made._replace(path=str(path))
    path.write_text(
        '{"schema": "fallback-gate/baseline-1", "tool": {}, "policy": {}, "entries": []}', encoding="utf-8"
    )
    assert load(str(path)) == Baseline(str(path), (), "", PolicySummary("", None, None))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", [":1: the file is empty; write one with `fallback-gate baseline create`"]),
        ("null", [":1: the file is empty; write one with `fallback-gate baseline create`"]),
        ("[]", [":1: must be a mapping and is a list"]),
        ("{}", [f":1: {key} is missing; add" for key in ("schema", "tool", "policy", "entries")]),
        ('{"schema": "fallback-gate/baseline-1", "tool": 1, "policy": [], "entries": {}}', ["(tool)", "(policy)", "(entries)"]),
        ('{"schema": "fallback-gate/baseline-1", "tool": {"names": 1}, "policy": {"sha": 1}, "entries": [{}]}',
         ["'names' (tool.names); the nearest known key is name", "'sha' (policy.sha); the nearest known key is sha256",
          *(f"{key} is missing (entries[0])" for key in ("compiler", "kind", "op", "file", "function", "class", "sites", "fingerprint"))]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_comes_whole(text: str, told: list[str], tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        load(str(path))
    assert len(caught.value.problems) == len(told), caught.value.problems
    assert all(problem.startswith(f"{path.as_posix()}:1: ") for problem in caught.value.problems)
    assert all(any(words in problem for problem in caught.value.problems) for words in told)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"file": ""', '"file": 1', "must be text and is a number (entries[0].file)"),
        ('"function": ""', '"function": " "', "must not be blank (entries[0].function)"),
        ('"compiler": "torch.compile"', '"compiler": null', "must be text and is empty (entries[0].compiler)"),
        ('"op": "aten::sort"', '"op": []', "must be text and is a list (entries[0].op)"),
        ('"class": "unlisted"', '"class": "cald"', "'cald' is not known (entries[0].class); the nearest is cold"),
        ('"kind": "op_fallback"', '"kind": 7', "must be text and is a number (entries[0].kind)"),
        ('"op": "aten::topk"', '"op": "aten::sort"', "the fingerprint is not that of this entry (entries[1].fingerprint); entries are written by"),
    ],
)  # fmt: skip
def test_each_value_of_an_entry_is_checked(old: str, new: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    text = baseline_file.render(GOOD)
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        load(str(path))
    (problem,) = caught.value.problems
    assert told in problem


def test_an_entry_may_not_stand_twice(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    lines = baseline_file.render(GOOD).splitlines()
    first = next(at for at, line in enumerate(lines) if "fingerprint" in line)
    path.write_text("\n".join([*lines[: first + 1], *lines[first:]]), encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        load(str(path))
    (problem,) = caught.value.problems
    assert problem == f"{path.as_posix()}:{first + 2}: the entry stands twice (entries[1]); keep one"


def test_a_hidden_secret_no_longer_makes_the_fingerprint(tmp_path: Path) -> None:
    """A report masks secrets; the entry that holds one still counts by its fingerprint."""
    path = tmp_path / "b.json"
    text = baseline_file.render(of(finding("my::op_ghp_secret")))
    path.write_text(text.replace("ghp_secret", "***"), encoding="utf-8")
    (entry,) = load(str(path)).entries
    assert (entry.op, entry.fingerprint) == ("my::op_***", finding("my::op_ghp_secret").event.fingerprint)


def test_a_file_that_is_not_there_or_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PolicyError, match=r"can't be read \(No such file or directory\); name a"):
        load(str(tmp_path / "nowhere.json"))
    with pytest.raises(PolicyError, match=r"can't be read \(embedded null byte\)"):
        load("nowhere\0.json")
    path = tmp_path / "b.json"
    path.write_text(baseline_file.render(GOOD), encoding="utf-8")
    monkeypatch.setattr(reading, "LARGEST", path.stat().st_size)
    assert len(load(str(path)).entries) == 2
    monkeypatch.setattr(reading, "LARGEST", path.stat().st_size - 1)
    with pytest.raises(PolicyError, match="is larger than 0 MiB"):
        load(str(path))


def test_lines_are_told_up_to_what_the_reader_of_policies_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "b.json"
    path.write_text(baseline_file.render(GOOD).replace('"sites": 1', '"sites": 0', 1), encoding="utf-8")
    for largest, line in ((path.stat().st_size, 6), (path.stat().st_size - 1, 1)):
        monkeypatch.setattr(document, "LARGEST", largest)
        with pytest.raises(PolicyError) as caught:
            load(str(path))
        assert caught.value.problems[0].startswith(f"{path.as_posix()}:{line}: ")
