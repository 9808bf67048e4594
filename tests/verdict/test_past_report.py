"""Room 6: a JSON report that is read back, key by key, and each fault with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fallback_gate.errors import InputError, PolicyError
from fallback_gate.model import (
    Class,
    Decision,
    Event,
    Finding,
    Kind,
    Location,
    Outcome,
    PolicySummary,
    ProcessKey,
    Scope,
)
from fallback_gate.model.environment import Environment
from fallback_gate.model.history import Number
from fallback_gate.verdict import past_report
from fallback_gate.verdict.past_report import PastReport, is_report, read

EVENT: dict[str, Any] = {
    "id": "torch/graph-break", "compiler": "torch.compile", "kind": "graph_break", "scope": "site",
    "op": "gate_attn", "names": ["gate_attn", "Tensor.item"], "stack": ["gate_attn", "forward"],
    "reason": "Unsupported Tensor.item() call", "log": "compile.log", "line": 17, "lines": [17, 93], "count": 2,
    "sites": 1, "count_is_lower_bound": True, "ranks": [0, 3], "layer": "layers.3",
    "location": {"file": "model/decoder.py", "line": 42, "function": "gate_attn"},
    "class": "hot", "decision": "blocked", "why": "hot", "fingerprint": "f1", "help": "keep it on the device",
}  # fmt: skip
REPORT: dict[str, Any] = {
    "schema": "fallback-gate/1", "verdict": "blocked", "proven": True, "reasons": ["a limit"],
    "policy": {"name": "llm-decode", "path": "policies/llm.yaml", "sha256": "9f2c"},
    "processes": [
        {"rank": 3, "compilers": [{"name": "torch.compile", "version": "2.9.1"}]},
        {"rank": 0, "compilers": [{"name": "torch.compile", "version": "2.9.1"}]},
        {"rank": None, "compilers": [{"name": "triton", "version": None}]},
        {"rank": None, "compilers": []},
    ],
    "events": [EVENT],
}  # fmt: skip


def written(folder: Path, report: object) -> str:
    path = folder / "report.json"
    path.write_text(json.dumps(report), encoding="utf-8")
    return str(path)


def test_each_key_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, REPORT)
    event = Event(
        id="torch/graph-break", compiler="torch.compile", kind=Kind.GRAPH_BREAK, scope=Scope.SITE,
        op="gate_attn", names=("gate_attn", "Tensor.item"), stack=("gate_attn", "forward"), files=(),
        reason="Unsupported Tensor.item() call", log="compile.log", line=17, lines=(), count=2, sites=1,
        count_is_lower_bound=True, ranks=(0, 3), location=Location("model/decoder.py", None, "gate_attn"),
        layer="layers.3", text="", fingerprint="f1", help="keep it on the device",
        processes=(ProcessKey("compile.log", 0), ProcessKey("compile.log", 3)),
    )  # fmt: skip
    assert read(path) == PastReport(
        path=path,
        outcome=Outcome.BLOCKED,
        policy=PolicySummary("llm-decode", "policies/llm.yaml", "9f2c"),
        findings=(Finding(event, Class.HOT, Decision.BLOCKED, None, "hot"),),
        reasons=("a limit",),
        compilers=(("torch.compile", "2.9.1"), ("triton", None)),
        ranks=(0, 3),
        processes=1,
        problem=None,
    )


def test_what_a_report_need_not_say(tmp_path: Path) -> None:
    needed = ("compiler", "kind", "scope", "op", "log", "count", "sites", "class", "decision", "fingerprint")
    (found,) = read(written(tmp_path, {**REPORT, "events": [{key: EVENT[key] for key in needed}]})).findings
    assert found.event == Event(
        id="None", compiler="torch.compile", kind=Kind.GRAPH_BREAK, scope=Scope.SITE, op="gate_attn", names=(),
        stack=(), files=(), reason=None, log="compile.log", line=None, lines=(), count=2, sites=1,
        count_is_lower_bound=False, ranks=(), location=None, layer=None, text="", fingerprint="f1", help="",
        processes=(ProcessKey("compile.log"),),
    )  # fmt: skip
    least = {"schema": "fallback-gate/1", "verdict": None, "proven": False, "processes": [], "events": []}
    said = read(written(tmp_path, least))
    assert (said.outcome, said.findings, said.ranks, said.processes) == (None, (), (), 0)
    assert said.problem == "no verdict was reached"


def test_what_was_measured_and_on_what_is_read(tmp_path: Path) -> None:
    """A measurement that has not the form of one is left out."""
    said = [
        {"instrument": "trace", "name": "kernels_per_step", "subject": None, "value": 512, "unit": "kernels"},
        {"instrument": "counters", "name": "dram_share", "subject": "gemm", "value": 0.7, "unit": "share"},
        {"instrument": "bench", "name": "steps", "value": 2},
        {"name": "steps", "value": 2, "unit": "steps"},
        {"instrument": "bench", "name": "steps", "value": 10**400, "unit": "steps"},
        {"instrument": "trace", "name": 3, "value": 2, "unit": "steps"},
        {"instrument": "trace", "name": "steps", "value": True, "unit": "steps"},
        {"instrument": "trace", "name": "steps", "value": "2", "unit": "steps"},
        {"instrument": "trace", "name": "steps", "value": float("nan"), "unit": "steps"},
        7,
    ]
    path = written(tmp_path, {**REPORT, "measurements": said, "environment": {"devices": ["H200"]}})
    found = read(path)
    assert found.numbers == (
        Number("trace", "kernels_per_step", None, 512, "kernels"),
        Number("counters", "dram_share", "gemm", 0.7, "share"),
        Number("bench", "steps", None, 2, ""),
    )
    assert found.environment == Environment(devices=("H200",), sources=(path,))


HIDDEN = "its logs could not have shown every fallback"


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"proven": True}, None),
        ({"proven": False}, HIDDEN),
        ({"proven": False, "verdict": "pass"}, HIDDEN),
        ({"proven": True, "verdict": None}, "no verdict was reached"),
        ({"proven": "yes"}, HIDDEN),
    ],
)  # fmt: skip
def test_whether_it_would_have_shown_every_fallback(
    said: dict[str, Any], problem: str | None, tmp_path: Path
) -> None:
    assert read(written(tmp_path, {**REPORT, **said})).problem == problem


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"schema": "fallback-gate/2"}, ["the schema is 'fallback-gate/2'; name a JSON report of fallback-gate/1"]),
        ({"verdict": "fine"}, ["'fine' is no verdict (verdict); known: pass, waived, blocked, unproven"]),
        ({"policy": []}, ["must be a mapping (policy); name a JSON report of fallback-gate/1"]),
        ({"events": {}}, ["must be a list and is a mapping (events); write `- ...` lines or `[...]`"]),
        ({"events": [7]}, ["must be a mapping (events[0]); name a JSON report of fallback-gate/1"]),
        ({"events": [{**EVENT, "kind": "graph_brake"}]}, ["'graph_brake' is not known (events[0].kind); the nearest is graph_break"]),
        ({"events": [{**EVENT, "scope": "sight"}]}, ["'sight' is not known (events[0].scope); the nearest is site"]),
        ({"events": [{**EVENT, "class": "hott"}]}, ["'hott' is not known (events[0].class); the nearest is hot"]),
        ({"events": [{**EVENT, "decision": "block"}]}, ["'block' is not known (events[0].decision); the nearest is blocked"]),
        ({"events": [{**EVENT, "op": " "}]}, ["must not be blank (events[0].op)"]),
        ({"events": [EVENT, {**EVENT, "compiler": 1}]}, ["must be text and is a number (events[1].compiler)"]),
        ({"events": [{**EVENT, "fingerprint": None}]}, ["must be text and is empty (events[0].fingerprint)"]),
        ({"events": [{**EVENT, "log": []}]}, ["must be text and is a list (events[0].log)"]),
        ({"events": [{**EVENT, "count": -1}]}, ["-1 is too small (events[0].count)"]),
        ({"events": [{**EVENT, "sites": True}]}, ["must be a whole number and is a truth value (events[0].sites)"]),
        ({"events": [{**EVENT, "sites": "2", "op": 1}]}, ["(events[0].op)", "(events[0].sites)"]),
    ],
)  # fmt: skip
def test_a_fault_says_where(changed: dict[str, Any], told: list[str], tmp_path: Path) -> None:
    path = written(tmp_path, {**REPORT, **changed})
    with pytest.raises(PolicyError) as caught:
        read(path)
    name = Path(path).as_posix()
    assert len(caught.value.problems) == len(told)
    assert all(problem.startswith(f"{name}:1: ") for problem in caught.value.problems)
    assert all(any(words in problem for problem in caught.value.problems) for words in told)


@pytest.mark.parametrize("key", ["verdict", "processes", "events"])
def test_a_report_that_lacks_what_is_needed(key: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError) as caught:
        read(written(tmp_path, {name: value for name, value in REPORT.items() if name != key}))
    (problem,) = caught.value.problems
    assert f"the key {key} is missing; name the whole report" in problem


def test_another_schema_is_the_only_complaint(tmp_path: Path) -> None:
    with pytest.raises(PolicyError) as caught:
        read(written(tmp_path, {"version": 1}))
    (problem,) = caught.value.problems
    assert "the schema is None" in problem


@pytest.mark.parametrize(("text", "words"), [("", "is no JSON report"), ("[" * 100_000, "is no JSON report")])
def test_what_is_no_json(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        read(str(path))


def test_a_report_that_is_not_there_or_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"can't be read \(No such file"):
        read(str(tmp_path / "nowhere.json"))
    path = written(tmp_path, REPORT)
    monkeypatch.setattr(past_report, "LARGEST", Path(path).stat().st_size)
    assert read(path).outcome is Outcome.BLOCKED
    monkeypatch.setattr(past_report, "LARGEST", Path(path).stat().st_size - 1)
    with pytest.raises(InputError, match="is larger than 0 MiB"):
        read(path)


@pytest.mark.parametrize(
    ("head", "is_one"),
    [
        (b'{"schema": "fallback-gate/1"', True),
        (b'\xef\xbb\xbf\r\n\t {\n  "schema": "fallback-gate/1"', True),
        (b'{"schema": "fallback-gate/2"', False),
        (b'{"schema": "fallback-gate/baseline-1"', False),
        (b'x {"schema": "fallback-gate/1"', False),
        (b'{"x": "' + b"y" * 4096 + b'", "schema": "fallback-gate/1"', False),
        (b"", False),
    ],
)
def test_a_file_that_says_that_it_is_a_report(head: bytes, is_one: bool, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(head)
    assert is_report(str(path)) is is_one
    assert not is_report(str(tmp_path / "nowhere"))
    assert not is_report(str(tmp_path))


def test_values_of_another_kind_are_left_out(tmp_path: Path) -> None:
    """A newer version, or anybody, may have written them: what is needed is checked, the rest is taken or left."""
    odd = {
        **EVENT, "names": ["a", 1], "stack": "forward", "reason": 5, "line": "17", "ranks": [0, "1"], "layer": {},
        "location": {"file": 3, "function": None}, "why": [], "help": None,
    }  # fmt: skip
    (found,) = read(written(tmp_path, {**REPORT, "events": [odd]})).findings
    event = found.event
    assert (event.names, event.stack, event.reason, event.line, event.ranks) == (("a",), (), None, None, (0,))
    assert (event.layer, event.location, event.help, found.why) == (None, Location(), "", None)
    bare = {**EVENT, "ranks": 0, "location": "m.py"}
    (found,) = read(written(tmp_path, {**REPORT, "events": [bare]})).findings
    assert (found.event.ranks, found.event.location) == ((), None)
    processes = [
        5,
        {"rank": "0", "compilers": "c"},
        {"rank": 1, "compilers": [7, {"name": "c", "version": 2, "proof": []}]},
    ]
    said = read(
        written(tmp_path, {**REPORT, "processes": processes, "reasons": ["a", 1], "policy": {"path": 7}})
    )
    assert (said.compilers, said.ranks, said.processes) == ((("c", None),), (1,), 0)
    assert (said.reasons, said.policy) == (("a",), PolicySummary("None", None, None))
