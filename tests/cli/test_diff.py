"""`fallback-gate diff` on real logs, on reports of them, and on several at once."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fallback_gate.errors import InputError, PolicyError
from fallback_gate.verdict import compare, past_report
from tests.cli.running import run

ROOT = Path(__file__).parents[2]
TORCH = ROOT / "sample_logs" / "torch"
DECODER = ROOT / "sample_logs" / "moe-decoder-h200"
FIXED, CUSTOM = DECODER / "fixed.debug.log.gz", DECODER / "custom-op.debug.log.gz"


def diff(*arguments: str | Path) -> tuple[int, str]:
    result = run("diff", *arguments, "-p", "builtin:strict")
    assert result.exception is None, repr(result.exception)
    return int(result.return_value), result.output


def report(log: Path, into: Path) -> Path:
    into.write_text(run("check", log, "-p", "builtin:strict", "-f", "json").output, encoding="utf-8")
    return into


def test_an_operator_that_fell_back_in_the_new_build() -> None:
    code, text = diff(FIXED, CUSTOM)
    assert code == 1
    assert text.startswith("WORSE (exit 1): 1 new, 2 unchanged")
    assert "moe::gate_attn" in text
    code, text = diff(CUSTOM, FIXED)
    assert (code, "Gone" in text) == (0, True)


def test_gone_from_a_silent_log_proves_nothing() -> None:
    code, text = diff(FIXED, DECODER / "disabled.default.log")
    assert code == 3
    assert text.startswith("UNPROVEN (exit 3)")


def test_an_upgrade_of_the_compiler_alone_is_no_difference() -> None:
    old, new = TORCH / "backward-operator-debug.2.7.1.log.gz", TORCH / "backward-operator.2.14.1.log"
    code, text = diff(old, new)
    assert code == 0
    assert "1 unchanged" in text


def test_reports_say_what_their_logs_say(tmp_path: Path) -> None:
    old, new = report(FIXED, tmp_path / "old.json"), report(CUSTOM, tmp_path / "new.json")
    by_report = json.loads(diff(old, new, "-f", "json")[1])
    by_log = json.loads(diff(FIXED, CUSTOM, "-f", "json")[1])
    mixed = json.loads(diff(old, CUSTOM, "-f", "json")[1])
    assert by_report["changes"] == by_log["changes"] == mixed["changes"]
    assert [(c["step"], c["op"], c["worse"]) for c in by_report["changes"] if c["step"] != "same"] == [
        ("new", "moe::gate_attn", True)
    ]
    assert by_report["summary"] == {"new": 1, "more": 0, "moved": 0, "fewer": 0, "gone": 0, "same": 2}


def test_folders_of_reports_and_of_logs(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    report(FIXED, tmp_path / "old" / "report.json")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a.log.gz").write_bytes(CUSTOM.read_bytes())
    assert diff(tmp_path / "old", tmp_path / "new")[0] == 1
    assert diff(tmp_path / "new", tmp_path / "old")[0] == 0


def test_a_report_for_each_rank_counts_as_one_run(tmp_path: Path) -> None:
    """Two ranks with one site each have one site in the worst rank, in one report or in two."""
    (tmp_path / "old").mkdir()
    for rank in (0, 1):
        report(CUSTOM, tmp_path / "old" / f"rank{rank}.json")
    said = json.loads(diff(tmp_path / "old", CUSTOM, "-f", "json")[1])
    assert said["summary"]["same"] == 3
    assert {change["old"]["sites"] for change in said["changes"]} == {1}


def test_a_run_of_which_a_log_is_missing_proves_nothing(tmp_path: Path) -> None:
    """Neither what is gone with it nor what would be new in it is known."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.log.gz").write_bytes(FIXED.read_bytes())
    (tmp_path / "old" / "b.log.gz").write_bytes(CUSTOM.read_bytes())
    code, text = diff(tmp_path / "old", tmp_path / "new")
    assert code == 3
    assert "1 of 2 processes" in text
    assert diff(report(FIXED, tmp_path / "r.json"), FIXED)[0] == 0


def test_a_glob_over_reports_and_logs_is_refused(tmp_path: Path) -> None:
    """The log that is worse would go unread."""
    report(FIXED, tmp_path / "a.json")
    (tmp_path / "b.log.gz").write_bytes(CUSTOM.read_bytes())
    assert "other files" in str(run("diff", FIXED, tmp_path / "*").exception)
    assert diff(FIXED, tmp_path / "*.json")[0] == 0


