"""The JUnit report, read back with two other libraries and held against what the CI servers take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped
from lxml import etree

from fallback_gate.model import (
    Class,
    Decision,
    Finding,
    Location,
    Outcome,
    PolicySummary,
    RuleSource,
    State,
    Verdict,
)
from fallback_gate.model.inputs import Repository
from fallback_gate.reports import junit, safe, words
from tests.reports import sample
from tests.reports.test_safe import HOSTILE

SHAPE = etree.XMLSchema(etree.parse(str(Path(__file__).with_name("junit_shape.xsd"))))
RUNS = sample.RUNS


def read(verdict: Verdict) -> etree._Element:
    return etree.fromstring(junit.render(verdict).encode(), etree.XMLParser(huge_tree=True))


def names(root: etree._Element) -> list[str]:
    return [case.get("name") for case in root.iter("testcase")]


@pytest.mark.parametrize("name", RUNS)
def test_shape(name: str) -> None:
    """Jenkins' xUnit shape, but for four things that other servers read and only that plugin refuses."""
    root = read(RUNS[name])
    del root.attrib["skipped"]
    for case in root.iter("testcase"):
        for key in ("file", "line"):
            case.attrib.pop(key, None)
        for properties in case.findall("properties"):
            case.remove(properties)
    SHAPE.assertValid(root)


@pytest.mark.parametrize(
    ("name", "totals"),
    [
        ("blocked", (6, 1, 0, 1)),  # gate_attn, topk, sort, and gate_attn for the three other kinds
        ("pass", (5, 0, 0, 1)),  # sort, and gate_attn for four kinds
        ("default level", (4, 0, 4, 0)),
        ("ranks", (64 * 4, 0, 64 * 2, 0)),
        ("waived", (4, 0, 0, 1)),
        ("no verdict", (1, 0, 1, 0)),
    ],
)
def test_totals(name: str, totals: tuple[int, int, int, int]) -> None:
    text = junit.render(RUNS[name])
    read_back = JUnitXml.fromstring(text.encode())
    assert (read_back.tests, read_back.failures, read_back.errors, read_back.skipped) == totals
    assert len(names(read(RUNS[name]))) == totals[0]


def test_cases() -> None:
    cases = {
        case.name: case
        for suite in JUnitXml.fromstring(junit.render(RUNS["blocked"]).encode())
        for case in suite
    }
    failure = cases["gate_attn: graph_break"]
    assert failure.classname == "torch.compile.llm-decode.hot"
    assert [type(result) for result in failure.result] == [Failure]
    assert failure.result[0].type == "hot-path-fallback"
    assert failure.result[0].message.startswith(
        "gate_attn: graph break at model/decoder.py:42 in gate_attn: Unsupp"
    )
    for fact in (
        "gate_attn: graph break, 2 times, rank 0",
        "where: model/decoder.py:42 in gate_attn",
        "called: gate_attn < DecoderLayer.forward",
        "log: compile.log:17",
        "Graph break in user code at /app/model/decoder.py:42",
        "rule: policies/llm-decode.yaml:4 hot: gate_attn",
        "fingerprint: fp-gate-attn",
    ):
        assert fact in failure.result[0].text
    skipped = cases["aten::sort: op_fallback"]
    assert [type(result) for result in skipped.result] == [Skipped]
    assert skipped.result[0].message == "sampling warm-up only, serving-team, until 2027-03-31, INF-123"
    warned = cases["aten::topk: op_fallback"]
    assert not warned.result
    assert warned.system_out.startswith("warned: aten::topk")
    assert not cases["gate_attn: no op_fallback"].result
    assert "gate_attn: no graph_break" not in cases


def test_places() -> None:
    root = read(RUNS["blocked"])
    places = {case.get("name"): (case.get("file"), case.get("line")) for case in root.iter("testcase")}
    assert places["gate_attn: graph_break"] == ("model/decoder.py", "42")
    assert places["aten::sort: op_fallback"] == ("policies/llm-decode.yaml", "9")
    assert places["gate_attn: no op_fallback"] == ("policies/llm-decode.yaml", "4")
    assert places["aten::topk: op_fallback"] == (None, None)


def test_code_that_is_not_in_the_repository_is_no_place() -> None:
    run = sample.blocked_run(findings=(sample.blocked(location=Location("/opt/x.py", 7, "f")),))
    for there, place in (
        ({}, ("policies/llm-decode.yaml", "4")),
        ({"/opt/x.py": "src/x.py"}, ("src/x.py", "7")),
    ):
        case = next(read(replace(run, repository=Repository(there))).iter("testcase"))
        assert (case.get("file"), case.get("line")) == place


