"""Every sample log is judged as its origin says: by what is known of the program, not by what the tool printed."""

from __future__ import annotations

from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from fallback_gate import Verdict, check
from fallback_gate.compilers.torch.compile import READER
from fallback_gate.model import Class, Event, State

SAMPLES = Path(__file__).parent.parent / "sample_logs"
ORIGINS = sorted(SAMPLES.rglob("*.origin.yaml"))
DECODER = SAMPLES / "moe-decoder-h200"
RECORDED = SAMPLES / "recorded-h200"
TODAY = date(2026, 11, 30)
UNSEEN = {  # wording from the source alone: it takes an old GPU or several of them to print it
    "torch/no-autotuning",
    "torch/collective-not-fused",
    "torch/no-bfloat16",
}
NEAR = 4  # lines: a record may start a little before or after the line that names the operator
KEYS = {
    "log",
    "compiler",
    "version",
    "hardware",
    "command",
    "settings",
    "story",
    "fell_back",
    "paths",
    "expected",
}


def origin(path: Path) -> dict[str, Any]:
    """What is known of the run that made a log."""
    document: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document


@cache
def strict(path: Path) -> Verdict:
    """The verdict of the rule that blocks whatever falls back."""
    return check([path.parent / origin(path)["log"]], "builtin:strict", today=TODAY)


def says(event: Event, wanted: str) -> bool:
    """Whether an event names the operator or function, with or without namespace, class and overload."""
    target = wanted.replace("::", ".").casefold()
    for name in (event.op, *event.names, *event.stack):
        said = name.removeprefix("torch.ops.").replace("::", ".").casefold()
        if f".{said}.".endswith(f".{target}.") or f".{said}.".startswith(f".{target}."):
            return True
    return False


def close(event: Event, wanted: dict[str, Any]) -> bool:
    """Whether one report of the event stands near a line that the origin names."""
    lines = (wanted["line"], *wanted.get("also", ()))
    return any(abs(line - expected) <= NEAR for line in event.lines for expected in lines)


@pytest.mark.parametrize(
    "path", ORIGINS, ids=lambda path: f"{path.parent.name}/{path.name.split('.origin')[0]}"
)
def test_a_sample_is_judged_as_its_origin_says(path: Path) -> None:
    expected = origin(path)["expected"]
    verdict = strict(path)
    events = [finding.event for finding in verdict.findings]
    shown = [(event.kind.value, event.op, event.lines) for event in events]

    assert verdict.outcome is not None
    assert (verdict.outcome.value, verdict.exit_code) == (expected["verdict"], expected["exit"])
    for wanted in expected["events"]:
        found = [event for event in events if event.kind.value == wanted["kind"] and close(event, wanted)]
        assert found, f"{wanted} is not among {shown}"
        assert any(says(event, wanted["op"]) for event in found), f"{wanted} has another name in {shown}"
    for event in events:
        assert any(close(event, wanted) for wanted in expected["events"]), (
            f"{event.op} is no fallback: {event.lines}"
        )
    for trap in expected["traps"]:
        caught = [event.op for event in events if trap["line"] in event.lines]
        assert not caught, f"line {trap['line']} is no fallback ({trap['why']}): {caught}"


@pytest.mark.parametrize(
    "path", ORIGINS, ids=lambda path: f"{path.parent.name}/{path.name.split('.origin')[0]}"
)
def test_an_origin_tells_the_whole_story(path: Path) -> None:
    document = origin(path)
    assert document.keys() == KEYS
    assert (path.parent / document["log"]).is_file()
    shown = [entry for entry in document["fell_back"] if entry["shown"]]
    assert len(shown) == len(document["expected"]["events"])


def test_each_log_has_one_origin() -> None:
    logs = {
        path
        for path in SAMPLES.rglob("*")
        if path.name.endswith((".log", ".log.gz")) and path.parent.suffix != ".traces"
    }
    assert {path.parent / origin(path)["log"] for path in ORIGINS} == logs
    assert len(ORIGINS) == len(logs)


def test_the_samples_show_each_rule_and_each_state_of_proof() -> None:
    verdicts = [strict(path) for path in ORIGINS]
    shown = {finding.event.id for verdict in verdicts for finding in verdict.findings}
    assert {rule.id for rule in READER.rules} - shown == UNSEEN
    for kind in READER.required:
        states = {
            compiler.proof[kind].state
            for verdict in verdicts
            for process in verdict.processes
            for compiler in process.compilers
            if kind in compiler.proof
        }
        assert {State.PROVEN, State.UNPROVEN} <= states


@pytest.mark.parametrize(
    ("log", "outcome", "exit_code"),
    [
        ("disabled.default.log", "unproven", 3),
        ("custom-op.default.log", "unproven", 3),
        ("disabled.debug.log.gz", "blocked", 1),
        ("custom-op.debug.log.gz", "blocked", 1),
        ("fixed.debug.log.gz", "pass", 0),
    ],
)
def test_the_decoder_under_the_serving_policy(log: str, outcome: str, exit_code: int) -> None:
    verdict = check([DECODER / log], "builtin:moe-serving", today=TODAY)
    assert verdict.outcome is not None
    assert (verdict.outcome.value, verdict.exit_code) == (outcome, exit_code)
    hot = [finding.event for finding in verdict.findings if finding.event_class is Class.HOT]
    assert any("gate_attn" in " ".join((event.op, *event.names)) for event in hot) is (outcome == "blocked")
    assert len(verdict.findings) - len(hot) == (0 if outcome == "unproven" else 2), (
        "topk and histc, by their own names"
    )


@pytest.mark.parametrize(
    ("log", "outcome"), [("a_full", "pass"), ("f_eagerbackend", "blocked"), ("f_disabled", "blocked")]
)
def test_the_recorded_decoder_under_the_serving_policy(log: str, outcome: str) -> None:
    verdict = check([RECORDED / f"{log}.log"], "builtin:moe-serving", today=TODAY)
    assert verdict.outcome is not None
    assert verdict.outcome.value == outcome
    assert [report.sealed for report in verdict.logs][:1] == [True]
