"""Room 1: what was probably meant by a path that is not there, and files of ours that are no logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from fallback_gate.gate import check
from fallback_gate.model import Outcome
from fallback_gate.reports import json_report, text
from fallback_gate.reports.headline import headline
from fallback_gate.sources import expand
from fallback_gate.sources.hints import missing

EXPECTS = """version: 1
expect: {compilers: [torch.compile]}
cold: [{op: "aten::topk", reason: r, owner: o, expires: 2027-03-01}]
"""


@pytest.mark.parametrize(
    ("argument", "hint"),
    [
        (r"logs\a.log", ": did you mean logs/a.log?"),
        ("$LOGS/a.log", ": $LOGS stands there as it is"),
        ("${LOGS}/*.log", ": ${LOGS} stands there as it is"),
        ("%LOGS%/a.log", ": %LOGS% stands there as it is"),
        ("~/a.log", ": ~ stands there as it is"),
        ("b.log", ""),
        (r"logs\b.log", ""),
    ],
)
def test_a_path_that_is_not_there(tmp_path: Path, argument: str, hint: str) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").touch()
    assert missing(argument, tmp_path).startswith(hint)
    assert bool(missing(argument, tmp_path)) is bool(hint)
    _, errors = expand(["$LOGS/*.log"], tmp_path)
    assert errors == [
        "$LOGS/*.log: the pattern matches no file: $LOGS stands there as it is; "
        "quotes may keep the shell from setting it"
    ]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("empty.log", "the log is empty"),
        ("tool", "binary data, not a log (an executable)"),
        ("report.json", "this is a JSON report of fallback-gate, no log"),
        ("policy.yaml", "this is a policy, no log: give it with --policy"),
        ("notes.txt", "no line of a known compiler"),
    ],
)
def test_what_is_wrong_with_a_log_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(EXPECTS, encoding="utf-8")
    (tmp_path / "empty.log").touch()
    (tmp_path / "tool").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(100))
    (tmp_path / "notes.txt").write_text("version: 1\nall is well\n", encoding="utf-8")
    (tmp_path / "other.txt").touch()
    (tmp_path / "report.json").write_text(json_report.render(check("notes.txt")), encoding="utf-8")
    verdict = check(name, "policy.yaml")
    assert verdict.outcome is Outcome.UNPROVEN
    assert headline(verdict).startswith(f"nothing forbidden was seen, but {words}")
    beside = headline(check([name, "other.txt"], "policy.yaml"))
    assert f"nothing forbidden was seen, but {name}: {words}" in beside
    assert not [note for note in verdict.notes if "cold entry" in note]


def test_a_missing_log_is_told_once_and_nothing_else_is_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(EXPECTS, encoding="utf-8")
    verdict = check("gone.log", "policy.yaml")
    assert verdict.outcome is None
    assert (verdict.reasons, verdict.notes) == ((), ())
    assert text.render(verdict).count("gone.log") == 1
    two = text.render(check(["gone.log", "lost.log"], "policy.yaml"))
    assert "lost.log: no such file or folder" in two