def test_a_shipped_policy_is_no_place() -> None:
    rule = RuleSource({"op": "aten::sort"}, "builtin:llm-serving:7")
    finding = Finding(sample.sort_event(), Class.HOT, Decision.BLOCKED, rule)
    root = read(sample.blocked_run(findings=(finding,)))
    assert next(root.iter("testcase")).get("file") is None


def test_properties() -> None:
    run = replace(RUNS["blocked"], logs=(sample.log(Outcome.BLOCKED, sha256="abc"),))
    suite = read(run).find("testsuite")
    assert suite is not None
    told = {item.get("name"): item.get("value") for item in suite.find("properties")}
    assert told == {
        "policy": "llm-decode",
        "policy.sha256": sample.SHA,
        "tool.version": "0.1.0",
        "log.sha256": "abc",
        "log.bytes": "36412",
        "compiler": "torch.compile",
        "compiler.version": "2.11.0",
        "clock": "2026-11-30",
        "verdict": "blocked",
    }


def test_unproven_says_what_to_set() -> None:
    errors = [
        case for suite in JUnitXml.fromstring(junit.render(RUNS["default level"]).encode()) for case in suite
    ]
    assert [case.name for case in errors] == [
        f"{kind}: would have been seen, rank 0"
        for kind in ("graph_break", "eager_frame", "recompile_limit", "op_fallback")
    ]
    assert all(isinstance(case.result[0], Error) for case in errors)
    assert errors[0].result[0].message.endswith("; set TORCH_LOGS=dynamo,graph_breaks,recompiles")


def test_ranks_of_one_log_share_a_case() -> None:
    missing = sample.proof(State.UNPROVEN, sample.LEVEL)
    processes = tuple(sample.process(Outcome.UNPROVEN, rank=rank, graph_break=missing) for rank in range(64))
    assert names(read(sample.verdict(Outcome.UNPROVEN, 3, processes=processes))) == [
        "graph_break: would have been seen, ranks 0-63",
        "gate_attn: no eager_frame",
        "gate_attn: no recompile_limit",
        "gate_attn: no op_fallback",
    ]


def test_without_a_hot_list_each_kind_is_checked() -> None:
    strict = PolicySummary("strict", None, None)
    assert "any operator: no graph_break" in names(read(sample.verdict(Outcome.PASS, 0, policy=strict)))


def test_a_hot_entry_is_checked_for_its_own_kinds_only() -> None:
    rule = RuleSource({"op": "gate_attn", "kinds": ["graph_break"]}, "p.yaml:1")
    policy = PolicySummary("p", "p.yaml", None, (rule,))
    assert names(read(sample.verdict(Outcome.PASS, 0, policy=policy))) == ["gate_attn: no graph_break"]


def test_two_hot_entries_on_one_line_are_checked_apart() -> None:
    hit, other = (RuleSource({"op": op, "kinds": ["graph_break"]}, "p.yaml:1") for op in ("gate_attn", "mm"))
    policy = PolicySummary("p", "p.yaml", None, (hit, other))
    blocked = replace(sample.blocked(), rule=hit)
    cases = names(read(sample.verdict(Outcome.BLOCKED, 1, policy=policy, findings=(blocked,))))
    assert "mm: no graph_break" in cases
    assert "gate_attn: no graph_break" not in cases


def test_names_are_unique_in_the_whole_file() -> None:
    findings = [sample.blocked(location=Location("a.py", line, "f")) for line in (1, 2, 2, 2)]
    other = sample.blocked(log="other.log", location=None)
    found = names(read(sample.blocked_run(findings=(*findings, other), processes=())))
    assert found == [
        "gate_attn: graph_break",
        "gate_attn: graph_break, a.py:2 in f",
        "gate_attn: graph_break, a.py:2 in f, compile.log",
        "gate_attn: graph_break, a.py:2 in f, compile.log #2",
        "gate_attn: graph_break, other.log",
    ]


@pytest.mark.parametrize(
    ("outcome", "exit_code", "tag"),
    [(Outcome.BLOCKED, 1, "failure"), (Outcome.UNPROVEN, 3, "error"), (None, 2, "error")],
)
def test_the_page_is_never_greener_than_the_verdict(
    outcome: Outcome | None, exit_code: int, tag: str
) -> None:
    root = read(sample.verdict(outcome, exit_code, processes=(), logs=()))
    assert root.find(f".//{tag}") is not None


def test_a_budget_and_a_log_that_was_cut() -> None:
    cut = sample.log(Outcome.UNPROVEN, "cut.zip", problem="the archive ends early")
    run = sample.verdict(
        Outcome.BLOCKED, 1, reasons=("graph_break: 3 of 0 allowed",), logs=(cut,), processes=()
    )
    root = read(run)
    failure, error = root.find(".//failure"), root.find(".//error")
    assert failure is not None
    assert failure.get("message") == "graph_break: 3 of 0 allowed"
    assert error is not None
    assert error.get("message") == "the archive ends early"


