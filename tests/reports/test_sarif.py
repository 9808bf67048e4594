"""SARIF against the official schema, read back by sarif-tools, and against what GitHub demands."""

from __future__ import annotations

import gzip
import json
import random
import string
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
import sarif.loader
from hypothesis import given, settings

from fallback_gate.model import Finding, Location, Outcome, PolicySummary, Verdict
from fallback_gate.model.inputs import Repository, RulesFile
from fallback_gate.reports import sarif as report
from tests.reports import consumers, sample
from tests.reports.test_safe import HOSTILE

RUNS = sample.RUNS


def read(verdict: Verdict, **options: bool) -> dict[str, Any]:
    document = json.loads(report.render(verdict, **options))
    consumers.validate_sarif(document)
    run: dict[str, Any] = document["runs"][0]
    return run


@pytest.mark.parametrize("suppressed", [False, True])
@pytest.mark.parametrize("name", RUNS)
def test_the_schema_and_a_reader_take_it(name: str, suppressed: bool, tmp_path: Path) -> None:
    run = read(RUNS[name], suppressed=suppressed)
    path = tmp_path / "report.sarif"
    path.write_text(report.render(RUNS[name], suppressed=suppressed), encoding="utf-8")
    file = sarif.loader.load_sarif_file(str(path))
    assert file.get_distinct_tool_names() == ["fallback-gate"]
    assert file.get_result_count() == len(run["results"])


def test_only_what_blocks() -> None:
    run = read(RUNS["blocked"])
    (result,) = run["results"]
    assert (result["ruleId"], result["level"], result["kind"]) == ("torch/graph-break", "error", "fail")
    place = result["locations"][0]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "model/decoder.py"},
        "region": {"startLine": 42},
    }
    assert place["logicalLocations"][0] == {"fullyQualifiedName": "gate_attn"}
    assert result["partialFingerprints"] == {"fallbackGate/v1": "fp-gate-attn"}
    log = result["relatedLocations"][0]["physicalLocation"]
    assert (log["artifactLocation"]["uri"], log["region"]["startLine"]) == ("compile.log", 17)
    assert "suppressions" not in result
    assert result["message"]["text"].startswith("gate_attn: graph break at model/decoder.py:42 in gate_attn")