def test_an_unproven_report_proves_nothing(tmp_path: Path) -> None:
    silent = report(DECODER / "disabled.default.log", tmp_path / "r.json")
    assert diff(FIXED, silent)[0] == 3


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"op": "aten::topk"', '"op": 7', ["events[0].op", "text"]),
        ('"kind": "op_fallback"', '"kind": "breaks"', ["events[0].kind", "breaks"]),
        ('"sites": 1', '"sites": null', ["events[0].sites"]),
        ('"events": [', '"events": 5, "x": [', ["events", "list"]),
        ('"events": [', '"x": [', ["events", "missing"]),
        ('"processes": [', '"x": [', ["processes", "missing"]),
        ('"verdict": "blocked"', '"x": 1', ["verdict", "missing"]),
        ('"proven": true', '"x": 1', ["proven", "missing"]),
    ],
)
def test_a_broken_report_says_where(tmp_path: Path, old: str, new: str, words: list[str]) -> None:
    path = report(FIXED, tmp_path / "r.json")
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    problem = str(run("diff", path, FIXED).exception)
    assert all(word in problem for word in words), problem


VALUES: st.SearchStrategy[object] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=4), st.floats()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=4,
)
WHERE = st.lists(st.integers(0, 40), min_size=1, max_size=5)


@settings(max_examples=200)
@given(where=WHERE, value=VALUES)
def test_any_report_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, where: list[int], value: object
) -> None:
    """A real report with anything at any place of it."""
    path = tmp_path_factory.getbasetemp() / "fuzzed.json"
    whole = inner = json.loads(real_report())
    for step in where[:-1]:
        keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
        if not keys or not isinstance(inner[keys[step % len(keys)]], (dict, list)):
            break
        inner = inner[keys[step % len(keys)]]
    keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
    if keys:
        inner[keys[where[-1] % len(keys)]] = value
    path.write_text(json.dumps(whole), encoding="utf-8")
    try:
        found = past_report.read(str(path))
    except (PolicyError, InputError):
        return
    side = compare.of_reports("x", [found])
    compare.compare(side, side)


@cache
def real_report() -> str:
    """The JSON report of a real log."""
    return run("check", CUSTOM, "-p", "builtin:moe-serving", "-f", "json").output


def test_a_missing_side_is_a_usage_error(tmp_path: Path) -> None:
    assert "nowhere.log" in str(run("diff", FIXED, tmp_path / "nowhere.log").exception)


def test_log_text_is_harmless(tmp_path: Path) -> None:
    log = tmp_path / "c.log"
    log.write_text("fallback to eager: op=::error::x\nfallback to eager: op=##[group]y\n", encoding="utf-8")
    for form in ("text", "json"):
        _, said = diff(FIXED, log, "-f", form)
        assert "##[group]" not in said
        assert not any(line.lstrip().startswith("::") for line in said.splitlines())


def test_an_upgrade_lays_versions_and_measurements_beside_what_fell_back(tmp_path: Path) -> None:
    sides = []
    for name, log, driver, torch, rate in (
        ("old", CUSTOM, "570.86.15", "2.10.0", 40.0),
        ("new", FIXED, "580.159.04", "2.11.0", 160.0),
    ):
        machine, runs, side = (tmp_path / f"{name}.{end}" for end in ("env.json", "csv", "json"))
        told = {
            "schema": "fallback-gate/environment-1",
            "devices": ["NVIDIA H200"],
            "drivers": {"nvidia": driver},
            "compilers": {"torch": torch, "triton": "3.5.0"},
        }
        machine.write_text(json.dumps(told), encoding="utf-8")
        runs.write_text(f"decode_tokens_per_second\n{rate}\n", encoding="utf-8")
        run(
            "check",
            log,
            "-p",
            "builtin:strict",
            "--environment",
            machine,
            "--bench",
            runs,
            "-o",
            f"json={side}",
        )
        sides.append(side)
    code, text = diff(*sides)
    assert code == 0
    assert "Versions\n  driver nvidia: 570.86.15 -> 580.159.04\n  torch: 2.10.0 -> 2.11.0\n" in text
    assert "triton" not in text
    assert "bench decode_tokens_per_second: 40 tok/s -> 160 tok/s (+300.0%)" in text
    assert "Gone\n  moe::gate_attn" in text
    told = json.loads(diff(*sides, "-f", "json")[1])
    assert told["versions"][1] == {"what": "torch", "old": "2.10.0", "new": "2.11.0"}
    assert told["measurements"][0]["change"] == 3.0
    back = json.loads(diff(*reversed(sides), "-f", "json")[1])
    assert back["exit_code"] == 1
    assert back["measurements"][0]["new"] == 40.0


def test_measurements_decide_nothing(tmp_path: Path) -> None:
    sides = []
    for name, rate in (("old", 160.0), ("new", 1.0)):
        (tmp_path / f"{name}.csv").write_text(f"decode_tokens_per_second\n{rate}\n", encoding="utf-8")
        sides.append(tmp_path / f"{name}.json")
        bench = ["--bench", tmp_path / f"{name}.csv"]
        run("check", FIXED, "-p", "builtin:strict", *bench, "-o", f"json={sides[-1]}")
    assert diff(*sides)[0] == 0
