"""The Action's own steps, run by bash with the runner's files: verdicts, outputs, summary, hostile inputs."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from tests.action.runner import ROOT, Run, run

SAMPLES = ROOT / "sample_logs" / "moe-decoder-h200"
FIXED, DISABLED, SILENT = "fixed.debug.log.gz", "disabled.debug.log.gz", "disabled.default.log"
HERE = {"found": {"python": "python3"}, "install": {"python": sys.executable}}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work space"
    (folder / ".git").mkdir(parents=True)
    for name in (FIXED, DISABLED, SILENT):
        (folder / name).write_bytes((SAMPLES / name).read_bytes())
    return folder


def act(workspace: Path, logs: str, **inputs: str) -> Run:
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    return run(workspace, {"logs": logs, "policy": "builtin:moe-serving", **given}, HERE)


def obeyed(log: str) -> list[str]:
    """The commands in a log that the runner obeys: `::name` first in a line, `##[name]` anywhere in it.

    After `::stop-commands::TOKEN` it obeys none until a line that starts with `::TOKEN::`.
    """
    found, token = [], ""
    for line in log.splitlines():
        command = re.match(r"\s*::([\w-]+)( [^:]*)?::", line) or re.search(r"##\[([\w-]+)", line)
        if token:
            token = "" if command and command[1] == token else token
        elif command and command[1] == "stop-commands":
            token = line.strip().removeprefix("::stop-commands::")
            assert re.fullmatch("[0-9a-f]{32}", token)
        elif command:
            found.append(line)
    assert not token, "commands are still stopped at the end"
    return found


def test_a_pass_is_told_to_the_runner(workspace: Path) -> None:
    done = act(workspace, FIXED)
    assert done.code == 0, done.log
    told = {name: done.outputs[name] for name in ("verdict", "exit-code", "blocked", "allowed", "unproven")}
    assert told == {"verdict": "pass", "exit-code": "0", "blocked": "0", "allowed": "2", "unproven": "0"}
    assert done.summary.startswith("#")
    assert "pass" in done.summary.lower()
    assert not done.changed
    assert not done.used


def test_a_block_fails_after_all_is_written(workspace: Path) -> None:
    done = act(workspace, DISABLED, formats="json junit,html\nsarif gitlab markdown text")
    assert done.code == 1, done.log
    report = json.loads(Path(done.outputs["report-json"]).read_text(encoding="utf-8"))
    assert done.outputs["verdict"] == report["verdict"] == "blocked"
    blocked = [event["op"] for event in report["events"] if event["decision"] == "blocked"]
    assert set(blocked) == {"gate_attn_disable", "decode_step"}
    assert done.outputs["blocked"] == str(len(blocked))
    assert "gate_attn_disable" in done.summary
    paths = [Path(path) for name, path in done.outputs.items() if re.match("report-(?!dir)", name)]
    assert len(paths) == 7
    assert all(path.stat().st_size > 2 for path in paths)
    assert {path.parent.as_posix() for path in paths} == {done.outputs["report-dir"]}
    assert any(line.startswith("::error") and "gate_attn_disable" in line for line in obeyed(done.log))


def test_silence_fails_by_default(workspace: Path) -> None:
    done = act(workspace, SILENT)
    assert (done.code, done.outputs["verdict"], done.outputs["unproven"]) == (3, "unproven", "1"), done.log
    assert "TORCH_LOGS" in done.summary.replace("\\", "")


def test_files_without_a_compiler_count_where_there_is_nothing_else(workspace: Path) -> None:
    (workspace / "found").mkdir()
    for name in "ab":
        (workspace / "found" / name).write_text("no compiler here\n", encoding="utf-8")
    done = act(workspace, "found", policy="builtin:strict")
    assert (done.code, done.outputs["unproven"]) == (3, "2"), done.log
    assert "no known compiler speaks in any of the 2 files that were found" in done.summary
    (workspace / "found" / "a").unlink()
    done = act(workspace, "found", policy="builtin:strict")
    assert (done.code, done.outputs["unproven"]) == (3, "1"), done.log


@pytest.mark.parametrize(
    ("log", "fail_on", "code"),
    [
        (SILENT, "blocked", 0),
        (DISABLED, "blocked", 1),
        (SILENT, "never", 0),
        (DISABLED, "never", 0),
        ("missing.log", "never", 2),
    ],
)
def test_what_fails_the_job(workspace: Path, log: str, fail_on: str, code: int) -> None:
    done = act(workspace, log, fail_on=fail_on)
    assert done.code == code, done.log
    assert done.outputs["exit-code"] == {SILENT: "3", DISABLED: "1", "missing.log": "2"}[log]


def test_an_input_that_cannot_be_read_is_said_once_and_passes_nothing(workspace: Path) -> None:
    done = act(workspace, "missing.log")
    assert (done.code, done.outputs["verdict"], done.outputs["exit-code"]) == (2, "", "2")
    (error,) = [line for line in obeyed(done.log) if line.startswith("::error")]
    assert "missing.log" in error
    assert "missing.log" in done.summary


def test_an_invalid_policy_leaves_no_report_of_an_earlier_step(workspace: Path) -> None:
    assert act(workspace, FIXED, output_dir="reports").code == 0
    (workspace / "bad.yaml").write_text("version: 1\nhott: []\n", encoding="utf-8")
    done = act(workspace, FIXED, output_dir="reports", policy="bad.yaml")
    assert (done.code, done.outputs["verdict"], done.outputs["report-json"]) == (2, "", "")
    assert "hott" in done.summary


def test_all_mistakes_in_inputs_are_told_at_once(workspace: Path) -> None:
    done = act(
        workspace, FIXED, fail_on="sometimes", formats="pdf", summary="maybe", working_directory="nowhere"
    )
    assert done.code == 2
    errors = "\n".join(line for line in obeyed(done.log) if line.startswith("::error"))
    for name in ("fail-on: 'sometimes'", "formats: 'pdf'", "summary: 'maybe'", "working-directory: "):
        assert name in errors
    assert done.outputs["exit-code"] == "2"


@pytest.mark.parametrize(
    "inputs",
    [
        {"logs": "$(touch pwned)"},
        {"logs": "`touch pwned`"},
        {"logs": f'{DISABLED}"; touch pwned; "'},
        {"logs": f"{DISABLED}\n--exit-zero"},
        {"logs": f"{DISABLED}\n--output=text=pwned"},
        {"logs": DISABLED, "policy": "--exit-zero"},
        {"logs": DISABLED, "policy": "x; touch pwned"},
        {"logs": DISABLED, "policy": "builtin:moe-serving\nverdict=pass"},
        {"logs": DISABLED, "baseline": "--exit-zero"},
        {"logs": DISABLED, "expect-ranks": "1 --exit-zero"},
        {"logs": DISABLED, "output-dir": "out\nverdict=pass"},
        {"logs": DISABLED, "output-dir": "out\r::set-output name=verdict::pass"},
        {"logs": DISABLED, "formats": "json=pwned"},
        {"logs": DISABLED, "working-directory": "$(touch pwned)"},
    ],
    ids=repr,
)
def test_an_input_is_never_code_nor_an_option(workspace: Path, inputs: dict[str, str]) -> None:
    done = run(workspace, inputs, HERE)
    assert done.code in (1, 2), done.log
    assert done.outputs["verdict"] in ("", "blocked")
    assert not [*workspace.parent.rglob("pwned*")]
    assert all(line.startswith(("::error", "::warning", "::notice")) for line in obeyed(done.log))


def test_nothing_in_a_log_is_obeyed(workspace: Path) -> None:
    hostile = (
        "::error::obey me\n  ::set-output name=verdict::pass\n##[set-env name=A]b\n"
        "fallback to eager: op=gate reason=##[error]x\nfallback to eager: op=::warning::y reason=%0A::error::z\n"
    )
    (workspace / "hostile.log").write_text(hostile, encoding="utf-8")
    done = act(workspace, "hostile.log", policy="")
    assert (done.code, done.outputs["verdict"]) == (1, "blocked"), done.log
    commands = obeyed(done.log)
    assert commands
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in commands)
    assert not any("obey me" in line for line in commands)


def test_paths_are_seen_from_the_working_directory(workspace: Path) -> None:
    (workspace / "model" / "logs").mkdir(parents=True)
    (workspace / FIXED).rename(workspace / "model" / "logs" / FIXED)
    done = act(workspace, "logs/*.gz", working_directory="model", output_dir="out")
    assert (done.code, done.outputs["verdict"]) == (0, "pass"), done.log
    assert Path(done.outputs["report-dir"]) == workspace / "model" / "out"


def test_code_scanning_gets_the_report_also_of_a_block(workspace: Path) -> None:
    done = act(workspace, DISABLED, upload_sarif="true")
    assert done.code == 1
    assert json.loads(Path(done.outputs["report-sarif"]).read_text(encoding="utf-8"))["version"] == "2.1.0"
    (used,) = done.used
    assert used.startswith("github/codeql-action/upload-sarif@")


def test_summary_and_annotations_can_be_turned_off(workspace: Path) -> None:
    done = act(workspace, DISABLED, summary="false", annotations="false")
    assert done.code == 1
    assert not done.summary
    assert not obeyed(done.log)


@pytest.mark.skipif(os.name == "nt", reason="the stand-ins for an old Python are POSIX scripts")
def test_a_python_that_fits_is_found_or_another_is_set_up(workspace: Path, tmp_path: Path) -> None:
    installed = {"install": HERE["install"]}
    done = run(workspace, {"logs": FIXED, "policy": "builtin:moe-serving"}, installed)
    assert (done.code, done.used) == (0, [])
    old = tmp_path / "old"
    old.mkdir()
    for name in ("python", "python3"):
        (old / name).write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        (old / name).chmod(0o755)
    path = f"{old}:/usr/bin:/bin"
    done = run(workspace, {"logs": FIXED, "policy": "builtin:moe-serving"}, installed, environ={"PATH": path})
    (used,) = done.used
    assert used.startswith("actions/setup-python@")


def test_every_other_option_has_a_variable(workspace: Path) -> None:
    waiver = "release: decode-1\nwho: head of serving\nwhy: known\nexpires: 2999-12-31\nevents: all\n"
    (workspace / "waiver.yaml").write_text(waiver, encoding="utf-8")
    variables = {"FALLBACK_GATE_CHECK_WAIVER": "waiver.yaml", "FALLBACK_GATE_CHECK_RELEASE": "decode-1"}
    inputs = {"logs": DISABLED, "policy": "builtin:moe-serving"}
    done = run(workspace, inputs, HERE, environ=variables)
    assert (done.code, done.outputs["verdict"]) == (0, "waived"), done.log
