"""`fallback-gate policy` and `waiver new`, as the owner of a policy uses them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fallback_gate import check
from fallback_gate.model import Class, Outcome
from fallback_gate.policy import load, shipped
from fallback_gate.policy.draft import PLACEHOLDER, proposals
from tests.cli.running import run

ROOT = Path(__file__).parents[2]
DECODER = ROOT / "sample_logs" / "moe-decoder-h200"
CUSTOM, FIXED = DECODER / "custom-op.debug.log.gz", DECODER / "fixed.debug.log.gz"
BREAKS = ROOT / "sample_logs" / "torch" / "graph-breaks.2.7.1.log"
TODAY = ("--today", "2026-12-01")


def said(*arguments: str | Path, code: int = 0) -> str:
    result = run(*arguments)
    assert result.exception is None, repr(result.exception)
    assert (result.return_value or 0) == code, result.output
    return result.output


@pytest.fixture
def first(tmp_path: Path) -> Path:
    file = tmp_path / "first.yaml"
    said("policy", "init", CUSTOM, BREAKS, "-o", file, *TODAY)
    return file


def test_a_first_policy_loads_and_lints_clean(first: Path) -> None:
    assert said("policy", "lint", first, *TODAY) == ""
    rules = load(str(first), date(2026, 12, 1))
    assert rules.cold == ()
    assert ("moe::gate_attn",) in [entry.op for entry in rules.hot]
    assert ("gate_attn",) in [entry.function for entry in rules.hot]
    assert (rules.name, rules.unlisted, rules.expect_compilers) == ("first", "block", ("torch.compile",))


def test_a_function_that_many_files_have_is_named_with_its_file(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    log = tmp_path / "c.log"
    log.write_text(
        "V1130 00:44:17.641000 6447 torch/_dynamo/symbolic_convert.py:5127] [0/0] [__graph_breaks] "
        "Graph break in user code at /app/model/decoder.py:97\n"
        "V1130 00:44:17.641000 6447 torch/_dynamo/symbolic_convert.py:5127] [0/0] [__graph_breaks] "
        "Graph Break Reason: Unsupported Tensor.item()\n"
        "V1130 00:44:17.641000 6447 torch/_dynamo/symbolic_convert.py:5127] [0/0] [__graph_breaks] "
        "User code traceback:\n"
        "V1130 00:44:17.641000 6447 torch/_dynamo/symbolic_convert.py:5127] [0/0] [__graph_breaks] "
        '  File "/app/model/decoder.py", line 97, in forward\n'
        "V1130 00:44:17.641000 6447 torch/_dynamo/symbolic_convert.py:5127] [0/0] [__graph_breaks] "
        "    return x.item()\n",
        encoding="utf-8",
    )
    said("policy", "init", log, "-o", file)
    (hot,) = load(str(file), date(2026, 12, 1)).hot
    assert (hot.function, hot.file) == (("forward",), ("*/decoder.py",))


def test_a_first_policy_allows_nothing(first: Path) -> None:
    verdict = check([CUSTOM], first, today=date(2026, 12, 1))
    assert verdict.outcome is Outcome.BLOCKED
    classes = {finding.event.op: finding.event_class for finding in verdict.findings}
    assert classes["moe::gate_attn"] is Class.HOT
    assert classes["aten::topk"] is Class.UNLISTED


def test_its_cold_entries_hold_once_they_are_filled_in(first: Path) -> None:
    text = first.read_text(encoding="utf-8")
    opened = re.sub(r"^# ?(cold:| +(?:- |kinds|reason|owner|expires).*)$", r"\1", text, flags=re.M)
    first.write_text(opened, encoding="utf-8")
    assert [
        line.rpartition("[")[2] for line in said("policy", "lint", first, *TODAY, code=1).splitlines()
    ] == ["placeholder]"] * 2
    first.write_text(opened.replace(PLACEHOLDER, "sampling"), encoding="utf-8")
    assert said("policy", "lint", first, *TODAY) == ""
    verdict = check([FIXED], first, today=date(2026, 12, 1))
    assert verdict.outcome is Outcome.PASS


def test_a_log_without_a_fallback_makes_a_policy_too(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    said("policy", "init", ROOT / "sample_logs" / "torch" / "clean.2.14.1.log", "-o", file)
    assert said("policy", "lint", file) == ""


def test_a_policy_of_the_usual_name_is_called_like_its_folder(tmp_path: Path) -> None:
    (tmp_path / "decoder").mkdir()
    file = tmp_path / "decoder" / "fallback-gate.yaml"
    said("policy", "init", FIXED, "-o", file)
    assert load(str(file), date(2026, 12, 1)).name == "decoder"


def test_init_takes_no_file_s_place_unasked(first: Path) -> None:
    assert "--force" in str(run("policy", "init", CUSTOM, "-o", first).exception)
    said("policy", "init", CUSTOM, "-o", first, "--force")


NAMES = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters=" ,;\n\r\"'`#\\"), min_size=1, max_size=12
)


@settings(max_examples=30)
@given(names=st.lists(NAMES, min_size=1, max_size=4))
def test_any_log_makes_a_policy_that_loads(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("p")
    log, file = folder / "c.log", folder / "p.yaml"
    log.write_text("".join(f"fallback to eager: op={name}\n" for name in names), encoding="utf-8")
    said("policy", "init", log, "-o", file)
    rules = load(str(file), date(2026, 12, 1))
    events = [finding.event for finding in check([log], "builtin:strict").findings]
    assert len(rules.hot) <= sum(one.is_hot for one in proposals(events))
    assert said("policy", "lint", file) == ""


POLICY = """version: 1
hot: [{op: gate_attn}]
cold: [{op: "aten::sort", reason: sampling, owner: serving, expires: 2027-03-31}]
tests:
  - name: gate_attn falls back
    text: |
      fallback to eager: op=gate_attn
      fallback to eager: op=aten::sort
    verdict: blocked
    today: 2026-12-01
    blocked: gate_attn
    allowed: [sort]
  - {name: the repaired build, logs: [logs/fixed.log.gz], verdict: blocked, blocked: ["aten::topk"]}
