"""The walk through the house: whole logs in, one verdict out."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from fallback_gate import check
from fallback_gate.errors import InputError, PolicyError
from fallback_gate.model import Decision, Outcome, Verdict
from tests.compilers.lines import clean, graph_break, record

TODAY = date(2026, 11, 30)
CALL = "buf1 = torch.ops.aten.topk.default(buf0, 2)"
TOPK = "{op: 'aten::topk', reason: warm-up only, owner: me, expires: 2027-01-31}"


def judged(folder: Path, logs: dict[str, list[str]], policy: str = "", **how: Any) -> Verdict:
    """The verdict of these logs under this policy."""
    for name, lines in logs.items():
        (folder / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
    (folder / "policy.yaml").write_text("version: 1\n" + policy, encoding="utf-8")
    given = how.pop("given", list(logs))
    return check(given, folder / "policy.yaml", today=TODAY, cwd=folder, environ={"X": ""}, **how)


@pytest.mark.parametrize(
    ("lines", "policy", "outcome"),
    [
        (clean(), "", Outcome.PASS),
        (clean(CALL), "", Outcome.BLOCKED),
        (clean(CALL)[:-1], "", Outcome.BLOCKED),
        (clean()[:-1], "", Outcome.UNPROVEN),
        (clean(CALL), "unlisted: warn", Outcome.PASS),
        (clean(CALL)[:-1], "unlisted: warn", Outcome.UNPROVEN),
        (clean(CALL), f"cold: [{TOPK}]", Outcome.PASS),
        (clean(CALL)[:-1], f"cold: [{TOPK}]", Outcome.UNPROVEN),
        (clean(CALL), f"cold: [{TOPK}]\nbudgets: {{op_fallback: 0}}", Outcome.BLOCKED),
        (clean(CALL), f"cold: [{TOPK}]\nbudgets: {{op_fallback: 1}}", Outcome.PASS),
        (clean(CALL), "hot: [{op: cummax*}]\nunlisted: warn", Outcome.PASS),
        (clean(CALL), "hot: [{op: 'aten::topk'}]\nunlisted: warn", Outcome.BLOCKED),
        (clean(), "expect: {compilers: [torch.compile]}", Outcome.PASS),
        (clean(), "expect: {compilers: [tvm]}", Outcome.UNPROVEN),
        (clean(), "expect: {ranks: 1}", Outcome.UNPROVEN),
        ([f"[rank0]:{line}" for line in clean()], "expect: {ranks: 1}", Outcome.PASS),
        ([f"[rank0]:{line}" for line in clean()], "expect: {ranks: 2}", Outcome.UNPROVEN),
    ],
)
def test_the_outcome(lines: list[str], policy: str, outcome: Outcome, tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"a.log": lines}, policy)
    assert verdict.outcome is outcome
    assert verdict.exit_code == {"pass": 0, "blocked": 1, "unproven": 3}[outcome.value]


GATE_ATTN = graph_break(
    "Graph break in user code at /build/model/decoder.py:42",
    "Graph Break Reason: Data-dependent branching",
    "User code traceback:",
    '  File "/build/model/decoder.py", line 9, in forward',
    '  File "/build/model/decoder.py", line 42, in gate_attn',
)


@pytest.mark.parametrize(
    "entry",
    [
        "{op: gate_attn}",
        "{function: gate_attn}",
        "{function: forward}",
        '{file: "*/decoder.py"}',
        "{op: gate_*}",
    ],
)
def test_an_operator_by_the_names_that_people_use(entry: str, tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"a.log": [*GATE_ATTN, *clean()]}, f"unlisted: warn\nhot: [{entry}]\n")
    assert verdict.outcome is Outcome.BLOCKED
    (finding,) = verdict.decided(Decision.BLOCKED)
    assert (finding.event.op, finding.event.line) == ("gate_attn", 1)
    assert finding.event.stack == ("gate_attn", "forward")


MARKERS = """rules:
  - {id: acme/on, compiler: generic, anchor: fallback report on, pattern: fallback report on, proves: [op_fallback], ends: false, matches: [fallback report on]}
  - {id: acme/end, compiler: generic, anchor: compile finished, pattern: compile finished, proves: [], ends: true, matches: [compile finished]}
