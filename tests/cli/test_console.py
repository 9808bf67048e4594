"""Consoles that can't show everything: code pages of Windows, and no UTF-8 mode. Nothing fails or is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NAMES = "注意力_αβγ_ä€→✓_𝔘"
LOG = f"fallback to eager: op={NAMES} reason=кернел\nfallback to eager: op=other\n"
POLICY = {
    "version": 1,
    "name": NAMES,
    "hot": [{"op": NAMES, "why": NAMES}],
    "cold": [{"op": "other", "reason": NAMES, "owner": NAMES, "expires": "2027-03-31"}],
    "tests": [{"name": NAMES, "verdict": "blocked", "text": LOG}],
}
FILE = "ログ ä.log"
COMMANDS = {
    "check": (1, ["check", FILE, "-p", "p.yaml", "-v"]),
    "check json": (1, ["check", FILE, "-p", "p.yaml", "-f", "json"]),
    "check markdown": (1, ["check", FILE, "-p", "p.yaml", "-f", "markdown"]),
    "check junit": (1, ["check", FILE, "-p", "p.yaml", "-f", "junit"]),
    "check github": (1, ["check", FILE, "-p", "p.yaml", "-f", "github"]),
    "watch": (1, ["watch", FILE, "-p", "p.yaml", "--until-idle", "0.2"]),
    "diff": (1, ["diff", "b.log", FILE, "-p", "p.yaml"]),
    "policy show": (0, ["policy", "show", "p.yaml"]),
    "policy lint": (0, ["policy", "lint", "p.yaml", "--within", "3650"]),
    "policy test": (0, ["policy", "test", "p.yaml", "-v"]),
    "policy diff": (1, ["policy", "diff", "p.yaml", "builtin:strict"]),
    "policy init": (0, ["policy", "init", FILE]),
    "policy init file": (0, ["policy", "init", FILE, "-o", f"{NAMES}.yaml", "--force"]),
    "baseline": (1, ["baseline", "create", FILE, "-o", f"{NAMES}.json", "-p", "p.yaml"]),
    "explain": (0, ["explain", "torch.compile"]),
    "no file": (2, ["check", f"{NAMES}.log"]),
    "a bad option": (2, [f"--{NAMES}"]),
    "record": (0, ["record", "--log", f"{NAMES}.log", "--", sys.executable, "-c", "print(1)"]),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / FILE).write_text(LOG, encoding="utf-8")
    (tmp_path / "b.log").write_text("fallback to eager: op=other\n", encoding="utf-8")
    (tmp_path / "p.yaml").write_text(json.dumps(POLICY, ensure_ascii=False), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "cp932"])
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_fails_on_a_narrow_console(folder: Path, name: str, encoding: str) -> None:
    code, arguments = COMMANDS[name]
    environ = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    call = [sys.executable, "-m", "fallback_gate", *arguments]
    done = subprocess.run(call, cwd=folder, env=environ, capture_output=True, timeout=120)
    said = (done.stdout + done.stderr).decode(encoding)
    assert b"Traceback" not in done.stderr, said
    assert done.returncode == code, said


@pytest.mark.parametrize("name", ["json", "junit", "markdown", "html", "sarif", "gitlab", "text"])
def test_files_are_utf_8_whatever_the_console_is(folder: Path, name: str) -> None:
    environ = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0", "LC_ALL": "C"}
    call = [
        sys.executable,
        "-m",
        "fallback_gate",
        "check",
        FILE,
        "-p",
        "p.yaml",
        f"--output={name}=out.{name}",
    ]
    done = subprocess.run(call, cwd=folder, env=environ, capture_output=True, timeout=120)
    assert done.returncode == 1
    text = (folder / f"out.{name}").read_bytes().decode("utf-8")
    shown = json.dumps(text)[1:-1] if name not in ("json", "sarif", "gitlab") else text
    assert json.dumps("注意力")[1:-1] in shown


def test_a_policy_that_windows_wrote(folder: Path) -> None:
    """A byte order mark and CRLF, as an editor there saves them; a path with backslashes."""
    (folder / "sub").mkdir()
    text = "\ufeff" + "version: 1\r\nhot:\r\n  - {op: x, file: 'model\\decoder.py'}\r\n"
    (folder / "sub" / "w.yaml").write_bytes(text.encode("utf-8"))
    call = [
        sys.executable,
        "-m",
        "fallback_gate",
        "policy",
        "show",
        os.path.join("sub", "w.yaml"),
        "-f",
        "json",
    ]
    done = subprocess.run(call, cwd=folder, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["hot"][0]["file"] == ["model\\decoder.py"]
