"""The JSON report against the contract: which keys, in which order, and what strict parsers take."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

from hypothesis import given, settings

from fallback_gate.model import Class, Decision, Finding, Location, Outcome, RuleSource, State, Verdict
from fallback_gate.reports import FORMATS, json_report
from tests.reports import sample
from tests.reports.test_safe import HOSTILE


def read(verdict: Verdict) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    loaded: dict[str, Any] = json.loads(json_report.render(verdict), parse_constant=refuse)
    return loaded


def test_the_contracts_keys_in_their_order() -> None:
    report = read(sample.blocked_run())
    assert list(report)[:10] == [
        *("schema", "tool", "verdict", "exit_code", "today", "policy", "logs", "processes", "events", "notes")
    ]
    assert list(report["logs"][0])[:7] == [
        "path",
        "bytes",
        "lines",
        "sha256",
        "recognised",
        "sealed",
        "verdict",
    ]
    assert list(report["processes"][0])[:5] == ["log", "rank", "pid", "verdict", "compilers"]
    assert list(report["processes"][0]["compilers"][0])[:3] == ["name", "version", "proof"]
    assert list(report["events"][0])[:23] == [
        *(
            "id",
            "compiler",
            "kind",
            "scope",
            "op",
            "names",
            "stack",
            "reason",
            "log",
            "line",
            "lines",
            "count",
        ),
        *(
            "sites",
            "count_is_lower_bound",
            "ranks",
            "location",
            "class",
            "decision",
            "rule",
            "fingerprint",
            "help",
        ),
        *("files", "layer"),
    ]


def test_a_blocked_run() -> None:
    report = read(sample.blocked_run())
    assert report["schema"] == "fallback-gate/1"
    assert report["tool"] == {"name": "fallback-gate", "version": "0.1.0"}
    assert (report["verdict"], report["exit_code"], report["today"]) == ("blocked", 1, "2026-11-30")
    assert report["policy"] == {
        "name": "llm-decode",
        "path": "policies/llm-decode.yaml",
        "sha256": sample.SHA,
        "revision": None,
        "changes": [],
    }
    assert report["logs"][0] == {
        "path": "compile.log",
        "bytes": 36412,
        "lines": None,
        "sha256": None,
        "recognised": True,
        "sealed": False,
        "verdict": "blocked",
        "problem": None,
        "readers": ["torch.compile 2.11.0"],
    }
    event = report["events"][0]
    assert event["location"] == {"file": "model/decoder.py", "line": 42, "function": "gate_attn"}
    assert event["rule"] == {
        "op": "gate_attn",
        "why": "every token, every layer",
        "source": "policies/llm-decode.yaml:4",
    }
    assert (event["class"], event["decision"], event["line"], event["lines"]) == (
        "hot",
        "blocked",
        17,
        [17, 93],
    )
    assert event["stack"] == ["gate_attn", "DecoderLayer.forward"]
    assert report["events"][1]["rule"]["expires"] == "2027-03-31"
    assert report["events"][1]["location"] is None
    assert report["events"][2]["rule"] is None
    assert report["waiver"] is None


def test_proof_by_kind() -> None:
    compiler = read(sample.default_level_run())["processes"][0]["compilers"][0]
    assert compiler["proof"]["graph_break"] == {
        "state": "unproven",
        "why": sample.LEVEL,
        "line": None,
        "setting": sample.SETTING,
    }
    assert compiler["proof"]["op_fallback"]["state"] == "unobservable"
    assert compiler["required"] == ["eager_frame", "graph_break", "op_fallback", "recompile_limit"]


def test_no_verdict() -> None:
    report = read(sample.verdict(None, 2, logs=(), errors=("compile.log: no such file",)))
    assert (report["verdict"], report["exit_code"], report["errors"]) == (
        None,
        2,
        ["compile.log: no such file"],
    )


def test_a_waiver() -> None:
    assert read(sample.waived_run())["waiver"] == {
        "path": "waivers/r17.yaml",
        "release": "r17",
        "who": "Ada Wong",
        "why": "customer demo, fix is INF-130",
        "expires": "2026-12-05",
        "applied": True,
        "problem": None,
    }


def test_values_that_json_has_not() -> None:
    entry = {
        "expires": date(2027, 1, 2),
        "max_count": float("inf"),
        "kinds": ("a", "b"),
        "x": {"y": frozenset({"z"})},
    }
    finding = Finding(sample.event(), Class.HOT, Decision.BLOCKED, RuleSource(entry, "p:1"))
    rule = read(sample.blocked_run(findings=(finding,)))["events"][0]["rule"]
    assert rule == {
        "expires": "2027-01-02",
        "max_count": "inf",
        "kinds": ["a", "b"],
        "x": {"y": ["z"]},
        "source": "p:1",
    }


def test_no_lone_surrogate_and_no_secret() -> None:
    secret = "ghp_" + "a1B2" * 9
    event = sample.event(op="\udc80op", reason=f"token {secret}", text=f"x{'y' * 600} {secret}")
    text = json_report.render(sample.blocked_run(findings=(sample.blocked(event),)))
    text.encode("ascii")
    assert secret not in text
    shown = json.loads(text)["events"][0]
    assert shown["op"] == "\\udc80op"
    assert len(shown["excerpt"]) == 500


@settings(max_examples=50)
@given(HOSTILE, HOSTILE, HOSTILE)
def test_hostile_text(one: str, two: str, three: str) -> None:
    event = sample.event(op=one, reason=two, names=(three,), location=Location(one, None, two), text=three)
    missing = sample.proof(State.UNPROVEN, two, setting=three)
    run = sample.blocked_run(
        findings=(sample.blocked(event),),
        processes=(sample.process(Outcome.UNPROVEN, graph_break=missing),),
        notes=(one,),
        reasons=(two,),
    )
    text = json_report.render(run)
    json.loads(text)["events"][0]["op"].encode()


def test_no_runner_obeys_it() -> None:
    hostile = "###[error]x ##vso[task.x]"
    run = sample.blocked_run(notes=(hostile,))
    assert "##" not in json_report.render(run)
    assert read(run)["notes"] == [hostile]


def test_formats() -> None:
    run = sample.passing_run()
    assert FORMATS["json"](run) == FORMATS["json-v1"](run) == json_report.render(run)
    assert FORMATS["text"](run).startswith("PASS (exit 0): ")
    assert FORMATS["junit"](run).startswith("<?xml")