def test_small_however_many_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """30 MB is what GitLab takes; 5,000 bodies of 8 KB would be 40. Here at a tenth of them."""
    assert junit.FILE_BYTES == 25_000_000
    monkeypatch.setattr(junit, "FILE_BYTES", 2_500_000)
    event = sample.event(text="<&xyz\n" * 2_000)
    findings = tuple(sample.blocked(replace(event, op=f"op{number}")) for number in range(500))
    text = junit.render(sample.blocked_run(findings=findings))
    assert len(text.encode()) < 3_000_000
    root = read_text(text)
    left = next(name for name in names(root) if "left out" in name)
    assert int(left.split()[0].replace(",", "")) + len(names(root)) - 1 == 500 + 3
    assert all(len((body.text or "").encode()) <= 8192 for body in root.iter("failure"))
    assert "cut here" in (root.find(".//failure").text or "")


def test_at_most_what_the_strictest_server_takes_and_the_hot_path_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Buildkite refuses a file with more than 5,000 cases. Here at a tenth of them."""
    assert junit.MOST_CASES == 5_000
    monkeypatch.setattr(junit, "MOST_CASES", 500)
    cold = tuple(
        replace(sample.blocked(op=f"op{number}"), event_class=Class.UNLISTED) for number in range(600)
    )
    root = read(sample.blocked_run(findings=(*cold, sample.blocked())))
    cases = list(root.iter("testcase"))
    assert len(cases) == 500
    assert cases[0].get("name") == "gate_attn: graph_break"
    left = next(case for case in cases if "left out" in (case.get("name") or ""))
    what = "105 cases left out to keep this file small (3 passed, 102 failure); --format json has them all"
    assert left.get("name") == what
    assert left.find("failure") is not None
    assert root.get("failures") == "500"


def test_as_many_as_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = names(read(sample.many_ranks_run()))
    monkeypatch.setattr(junit, "MOST_CASES", len(whole))
    assert names(read(sample.many_ranks_run())) == whole


def read_text(text: str) -> etree._Element:
    return etree.fromstring(text.encode(), etree.XMLParser(huge_tree=True))


@settings(max_examples=60)
@given(st.data())
def test_hostile_text_in_every_field(data: st.DataObject) -> None:
    """It always parses, with both readers, and each field is there to be read."""
    fields = ("op", "id", "compiler", "reason", "log", "text", "help", "fingerprint", "layer")
    values = {field: data.draw(HOSTILE) for field in fields}
    place = Location(data.draw(HOSTILE), 1, data.draw(HOSTILE))
    event = sample.event(**values, names=(data.draw(HOSTILE),), stack=(data.draw(HOSTILE),), location=place)
    rule = RuleSource({"op": data.draw(HOSTILE), "reason": data.draw(HOSTILE)}, data.draw(HOSTILE))
    missing = sample.proof(State.UNPROVEN, data.draw(HOSTILE), setting=data.draw(HOSTILE))
    run = sample.blocked_run(
        findings=tuple(
            Finding(event, Class.HOT, decision, rule, data.draw(HOSTILE)) for decision in Decision
        ),
        policy=PolicySummary(data.draw(HOSTILE), data.draw(HOSTILE), data.draw(HOSTILE), (rule,)),
        processes=(sample.process(Outcome.UNPROVEN, log=data.draw(HOSTILE), graph_break=missing),),
        reasons=(data.draw(HOSTILE),),
        errors=(data.draw(HOSTILE),),
        logs=(sample.log(Outcome.BLOCKED, values["log"], problem=data.draw(HOSTILE)),),
    )
    root = read(run)
    JUnitXml.fromstring(junit.render(run).encode())
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.text is not None
    assert values["op"] == "*" or failure.text.startswith(safe.xml(safe.inline(values["op"])))
    for field in ("id", "reason", "text", "help", "fingerprint"):
        assert safe.xml(words.sentence(values[field])) in failure.text
    assert len(set(names(root))) == len(names(root))


def test_secrets_and_attachments_stay_out() -> None:
    secret = "ghp_" + "a1B2" * 9
    event = sample.sort_event(
        reason=secret, text=f"[[ATTACHMENT|/etc/passwd]] token={secret}", op=f"op_{secret}"
    )
    text = junit.render(sample.blocked_run(findings=(Finding(event, Class.UNLISTED, Decision.WARNED),)))
    assert secret not in text
    assert "[[ATTACHMENT|" not in text
