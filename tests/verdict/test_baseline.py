"""Room 6: what was there may stay, nothing may be added, nothing hot is ever excused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.errors import PolicyError
from fallback_gate.events.fingerprint import fingerprint
from fallback_gate.model import (
    Class,
    Decision,
    Event,
    Finding,
    Kind,
    Location,
    ProcessKey,
    RuleSource,
    Scope,
    Variants,
)
from fallback_gate.model.history import Baseline, Held
from fallback_gate.reports import baseline_file
from fallback_gate.verdict.baseline import held, judge
from fallback_gate.verdict.baseline_file import load

COLD = RuleSource({"op": "aten::sort", "reason": "sampling"}, "policy.yaml:3")


def finding(op: str = "aten::sort", found_as: Class = Class.UNLISTED, **said: Any) -> Finding:
    """A finding; `at` is (file, line, function), `ranks` make its processes."""
    location = Location(*said.pop("at")) if "at" in said else None
    ranks = said.pop("ranks", (None,))
    kind = said.pop("kind", Kind.OP_FALLBACK)
    values: dict[str, Any] = {
        "id": "x", "compiler": "torch.compile", "kind": kind, "scope": Scope.OPERATOR, "op": op, "names": (),
        "stack": (), "files": (), "reason": None, "log": "l", "line": 1, "lines": (1,), "count": 1, "sites": 1,
        "count_is_lower_bound": False, "ranks": tuple(r for r in ranks if r is not None),
        "location": location, "layer": None, "text": "", "help": "",
        "fingerprint": fingerprint("torch.compile", kind, op, location),
        "processes": tuple(ProcessKey("l", rank) for rank in ranks),
    }  # fmt: skip
    event = Event(**{**values, **said})
    decision = Decision.ALLOWED if found_as is Class.COLD else Decision.BLOCKED
    return Finding(event, found_as, decision, COLD if found_as is Class.COLD else None)


def of(*findings: Finding) -> Baseline:
    return Baseline("b.json", held(findings))


def decisions(baseline: Baseline, *findings: Finding) -> list[Decision]:
    return [judged.decision for judged in judge(baseline, findings).findings]


def test_what_was_there_stays_and_the_rule_names_the_baseline() -> None:
    (judged,) = judge(of(finding()), [finding()]).findings
    assert (judged.decision, judged.event_class) == (Decision.ALLOWED, Class.UNLISTED)
    assert judged.rule is not None
    assert judged.rule.source == "b.json"


@pytest.mark.parametrize(
    "changed",
    [
        finding(at=("/build/7/model.py", 90, "forward")),
        finding(at=("C:\\work\\model.py", None, "forward")),
        finding(at=("/app/model.py", 3, "torch_dynamo_resume_in_forward_at_3"), count=9, ranks=(0, 1, 2)),
    ],
)
def test_lines_folders_ranks_and_counts_of_reports_change_nothing(changed: Finding) -> None:
    assert decisions(of(finding(at=("/app/model.py", 3, "forward"))), changed) == [Decision.ALLOWED]


@pytest.mark.parametrize(
    "added",
    [
        finding("aten::topk"),
        finding(kind=Kind.DEVICE_FALLBACK),
        finding(at=("model.py", 1, "forward")),
        finding("aten::topk", Class.COLD),
    ],
)
def test_nothing_may_be_added(added: Finding) -> None:
    assert decisions(of(finding()), finding(), added) == [Decision.ALLOWED, Decision.BLOCKED]


def test_what_the_policy_only_warns_of_may_not_be_added_either() -> None:
    warned = replace(finding(), decision=Decision.WARNED)
    assert decisions(of(), warned) == [Decision.BLOCKED]
    assert decisions(of(warned), warned) == [Decision.ALLOWED]


def test_more_sites_are_new() -> None:
    two = finding(at=("m.py", 1, "f")), finding(at=("m.py", 9, "f"))
    assert decisions(of(two[0]), *two) == [Decision.BLOCKED, Decision.BLOCKED]
    assert decisions(of(*two), *two) == [Decision.ALLOWED, Decision.ALLOWED]
    assert decisions(of(finding(sites=2)), finding(sites=3)) == [Decision.BLOCKED]
    assert decisions(of(finding(sites=3)), finding(sites=2)) == [Decision.ALLOWED]


def test_sites_count_in_the_worst_rank() -> None:
    spread = finding(at=("m.py", 1, "f"), ranks=(0,)), finding(at=("m.py", 9, "f"), ranks=(1,))
    assert of(*spread).entries[0].sites == 1
    both = finding(at=("m.py", 1, "f"), ranks=(0,)), finding(at=("m.py", 9, "f"), ranks=(0,))
    assert decisions(of(*spread), *both) == [Decision.BLOCKED, Decision.BLOCKED]


def test_hot_is_never_held_and_never_excused() -> None:
    hot = finding(found_as=Class.HOT)
    assert held([hot]) == ()
    assert decisions(of(finding()), hot) == [Decision.BLOCKED]
    assert decisions(Baseline("b.json", growing=True), hot) == [Decision.BLOCKED]


@pytest.mark.parametrize(
    "unnamed", [finding("*"), finding("x", variants=Variants(overflowed=frozenset({"all"})))]
)
def test_what_names_nothing_is_never_held(unnamed: Finding) -> None:
    assert held([unnamed]) == ()
    assert decisions(of(unnamed), unnamed) == [Decision.BLOCKED]


def test_a_cold_entry_that_ends_takes_the_excuse_with_it() -> None:
    """The baseline must not outlive the expiry of the policy's own entry."""
    before = of(finding(found_as=Class.COLD))
    (stays,) = judge(before, [finding(found_as=Class.COLD)]).findings
    assert (stays.decision, stays.rule) == (Decision.ALLOWED, COLD)
    assert decisions(before, finding()) == [Decision.BLOCKED]
    assert decisions(of(finding()), finding(found_as=Class.COLD)) == [Decision.ALLOWED]