"""
FELL = "fallback to eager: op=sampler_sort"
COLD = "cold: [{op: sampler_sort, reason: r, owner: o, expires: 2027-01-31}]\n"


@pytest.mark.parametrize(
    ("lines", "outcome"),
    [
        (["fallback report on", FELL, "compile finished"], Outcome.PASS),
        (["fallback report on", "compile finished"], Outcome.PASS),
        (["fallback report on", FELL], Outcome.UNPROVEN),
        ([FELL, "compile finished"], Outcome.UNPROVEN),
        ([FELL], Outcome.UNPROVEN),
        (["fallback report on", "fallback to eager: op=gate_attn", "compile finished"], Outcome.BLOCKED),
    ],
)
def test_markers_of_the_policy(lines: list[str], outcome: Outcome, tmp_path: Path) -> None:
    assert judged(tmp_path, {"a.log": lines}, MARKERS + COLD).outcome is outcome


WAIVER = "release: r1\nwho: A. Person\nwhy: hotfix\nexpires: {}\nevents: all\n"


@pytest.mark.parametrize(
    ("lines", "release", "until", "outcome"),
    [
        (clean(CALL), "r1", "2026-11-30", Outcome.WAIVED),
        (clean(CALL), "r1", "2026-11-29", Outcome.BLOCKED),
        (clean(CALL), "r2", "2027-01-01", Outcome.BLOCKED),
        (clean(CALL)[:-1], "r1", "2027-01-01", Outcome.UNPROVEN),
        (clean()[:-1], "r1", "2027-01-01", Outcome.UNPROVEN),
        (clean(), "r1", "2027-01-01", Outcome.PASS),
    ],
)
def test_a_waiver_covers_what_is_blocked_and_proven(
    lines: list[str], release: str, until: str, outcome: Outcome, tmp_path: Path
) -> None:
    (tmp_path / "waiver.yaml").write_text(WAIVER.format(until), encoding="utf-8")
    how = {"waiver_file": tmp_path / "waiver.yaml", "release": release}
    verdict = judged(tmp_path, {"a.log": lines}, **how)
    assert verdict.outcome is outcome
    assert verdict.exit_code == {"waived": 0, "pass": 0, "blocked": 1, "unproven": 3}[outcome.value]
    assert verdict.waiver
    assert verdict.waiver.who == "A. Person"


def test_a_waiver_without_its_release_is_usage(tmp_path: Path) -> None:
    (tmp_path / "waiver.yaml").write_text(WAIVER.format("2027-01-01"), encoding="utf-8")
    with pytest.raises(InputError, match="--release"):
        judged(tmp_path, {"a.log": clean()}, waiver_file=tmp_path / "waiver.yaml")


@pytest.mark.parametrize(("lines", "code"), [(clean(CALL), 0), (clean(), 0), (clean()[:-1], 3)])
def test_exit_zero(lines: list[str], code: int, tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"a.log": lines}, exit_zero=True)
    plain = judged(tmp_path, {"a.log": lines})
    assert (verdict.exit_code, verdict.outcome) == (code, plain.outcome)


def test_a_missing_file_beside_one_that_blocks(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"a.log": clean(CALL)}, given=["a.log", "gone.log"], exit_zero=True)
    assert (verdict.outcome, verdict.exit_code) == (None, 2)
    assert ["gone.log" in error for error in verdict.errors] == [True]
    assert [finding.event.op for finding in verdict.findings] == ["aten::topk"]


def test_two_logs_of_one_run(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"a.log": clean(), "b.log": clean(CALL)})
    assert [log.outcome for log in verdict.logs] == [Outcome.PASS, Outcome.BLOCKED]
    assert judged(tmp_path, {"a.log": clean(), "b.log": clean()[:-1]}).outcome is Outcome.UNPROVEN
    assert judged(tmp_path, {"a.log": clean(), "b.log": ["noise"]}).outcome is Outcome.UNPROVEN


def test_what_a_folder_holds_besides_is_not_judged(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.log").write_text("\n".join(clean()) + "\n", encoding="utf-8")
    (folder / "b.txt").write_text("noise\n", encoding="utf-8")
    verdict = judged(tmp_path, {}, given=["logs"])
    assert verdict.outcome is Outcome.PASS
    assert {log.path.rsplit("/", 1)[-1]: log.outcome for log in verdict.logs} == {
        "a.log": Outcome.PASS,
        "b.txt": None,
    }
    (folder / "a.log").write_text("noise\n", encoding="utf-8")
    assert judged(tmp_path, {}, given=["logs"]).outcome is Outcome.UNPROVEN


def test_the_logs_that_the_policy_names(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"a.log": clean(CALL)}, 'logs: ["*.log"]\n', given=[])
    assert verdict.outcome is Outcome.BLOCKED
    with pytest.raises(InputError):
        judged(tmp_path, {}, given=[])


def test_one_log_that_stands_alone(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("noise\n", encoding="utf-8")
    for given in (log, str(log), [log]):
        assert [info.path for info in check(given, environ={}).logs] == [str(log)]


def test_a_policy_with_errors(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="hott"):
        judged(tmp_path, {"a.log": clean()}, "hott: []\n")


def test_line_numbers_and_the_hash(tmp_path: Path) -> None:
    lines = ["noise", *record("nothing"), *clean(CALL)]
    verdict = judged(tmp_path, {"a.log": lines}, hash_logs=True)
    (finding,) = verdict.findings
    assert finding.event.line == 1 + next(at for at, line in enumerate(lines) if CALL in line)
    assert len(verdict.logs[0].sha256 or "") == 64
    assert verdict.processes[0].pid == 4674


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[int] = []
    verdict = judged(tmp_path, {"a.log": clean()}, progress=lambda source, done: told.append(done))
    assert told[-1] == verdict.logs[0].bytes
