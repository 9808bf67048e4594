"""The gate: whatever is put in, one clear text and the contract's exit code; never a traceback, never a pass."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fallback_gate import check
from fallback_gate.model import Outcome
from tests import bad_files as bad
from tests.bad_files import BLOCKING, CLEAN, put

NOISE = "nothing that a compiler said\n" * 3
RULE = """version: 1
rules:
  - id: acme/slow
    compiler: acme
    anchor: "acme slow"
    pattern: '{pattern}'
    kind: op_fallback
    scope: operator
    matches: ["acme slow op=x"]
"""
COLD = "version: 1\ncold:\n  - {op: x, reason: r, owner: o, expires: %s}\n"


def run(folder: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    """The real command, in a folder, with the policy looked up nowhere else."""
    (folder / ".git").mkdir(exist_ok=True)
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("FALLBACK_GATE", "FORCE", "CLICOLOR"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "fallback_gate", "check", *arguments],
        cwd=folder,
        env=environment,
        input=stdin,
        capture_output=True,
        timeout=60,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    )


def utf16_garbage(folder: Path) -> list[str]:
    return [put(folder, "a.log", b"\xff\xfea\0b")]


def many(folder: Path, *files: tuple[str, str | bytes]) -> list[str]:
    return [put(folder, name, content) for name, content in files]


# What is given, and the exit code; each row of the contract's table, and what users do besides.
INPUTS: dict[str, tuple[Callable[[Path], list[str]], int, str]] = {
    "a missing file": (lambda f: ["gone.log"], 2, "gone.log"),
    "a missing file beside one that passes": (lambda f: ["gone.log", *many(f, ("a.log", CLEAN))], 2, "gone.log"),
    "a missing file beside one that blocks": (lambda f: ["gone.log", *many(f, ("a.log", BLOCKING))], 2, "gone.log"),
    "a glob without a match": (lambda f: ["none/*.log"], 2, "none/*.log"),
    "an empty folder": (lambda f: [(f / "empty").mkdir() or "empty"], 2, "empty"),
    "no log at all": (lambda f: [], 2, "no log"),
    "an unknown option": (lambda f: ["--nonsense"], 2, "--nonsense"),
    "an empty file": (lambda f: many(f, ("a.log", "")), 3, "empty"),
    "a text that no compiler wrote": (lambda f: many(f, ("a.log", NOISE)), 3, "no line of a known compiler"),
    "such a text in a folder beside a log": (lambda f: many(f, ("d/a.log", CLEAN), ("d/b.txt", NOISE)) and ["d"], 0, "not judged"),
    "nothing known in a whole folder": (lambda f: many(f, ("d/a.log", NOISE), ("d/b.log", "")) and ["d"], 3, "UNPROVEN"),
    "nothing known by a glob": (lambda f: many(f, ("d/a.log", NOISE)) and ["d/*.log"], 3, "UNPROVEN"),
    "an executable": (lambda f: many(f, ("a.log", b"\x7fELF" + bytes(range(256)) * 9)), 3, "binary"),
    "random bytes": (lambda f: many(f, ("a.log", bytes((i * 167) % 251 for i in range(9999)))), 3, "binary"),
    "an executable beside a log that blocks": (lambda f: many(f, ("a.log", b"\x7fELF" + bytes(99)), ("b.log", BLOCKING)), 1, "binary"),
    "a gzip that is cut": (lambda f: many(f, ("a.log.gz", gzip.compress(CLEAN.encode())[:-20])), 3, "gzip"),
    "a gzip that is no gzip": (lambda f: many(f, ("a.log.gz", b"\x1f\x8b\x08\0" + b"x" * 99)), 3, "gzip"),
    "a gzip that is cut behind what blocks": (
        lambda f: many(f, ("a.log.gz", gzip.compress((BLOCKING + "".join(f"{i * i}\n" for i in range(99999))).encode())[:-2000])), 1, "gzip",
    ),
    "a zip that is cut": (lambda f: many(f, ("a.zip", b"PK\x03\x04" + b"x" * 99)), 3, "zip"),
    "a zip bomb": (lambda f: [bad.zip_bomb(f)], 3, "a.log"),
    "UTF-16 that is cut": (utf16_garbage, 3, "a.log"),
    "a log that is cut in a record": (lambda f: many(f, ("a.log", CLEAN[: CLEAN.rindex("]")])), 3, "UNPROVEN"),
    "a log of the default level": (lambda f: many(f, ("a.log", "Step 2 is not here\nWarning: x\n")), 3, "UNPROVEN"),
}  # fmt: skip


@pytest.mark.parametrize(("given", "code", "says"), INPUTS.values(), ids=INPUTS)
def test_an_input(given: Callable[[Path], list[str]], code: int, says: str, tmp_path: Path) -> None:
    arguments = given(tmp_path)
    done = run(tmp_path, *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    report = run(tmp_path, *arguments, "--format", "json")
    assert report.returncode == code
    if report.stdout:
        said = json.loads(report.stdout)
        assert said["exit_code"] == code
        assert said["verdict"] == {0: "pass", 1: "blocked", 2: None, 3: "unproven"}[code]


@pytest.mark.skipif(
    os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all"
)
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    put(tmp_path, "a.log", CLEAN)
    (tmp_path / "a.log").chmod(0)
    assert run(tmp_path, "a.log").returncode == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "policy.yaml"),
        ("just text", "policy.yaml:1"),
        ("[1, 2]", "policy.yaml:1"),
        ("version: 1\nhot: nonsense\n", "policy.yaml:2"),
        ("version: 1\nhot: [3]\n", "policy.yaml:2"),
        ("version: 1\nbudgets: {graph_break: many}\n", "policy.yaml:2"),
        ("version: 1\nbudgets: {graph_brake: 0}\n", "graph_break"),
        ("version: 2\n", "policy.yaml:1"),
        ("version: 1\nhott: []\n", "hot"),
        ("version: 1\nname: a\nname: b\n", "policy.yaml:3"),
        (COLD % "2027-13-45", "policy.yaml:3"),
        (COLD % "soon", "policy.yaml:3"),
        ("version: 1\ncold: [{op: x}]\n", "reason"),
        ("version: 1\nhot: [{op: x}]\ncold:\n  - {op: x, reason: r, owner: o, expires: 2099-01-01}\n", "x"),
        ("version: 1\nextends: [builtin:nothing]\n", "nothing"),
        ("version: 1\nextends: [policy.yaml]\n", "policy.yaml"),
        ("version: 1\n\tname: x\n", "policy.yaml:2"),
        ("version: 1\nname: {a: [b\n", "policy.yaml"),
        ("a: &a [x, *a]\n", "policy.yaml"),
        ("version: 1\nname: \x00\n", "policy.yaml"),
        (RULE.format(pattern="("), "pattern"),
        (RULE.format(pattern="acme slow op=(?P<opp>x)"), "opp"),
        (RULE.format(pattern="never"), "matches"),
        (RULE.format(pattern="(?:acme slow.*)|x*"), "empty"),
        ("version: 1\nrules: [{id: 3}]\n", "policy.yaml:2"),
    ],
)
def test_a_policy_that_is_not_valid(text: str, says: str, tmp_path: Path) -> None:
    put(tmp_path, "a.log", CLEAN)
    put(tmp_path, "policy.yaml", text)
    done = run(tmp_path, "a.log", "--policy", "policy.yaml")
    assert done.returncode == 2, done.stdout + done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert all(line.startswith("fallback-gate: ") for line in done.stderr.splitlines())


def test_all_errors_of_a_policy_at_once(tmp_path: Path) -> None:
    put(tmp_path, "a.log", CLEAN)
    put(tmp_path, "policy.yaml", "version: 1\nhott: []\nbudgets: {x: 1}\nunlisted: maybe\n")
    said = run(tmp_path, "a.log", "--policy", "policy.yaml").stderr
    assert {f"policy.yaml:{line}" in said for line in (2, 3, 4)} == {True}


@pytest.mark.parametrize("policy", ["gone.yaml", "builtin:gone", "folder", ""])
def test_a_policy_that_is_not_there(policy: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    done = run(tmp_path, put(tmp_path, "a.log", CLEAN), "--policy", policy)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


EXPLODING = "acme slow (?:op=x|(?:(?:a|aa)+)+$)"


@pytest.mark.parametrize(("rest", "code"), [("", 3), (BLOCKING, 1)], ids=["alone", "beside what blocks"])
def test_a_pattern_that_explodes_on_the_log_leaves_it_unproven(rest: str, code: int, tmp_path: Path) -> None:
    put(tmp_path, "policy.yaml", RULE.format(pattern=EXPLODING))
    put(tmp_path, "a.log", (rest or CLEAN) + "acme slow " + "a" * 60 + "!\n")
    done = run(tmp_path, "a.log", "-p", "policy.yaml")
    assert done.returncode == code, done.stdout + done.stderr
    assert "acme/slow" in done.stdout


def test_the_exit_code_of_a_missing_file_says_both(tmp_path: Path) -> None:
    done = run(tmp_path, "gone.log", put(tmp_path, "a.log", BLOCKING))
    assert done.returncode == 2
    assert "gone.log" in done.stdout + done.stderr
    assert "aten::topk" in done.stdout


@pytest.mark.parametrize(
    ("content", "code"), [(BLOCKING, 0), (CLEAN, 0), (NOISE, 3)], ids=["blocked", "pass", "unproven"]
)
def test_exit_zero_hides_blocked_and_nothing_else(content: str, code: int, tmp_path: Path) -> None:
    done = run(tmp_path, put(tmp_path, "a.log", content), "--exit-zero", "--format", "json")
    said = json.loads(done.stdout)
    assert done.returncode == code == said["exit_code"]
    assert said["verdict"] == ("blocked" if content is BLOCKING else "pass" if code == 0 else "unproven")
    assert run(tmp_path, "gone.log", "--exit-zero").returncode == 2


@pytest.mark.parametrize(
    "hostile",
    [
        "V1130 00:29:06.251000 4674 torch/x.py:1] [0/0] [__graph_breaks] Graph break in user code at /a.py:" + "7" * 5000,
        "V1130 00:29:06.251000 " + "7" * 5000 + " torch/x.py:1] [0/0] [__graph_breaks] Graph break in user code at /a.py:7",
        '{"log":' + "[" * 9000 + " Graph break",
        "W1130 00:29:06.251000 4674 torch/x.py:1] WON'T CONVERT f /a.py line " + "1" * 5000,
    ],
    ids=["line number", "process id", "nested JSON", "frame line"],
)  # fmt: skip
def test_a_hostile_line_is_no_bug_of_ours(hostile: str, tmp_path: Path) -> None:
    done = run(tmp_path, put(tmp_path, "a.log", CLEAN + hostile + "\n"))
    assert done.returncode in (0, 1, 3), done.stderr[-500:]


def test_openings_of_long_records_over_and_over(tmp_path: Path) -> None:
    """Each opening may read thousands of lines after it; together they may not read the square of the log."""
    opening = "I1130 00:00:00.000000 7 torch/_dynamo/utils.py:1] TorchDynamo attempted to trace the following frames: ["
    log = tmp_path / "openings.log"
    log.write_text(f"{opening}\n" * 4000, encoding="utf-8")
    verdict = check([log], "builtin:strict")
    assert verdict.outcome is Outcome.UNPROVEN
    assert "overlap" in (verdict.logs[0].problem or "")
