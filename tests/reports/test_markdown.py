"""The Markdown report, rendered by GitHub's own library and read as a person sees it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cmarkgfm
import html5lib
from hypothesis import given, settings

from fallback_gate.model import Location, Outcome, State, Verdict
from fallback_gate.model.inputs import Repository
from fallback_gate.reports import markdown, safe
from tests.reports import consumers, sample
from tests.reports.test_safe import HOSTILE


def page(verdict: Verdict) -> Any:
    return consumers.rendered(markdown.render(verdict))


def shown(element: Any) -> str:
    """The words that a person sees: comments are none."""
    return " ".join("".join(_texts(element)).split())


def _texts(element: Any) -> Iterator[str]:
    if isinstance(element.tag, str):
        yield element.text or ""
        for child in element:
            yield from _texts(child)
            yield child.tail or ""


def tables(tree: Any) -> list[list[list[str]]]:
    return [[[shown(cell) for cell in row] for row in table.iter("tr")] for table in tree.iter("table")]


def headings(tree: Any) -> list[str]:
    return [shown(element) for element in tree.iter() if element.tag in ("h1", "h2", "h3", "h4", "h5")]


def test_ten_seconds() -> None:
    """The verdict, then which operator, where in the user's code, and what to do."""
    tree = page(sample.blocked_run())
    assert headings(tree)[0] == "❌ BLOCKED: gate_attn fell back on the hot path (graph break)"
    heading, row = tables(tree)[0]
    assert heading == ["operator", "what happened", "where in your code", "what to do"]
    assert row[0] == "gate_attn"
    assert row[1].startswith("graph break 🔥 hot path, 2 times, rank 0")
    assert row[2] == "model/decoder.py:42 in gate_attn"
    assert row[3].startswith("Keep the value on the device, or set torch._dynamo.config.capture_scalar")
    addresses = [element.get("href") for element in tree.iter("a")]
    assert addresses[0] == "https://docs.pytorch.org/docs/stable/torch.compiler_faq.html"


def test_the_order_of_use() -> None:
    assert headings(page(sample.blocked_run()))[1:] == [
        "Next steps",
        "Proof: would the log have shown a fallback?",
        "Warned",
    ]
    folded = [shown(element) for element in page(sample.blocked_run()).iter("summary")]
    assert folded == ["gate_attn: graph break", "Allowed: 1 operator", "Provenance"]


def test_links_lead_to_the_line() -> None:
    there = Repository(
        {"model/decoder.py": "src/model/decoder.py"}, "https://git.example/o/r/blob/abc/{path}#L{line}"
    )
    addresses = [element.get("href") for element in page(sample.blocked_run(repository=there)).iter("a")]
    assert "https://git.example/o/r/blob/abc/src/model/decoder.py#L42" in addresses


def test_unproven_says_what_to_set() -> None:
    tree = page(sample.default_level_run())
    assert headings(tree)[0].startswith("❓ UNPROVEN: nothing forbidden was seen, but the evidence could not")
    steps = [shown(item) for item in next(tree.iter("ol"))]
    assert steps == ["Compile again with TORCH_LOGS=dynamo,graph_breaks,recompiles,output_code."]
    proof = tables(tree)[0]
    assert proof[0] == ["kind", "state", "by", "why"]
    assert proof[1][:3] == ["graph_break", "❌ unproven", "torch.compile, rank 0"]
    assert proof[4][1] == "❔ unobservable"


def test_ranks_share_a_row() -> None:
    proof = tables(page(sample.many_ranks_run()))[0]
    assert proof[1][2] == "torch.compile, ranks 0-63"
    assert len(proof) == 1 + 4


def test_a_waiver_heads_it() -> None:
    tree = page(sample.waived_run())
    assert headings(tree)[0].startswith("⚠️ WAIVED: a waiver for this release overrides the block")
    assert "by Ada Wong until 2026-12-05" in shown(next(tree.iter("blockquote")))


