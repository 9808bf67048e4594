"""Room 5: exceptions that rot are named."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from fallback_gate.policy import judge, load, notes

from .make import event, policy, written

SORT = event("aten::sort")


@pytest.mark.parametrize(
    ("entry", "today", "words"),
    [
        ('op: "aten::sort"', date(2026, 12, 1), []),
        ('op: "aten::sort"', date(2027, 3, 16), []),
        ('op: "aten::sort"', date(2027, 3, 17), ["expires on 2027-03-31"]),
        ('op: "aten::sort"', date(2027, 3, 31), ["expires on 2027-03-31"]),
        ('op: "aten::sort"', date(2027, 4, 1), ["expired on 2027-03-31"]),
        ('op: "aten::topk"', date(2026, 12, 1), ["allowed nothing"]),
        ('op: "*"', date(2026, 12, 1), ["lets everything go"]),
        ('op: "*", kinds: ["*"]', date(2026, 12, 1), ["lets everything go"]),
        ('op: "*", kinds: [op_fallback]', date(2026, 12, 1), []),
    ],
)
def test_cold(tmp_path: Path, entry: str, today: date, words: list[str]) -> None:
    rules = policy(tmp_path, f"cold: [{{{entry}, reason: r, owner: me, expires: 2027-03-31}}]\n", today)
    found = notes(rules, [judge(SORT, rules, today)], today)
    assert len(found) == len(words), found
    for note, word in zip(found, words, strict=True):
        assert word in note
        assert "policy.yaml:2" in note


def test_unhot(tmp_path: Path) -> None:
    written(tmp_path, "version: 1\nhot: [{op: a}]\n", "base.yaml")
    ours = "reason: r, owner: me, expires: 2027-03-31"
    text = f"extends: [base.yaml]\nunhot: [{{op: a, {ours}}}, {{op: b, {ours}}}]\n"
    (found,) = notes(policy(tmp_path, text), [], date(2026, 12, 1))
    assert "unhot entry op b" in found
    assert len(notes(policy(tmp_path, text, date(2027, 4, 1)), [], date(2027, 4, 1))) == 2


def test_nothing_to_prove(tmp_path: Path) -> None:
    rules = policy(tmp_path, "proof: {required: []}\n")
    assert "proof.required is empty" in notes(rules, [], date(2026, 12, 1))[0]


def test_shipped_policies_are_ours_to_keep_tidy() -> None:
    assert notes(load("builtin:llm-decode", date(2026, 12, 1)), [], date(2026, 12, 1)) == ()
