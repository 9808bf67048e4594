"""Hostile text through every command: no secret comes out, nothing is obeyed, no verdict is forged.

`tests/reports/test_hostile.py` does this for each report of `check`; here is whatever else prints.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reports import consumers
from tests.reports.test_hostile import TOKENS, hostile_log

POISON = (
    f"\x1b[2J\x1b[1;1HPASS (exit 0): all good ::error::owned ##[error]owned {TOKENS[0]} "
    f"https://u:{TOKENS[4]}@h/ /home/alice/m.py \u202e \x9b31m"
)
HEAD = "::error::owned"
ENTRY = {
    "op": f"gate_attn.{TOKENS[1]}",
    "reason": POISON,
    "owner": POISON,
    "expires": "2027-03-31",
    "ticket": POISON,
}
POLICY = {
    "version": 1,
    "name": POISON,
    "cold": [ENTRY],
    "hot": [{"op": "aten::sort", "why": POISON}],
    "unlisted": "warn",
    "rules": [
        {
            "id": "own/x", "compiler": "mine", "anchor": "slow path", "pattern": "slow path: (?P<op>.+)",
            "kind": "op_fallback", "scope": "operator", "matches": [f"slow path: {TOKENS[0]}"],
            "meaning": POISON, "next": POISON,
        }
    ],
    "tests": [{"name": POISON, "verdict": "blocked", "text": f"fallback to eager: op={TOKENS[0]}\n"}],
}  # fmt: skip
SECRETS = (*TOKENS, "/home/alice", "alice")

COMMANDS: dict[str, list[str]] = {
    "check": ["check", "h.log", "-p", "h.yaml", "-v"],
    "check quiet": ["check", "h.log", "-p", "h.yaml", "-q"],
    "check github": ["check", "h.log", "-p", "builtin:strict", "-f", "markdown"],
    "watch": ["watch", "h.log", "-p", "h.yaml", "--until-idle", "0.2"],
    "diff": ["diff", "h.log", "b.log", "-v"],
    "diff json": ["diff", "b.log", "h.log", "-f", "json"],
    "policy init": ["policy", "init", "h.log"],
    "policy lint": ["policy", "lint", "h.yaml", "--within", "3650"],
    "policy lint json": ["policy", "lint", "h.yaml", "--within", "3650", "-f", "json"],
    "policy show": ["policy", "show", "h.yaml"],
    "policy show json": ["policy", "show", "h.yaml", "-f", "json"],
    "policy test": ["policy", "test", "h.yaml", "-v"],
    "policy diff": ["policy", "diff", "builtin:strict", "h.yaml"],
    "policy diff json": ["policy", "diff", "h.yaml", "builtin:strict", "-f", "json"],
    "policy diff markdown": ["policy", "diff", "builtin:strict", "h.yaml", "-f", "markdown"],
    "rules list": ["rules", "list", "--policy", "h.yaml"],
    "rules list json": ["rules", "list", "--policy", "h.yaml", "-f", "json"],
    "rules show": ["rules", "show", "own/x", "--policy", "h.yaml"],
    "rules test": ["rules", "test", "h.yaml", "h.log"],
    "explain": ["explain", "own/x", "--policy", "h.yaml"],
    "baseline": ["baseline", "create", "h.log", "-o", "base.json", "-p", "h.yaml"],
    "waiver": ["waiver", "new", "h.json", "--release", "r", "--who", "w", "--why", "y", "--expires", "2027-01-01"],
    "bench": ["bench", "bench.csv"],
    "counters": ["counters", "counters.csv"],
    "trace": ["trace", "trace.json"],
    "no file": ["check", f"{HEAD} {TOKENS[0]} ##[error]x /home/alice/x.log"],
    "no policy": ["check", "b.log", "-p", f"{HEAD} {TOKENS[0]} ##[error]x"],
    "a bad policy": ["check", "b.log", "-p", "bad.yaml"],
    "a bad option": ["check", f"--{HEAD}-{TOKENS[0]}"],
    "a bad value": ["check", "b.log", "--today", f"{HEAD} ##[error]x {TOKENS[0]}"],
    "a bad command": [f"chekc-{TOKENS[0]}"],
    "a bad baseline": ["check", "b.log", "-b", "bad.yaml"],
    "a bad waiver": ["check", "b.log", "--waiver", "bad.yaml", "--release", "r"],
}  # fmt: skip


def gate(folder: Path, arguments: list[str]) -> subprocess.CompletedProcess[bytes]:
    call = [sys.executable, "-X", "utf8", "-m", "fallback_gate", *arguments]
    return subprocess.run(call, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("hostile")
    log = hostile_log().replace("A" * 10_000_000, "A" * 1000)
    log += f"fallback to eager: op=gate_attn.{TOKENS[1]} reason={POISON}\n{POISON}\nslow path: {POISON}\n"
    (place / "h.log").write_bytes(log.encode("utf-8", "surrogateescape"))
    (place / "b.log").write_text("fallback to eager: op=other\n", encoding="utf-8")
    (place / "h.yaml").write_text(json.dumps(POLICY), encoding="utf-8")
    (place / "bad.yaml").write_text(
        json.dumps({POISON: 1, "version": POISON, HEAD: [POISON]}), encoding="utf-8"
    )
    csv = f'run,decode_tokens_per_second,"{HEAD} {POISON}"\n1,100,5\n"{HEAD}{POISON}",110,7\n'
    (place / "bench.csv").write_text(csv, encoding="utf-8")
    rows = f'"ID","Kernel Name","dram__throughput.avg.pct_of_peak_sustained_elapsed"\n"0","{POISON}","90"\n'
    (place / "counters.csv").write_text(rows, encoding="utf-8")
    kernels = [
        {
            "ph": "X",
            "cat": "kernel",
            "name": POISON,
            "ts": at,
            "dur": 5,
            "pid": 0,
            "tid": 7,
            "args": {"stream": 7},
        }
        for at in (10, 20)
    ]
    step = {
        "ph": "X",
        "cat": "user_annotation",
        "name": "ProfilerStep#1",
        "ts": 0,
        "dur": 100,
        "pid": 1,
        "tid": 1,
    }
    (place / "trace.json").write_text(json.dumps({"traceEvents": [step, *kernels]}), encoding="utf-8")
    report = gate(place, ["check", "h.log", "-p", "builtin:strict", "-f", "json"])
    (place / "h.json").write_bytes(report.stdout)
    return place


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_gets_out_and_nothing_is_obeyed(folder: Path, name: str) -> None:
    done = gate(folder, COMMANDS[name])
    said = done.stdout.decode("utf-8") + "\n" + done.stderr.decode("utf-8")
    assert done.returncode in (0, 1, 2, 3), said[:2000]
    assert len(said) > 20
    assert b"Traceback" not in done.stderr
    assert [secret for secret in SECRETS if secret in said] == []
    assert not consumers.INVISIBLE.search(said)
    assert consumers.obeyed(said) == []


def test_the_files_that_they_write_hold_no_secret(folder: Path) -> None:
    gate(folder, ["check", "h.log", "-p", "builtin:strict", "-f", "json"])
    gate(folder, [*COMMANDS["waiver"], "-o", "waiver.yaml"])
    gate(folder, ["policy", "init", "h.log", "-o", "init.yaml"])
    gate(
        folder,
        ["policy", "diff", "builtin:strict", "h.yaml", "-o", "json=d.json", "-o", "markdown=d.md"],
    )
    for file in ("h.json", "waiver.yaml", "init.yaml", "d.json", "d.md"):
        text = (folder / file).read_text(encoding="utf-8")
        assert [secret for secret in SECRETS if secret in text] == [], file


VERDICT = "PASS (exit 0): no fallback"


@pytest.mark.parametrize(
    "line", [VERDICT, f"\r{VERDICT}", f"\x1b[2K\x1b[1A{VERDICT}", f"x\n{VERDICT}", f"\x08\x08{VERDICT}"]
)
def test_no_verdict_line_is_forged(tmp_path: Path, line: str) -> None:
    """Whatever stands in a log: one line of the report begins with a verdict, the first, and it is the true one."""
    log = f"{line}\nfallback to eager: op=x{line} reason={line}\n"
    (tmp_path / "a.log").write_bytes(log.encode())
    (tmp_path / "p.yaml").write_text(
        json.dumps({"version": 1, "hot": [{"op": "x*", "why": f"{line}\n{line}"}]})
    )
    for options in ([], ["-v"], ["-q"]):
        done = gate(tmp_path, ["check", "a.log", "-p", "p.yaml", *options])
        lines = done.stdout.decode().splitlines()
        verdicts = [
            one for one in lines if one.startswith(("PASS", "BLOCKED", "WAIVED", "UNPROVEN", "NO VERDICT"))
        ]
        assert done.returncode == 1
        assert verdicts == [lines[0]]
        assert lines[0].startswith("BLOCKED (exit 1): ")


@pytest.mark.parametrize("form", ["header", "seal", "closing"])
def test_no_seal_is_forged(tmp_path: Path, form: str) -> None:
    """What `record` writes, printed by the program itself: the log is no sealed one, nor does it prove more."""
    record = [sys.executable, "-X", "utf8", "-m", "fallback_gate", "record", "--log", "real.log", "--"]
    subprocess.run([*record, sys.executable, "-c", "print('fallback to eager: op=x')"], cwd=tmp_path, check=True,
                   capture_output=True, timeout=120)  # fmt: skip
    lines = (tmp_path / "real.log").read_text(encoding="utf-8").splitlines()
    ours = [line for line in lines if line.startswith('{"fallback_gate_')]
    assert len(ours) >= 2
    forged = {
        "header": [ours[0], "hello"],
        "seal": ["hello", ours[-1]],
        "closing": [*ours[1:-1], "hello", *ours],
    }[form]
    (tmp_path / "forged.log").write_text("\n".join([*forged, "all is well", ""]), encoding="utf-8")
    done = gate(tmp_path, ["check", "forged.log", "-p", "builtin:strict", "-f", "json"])
    report = json.loads(done.stdout)
    assert report["verdict"] == "unproven"
    assert not report["logs"][0]["sealed"]
