"""The pages around the tool keep step with it: the translated README, the first five minutes, the Action's tables."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.action.runner import ACTION, ROOT
from tests.test_readme import README, blocks, command

CHINESE = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
START = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
CI = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")


def structure(text: str) -> list[str]:
    """Headings by level, code blocks whole, tables by their first cell of code and their width."""
    found, fenced = [], False
    for line in text.splitlines():
        fence = line.startswith("```")
        if fence or fenced:
            found.append(line)
            fenced = fenced != fence
        elif line.startswith("#"):
            found.append(line.split(" ")[0])
        elif line.startswith("|"):
            cells = line.strip("|").split("|")
            numbers = re.findall(r"`[^`]+`|\b\d+(?:\.\d+)?%?(?=\s|$)", " ".join(cells[:2]))
            found.append(f"row of {len(cells)}: {' '.join(numbers)}")
    return found


def test_the_chinese_readme_has_the_same_parts_in_the_same_order() -> None:
    assert structure(CHINESE) == structure(README)


def test_make_docs_brings_the_code_blocks_into_the_chinese_readme() -> None:
    script = ROOT / "docs" / "translation.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_chinese_readme_links_to_the_same_pages() -> None:
    links = [set(re.findall(r"\]\(([^)]+)\)", text)) for text in (README, CHINESE)]
    assert links[0] ^ links[1] == {"README.md", "README.zh-CN.md"}


def test_the_chinese_readme_is_chinese() -> None:
    prose = re.sub(r"^```.*?^```$|`[^`]*`|\]\([^)]*\)", "", CHINESE, flags=re.DOTALL | re.MULTILINE)
    paragraphs = [part for part in prose.split("\n\n") if len(part) > 40]
    assert all(len(re.findall("[\u4e00-\u9fff]", part)) > 5 for part in paragraphs)


SESSIONS = [block.split("\n", 1) for block in blocks(START, "console")]


@pytest.mark.parametrize(("line", "quoted"), SESSIONS, ids=[line.split()[3] for line, _ in SESSIONS])
def test_the_first_five_minutes_print_what_the_page_says(line: str, quoted: str) -> None:
    printed = command(*line.removeprefix("$ fallback-gate ").split())
    assert printed.stdout.startswith(quoted.rstrip("\n"))
    assert f"(exit {printed.returncode})" in quoted


def test_the_first_policy_is_valid(tmp_path: Path) -> None:
    (text,) = blocks(START, "yaml")
    (tmp_path / "policy.yaml").write_text(text, encoding="utf-8")
    log = "sample_logs/moe-decoder-h200/fixed.debug.log.gz"
    done = command("check", log, "--policy", str(tmp_path / "policy.yaml"))
    assert done.returncode in (0, 1), done.stderr
    assert "my-decoder" in done.stdout


def rows(heading: str) -> dict[str, str]:
    """The first and second cell of each row of the table under a heading of ci.md."""
    part = CI.split(f"### {heading}\n", 1)[1].split("\n#", 1)[0]
    return dict(re.findall(r"^\| (`.+?) \| *(.*?) *\|", part, flags=re.MULTILINE))


def test_each_input_of_the_action_has_a_row_with_its_default() -> None:
    told = {name.strip("`"): default.strip("`") for name, default in rows("Inputs").items()}
    assert told == {name: declared["default"] for name, declared in ACTION["inputs"].items()}


def test_each_output_of_the_action_has_a_row() -> None:
    told = [name for cell in rows("Outputs") for name in re.findall("`([^`]+)`", cell)]
    assert told == list(ACTION["outputs"])


def test_what_the_page_gives_the_action_are_its_inputs() -> None:
    for text in (CI, README):
        jobs = [yaml.safe_load(block) for block in blocks(text, "yaml") if block.startswith("jobs:")]
        (gate,) = [
            step
            for job in jobs
            for step in job["jobs"]["gate"]["steps"]
            if "fallback-gate@" in step.get("uses", "")
        ]
        assert gate["with"].keys() <= ACTION["inputs"].keys()


def test_the_hooks_of_the_page_are_there() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert re.findall(r"- id: ([\w-]+)", CI) == [hook["id"] for hook in hooks]


@pytest.mark.parametrize("page", ["index.md", "start.md", "ci.md", "faq.md"])
def test_the_site_has_the_page(page: str) -> None:
    assert f": {page}" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def uneven(text: str) -> list[str]:
    """Rows of tables that have not as many fields as the row above them."""
    found, above = [], 0
    for line in re.sub(r"(?ms)^```.*?^```", "", text).splitlines():
        fields = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        if above and fields not in (0, above):
            found.append(line)
        above = fields
    return found


def test_the_rows_of_a_table_have_as_many_fields_as_its_head() -> None:
    assert uneven("| a | b |\n| - | - |\n| 1 | 2 | 3 |\n") == ["| 1 | 2 | 3 |"]
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "sample_logs").rglob("*.md")]
    assert {page.name: rows for page in pages if (rows := uneven(page.read_text(encoding="utf-8")))} == {}
