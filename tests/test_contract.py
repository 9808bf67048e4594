"""The public contract, statement by statement: `contract.yaml` says which log under which policy has which verdict."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from fallback_gate.cli.main import main

TABLE: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("contract.yaml").read_text(encoding="utf-8"))
CASES: list[dict[str, Any]] = TABLE["cases"]
TODAY = "2026-12-01"


def filled(text: str) -> str:
    """A text with those that it names."""
    texts = TABLE["texts"] | {"clean": TABLE["texts"]["clean head"] + TABLE["texts"]["clean tail"]}
    for name, inner in texts.items():
        text = text.replace(f"<{name}>\n", inner).replace(f"<{name}>", inner)
    return text


def arguments(case: dict[str, Any], folder: Path) -> list[str]:
    """Writes what a case gives, and says what follows `check`."""
    logs = case["logs"] if "logs" in case else {"compile.log": case["text"]} if "text" in case else {}
    beside = {name: case[name.removesuffix(".yaml")] for name in ("policy.yaml", "waiver.yaml")
              if name.removesuffix(".yaml") in case}  # fmt: skip
    for name, text in {**logs, **beside, **case.get("files", {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(filled(text), encoding="utf-8", newline="\n")
    (folder / ".git").mkdir()
    said = [*case.get("inputs", logs), "--format", "json"]
    for name in beside:
        said += [f"--{name.removesuffix('.yaml')}", name]
    return [*said, "--today", TODAY, *case.get("options", [])]


def at(report: Any, path: str) -> Any:
    """What stands at `events.0.count`."""
    for part in path.split("."):
        report = report[int(part) if part.isdecimal() else part]
    return report


def holds(wanted: dict[str, Any], event: dict[str, Any]) -> bool:
    """Whether an event has all that is wanted."""
    return all(event[key] == value for key, value in wanted.items())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_contract(
    case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FALLBACK_GATE_POLICY", raising=False)
    monkeypatch.setattr(sys, "argv", ["fallback-gate", "check", *arguments(case, tmp_path)])
    monkeypatch.chdir(tmp_path / case.get("cwd", "."))
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capfd.readouterr()
    assert ended.value.code == case["exit"], out + err
    for text in case.get("says", ()):
        assert text in out + err
    report = json.loads(out) if out else {"verdict": None, "exit_code": 2, "events": []}
    assert (report["verdict"] or "none", report["exit_code"]) == (case["verdict"], case["exit"])
    for wanted in case.get("decisions", ()):
        assert any(holds(wanted, event) for event in report["events"]), report["events"]
    assert len(report["events"]) == case.get("events", len(report["events"]))
    for path, value in case.get("report", {}).items():
        assert at(report, path) == value, path


def test_every_text_is_used_and_every_case_says_why() -> None:
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names)
    assert all(case["why"] for case in CASES)
    used = set(re.findall(r"<([^<>\n]+)>", yaml.safe_dump(CASES, width=10_000)))
    assert used - {"clean"} == set(TABLE["texts"])