"""


@pytest.fixture
def tried(tmp_path: Path) -> Path:
    file = tmp_path / "p.yaml"
    file.write_text(POLICY, encoding="utf-8")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "fixed.log.gz").write_bytes(FIXED.read_bytes())
    return file


def test_cases_that_are_right(tried: Path) -> None:
    assert said("policy", "test", tried) == "2 cases: all right\n"
    assert "ok  " in said("policy", "test", tried, "-v")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("verdict: blocked\n", "verdict: pass\n", ["the verdict is blocked", "says pass", "gate_attn"]),
        ("allowed: [sort]", "allowed: [topk]", ["topk is not allowed", "no such fallback"]),
        ("blocked: gate_attn", 'blocked: "aten::sort"', ["aten::sort is not blocked", "allowed as cold"]),
        ("today: 2026-12-01", "today: 2027-04-01", ["sort is not allowed", "blocked as unlisted"]),
    ],
)
def test_a_case_that_is_wrong_says_what_differs(tried: Path, old: str, new: str, words: list[str]) -> None:
    assert old in POLICY
    tried.write_text(POLICY.replace(old, new), encoding="utf-8")
    told = said("policy", "test", tried, code=1)
    assert "FAILED" in told
    assert "1 wrong" in told
    assert all(word in told for word in words), told


def test_a_case_whose_log_is_not_there_was_not_tried(tried: Path) -> None:
    tried.write_text(POLICY.replace("logs/fixed.log.gz", "logs/none.log"), encoding="utf-8")
    told = said("policy", "test", tried, code=2)
    assert "none.log" in told
    assert "2 cases: 1 wrong" in told


def test_a_policy_without_a_case_is_named_and_stops_nothing(tmp_path: Path, tried: Path) -> None:
    file = tmp_path / "none.yaml"
    file.write_text("version: 1\n", encoding="utf-8")
    told = said("policy", "test", file, tried).splitlines()
    assert "none.yaml: no case" in told[0]
    assert told[1:] == ["2 cases: all right"]


def test_shipped_cases_without_their_logs_are_no_failure(tmp_path: Path) -> None:
    installed = tmp_path / "fallback_gate"
    shutil.copytree(ROOT / "fallback_gate", installed, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "policies", installed / "policies")
    command = [sys.executable, "-m", "fallback_gate", "policy", "test", "builtin:strict"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("builtin:strict: not tried")


@pytest.mark.parametrize("name", shipped.names())
def test_each_shipped_policy_is_right_on_its_own_cases(name: str) -> None:
    assert said("policy", "test", f"builtin:{name}").endswith("all right\n")
    assert said("policy", "test", ROOT / "policies" / f"{name}.yaml").endswith("all right\n")
    verdicts = {case.verdict for case in load(f"builtin:{name}", date(2026, 12, 1)).tests}
    assert {Outcome.PASS, Outcome.BLOCKED} <= verdicts


def test_lint_for_machines_and_by_logs(tried: Path) -> None:
    found = json.loads(said("policy", "lint", tried, "--logs", FIXED, "-f", "json", *TODAY, code=1))
    assert [(one["code"], one["source"].rpartition(":")[2]) for one in found] == [
        ("unneeded", "2"),
        ("unused", "3"),
    ]
    assert "expires on" in said("policy", "lint", tried, "--within", "200", *TODAY)
    assert "expires on" in said("policy", "lint", tried, "--within", "200", "--strict", *TODAY, code=1)
    assert "expired on" in said("policy", "lint", tried, "--today", "2027-04-01", code=1)
    assert said("policy", "lint", tried, *TODAY) == ""


def test_lint_tells_errors_of_the_loader_all_at_once(tried: Path) -> None:
    tried.write_text("version: 1\nhott: []\nunlisted: no\n", encoding="utf-8")
    assert len(str(run("policy", "lint", tried).exception).splitlines()) == 2


@pytest.mark.parametrize("command", ["lint", "test"])
def test_all_invalid_policies_are_told_and_the_valid_ones_too(
    tried: Path, tmp_path: Path, command: str
) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text("version: 1\nhott: []\n", encoding="utf-8")
    result = run("policy", command, tmp_path / "a.yaml", tried, tmp_path / "b.yaml", "--today", "2027-04-01")
    assert [line.partition(".yaml")[0][-1] for line in str(result.exception).splitlines()] == ["a", "b"]
    assert {"lint": "expired on", "test": "2 cases"}[command] in result.output


def test_lint_by_logs_that_are_not_there_says_nothing_of_them(tried: Path, tmp_path: Path) -> None:
    assert "no.log" in str(run("policy", "lint", tried, "--logs", tmp_path / "no.log", *TODAY).exception)


def test_show_has_what_is_inherited_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(
        'version: 1\nextends: ["builtin:moe-serving"]\nbudgets: {graph_break: 0}\nunhot:\n'
        "  - {op: gate_attn, reason: r, owner: o, expires: 2026-11-30}\n",
        encoding="utf-8",
    )
    text = said("policy", "show", file, *TODAY)
    assert "# builtin:llm-decode:" in text
    assert "# builtin:moe-serving:" in text
    assert "expired: as if it were not there" in text
    data = json.loads(said("policy", "show", file, "-f", "json", *TODAY))
    back = yaml.safe_load(text)
    assert back["budgets"] == data["budgets"] == {"graph_break": 0}
    assert [entry["why"] for entry in back["hot"]] == [entry["why"] for entry in data["hot"]]
    before = json.loads(said("policy", "show", file, "-f", "json", "--today", "2026-11-30"))
    assert len(before["hot"]) == len(data["hot"]) - 1


def test_the_schema_is_the_one_that_the_shipped_policies_keep_to() -> None:
    schema = json.loads(said("policy", "schema"))
    for file in (ROOT / "policies").glob("*.yaml"):
        jsonschema.validate(yaml.safe_load(file.read_text(encoding="utf-8")), schema)


def test_a_new_waiver_lets_exactly_that_release_through(tmp_path: Path) -> None:
    log = DECODER / "disabled.debug.log.gz"
    report, file = tmp_path / "r.json", tmp_path / "w.yaml"
    report.write_text(said("check", log, "-p", "builtin:moe-serving", "-f", "json", code=1), encoding="utf-8")
    asked = ("--release", "1.2", "--who", "me", "--why", "known: yes # no", "--expires", "2026-12-31")
    said("waiver", "new", report, *asked, "-o", file)
    judged = ("check", log, "-p", "builtin:moe-serving", "--waiver", file, *TODAY, "--release")
    said(*judged, "1.2")
    said(*judged, "1.3", code=1)
    said("check", CUSTOM, *judged[2:], "1.2", code=1)
    assert yaml.safe_load(file.read_text(encoding="utf-8"))["why"] == "known: yes # no"
    assert "events: all" in said("waiver", "new", report, *asked, "--all")


@pytest.mark.parametrize(
    ("log", "verdict"), [("fixed.debug.log.gz", "pass"), ("disabled.default.log", "unproven")]
)
def test_there_is_nothing_to_waive(tmp_path: Path, log: str, verdict: str) -> None:
    report = tmp_path / "r.json"
    text = run("check", DECODER / log, "-p", "builtin:moe-serving", "-f", "json").output
    report.write_text(text, encoding="utf-8")
    asked = ("--release", "1", "--who", "me", "--why", "w", "--expires", "2026-12-31")
    assert f"is {verdict}" in str(run("waiver", "new", report, *asked).exception)


@pytest.mark.parametrize("blank", ["--release", "--who", "--why"])
def test_a_waiver_that_would_not_hold_is_not_written(tmp_path: Path, blank: str) -> None:
    report = tmp_path / "r.json"
    said("check", CUSTOM, "-p", "builtin:strict", "-o", f"json={report}", code=1)
    words = {"--release": "r1", "--who": "Ada", "--why": "demo", "--expires": "2027-01-01", blank: " "}
    arguments = [word for pair in words.items() for word in pair]
    assert blank in str(run("waiver", "new", report, *arguments).exception)


def test_a_limit_is_waived_as_a_whole_alone(tmp_path: Path) -> None:
    policy, report = tmp_path / "p.yaml", tmp_path / "r.json"
    policy.write_text(
        "version: 1\nextends: ['builtin:moe-serving']\nbudgets: {op_fallback: 1}\n", encoding="utf-8"
    )
    report.write_text(said("check", FIXED, "-p", policy, "-f", "json", code=1), encoding="utf-8")
    asked = ("--release", "1", "--who", "me", "--why", "w", "--expires", "2026-12-31")
    assert "--all" in str(run("waiver", "new", report, *asked).exception)
    assert "events: all" in said("waiver", "new", report, *asked, "--all")


def test_fingerprints_do_not_waive_a_budget_beside_them(tmp_path: Path) -> None:
    policy, report, file = tmp_path / "p.yaml", tmp_path / "r.json", tmp_path / "w.yaml"
    policy.write_text("version: 1\nbudgets: {op_fallback: 1}\n", encoding="utf-8")
    report.write_text(said("check", CUSTOM, "-p", policy, "-f", "json", code=1), encoding="utf-8")
    asked = ("--release", "1", "--who", "me", "--why", "w", "--expires", "2026-12-31")
    refused = str(run("waiver", "new", report, *asked, "-o", file).exception)
    assert "the budget for op_fallback is 1, exceeded by" in refused
    assert "only --all does" in refused
    assert not file.exists()
    said("waiver", "new", report, *asked, "--all", "-o", file)
    said("check", CUSTOM, "-p", policy, "--waiver", file, "--release", "1", *TODAY)


def test_a_policy_is_also_named_as_to_other_commands(tmp_path: Path) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text("version: 1\nname: mine\ncold: [{op: x}]\n", encoding="utf-8")
    for command in ("lint", "test", "show"):
        told = [run("policy", command, *words) for words in ([policy], ["-p", policy], ["--policy", policy])]
        assert all("reason" in str(one.exception) for one in told), command
    assert run("policy", "show", "-p", "builtin:strict").output.startswith("# builtin:strict,")
