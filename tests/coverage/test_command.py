"""`fallback-gate coverage` as a user runs it, and its reports as their readers parse them."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import html5lib
import pytest
from hypothesis import example, given, settings
from markdown_it import MarkdownIt

from fallback_gate.model import Outcome, PolicySummary
from fallback_gate.model.matrix import Cell, Column, Held, Matrix, Red
from fallback_gate.reports import coverage_html, coverage_report, safe
from tests.coverage.matrices import LOGS, PROFILES, TRACES
from tests.instruments.command import run
from tests.reports.test_safe import HOSTILE

POLICY = "version: 1\nname: moe\nunlisted: warn\nhot:\n  - {op: aten::_grouped_mm, why: experts}\n"
GOOD, BAD = TRACES / "moe-decoder.compiled.json.gz", TRACES / "moe-decoder.gathered.json.gz"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fallback-gate.yaml").write_text(POLICY, "utf-8")
    return tmp_path


def test_from_a_good_release_to_a_bad_one(folder: Path) -> None:
    """Kept in the repository, merged over back ends, blocked by the red line, and compared."""
    good = run(folder, "coverage", "--trace", str(GOOD), "--into", "v1.json")
    assert (good.returncode, good.stderr) == (0, b"")
    assert good.stdout.startswith(b"PASS (exit 0): no hot operator is in the fallback column")
    (folder / "v2.json").write_bytes((folder / "v1.json").read_bytes())
    merged = run(folder, "coverage", str(PROFILES / "openvino-cpu.2026.4.xml"), "--into", "v2.json")
    assert merged.returncode == 3  # no graph of OpenVINO tells of aten::_grouped_mm
    backends = {cell["backend"] for cell in json.loads((folder / "v2.json").read_text("utf-8"))["cells"]}
    assert backends == {"openvino", "torch.compile"}
    bad = run(folder, "coverage", "--trace", str(BAD), "--into", "v2.json")
    assert bad.returncode == 1
    assert b"gather + matmul on torch.compile: fallback" in bad.stdout
    assert b"fallback-gate.yaml:5" in bad.stdout
    compared = run(folder, "coverage", "diff", "v1.json", "v2.json", "--format", "json")
    assert compared.returncode == 1
    said = json.loads(compared.stdout)
    lost = [change for change in said["changes"] if change["step"] == "lost"]
    assert "gather + matmul" in {change["op"] for change in lost}
    gone = {change["op"] for change in said["changes"] if change["step"] == "gone"}
    assert "aten::_grouped_mm" in gone
    same = run(folder, "coverage", "diff", "v1.json", "v1.json")
    assert same.returncode == 0
    assert same.stdout.startswith(b"NOT WORSE (exit 0)")
    text = run(folder, "coverage", "diff", "v1.json", "v2.json")
    assert b"Now in the fallback column" in text.stdout


def test_a_file_that_is_kept_does_not_change_while_the_coverage_stays(folder: Path) -> None:
    arguments = ("coverage", "--trace", str(GOOD), "--into", "m.json")
    run(folder, *arguments)
    first = (folder / "m.json").read_bytes()
    run(folder, *arguments)
    assert (folder / "m.json").read_bytes() == first
    assert str(folder).encode() not in first


def test_all_reports_at_once(folder: Path) -> None:
    done = run(
        folder, "coverage", "--trace", str(BAD), "-o", "csv=m.csv", "-o", "html=m.html", "-o", "markdown=m.md",
        "-o", "json=m.json", "--floor", str(TRACES / "moe-decoder.eager-backend.json.gz"), "-q",
    )  # fmt: skip
    assert done.returncode == 1
    report = json.loads((folder / "m.json").read_text("utf-8"))
    assert (report["schema"], report["verdict"], report["exit_code"]) == (
        "fallback-gate/coverage-1",
        "blocked",
        1,
    )
    assert [red["op"] for red in report["red"]] == ["gather + matmul"]
    rows = list(csv.DictReader(io.StringIO((folder / "m.csv").read_text("utf-8"))))
    assert len(rows) == len(report["cells"]) == sum(report["summary"].values())
    assert [row["op"] for row in rows if row["red"] == "yes"] == ["gather + matmul"]
    topk = next(row for row in rows if row["op"] == "aten::topk")
    assert float(topk["floor"]) > float(topk["microseconds"]) > 0
    table = MarkdownIt("commonmark").enable("table").parse((folder / "m.md").read_text("utf-8"))
    assert sum(token.type == "tr_open" for token in table) == len(rows) + 1
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(
        (folder / "m.html").read_text("utf-8")
    )
    assert sum(1 for _ in tree.iter("tr")) == len(rows) + 1  # one back end: a row for each cell, or fewer


def test_usage(folder: Path) -> None:
    for arguments in (
        (),
        ("missing.log",),
        ("--trace", "missing.json"),
        ("diff", "a.json"),
        ("diff", "a.json", "b.json"),
        ("--format", "pdf", "x"),
        ("-o", "csv", "x"),
        ("--floor", str(LOGS / "torch" / "clean.2.14.1.log"), "--trace", str(GOOD)),
    ):
        done = run(folder, "coverage", *arguments)
        assert done.returncode == 2, arguments
        assert b"Traceback" not in done.stderr


def test_a_damaged_matrix_is_never_written_over(folder: Path) -> None:
    (folder / "m.json").write_text("{}", "utf-8")
    done = run(folder, "coverage", "--trace", str(GOOD), "--into", "m.json")
    assert done.returncode == 2
    assert (folder / "m.json").read_text("utf-8") == "{}"


def test_an_input_is_never_written_over(folder: Path) -> None:
    (folder / "t.json.gz").write_bytes(GOOD.read_bytes())
    done = run(folder, "coverage", "--trace", "t.json.gz", "-o", "csv=t.json.gz")
    assert done.returncode == 2
    assert (folder / "t.json.gz").read_bytes() == GOOD.read_bytes()


def test_both_helps(folder: Path) -> None:
    own, of_diff = (
        " ".join(run(folder, "coverage", *asked, "--help").stdout.decode().split())
        for asked in ([], ["diff"])
    )
    assert "`coverage diff OLD NEW` compares" in own
    assert "OLD and NEW are files that `coverage --into FILE` keeps" in of_diff


def hostile(text: str) -> Held:
    cell = Cell(
        op=text, backend=text, column=Column.FALLBACK, shape=text, dtype=text, by=(text,), microseconds=1.0,
        names=(text,), functions=(text,), reason=text,
    )  # fmt: skip
    return Held(
        Matrix((cell,)), Outcome.BLOCKED, 1, PolicySummary(text, text, None), (Red(cell, text, text),),
        frozenset({cell.place}), (text,), (text,),
    )  # fmt: skip


@settings(max_examples=40)
@given(HOSTILE)
@example("=cmd|'/C calc'!A0")
@example("::error::x ##[group] <script>alert(1)</script> \x1b[31m [a](javascript:b) @all | x")
def test_hostile_names_stay_text(text: str) -> None:
    held = hostile(text)
    page = coverage_html.render(held)
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)
    assert {element.tag for element in tree.iter() if isinstance(element.tag, str)} <= {
        *("html", "head", "meta", "title", "style", "body", "a", "header", "div", "p", "h1", "h2", "span"),
        *("main", "section", "ul", "li", "table", "caption", "thead", "tbody", "tr", "th", "td", "code"),
        *("small", "strong"),
    }
    for line in coverage_report.text(held, verbose=True).splitlines():
        assert not line.lstrip().startswith("::")
        assert re.search(r"##\w*\[(?!\\)", line) is None
        assert safe.terminal(line) == line
    rows = list(csv.reader(io.StringIO(coverage_report.as_csv(held))))
    assert len(rows) == 2
    assert all(not cell.startswith(("=", "+", "-", "@")) for cell in rows[1])
    assert coverage_report.as_json(held).isascii()
    assert "##[" not in coverage_report.as_json(held)
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(coverage_report.markdown(held))
    inner = [child for token in tokens for child in token.children or ()]
    assert not {child.type for child in inner} & {"link_open", "image"}
    assert {child.content for child in inner if child.type == "html_inline"} <= {"<!-- -->"}


def parsed(**further: Any) -> Any:
    cells = tuple(Cell(f"op{at}", "b", column, microseconds=2.0) for at, column in enumerate(Column))
    held = Held(Matrix(cells), Outcome.PASS, 0, PolicySummary("p", None, None), **further)
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    return parser.parse(coverage_html.render(held))


def test_a_field_is_told_by_its_word_and_a_sign_not_by_colour_alone() -> None:
    fields = [
        " ".join("".join(one.itertext()).split())
        for cell in parsed().iter("td")
        for one in cell.iter("span")
        if "field" in (one.get("class") or "")
    ]
    signs = [field.split()[0] for field in fields]
    assert len(set(signs)) == len(Column)
    assert [field.split()[1] for field in fields if "op" not in field][: len(Column)] == [
        "fallback", "unknown", "library", "generated", "hand-written",
    ]  # fmt: skip


def test_the_table_is_one_for_a_screen_reader() -> None:
    tree = parsed()
    assert all(head.get("scope") == "col" for head in next(tree.iter("thead")).iter("th"))
    assert all(head.get("scope") == "row" for head in next(tree.iter("tbody")).iter("th"))
    assert next(tree.iter("caption")) is not None
    assert next(tree.iter("html")).get("lang") == "en"


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_on_each_colour_has_the_contrast_of_wcag_aaa() -> None:
    style = coverage_html.render(Held(Matrix(), Outcome.PASS, 0, PolicySummary("p", None, None)))
    ink = re.search(r"\.field \{[^}]*color: (#\w{6})", style)
    backs = dict(re.findall(r"\.field\.(\w+) \{ background: (#\w{6})", style))
    assert ink is not None
    assert set(backs) == {"library", "generated", "hand_written", "fallback", "unknown"}
    for back in backs.values():
        assert (luminance(back) + 0.05) / (luminance(ink[1]) + 0.05) >= 7