def test_what_turned_hot_or_unlisted_is_not_gone() -> None:
    before = of(finding(found_as=Class.COLD), finding("aten::topk"))
    said = judge(before, [finding(), finding("aten::topk", Class.HOT)]).summary
    assert (said.used, said.gone, said.fewer) == (2, 0, 0)


def test_a_message_printed_once_for_many_leaves_the_rest_open() -> None:
    once = finding(count_is_lower_bound=True)
    ruling = judge(of(once), [once])
    assert "says it once for many" in ruling.open[0]
    assert judge(of(finding()), [finding()]).open == ()


def test_the_summary_counts_what_is_gone_and_fewer() -> None:
    before = of(finding(sites=2), finding("aten::topk"), finding("aten::histc"))
    said = judge(before, [finding(), finding("aten::histc")]).summary
    assert (said.entries, said.used, said.gone, said.fewer) == (3, 2, 1, 1)


NAMES = st.text("abc:.", min_size=1, max_size=6)
FINDINGS = st.builds(
    lambda op, kind, cold, at, sites: finding(
        op, Class.COLD if cold else Class.UNLISTED, kind=kind, at=at, sites=sites
    ),
    NAMES,
    st.sampled_from(Kind),
    st.booleans(),
    st.tuples(st.sampled_from(["a.py", "b.py"]), st.integers(1, 9), st.sampled_from(["f", "g"])),
    st.integers(1, 3),
)


@given(st.lists(FINDINGS, max_size=6))
def test_a_run_passes_its_own_baseline_in_any_order(findings: list[Finding]) -> None:
    baseline = of(*findings)
    assert of(*reversed(findings)) == baseline
    assert set(decisions(baseline, *findings)) <= {Decision.ALLOWED}


@given(st.lists(FINDINGS, max_size=4), FINDINGS)
def test_what_is_added_blocks_whatever_else_is_there(findings: list[Finding], added: Finding) -> None:
    prints = {f.event.fingerprint for f in findings}
    if added.event.fingerprint not in prints:
        assert decisions(of(*findings), *findings, added)[-1] is Decision.BLOCKED


def written(folder: Path, baseline: Baseline) -> Path:
    path = folder / "b.json"
    path.write_text(baseline_file.render(baseline), encoding="utf-8")
    return path


