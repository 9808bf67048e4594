"""The written pages say what the tool does: quoted output, help, policies, exit codes, keys, commands, links."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from fallback_gate import policy
from fallback_gate.model import EXIT_CODES, Kind
from fallback_gate.policy import sheet
from fallback_gate.policy.messages import MARKER_KEYS, RULE_KEYS
from fallback_gate.verdict import waiver

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("sample_logs/*.md")])
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The real command, as a reader would run it from the root of the repository."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FALLBACK_GATE")}
    environment |= {"COLUMNS": "100", "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}
    call = "from fallback_gate.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.argv[0] = 'fallback-gate'; {call}", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )


SESSIONS = [block.split("\n", 1) for block in blocks(README, "console")]
CHECKS = [(line.removeprefix("$ fallback-gate "), quoted) for line, quoted in SESSIONS]


def test_the_readme_shows_the_three_logs_of_its_story() -> None:
    assert [arguments.split()[1].rsplit("/", 1)[1] for arguments, _ in CHECKS] == [
        "disabled.default.log",
        "disabled.debug.log.gz",
        "fixed.debug.log.gz",
    ]


@pytest.mark.parametrize(
    ("arguments", "quoted"), CHECKS, ids=[arguments.split()[1] for arguments, _ in CHECKS]
)
def test_quoted_output_is_what_the_tool_prints(arguments: str, quoted: str) -> None:
    assert_prints(arguments, quoted)


def assert_prints(arguments: str, quoted: str) -> None:
    """A command prints the quoted lines in their order, others between them, and ends with the code they state."""
    printed = command(*arguments.split())
    rest = printed.stdout.splitlines()
    for line in quoted.splitlines():
        if line and line != "...":
            assert line in rest, f"{line!r} is not (or not here) in:\n{printed.stdout}"
            rest = rest[rest.index(line) + 1 :]
    stated = re.search(r"\(exit (\d+)\)", quoted)
    assert stated
    assert printed.returncode == int(stated[1])


def test_the_python_example_runs() -> None:
    (example,) = blocks(README, "python")
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines()[:2] == ["blocked 1", "blocked graph_break gate_attn_disable 543"]
    call = [sys.executable, "-c", example.replace("sample_logs", "no_logs")]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=60, check=True)
    assert done.stdout.splitlines()[1:] == ["no verdict 2"]
    assert "no_logs" in done.stdout


POLICIES = [
    (page.name, block)
    for page in PAGES
    for block in blocks(page.read_text(encoding="utf-8"), "yaml")
    if block.startswith("version:")
]


@pytest.mark.parametrize(("page", "text"), POLICIES, ids=[page for page, _ in POLICIES])
def test_a_policy_to_copy_is_valid(page: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "fallback-gate.yaml"
    file.write_text(text, encoding="utf-8")
    policy.load(str(file), date(2026, 11, 30))


def test_the_pages_hold_policies_to_copy() -> None:
    assert {"README.md", "policy.md"} <= {page for page, _ in POLICIES}


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md", "docs/exit-codes.md"])
def test_the_table_of_exit_codes_is_complete(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| (\d+) \| (?:`(\w+)`|none|无) \|", text, flags=re.MULTILINE))
    verdicts = {(str(code), outcome.value) for outcome, code in EXIT_CODES.items()}
    assert rows == verdicts | {("2", ""), ("70", "")}


@pytest.mark.parametrize(
    "key",
    sorted(
        {
            *sheet.KEYS,
            *sheet.HOT_KEYS,
            *sheet.UNHOT_KEYS,
            *sheet.COLD_KEYS,
            *(f"proof.{key}" for key in sheet.PROOF_KEYS),
            *(f"expect.{key}" for key in sheet.EXPECT_KEYS),
            *RULE_KEYS,
            *MARKER_KEYS,
            *waiver.KEYS,
        }
    ),
)
def test_each_policy_key_has_a_line(key: str) -> None:
    text = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
    assert f"\n| `{key}` |" in text


@pytest.mark.parametrize("kind", [kind.value for kind in Kind])
def test_each_kind_has_a_line(kind: str) -> None:
    assert f"\n| `{kind}` |" in (ROOT / "docs" / "reading-the-report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_make_targets_and_links_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make ([\w-]+)|`make ([\w-]+)`", text, flags=re.MULTILINE):
        assert re.search(rf"^{''.join(target)}:", makefile, flags=re.MULTILINE), f"make {target}"
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert link.startswith("https://") or (page.parent / link).exists(), link
