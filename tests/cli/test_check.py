"""The front door: options, outputs, colours and environment, on the real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import etree

from fallback_gate import __version__
from tests.compilers.lines import clean

CLEAN = "".join(line + "\n" for line in clean()).encode()
BLOCKING = "".join(line + "\n" for line in clean("buf1 = torch.ops.aten.topk.default(buf0, 2)")).encode()


def run(
    folder: Path, *arguments: str, stdin: bytes = b"", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """`python -m fallback_gate` in a folder, with a clean environment and these variables."""
    (folder / ".git").mkdir(exist_ok=True)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FALLBACK_GATE", "FORCE_COLOR", "NO_COLOR", "CLICOLOR", "CI", "GITHUB"))
    }
    return subprocess.run(
        [sys.executable, "-m", "fallback_gate", *arguments],
        cwd=folder,
        env={**kept, **environment},
        input=stdin,
        capture_output=True,
        timeout=60,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pass.log").write_bytes(CLEAN)
    (tmp_path / "block.log").write_bytes(BLOCKING)
    (tmp_path / "warn.yaml").write_text("version: 1\nname: warner\nunlisted: warn\n", encoding="utf-8")
    return tmp_path


def test_version_and_help(folder: Path) -> None:
    for option in ("--version", "-V"):
        assert __version__ in run(folder, option).stdout.decode()
    for arguments in (("--help",), ("-h",), ("check", "--help"), ("check", "-h")):
        done = run(folder, *arguments)
        assert done.returncode == 0
        assert b"Usage:" in done.stdout
    said = run(folder, "check", "--help").stdout.decode()
    for option in ("--policy", "--format", "--output", "--exit-zero", "--quiet", "--verbose", "--color", "--today", "--hash", "--waiver", "--release"):  # fmt: skip
        assert option in said


@pytest.mark.parametrize(
    ("logs", "code"),
    [(["pass.log"], 0), (["block.log"], 1), (["pass.log", "block.log"], 1), (["*.log"], 1), (["."], 1)],
)
def test_the_exit_code(folder: Path, logs: list[str], code: int) -> None:
    assert run(folder, "check", *logs).returncode == code


@pytest.mark.parametrize(("text", "code"), [(CLEAN, 0), (BLOCKING, 1), (b"", 3)])
def test_standard_input(folder: Path, text: bytes, code: int) -> None:
    done = run(folder, "check", "-", "--format", "json", stdin=text)
    said = json.loads(done.stdout)
    assert done.returncode == said["exit_code"] == code
    if code == 1:
        assert [event["line"] for event in said["events"]] == [
            BLOCKING.split(b"aten.topk")[0].count(b"\n") + 1
        ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nonsense"], ["--format", "pdf"], ["--output", "junit"], ["--output", "pdf=x"], ["--output", "json="],
        ["--color", "blue"], ["--today", "tomorrow"], ["--today", "2026-1-1"], ["--today", "20261130"],
        ["--today", "2026-02-30"], ["--waiver", "gone.yaml"], ["--waiver", "gone.yaml", "--release", "r1"],
    ],
)  # fmt: skip
def test_a_wrong_option_is_usage(folder: Path, arguments: list[str]) -> None:
    done = run(folder, "check", "pass.log", *arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Traceback" not in done.stderr
    assert done.stderr.strip()


def test_an_unknown_command_is_usage(folder: Path) -> None:
    assert run(folder, "chekc").returncode == 2


def test_today(folder: Path) -> None:
    policy = "version: 1\ncold:\n  - {op: 'aten::topk', reason: r, owner: o, expires: 2027-03-31}\n"
    (folder / "p.yaml").write_text(policy, encoding="utf-8")
    for day, code in (("2027-03-31", 0), ("2027-04-01", 1)):
        done = run(folder, "check", "block.log", "-p", "p.yaml", "--today", day, "-f", "json")
        assert done.returncode == code
        assert json.loads(done.stdout)["today"] == day


def test_formats_on_standard_output(folder: Path) -> None:
    assert json.loads(run(folder, "check", "block.log", "-f", "json").stdout)["schema"] == "fallback-gate/1"
    root = etree.fromstring(run(folder, "check", "block.log", "-f", "junit").stdout)
    assert root.tag == "testsuites"
    assert root.findall(".//failure")
    text = run(folder, "check", "block.log").stdout.decode()
    assert text.startswith("BLOCKED")


def test_several_outputs_at_once(folder: Path) -> None:
    done = run(
        folder, "check", "block.log", "-o", "json=out/r.json", "-o", "junit=out/r.xml", "-o", "text=out/r.txt"
    )
    assert done.returncode == 1
    assert done.stdout.startswith(b"BLOCKED")
    assert json.loads((folder / "out/r.json").read_text(encoding="utf-8"))["verdict"] == "blocked"
    etree.fromstring((folder / "out/r.xml").read_bytes())
    assert "\x1b" not in (folder / "out/r.txt").read_text(encoding="utf-8")
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["r.json", "r.txt", "r.xml"]


def test_a_place_that_cannot_be_written(folder: Path) -> None:
    (folder / "taken").mkdir()
    (folder / "taken/inside").touch()
    for place in ("taken", "pass.log/report.json"):
        done = run(folder, "check", "pass.log", "-o", f"json={place}")
        assert done.returncode == 2
        assert place.encode() in done.stderr
        assert b"Traceback" not in done.stderr
    assert (folder / "pass.log").read_bytes() == CLEAN
    assert sorted(path.name for path in folder.iterdir() if ".part" in path.name) == []


def test_a_report_replaces_the_old_one_whole(folder: Path) -> None:
    (folder / "r.json").write_text("x" * 99999, encoding="utf-8")
    run(folder, "check", "pass.log", "-o", "json=r.json")
    assert json.loads((folder / "r.json").read_text(encoding="utf-8"))["verdict"] == "pass"


@pytest.mark.parametrize(
    ("arguments", "environment", "color"),
    [
        ([], {}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"CLICOLOR_FORCE": "1"}, True),
        ([], {"FORCE_COLOR": "0"}, False),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        (["--format", "json", "--color", "always"], {}, False),
    ],
)
def test_colour(folder: Path, arguments: list[str], environment: dict[str, str], color: bool) -> None:
    done = run(folder, "check", "block.log", *arguments, **environment)
    assert (b"\x1b[" in done.stdout) is color


def test_quiet_says_less_and_verbose_more(folder: Path) -> None:
    sizes = [len(run(folder, "check", "block.log", *how).stdout) for how in (["-q"], [], ["-v"])]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == 3
    assert b"aten::topk" in run(folder, "check", "block.log", "-q").stdout


def test_environment_twins(folder: Path) -> None:
    done = run(folder, "check", "block.log", "-f", "json", FALLBACK_GATE_POLICY="warn.yaml")
    assert (done.returncode, json.loads(done.stdout)["policy"]["name"]) == (0, "warner")
    done = run(
        folder, "check", "block.log", FALLBACK_GATE_CHECK_FORMAT="json", FALLBACK_GATE_CHECK_EXIT_ZERO="1"
    )
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "blocked")
    done = run(
        folder, "check", "block.log", "-f", "json", "-p", "builtin:strict", FALLBACK_GATE_POLICY="warn.yaml"
    )
    assert done.returncode == 1


def test_hash(folder: Path) -> None:
    import hashlib

    said = json.loads(run(folder, "check", "pass.log", "--hash", "-f", "json").stdout)
    assert said["logs"][0]["sha256"] == hashlib.sha256(CLEAN).hexdigest()
    assert json.loads(run(folder, "check", "pass.log", "-f", "json").stdout)["logs"][0]["sha256"] is None


def test_log_text_is_not_obeyed(folder: Path) -> None:
    hostile = "::error::owned ##[error]owned \x1b]0;title\x07\x1b[2J\u202eevil"
    lines = clean("buf1 = torch.ops.aten.topk.default(buf0, 2)  # " + hostile)
    lines.append(f"fallback to eager: op=gate_attn reason={hostile}")
    lines.append("::set-output name=x::fallback to eager: op=::error::x")
    (folder / "hostile.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for arguments in ([], ["-v"], ["-q"], ["--color", "always"]):
        done = run(folder, "check", "hostile.log", *arguments)
        assert done.returncode == 1
        text = done.stdout.decode()
        assert not any(line.lstrip().startswith("::") for line in text.splitlines())
        assert "##[error]" not in text
        assert "\x1b]" not in text
        assert "\x1b[2J" not in text
        assert "\u202e" not in text


def test_no_progress_bar_in_a_pipe(folder: Path) -> None:
    assert run(folder, "check", "pass.log").stderr == b""


def test_an_error_holds_no_command_for_the_runner(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("version: 1\n'##[error]x': 1\n", encoding="utf-8")
    done = run(tmp_path, "check", "a.log", "--policy", "p.yaml")
    assert done.returncode == 2
    assert b"unknown key" in done.stderr
    assert b"##[error]" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="/dev/full and closed descriptors as POSIX has them")
@pytest.mark.parametrize(
    ("log", "output", "code", "word"),
    [
        ("pass.log", "> /dev/full", 2, b"can't be written"),
        ("pass.log", ">&-", 0, b""),
        ("block.log", ">&- 2>&-", 1, b""),
    ],
)
def test_an_output_that_is_full_or_closed(
    folder: Path, log: str, output: str, code: int, word: bytes
) -> None:
    command = f"'{sys.executable}' -m fallback_gate check {log} {output}"
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, timeout=60)
    assert done.returncode == code
    assert word in done.stderr
    assert b"bug" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="pipes as POSIX has them")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["check", "pass.log"], 0), (["check", "block.log"], 1), (["policy", "test", "warn.yaml"], 2)],
)
def test_a_reader_that_left_changes_no_verdict(folder: Path, arguments: list[str], code: int) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        command = [sys.executable, "-m", "fallback_gate", *arguments]
        done = subprocess.run(command, cwd=folder, stdout=write, stderr=subprocess.PIPE, timeout=60)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (code, b"")


def test_a_kind_that_the_policy_excuses_is_not_among_what_is_missing(folder: Path) -> None:
    hlo = (
        "HloModule jit_decode_step, is_scheduled=true, entry_computation_layout={(f32[16]{0})->f32[16]{0}}\n"
    )
    (folder / "hlo.log").write_text(hlo, encoding="utf-8")
    kinds = "device_fallback, reference_kernel"  # the first is not proven, the second not shown
    (folder / "jax.yaml").write_text(f"version: 1\nproof: {{accept_unobservable: [{kinds}]}}\n", "utf-8")
    assert b"reference_kernel" in run(folder, "check", "hlo.log").stdout
    done = run(folder, "check", "hlo.log", "-p", "jax.yaml")
    assert done.returncode == 3
    assert b"device_fallback" in done.stdout
    assert b"reference_kernel" not in done.stdout
    assert b"fallback-gate record -- COMMAND" in done.stdout
