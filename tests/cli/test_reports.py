"""The front door: the formats for machines and pages, on the real command."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fallback_gate.reports import FORMATS
from tests.cli.test_check import BLOCKING, CLEAN, run
from tests.compilers.lines import clean, graph_break
from tests.reports import consumers

(BREAK,) = graph_break("Graph break in user code at /app/model/decoder.py:3")
BREAK_LOG = [*clean(), BREAK]
RULES = """\
version: 1
rules:
  - id: mine/slow
    compiler: mine
    anchor: "went slow"
    pattern: "(?P<op>\\\\w+) went slow"
    kind: op_fallback
    scope: operator
    matches: ["gemm went slow"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pass.log").write_bytes(CLEAN)
    (tmp_path / "block.log").write_bytes(BLOCKING)
    (tmp_path / "break.log").write_text("".join(f"{line}\n" for line in BREAK_LOG), encoding="utf-8")
    (tmp_path / "model").mkdir()
    (tmp_path / "model/decoder.py").write_text("1\n2\n3\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_holds_what_is_printed(folder: Path, name: str) -> None:
    arguments = ("check", "block.log", "--today", "2026-11-30", "-f", name)
    done = run(folder, *arguments, "-o", f"{name}=out/report")
    assert done.returncode == 1
    if name != "text":
        rest = (folder / "out/report").read_bytes().removeprefix(done.stdout)
        assert rest == b"" or re.fullmatch(rb"<!-- fallback-gate report sha256:[0-9a-f]{64} -->\n", rest)
        assert run(folder, *arguments).stdout == done.stdout  # byte for byte, with the clock pinned


def test_the_time_of_the_run(folder: Path) -> None:
    for environment, wanted in (
        ({"SOURCE_DATE_EPOCH": "1764460800"}, "2025-11-30T00:00:00Z"),
        ({"SOURCE_DATE_EPOCH": "nonsense"}, None),
        ({}, None),
    ):
        said = json.loads(run(folder, "check", "pass.log", "-f", "json", **environment).stdout)["run_at"]
        assert said == wanted if wanted else said[10] == "T"
    pinned = run(folder, "check", "pass.log", "-f", "json", "--today", "2026-11-30")
    assert json.loads(pinned.stdout)["run_at"] is None


def test_a_break_is_shown_at_the_users_code(folder: Path) -> None:
    """Of a path inside a container, the end is in the repository."""
    done = run(folder, "check", "break.log", "-f", "github")
    (error,) = (one for one in consumers.obeyed(done.stdout.decode()) if "graph break" in one.told["title"])
    assert (error.told["file"], error.told["line"]) == ("model/decoder.py", "3")
    sarif = json.loads(run(folder, "check", "break.log", "-f", "sarif").stdout)["runs"][0]
    at = sarif["results"][0]["locations"][0]["physicalLocation"]
    assert (at["artifactLocation"]["uri"], at["region"]["startLine"]) == ("model/decoder.py", 3)
    entry = json.loads(run(folder, "check", "break.log", "-f", "gitlab").stdout)[0]
    assert entry["location"] == {"path": "model/decoder.py", "lines": {"begin": 3}}
    junit = run(folder, "check", "break.log", "-f", "junit").stdout.decode()
    assert 'file="model/decoder.py" line="3"' in junit
    told = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "o/r", "GITHUB_SHA": "abc"}
    summary = run(folder, "check", "break.log", "-f", "markdown", **told).stdout.decode()
    assert "(https://github.com/o/r/blob/abc/model/decoder.py#L3)" in summary


def test_html_shows_the_lines_around_the_proof(folder: Path) -> None:
    at = len(clean())
    page = run(folder, "check", "break.log", "-f", "html").stdout.decode()
    assert f'<li class="proves"><span class="no">{at + 1}</span>' in page
    assert f'<span class="no">{at}</span>' in page


def test_suppressed_results_on_request(folder: Path) -> None:
    policy = "version: 1\ncold:\n  - {op: 'aten::topk', reason: r, owner: o, expires: 2099-03-31}\n"
    (folder / "p.yaml").write_text(policy, encoding="utf-8")
    for option, count in (((), 0), (("--sarif-suppressed",), 1)):
        done = run(folder, "check", "block.log", "-p", "p.yaml", "-f", "sarif", *option)
        document = json.loads(done.stdout)
        consumers.validate_sarif(document)
        assert (done.returncode, len(document["runs"][0]["results"])) == (0, count)


def test_provenance(folder: Path) -> None:
    (folder / "mine.yaml").write_text(RULES, encoding="utf-8")
    said = json.loads(run(folder, "check", "pass.log", "--rules", "mine.yaml", "--hash", "-f", "json").stdout)
    assert said["logs"][0]["lines"] == CLEAN.count(b"\n")
    assert said["logs"][0]["readers"] == ["torch.compile"]
    assert said["rules"][0]["path"] == "mine.yaml"
    assert len(said["rules"][0]["sha256"]) == 64
    assert "  rules   mine.yaml\n" in run(folder, "check", "pass.log", "--rules", "mine.yaml").stdout.decode()


def test_what_was_not_judged_is_in_the_headline(folder: Path) -> None:
    (folder / "notes.txt").write_text("nothing of a compiler\n", encoding="utf-8")
    (folder / "block.log").unlink()
    (folder / "break.log").unlink()
    done = run(folder, "check", "*.log", "*.txt", "-q", COLUMNS="200")
    assert done.returncode == 0
    assert done.stdout.decode().endswith("; 1 of 2 files was not judged\n")


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        (["pass.log"], "did you mean `fallback-gate check pass.log`?"),
        (["pass.log", "-q"], "did you mean `fallback-gate check pass.log -q`?"),
        (["gone/*.log"], "did you mean `fallback-gate check 'gone/*.log'`?"),
        (["chekc"], "did you mean `fallback-gate check`?"),
    ],
)
def test_a_log_in_the_place_of_a_command(folder: Path, said: list[str], hint: str) -> None:
    done = run(folder, *said)
    assert done.returncode == 2
    assert hint in done.stderr.decode()


def test_nothing_is_loaded_that_is_not_asked_for(folder: Path) -> None:
    """Start-up is paid in every job: no report's library, no YAML without a policy, no scanner for a short log."""
    call = (
        "import sys; from fallback_gate.cli.main import main\n"
        "sys.argv[1:] = ['check', 'pass.log', '-q']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([name for name in ('jinja2', 'wcwidth', 'junit_xml', 'yaml', 'hyperscan', 'regex', 'fsspec') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", call], capture_output=True, text=True, check=True, cwd=folder
    )
    assert done.stdout.splitlines()[-1] == "[]"