@given(st.lists(FINDINGS, max_size=5))
def test_the_file_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, findings: list[Finding]
) -> None:
    baseline = of(*findings)._replace(tool_version="1.2.3")
    path = written(tmp_path_factory.mktemp("b"), baseline)
    found = load(str(path))
    assert (found.entries, found.tool_version) == (baseline.entries, "1.2.3")
    assert baseline_file.render(found._replace(policy=baseline.policy)) == path.read_text(encoding="utf-8")


def test_the_file_has_one_entry_a_line_and_neither_lines_nor_ranks(tmp_path: Path) -> None:
    text = baseline_file.render(
        of(finding("aten::topk", at=("/app/m.py", 4711, "f"), ranks=(31,)), finding())
    )
    assert [line for line in text.splitlines() if "fingerprint" in line][0].startswith('    {"compiler"')
    assert text.count("fingerprint") == 2
    assert "4711" not in text
    assert "31" not in text.replace("fingerprint", "").split('"entries"')[1].split('"sites"')[0]


GOOD = of(finding(), finding("aten::topk", Class.COLD))


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("baseline-1", "baseline-9", 2, ["schema", "baseline-9"]),
        ('"sites": 1', '"sites": 0', 6, ["sites", "too small"]),
        ('"sites": 1', '"sites": "1"', 6, ["sites", "whole number"]),
        ('"class": "unlisted"', '"class": "hot"', 6, ["class", "'hot'"]),
        ('"kind": "op_fallback", "op": "aten::sort"', '"kind": "x", "op": "aten::sort"', 6, ["kind", "'x'"]),
        ('"op": "aten::sort"', '"op": "aten::stort"', 6, ["fingerprint", "not that of this entry"]),
        ('"op": "aten::topk"', '"ops": "aten::topk"', 7, ["ops", "nearest known key is op"]),
        ('"tool"', '"tols"', 3, ["tols"]),
        ("}\n  ]", "},,\n  ]", 7, ["YAML"]),
        ('"entries"', '"policy": {}, "entries"', 5, ["twice", "line 4"]),
    ],
)  # fmt: skip
def test_a_bad_file_says_where_and_what(
    tmp_path: Path, old: str, new: str, line: int, words: list[str]
) -> None:
    path = written(tmp_path, GOOD)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        load(str(path))
    told = [problem for problem in caught.value.problems if all(word in problem for word in words)]
    assert told, caught.value.problems
    assert told[0].startswith(f"{path.as_posix()}:{line}: ")


def test_all_faults_come_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    path.write_text(path.read_text(encoding="utf-8").replace('"sites": 1', '"sites": -1'), encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        load(str(path))
    assert len(caught.value.problems) == 2


@given(st.one_of(st.binary(max_size=100), st.text(max_size=80).map(lambda text: text.encode())))
def test_any_bytes_are_a_baseline_or_an_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("b") / "b.json"
    path.write_bytes(data)
    with pytest.raises(PolicyError):
        load(str(path))


def test_no_such_file_names_the_command() -> None:
    with pytest.raises(PolicyError, match="baseline create"):
        load("nowhere.json")


def test_entries_keep_their_order() -> None:
    assert list(GOOD.entries) == sorted(GOOD.entries)
    assert all(isinstance(entry, Held) for entry in GOOD.entries)


def test_a_large_file_tells_its_faults_too(tmp_path: Path) -> None:
    many = of(*(finding(f"my::op{number}") for number in range(2000)))
    path = written(tmp_path, many)
    assert path.stat().st_size > 256 * 1024
    assert len(load(str(path)).entries) == 2000
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"my::op7"', '"my::op8000"'), encoding="utf-8")
    with pytest.raises(PolicyError, match=r"fingerprint is not that of this entry \(entries\[\d+\]"):
        load(str(path))
    path.write_text(text.replace('"my::op7"', '"my::op7'), encoding="utf-8")
    with pytest.raises(PolicyError, match=r"b.json:\d{2,}: this is not valid JSON"):
        load(str(path))
