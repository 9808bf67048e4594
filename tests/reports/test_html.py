"""The HTML report, parsed by the browsers' own algorithm; tests/browser looks at it in a real one."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import html5lib
import pytest
from hypothesis import given, settings

from fallback_gate.model import Class, Decision, Finding, Location, Outcome, State, Verdict
from fallback_gate.model.inputs import EntryUse, Repository
from fallback_gate.reports import html, safe, words
from tests.reports import consumers, sample
from tests.reports.test_safe import HOSTILE


def page(verdict: Verdict) -> Any:
    """The page as a tree; any error of the HTML is raised."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(html.render(verdict))


def shown(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())


def rows(tree: Any, heading: str) -> list[list[str]]:
    """The cells of the tables in the section of a heading."""
    section = next(one for one in tree.iter("section") if one.get("aria-labelledby") == heading)
    return [[shown(cell) for cell in row] for table in section.iter("table") for row in table.iter("tr")]


def tagged(tree: Any, name: str) -> Iterator[Any]:
    return (element for element in tree.iter() if name in (element.get("class") or "").split())


def test_the_verdict_first() -> None:
    tree = page(sample.blocked_run())
    assert shown(next(tree.iter("h1"))) == "BLOCKED exit 1"
    assert shown(next(tagged(tree, "why"))) == "gate_attn fell back on the hot path (graph break)"
    assert shown(next(tree.iter("title"))).startswith("BLOCKED: llm-decode")


def test_a_baseline_is_named_in_the_head() -> None:
    said = [shown(line) for line in tagged(page(sample.baseline_run()), "meta")]
    assert said[0] == "baseline gates/baseline.json (2 entries, 1 gone)"
    assert "baseline" not in " ".join(shown(line) for line in tagged(page(sample.blocked_run()), "meta"))


def test_what_blocked_and_why() -> None:
    (card,) = tagged(page(sample.blocked_run()), "card")
    told = {shown(name): shown(value) for name, value in zip(card.iter("dt"), card.iter("dd"), strict=True)}
    assert told["Where"] == "model/decoder.py:42 in gate_attn"
    assert told["Why it fell back"].startswith("Unsupported Tensor.item()")
    assert told["What to do"].startswith("Keep the value on the device")
    assert told["Called by"] == "gate_attn < DecoderLayer.forward"
    assert told["Policy"] == "policies/llm-decode.yaml:4 hot: gate_attn (every token, every layer)"
    assert told["Proof"].startswith("line 17")
    assert told["Message"] == "torch/graph-break, fingerprint fp-gate-attn"


def test_the_lines_around_a_proving_line() -> None:
    around = {("compile.log", 17): ((16, "before"), (17, "\x1b[31mGraph break"), (18, "  after"))}
    (card,) = tagged(page(sample.blocked_run(excerpts=around)), "card")
    lines = [shown(line) for line in card.iter("li")]
    assert lines == ["16before", "17\\x1b[31mGraph break", "18 after"]
    assert [shown(line) for line in tagged(card, "proves")] == ["17\\x1b[31mGraph break"]


def test_by_operator_by_rank_and_all() -> None:
    process = sample.process(Outcome.BLOCKED)
    event = sample.event(processes=(process.key,))
    tree = page(sample.blocked_run(findings=(sample.blocked(event), sample.allowed(), sample.warned())))
    assert rows(tree, "operators")[1] == [
        "gate_attn",
        "graph break",
        "blocked",
        "1",
        "2",
        "0",
        "torch.compile",
    ]
    assert rows(tree, "operators")[3][4] == "at least 3"
    assert rows(tree, "ranks")[1] == ["rank 0 process 1495", "compile.log", "blocked", "1", "0", "0"]
    assert [row[2] for row in rows(tree, "events")[1:]] == ["blocked hot", "warned unlisted", "allowed cold"]
    assert rows(tree, "events")[1][3:] == ["model/decoder.py:42 in gate_attn", "line 17", "2", "0"]


def test_proof() -> None:
    found = rows(page(sample.default_level_run()), "proof")
    assert found[1][:3] == ["graph_break", "unproven", "torch.compile, rank 0"]
    assert found[1][3] == f"{sample.LEVEL}set {sample.SETTING}"
    assert found[4][1] == "unobservable"


