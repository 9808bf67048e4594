"""What earlier versions wrote still loads, and means the same: reports, baselines, seals, waivers, policies.

`tests/data/upgrade` says which commit wrote which file. In `build.log` two operators fall back: `gate_attn`,
which the policy calls hot, and `aten::topk`, which nothing names, twice at one place.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data" / "upgrade"
TODAY = "--today=2026-11-30"
REPORTS, BASELINES, SEALED, KEYED = (
    sorted(DATA.glob(f"*/{name}")) for name in ("report.json", "baseline.json", "sealed.log", "keyed.log")
)
FALLBACKS = {"gate_attn": ("hot", "blocked", 1), "aten::topk": ("unlisted", "blocked", 2)}


def by_version(path: Path) -> str:
    return path.parent.name


def gate(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-X", "utf8", "-m", "fallback_gate", *arguments]
    environ = {**os.environ, **variables}
    return subprocess.run(call, cwd=folder, env=environ, capture_output=True, encoding="utf-8", timeout=120)


def told(report: dict[str, Any]) -> dict[str, tuple[str, str, int]]:
    return {event["op"]: (event["class"], event["decision"], event["count"]) for event in report["events"]}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("build.log", "policy.yaml", "messages.yaml"):
        shutil.copy(DATA / name, tmp_path)
    return tmp_path


def test_there_is_something_of_each() -> None:
    assert all((REPORTS, BASELINES, SEALED, KEYED))


def test_a_policy_judges_as_it_did(place: Path) -> None:
    done = gate(place, "check", "build.log", "-p", "policy.yaml", "-f", "json", TODAY)
    now = json.loads(done.stdout)
    assert (done.returncode, told(now)) == (1, FALLBACKS)
    for file in REPORTS:
        then = json.loads(file.read_text(encoding="utf-8"))
        assert then["schema"] == now["schema"]
        assert told(then) == FALLBACKS
        assert then["policy"]["sha256"] == now["policy"]["sha256"]
        assert {event["fingerprint"] for event in then["events"]} == {
            event["fingerprint"] for event in now["events"]
        }


@pytest.mark.parametrize("report", REPORTS, ids=by_version)
def test_each_key_of_an_earlier_report_is_still_there(place: Path, report: Path) -> None:
    """The schema grows by adding: nothing that a program read goes away, or gets another type."""
    done = gate(place, "check", "build.log", "-p", "policy.yaml", "-f", "json", TODAY)

    def within(then: Any, now: Any, where: str) -> None:
        if isinstance(then, dict):
            assert isinstance(now, dict), where
            for key, value in then.items():
                assert key in now, f"{where}.{key}"
                within(value, now[key], f"{where}.{key}")
        elif isinstance(then, list):
            assert isinstance(now, list), where
            for one, other in zip(then, now, strict=False):
                within(one, other, f"{where}[]")
        elif then is not None and now is not None:
            assert type(then) is type(now), where

    within(json.loads(report.read_text(encoding="utf-8")), json.loads(done.stdout), "report")


@pytest.mark.parametrize("report", REPORTS, ids=by_version)
def test_a_report_compares_with_the_log_of_today(place: Path, report: Path) -> None:
    shutil.copy(report, place)
    done = gate(place, "diff", "report.json", "build.log", "-p", "policy.yaml", "-f", "json", TODAY)
    compared = json.loads(done.stdout)
    assert (done.returncode, compared["result"]) == (0, "not worse"), done.stdout
    assert {change["op"]: change["step"] for change in compared["changes"]} == dict.fromkeys(
        FALLBACKS, "same"
    )


@pytest.mark.parametrize("report", REPORTS, ids=by_version)
def test_a_waiver_is_made_of_a_report(place: Path, report: Path) -> None:
    shutil.copy(report, place)
    asked = ["--release", "v1", "--who", "me", "--why", "we know", "--expires", "2099-01-01"]
    made = gate(place, "waiver", "new", "report.json", *asked, "-o", "w.yaml")
    assert made.returncode == 0, made.stderr
    done = gate(
        place,
        "check",
        "build.log",
        "-p",
        "policy.yaml",
        "--waiver",
        "w.yaml",
        "--release",
        "v1",
        "-f",
        "json",
        TODAY,
    )
    assert json.loads(done.stdout)["waiver"]["applied"]


@pytest.mark.parametrize("waiver", sorted(DATA.glob("*/waiver.yaml")), ids=by_version)
def test_a_waiver_holds(place: Path, waiver: Path) -> None:
    shutil.copy(waiver, place)
    call = [
        "check",
        "build.log",
        "-p",
        "messages.yaml",
        "--waiver",
        "waiver.yaml",
        "--release",
        "v1",
        "-f",
        "json",
        TODAY,
    ]
    done = gate(place, *call)
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "waived"), done.stderr


@pytest.mark.parametrize("baseline", BASELINES, ids=by_version)
def test_a_baseline_excuses_what_it_did_and_no_more(place: Path, baseline: Path) -> None:
    shutil.copy(baseline, place)
    call = ["check", "build.log", "-p", "messages.yaml", "-b", "baseline.json", "-f", "json", TODAY]
    done = gate(place, *call)
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "pass"), done.stderr
    with open(place / "build.log", "a", encoding="utf-8") as log:
        log.write("fallback to eager: op=aten::sort\nall done\n")
    done = gate(place, *call)
    assert done.returncode == 1
    assert [
        op for op, (_, decision, _) in told(json.loads(done.stdout)).items() if decision == "blocked"
    ] == ["aten::sort"]


@pytest.mark.parametrize("log", [*SEALED, *KEYED], ids=lambda log: f"{by_version(log)} {log.stem}")
def test_a_seal_holds_and_shows_damage(place: Path, log: Path) -> None:
    (place / "compile.log").write_bytes(log.read_bytes())
    key = {"FALLBACK_GATE_SEAL_KEY": "correct-horse"} if log in KEYED else {}
    call = ["check", "compile.log", "-p", "messages.yaml", "--sealed", "-f", "json", TODAY]
    done = gate(place, *call, **key)
    report = json.loads(done.stdout)
    assert (done.returncode, list(told(report))) == (1, ["gate_attn"]), done.stderr
    assert (report["logs"][0]["sealed"], report["logs"][0]["problem"], report["proven"]) == (True, None, True)
    assert report["logs"][0]["lines"] == len(log.read_bytes().splitlines())
    for damage in (
        log.read_bytes().replace(b"gate_attn", b"gate_nttn"),
        log.read_bytes().rpartition(b"{")[0],
    ):
        (place / "compile.log").write_bytes(damage)
        assert json.loads(gate(place, *call, **key).stdout)["proven"] is False
    if key:
        (place / "compile.log").write_bytes(log.read_bytes())
        assert json.loads(gate(place, *call, FALLBACK_GATE_SEAL_KEY="wrong").stdout)["proven"] is False