def test_a_baseline_is_named_in_the_head() -> None:
    tree = page(sample.baseline_run())
    assert shown(next(tree.iter("blockquote"))) == "baseline gates/baseline.json (2 entries, 1 gone)"


def test_no_verdict() -> None:
    tree = page(sample.verdict(None, 2, logs=(), errors=("compile.log: no such file",)))
    assert headings(tree)[0] == "❌ NO VERDICT: compile.log: no such file"


def test_small_however_much_is_said() -> None:
    """1 MiB is what GitHub takes; one byte more and the whole summary is dropped."""
    long = "é" * 3_000
    findings = tuple(
        sample.blocked(
            op=f"op{n} {long}", reason=long, text=long, stack=(long,), help=long, fingerprint=f"f{n}"
        )
        for n in range(300)
    )
    why = sample.proof(State.UNPROVEN, long, setting=long)
    processes = tuple(sample.process(Outcome.UNPROVEN, log=f"{long}{n}", graph_break=why) for n in range(200))
    logs = tuple(sample.log(Outcome.UNPROVEN, f"{long}{n}", problem=long) for n in range(200))
    run = sample.blocked_run(
        findings=findings, processes=processes, logs=logs, notes=(long,) * 200, reasons=(long,) * 200
    )
    text = markdown.render(run)
    assert len(text.encode()) < 900 * 1024
    tree = page(run)
    assert len(tables(tree)[0]) == 1 + 50
    assert "And 250 more blocked operators, in the JSON report." in shown(tree)


def test_sections_go_from_the_bottom(monkeypatch: Any) -> None:
    monkeypatch.setattr(markdown, "MOST_BYTES", 2_000)
    text = markdown.render(sample.blocked_run())
    assert len(text.encode()) <= 2_000
    assert text.startswith("### ❌ BLOCKED")
    assert "Some sections are left out here" in text
    assert "Provenance" not in text


@settings(max_examples=150)
@given(HOSTILE)
def test_log_text_is_shown_and_nothing_of_it_lives(text: str) -> None:
    wanted = " ".join(safe.inline(text).split())
    for written in (safe.code(text), f"x {safe.markdown(text)} y"):
        tree = html5lib.parse(
            cmarkgfm.github_flavored_markdown_to_html(
                written, options=cmarkgfm.cmark.Options.CMARK_OPT_UNSAFE
            ),
            namespaceHTMLElements=False,
        )
        assert {element.tag for element in tree.iter() if isinstance(element.tag, str)} <= {
            *("html", "head", "body", "p", "code")
        }
        assert shown(tree) == (wanted if written.startswith("`") else f"x {wanted} y".replace("  ", " "))


@settings(max_examples=100)
@given(HOSTILE, HOSTILE)
def test_a_cell_is_one_cell(one: str, two: str) -> None:
    text = f"| a | b |\n| --- | --- |\n| {safe.code_cell(one)} | {safe.markdown(two)} |\n"
    rows = tables(consumers.rendered(text))[0]
    assert [len(row) for row in rows] == [2, 2]
    assert rows[1][0] == " ".join(safe.inline(one).replace("\\|", "\\x7c").split())
    assert rows[1][1] == " ".join(safe.inline(two).split())


@settings(max_examples=60)
@given(HOSTILE, HOSTILE, HOSTILE)
def test_hostile_text(one: str, two: str, three: str) -> None:
    event = sample.event(
        op=one, reason=two, names=(three,), location=Location(one, 3, two), text=three, id=two
    )
    missing = sample.proof(State.UNPROVEN, two, setting=three)
    run = sample.blocked_run(
        findings=(sample.blocked(event), sample.allowed(op=two), sample.warned(op=three)),
        processes=(sample.process(Outcome.UNPROVEN, log=one, graph_break=missing),),
        notes=(one,),
        reasons=(two,),
    )
    tree = page(run)
    assert [one for one in consumers.live(tree) if not one.startswith("https://docs.pytorch.org/")] == []
    assert len(tables(tree)[0]) == 2
    assert consumers.obeyed(markdown.render(run)) == []