def test_used_and_unused_entries() -> None:
    entries = (
        EntryUse("hot", sample.HOT.entry, sample.HOT.source, True, events=1),
        EntryUse("hot", {"op": "other"}, "p.yaml:7", False),
        EntryUse("cold", sample.COLD.entry, sample.COLD.source, True, events=1),
        EntryUse("cold", {"op": "old", "reason": "r"}, "p.yaml:9", False, expired=True),
    )
    run = sample.blocked_run()
    policy = type(run.policy)(run.policy.name, run.policy.path, run.policy.sha256, run.policy.hot, entries)
    found = rows(page(sample.blocked_run(policy=policy)), "policy")
    assert [row[3] for row in found] == [
        *("In this run", "blocked 1 event", "allowed 1 event"),
        *("In this run", "nothing of it fell back", "expired: as if it were not there"),
    ]


def test_provenance() -> None:
    run = sample.blocked_run(
        logs=(sample.log(Outcome.BLOCKED, sha256="ab" * 32, lines=7733),),
        run_at=datetime(2026, 11, 30, 6, 1, 2, tzinfo=timezone.utc),
    )
    assert rows(page(run), "logs")[1] == [
        "compile.log",
        "blocked",
        "torch.compile 2.11.0",
        "36,412",
        "7,733",
        "ab" * 32,
    ]
    assert "judged as of 2026-11-30, run at 2026-11-30 06:01:02 UTC" in shown(page(run))


def test_links_lead_to_the_line() -> None:
    there = Repository(
        {"model/decoder.py": "src/model/decoder.py"}, "https://git.example/o/r/blob/abc/{path}#L{line}"
    )
    addresses = [one.get("href") for one in page(sample.blocked_run(repository=there)).iter("a")]
    assert "https://git.example/o/r/blob/abc/src/model/decoder.py#L42" in addresses


def test_the_policy_lets_run_only_what_stands_in_the_file() -> None:
    text = html.render(sample.blocked_run())
    tree = page(sample.blocked_run())
    allowed = next(one.get("content") for one in tree.iter("meta") if one.get("http-equiv"))
    parts = [
        *re.findall(r"<style>(.*?)</style>", text, re.S),
        *re.findall(r"<script>(.*?)</script>", text, re.S),
    ]
    assert len(parts) == 3
    for part in parts:
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in allowed
    assert allowed.startswith("default-src 'none'; ")
    assert "unsafe" not in allowed
    assert not re.search(r"@import|url\(", parts[0])


def test_ids_are_unique_and_links_lead_somewhere() -> None:
    tree = page(sample.many_events_run(300))
    ids = [one.get("id") for one in tree.iter() if one.get("id")]
    assert len(set(ids)) == len(ids)
    inner = [one.get("href")[1:] for one in tree.iter("a") if one.get("href").startswith("#")]
    assert set(inner) <= set(ids)


def test_what_is_left_out_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "MOST_ROWS", 200)
    tree = page(sample.many_events_run(300))
    assert len(rows(tree, "events")) == 1 + 200
    assert "And 100 more, in the JSON report." in shown(tree)
    assert len(list(tagged(tree, "card"))) == 50


@settings(max_examples=12)
@given(HOSTILE, HOSTILE, HOSTILE)
def test_hostile_text_everywhere(one: str, two: str, three: str) -> None:
    event = sample.event(
        op=one,
        id=two,
        reason=three,
        log=one,
        text=two,
        stack=(three,),
        location=Location(three, 1, one),
        compiler=two,
    )
    missing = sample.proof(State.UNPROVEN, two, setting=three)
    run = sample.blocked_run(
        findings=tuple(Finding(event, Class.HOT, decision, sample.HOT, one) for decision in Decision),
        processes=(sample.process(Outcome.UNPROVEN, log=one, graph_break=missing),),
        logs=(sample.log(Outcome.BLOCKED, one, problem=three),),
        notes=(one,),
        reasons=(two,),
        excerpts={(one, 17): ((17, three),)},
    )
    tree = page(run)
    alive = [found for found in consumers.live(tree) if not found.startswith("https://docs.pytorch.org/")]
    assert alive == ["style", "script", "script"] or sorted(alive) == ["script", "script", "style"]
    (card,) = tagged(tree, "card")
    assert shown(next(card.iter("code"))) == " ".join(words.op(event).split())
    assert consumers.obeyed(html.render(run)) == []
    assert safe.inline(one) == one or "\\" in shown(tree)