def test_rules_help() -> None:
    (rule,) = read(RUNS["blocked"])["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == "torch.compile: graph break"
    assert rule["helpUri"] == "https://docs.pytorch.org/docs/stable/torch.compiler_faq.html"
    assert "capture_scalar_outputs" in rule["help"]["text"]
    assert "fallback-gate explain torch/graph-break" in rule["help"]["markdown"]
    assert rule["defaultConfiguration"] == {"level": "error"}


def test_what_is_let_pass_comes_on_request() -> None:
    results = read(RUNS["blocked"], suppressed=True)["results"]
    assert [(r["level"], "suppressions" in r) for r in results] == [
        ("error", False),
        ("warning", False),
        ("note", True),
    ]
    (excuse,) = results[2]["suppressions"]
    assert (excuse["kind"], excuse["status"]) == ("external", "accepted")
    assert "sampling warm-up only" in excuse["justification"]


def test_a_waiver_suppresses() -> None:
    assert read(RUNS["waived"])["results"] == []
    (result,) = read(RUNS["waived"], suppressed=True)["results"]
    assert "Ada Wong" in result["suppressions"][0]["justification"]


@pytest.mark.parametrize(
    ("name", "successful", "code"),
    [("blocked", True, 1), ("pass", True, 0), ("default level", False, 3), ("no verdict", False, 2)],
)
def test_the_invocation(name: str, successful: bool, code: int) -> None:
    (invocation,) = read(RUNS[name])["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (successful, code)
    assert bool(invocation["toolExecutionNotifications"]) is not successful


def test_unproven_says_what_to_set() -> None:
    (invocation,) = read(RUNS["default level"])["invocations"]
    told = [one["message"]["text"] for one in invocation["toolExecutionNotifications"]]
    assert told[0].endswith(f"; set {sample.SETTING}")


def test_provenance() -> None:
    log = sample.log(Outcome.BLOCKED, sha256="ab" * 32, lines=7)
    run = read(
        sample.blocked_run(
            logs=(log,),
            run_at=datetime(2026, 11, 30, 6, 1, 2, tzinfo=timezone.utc),
            rules_files=(RulesFile("mine.yaml", "cd" * 32),),
        )
    )
    assert run["artifacts"][0]["hashes"] == {"sha-256": "ab" * 32}
    assert run["artifacts"][0]["length"] == 36_412
    assert run["invocations"][0]["startTimeUtc"] == "2026-11-30T06:01:02Z"
    told = run["properties"]
    assert told["policy"]["sha256"] == sample.SHA
    assert told["rules"] == [{"path": "mine.yaml", "sha256": "cd" * 32}]
    assert told["logs"][0]["readers"] == ["torch.compile 2.11.0"]
    assert (told["logs"][0]["lines"], told["today"], told["toolVersion"]) == (7, "2026-11-30", "0.1.0")


@pytest.mark.parametrize(
    ("log", "uri"),
    [
        ("/ci/build.log", "file:///ci/build.log"),
        ("C:\\ci\\build.log", "file:///C%3A/ci/build.log"),
        ("run.zip!/3_build a.txt", "run.zip%21/3_build%20a.txt"),
        ("logs\\rank0.log", "logs/rank0.log"),
    ],
)
def test_addresses_of_logs(log: str, uri: str) -> None:
    run = read(sample.blocked_run(logs=(sample.log(Outcome.BLOCKED, log),)))
    assert run["artifacts"][0]["location"]["uri"] == uri


def test_a_place_always() -> None:
    """GitHub refuses the whole file for one result without a place in the repository."""
    nowhere = replace(sample.blocked(location=None), rule=None)
    run = read(
        sample.blocked_run(
            findings=(nowhere,),
            policy=PolicySummary("strict", None, None),
            repository=Repository(),
        )
    )
    at = run["results"][0]["locations"][0]["physicalLocation"]
    assert at == {"artifactLocation": {"uri": "fallback-gate.yaml"}, "region": {"startLine": 1}}


def test_at_most_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MOST", 200)
    findings = sample.many_events_run(600).findings
    run = read(sample.blocked_run(findings=findings))
    assert len(run["results"]) == 200
    assert run["results"][0]["properties"]["class"] == "hot"
    told = run["invocations"][0]["toolExecutionNotifications"][-1]["message"]["text"]
    assert told.startswith("401 more results left out")
    last = run["results"][-1]
    assert (last["ruleId"], last["level"], last["message"]["text"]) == (report.LEFT_OUT, "error", told)


def test_as_many_as_are_shown_and_not_one_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MOST", 200)
    run = read(sample.blocked_run(findings=sample.many_events_run(200).findings))
    assert len(run["results"]) == 200
    assert report.LEFT_OUT not in {result["ruleId"] for result in run["results"]}


def test_under_ten_megabytes_when_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """GitHub refuses a larger file whole, and noise can't be packed. Here at a twentieth of the size."""
    assert report.MOST_BYTES <= 9_000_000
    monkeypatch.setattr(report, "MOST_BYTES", report.MOST_BYTES // 20)
    chance = random.Random(1)
    noise = "".join(chance.choices(string.ascii_letters + string.digits, k=200_000))

    def event(number: int) -> Finding:
        at = 700 * number
        return sample.blocked(op=f"op{number}", text=noise[at : at + 2_000], reason=noise[at : at + 3_000])

    text = report.render(sample.blocked_run(findings=tuple(map(event, range(250)))))
    assert len(gzip.compress(text.encode())) < 10_000_000 / 20
    (run,) = json.loads(text)["runs"]
    left_out = int(run["results"][-1]["message"]["text"].split()[0])
    assert len(run["results"]) - 1 + left_out == 250
    assert left_out < 200


def test_a_run_of_many_logs_has_few_sentences() -> None:
    run = read(sample.verdict(Outcome.UNPROVEN, 3, reasons=tuple(f"rank {n} is missing" for n in range(900))))
    told = [one["message"]["text"] for one in run["invocations"][0]["toolExecutionNotifications"]]
    assert len(told) == report.MOST_SENTENCES + 1
    assert told[-1].startswith(f"{900 - report.MOST_SENTENCES} more sentences left out")


@settings(max_examples=40)
@given(HOSTILE, HOSTILE, HOSTILE)
def test_hostile_text(one: str, two: str, three: str) -> None:
    event = sample.event(
        op=one, id=two, reason=three, names=(two,), log=three, location=Location(one, 3, two), help=three
    )
    read(
        sample.blocked_run(
            findings=(sample.blocked(event),),
            logs=(sample.log(Outcome.BLOCKED, three),),
            notes=(one,),
            reasons=(two,),
        ),
        suppressed=True,
    )
