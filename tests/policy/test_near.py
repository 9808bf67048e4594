"""Room 5: entries that matched nothing say what they nearly matched, and no verdict depends on it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from fallback_gate.compilers import READERS
from fallback_gate.model import Kind
from fallback_gate.policy import judge, notes
from fallback_gate.policy.advice import Advice, advise
from fallback_gate.policy.regular import looks_regular, meant

from .make import OURS, TODAY, event, policy

ATTN, TOPK = event("moe::gate_attn"), event("aten::topk")


@pytest.mark.parametrize(
    ("glob", "globs"),
    [
        (".*attn.*", ("*attn*",)),
        (r"aten::\w+_mm", ("aten::*_mm",)),
        ("^gate_attn$", ("gate_attn",)),
        ("^gate", ("gate*",)),
        ("attn$", ("*attn",)),
        ("attn|topk", ("attn", "topk")),
        ("^moe::(gate|up)_attn$", ("moe::gate_attn", "moe::up_attn")),
        (r"gate\.attn.+", ("gate.attn*",)),
        ("[a-z]+_attn", ("*_attn",)),
    ],
)
def test_what_an_expression_means_as_globs(glob: str, globs: tuple[str, ...]) -> None:
    assert looks_regular("op", glob)
    assert meant(glob) == globs


@pytest.mark.parametrize(
    ("key", "glob"),
    [
        ("op", "aten.*"),
        ("op", "aten::sort.*"),
        ("op", "*attn*"),
        ("op", "aten::[st]*"),
        ("function", "Model.forward.<locals>.*"),
        ("file", r"model\decoder.py"),
        ("file", "*/model.*"),
        ("file", r"C:\src\.venv\w.py"),
        ("op", "conv1 || conv2"),
        ("layer", "a|b"),
    ],
)
def test_a_glob_is_no_expression(key: str, glob: str) -> None:
    assert not looks_regular(key, glob)


def test_too_many_choices_are_not_spelled_out() -> None:
    assert meant("(a|b|c)(a|b|c)(a|b|c)") == ()


def said(folder: Path, text: str) -> list[str]:
    rules = policy(folder, f"unlisted: warn\n{text}\n")
    return list(notes(rules, [judge(one, rules, TODAY) for one in (ATTN, TOPK)], TODAY))


@pytest.mark.parametrize(
    ("hot", "hint"),
    [
        ('op: ".*attn.*"', r"did you mean \*attn\*, which matches moe::gate_attn?"),
        ('op: "attn.*"', r"did you mean \*attn\*, which matches moe::gate_attn?"),
        ("op: gate_atn", "did you mean moe::gate_attn?"),
        ("op: gate-attn", "did you mean moe::gate_attn?"),
        ("op: GateAttn", "did you mean moe::gate_attn?"),
        ("op: 'mo::gate_attn'", "did you mean moe::gate_attn?"),
        ("op: [layer_norm, gate_atn]", "did you mean moe::gate_attn?"),
    ],
)
def test_a_dead_hot_entry(tmp_path: Path, hot: str, hint: str) -> None:
    (note,) = said(tmp_path, f"hot: [{{{hot}}}]")
    assert "policy.yaml:3" in note
    assert hint.replace("\\", "") in note


@pytest.mark.parametrize(
    "hot",
    [
        "op: gate_attn",
        "op: layer_norm",
        "op: 'aten::gate_norm'",
        "op: gate_atn, kinds: [graph_break]",  # asks for what the log does not have, whatever its name
        "op: tpk",  # short names are alike by chance
    ],
)
def test_a_hot_entry_that_is_right_or_far_off(tmp_path: Path, hot: str) -> None:
    assert said(tmp_path, f"hot: [{{{hot}}}]") == []


def test_what_is_blocked_needs_no_note(tmp_path: Path) -> None:
    rules = policy(tmp_path, "hot: [{op: gate_atn}]\n")
    assert notes(rules, [judge(ATTN, rules, TODAY)], TODAY) == ()


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (f"cold: [{{op: topk, {OURS}}}]", "topk would match as aten::topk"),
        (
            f"cold: [{{op: 'aten::topk', kinds: [graph_break], {OURS}}}]",
            "it matches aten::topk but for kinds, which is 'op_fallback'",
        ),
        (
            f"cold: [{{op: 'aten::topk', layer: router, {OURS}}}]",
            "it matches aten::topk but for layer, which the log does not tell",
        ),
        (
            f"hot: [{{op: '*topk'}}]\ncold: [{{op: 'aten::to*', {OURS}}}]",
            "it is overruled for aten::topk by the hot entry at",
        ),
        (f"cold: [{{op: 'aten::top_k', {OURS}}}]", "did you mean aten::topk?"),
        (f"cold: [{{op: 'aten::sort', {OURS}}}]", "take it out if that stays so"),
    ],
)
def test_a_cold_entry_that_allowed_nothing(tmp_path: Path, text: str, hint: str) -> None:
    (note,) = said(tmp_path, text)
    assert "allowed nothing in this run: " in note
    assert hint in note


def test_a_cold_entry_whose_event_another_one_allows(tmp_path: Path) -> None:
    (note,) = said(tmp_path, f"cold:\n  - {{op: 'aten::topk', {OURS}}}\n  - {{op: 'aten::topk*', {OURS}}}")
    assert "aten::topk is allowed by the cold entry at" in note
    assert "policy.yaml:4 already" in note


def test_nothing_is_idle_where_nothing_ran(tmp_path: Path) -> None:
    rules = policy(tmp_path, f"cold: [{{op: 'aten::sort', {OURS}}}]\n")
    assert notes(rules, [], TODAY, ran=False) == ()


def lint(folder: Path, text: str) -> list[Advice]:
    rules = policy(folder, f"unlisted: warn\n{text}\n")
    findings = [judge(one, rules, TODAY) for one in (ATTN, replace(TOPK, kind=Kind.GRAPH_BREAK))]
    return advise(rules, date(2026, 12, 1), timedelta(days=14), READERS, findings)


def test_lint_names_what_the_logs_have(tmp_path: Path) -> None:
    found = lint(tmp_path, 'hot:\n  - {op: gate_atn}\n  - {op: layer_norm}\n  - {op: "^topk$"}')
    told = [(one.code, one.is_warning, one.is_fine) for one in found]
    assert told == [
        ("near-miss", True, False),
        ("unneeded", True, True),
        ("regular-expression", False, False),
        ("near-miss", True, False),
    ]
    assert found[2].text.endswith("write topk")
    assert "did you mean topk, which matches aten::topk?" in found[3].text
