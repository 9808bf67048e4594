"""A hostile log through the command into every format: nothing is obeyed, nothing is live, all are valid."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import html5lib
import pytest
import sarif.loader
from junitparser import JUnitXml
from lxml import etree
from markdown_it import MarkdownIt

from fallback_gate.reports import FORMATS
from tests.reports import consumers

TOKENS = (
    "ghp_" + "a1B2" * 9,
    "hf_" + "AbCdEfGh" * 4,
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "hunter2secret",
)
NASTY = (
    "::error file=x::owned",
    "   ::set-output name=a::b",
    "x ##[error]owned ##vso[task.setvariable variable=a]b ##teamcity[publishArtifacts '/']",
    "]]> <![CDATA[ &amp; &#0;",
    "a\x00b\x08c\x0bd\x7fe\x9bf",
    "lone \udce4 and \ufffe",
    "<script>alert(1)</script><img src=x onerror=alert(1)><a href=javascript:alert(1)>x</a>",
    "| a | b |", "](javascript:alert(1)) [x](http://evil.example/) ![i](http://evil.example/i.png)",
    "`tick` ``two`` ``` three", "@everyone #1 www.evil.example http://evil.example/ user@evil.example",
    "</details></code></pre></td></table>", "{{ 7 * 7 }} {% raw %} ${{ secrets.X }}",
    "\x1b[31mred\x1b[0m \x1b]8;;http://evil.example/\x07link\x1b]8;;\x07 \x1b[2J",
    "\u202egnp.exe\u202c \u2066iso\u2069 \u200b",
    *(f"token {token}" for token in TOKENS[:4]),
    f"https://user:{TOKENS[4]}@proxy:3128/",
    "$x^2$ *a* _b_ ~~c~~ **d**\\| \\",
)  # fmt: skip
HEAD = "V1130 00:44:17.641000 6447 torch/_dynamo/symbolic_convert.py:5127] [0/0] [__graph_breaks]"


def hostile_log() -> str:
    """Graph breaks and generic reports whose every free part is nasty, and one line of 10 MB."""
    lines = []
    for number, nasty in enumerate(NASTY):
        lines += [
            f"{HEAD} Graph break in user code at /app/model/{nasty}.py:{number + 1}",
            f"{HEAD} Graph Break Reason: {nasty}",
            f"{HEAD}   Explanation: {nasty}",
            f"{HEAD} User code traceback:",
            f'{HEAD}   File "/app/model/{nasty}.py", line {number + 1}, in {nasty}',
            f"{HEAD}     {nasty}",
            f"fallback to eager: op={nasty}",
            f"fallback to eager: op=op{number} {nasty}",
            nasty,
        ]
    lines.append("fallback to eager: op=" + "A" * 10_000_000 + "<script>::error::x")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Every format, as the command writes it to a file, and `text` as it prints it."""
    folder = tmp_path_factory.mktemp("hostile")
    log = folder / "build <b>|`x` @me.log"
    log.write_bytes(hostile_log().encode("utf-8", "surrogateescape"))
    wanted = [f"--output={name}={folder / name}" for name in FORMATS]
    call = [sys.executable, "-m", "fallback_gate", "check", log.name, "-p", "builtin:strict", "-v", *wanted]
    done = subprocess.run(call, cwd=folder, capture_output=True, timeout=300)
    assert done.returncode == 1, done.stderr
    found = {name: (folder / name).read_bytes().decode("utf-8") for name in FORMATS}
    return found | {"printed": done.stdout.decode("utf-8")}


EVERY = [*FORMATS, "printed"]


@pytest.mark.parametrize("name", EVERY)
def test_it_was_about_the_hostile_lines(reports: Mapping[str, str], name: str) -> None:
    """Nothing here is proven by a report that says nothing."""
    assert "owned" in reports[name] or name == "github"


@pytest.mark.parametrize("name", EVERY)
def test_no_token_is_shown(reports: Mapping[str, str], name: str) -> None:
    for token in TOKENS:
        assert token not in reports[name]


@pytest.mark.parametrize("name", EVERY)
def test_nothing_invisible_is_left(reports: Mapping[str, str], name: str) -> None:
    assert not consumers.INVISIBLE.search(reports[name])


@pytest.mark.parametrize("name", [name for name in EVERY if name != "github"])
def test_the_runner_obeys_nothing(reports: Mapping[str, str], name: str) -> None:
    assert consumers.obeyed(reports[name]) == []


@pytest.mark.parametrize("name", EVERY)
def test_the_report_stays_small(reports: Mapping[str, str], name: str) -> None:
    assert len(reports[name].encode()) < 900 * 1024


def test_the_runner_obeys_only_our_annotations(reports: Mapping[str, str]) -> None:
    text = reports["github"]
    commands = consumers.obeyed(text)
    assert len(commands) == len(text.splitlines()) == 10
    for command in commands:
        assert command.name == "error"
        assert set(command.told) <= {"file", "line", "title"}
        assert "file" not in command.told  # none of these paths is in a repository


@pytest.mark.parametrize("name", ["json", "json-v1", "sarif", "gitlab"])
def test_json_is_strict(reports: Mapping[str, str], name: str) -> None:
    json.loads(reports[name], parse_constant=pytest.fail)
    reports[name].encode("ascii")


def test_sarif(reports: Mapping[str, str], tmp_path: Path) -> None:
    document = json.loads(reports["sarif"])
    consumers.validate_sarif(document)
    for result in document["runs"][0]["results"]:
        assert not re.search(r"\]\([^)]*\)", result["message"]["text"])
    path = tmp_path / "report.sarif"
    path.write_text(reports["sarif"], encoding="utf-8")
    read = sarif.loader.load_sarif_file(str(path))
    assert read.get_result_count() == len(document["runs"][0]["results"]) > len(NASTY)


def test_gitlab(reports: Mapping[str, str]) -> None:
    consumers.validate_code_quality(json.loads(reports["gitlab"]))


def test_junit(reports: Mapping[str, str]) -> None:
    etree.fromstring(reports["junit"].encode())
    assert JUnitXml.fromstring(reports["junit"].encode()).failures > len(NASTY)


def test_html(reports: Mapping[str, str]) -> None:
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    page = parser.parse(reports["html"])
    alive = [one for one in consumers.live(page) if not one.startswith("https://docs.pytorch.org/")]
    assert alive == ["style", "script", "script"]
    assert "7 * 7" in "".join(page.itertext())


def test_markdown_as_github_renders_it(reports: Mapping[str, str]) -> None:
    page = consumers.rendered(reports["markdown"])
    alive = [one for one in consumers.live(page) if not one.startswith("https://docs.pytorch.org/")]
    assert alive == []
    for table in page.iter("table"):
        widths = {len(list(row)) for row in table.iter("tr")}
        assert len(widths) == 1
    for element in page.iter():
        shown = [element.text] if element.tag not in ("code", "pre") else []
        for text in filter(None, [*shown, *(child.tail for child in element)]):
            assert not re.search(r"@\w|#\d|\bwww\.|https?://", text), text


def test_markdown_as_others_render_it(reports: Mapping[str, str]) -> None:
    page = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
    tree = html5lib.parse(page.render(reports["markdown"]), namespaceHTMLElements=False)
    alive = [one for one in consumers.live(tree) if not one.startswith("https://docs.pytorch.org/")]
    assert alive == []
    assert not any(element.tag in ("em", "del", "s") for element in tree.iter())
