"""Room 5: what is wrong with a policy that loads. Each entry alone, and each kind of advice with its opposite."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from fallback_gate.compilers import READERS
from fallback_gate.policy import judge, load, shipped
from fallback_gate.policy.advice import advise

from .make import OURS, TODAY, event, policy, written

SOON = timedelta(days=14)
COLD = f"op: 'aten::sort', kinds: [op_fallback], {OURS}"


def codes(folder: Path, text: str, today: date = TODAY) -> list[str]:
    return [one.code for one in advise(policy(folder, text, today), today, SOON, READERS)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (f"hot: [{{op: gate_attn}}]\ncold: [{{{COLD}}}]", []),
        (f"cold: [{{op: '*', {OURS}}}]", ["too-wide"]),
        (f"cold: [{{op: '*', kinds: [op_fallback], {OURS}}}]", ["too-wide"]),
        (f"cold: [{{kinds: [op_fallback], {OURS}}}]", ["too-wide"]),
        (f"cold: [{{compiler: torch.compile, {OURS}}}]", ["too-wide"]),
        (f"cold: [{{op: '*', function: sample, {OURS}}}]", []),
        (f"hot: [{{op: '*attn*'}}]\ncold: [{{op: gate_attn, {OURS}}}]", ["contradiction"]),
        (f"hot: [{{op: '*attn*'}}]\ncold: [{{op: [gate_attn, x], {OURS}}}]", []),
        (f"hot: [{{op: '*attn*', kinds: [graph_break]}}]\ncold: [{{op: gate_attn, {OURS}}}]", []),
        (
            f"hot: [{{op: '*attn*', kinds: ['*']}}]\ncold: [{{op: gate_attn, kinds: [op_fallback], {OURS}}}]",
            ["contradiction"],
        ),
        (f"hot: [{{op: 'aten::sort.stable'}}]\ncold: [{{op: 'aten::sort', {OURS}}}]", []),
        (f"hot: [{{op: sort}}]\ncold: [{{op: 'aten::sort', {OURS}}}]", ["contradiction"]),
        (f"hot: [{{op: x, file: a.py}}]\ncold: [{{op: x*, {OURS}}}]", []),
        (f"cold: [{{op: 'aten::*', {OURS}}}, {{{COLD}}}]", ["shadowed"]),
        (f"cold: [{{{COLD}}}, {{op: 'aten::*', {OURS}}}]", ["shadowed"]),
        # `sort` alone is no operator of a namespace to a cold entry: the first one is the smaller
        (
            f"cold: [{{op: [sort, 'aten::sort'], {OURS}}}, {{op: [sort, 'aten::sort', 'moe::sort'], {OURS}}}]",
            ["shadowed"],
        ),
        (f"cold: [{{op: 'aten::*', max_count: 3, {OURS}}}, {{{COLD}}}]", []),
        (f"cold:\n  - {{{COLD}}}\n  - {{{COLD}}}", ["shadowed"]),
        (f"cold: [{{{COLD}}}, {{op: 'aten::topk', kinds: [op_fallback], {OURS}}}]", []),
        (f"extends: ['builtin:llm-decode']\ncold: [{{{COLD}}}]", ["shadowed"]),
        (f"cold: [{{op: x, max_count: 0, {OURS}}}]", ["allows-nothing"]),
        ("hot: [{op: x, compiler: torch.compil}]", ["never-matches"]),
        ("hot: [{op: x, compiler: 'Torch.*'}]", []),
        (f"cold: [{{op: x, compiler: torch.compil, {OURS}}}]", ["never-matches"]),
        ("hot: [{file: model/}]", ["never-matches"]),
        ("hot: [{file: [model/, a.py]}]", []),
        ("hot: [{file: 'model/*'}]", []),
        ("hot:\n  - {op: x}\n  - {op: x}", ["twice"]),
        ("hot: [{op: x}, {op: x, kinds: [graph_break]}]", []),
        ("extends: ['builtin:llm-decode']\nhot: [{op: gate_attn}]", []),
        ("expect: {compilers: [torch.compile]}", []),
        ("expect: {compilers: [Torch.Compile, torch, trt, tvm]}", []),
        ("expect: {compilers: [torch.compil]}", ["never-matches"]),
        ("hot: [{op: x, compiler: torch}]", []),
        ("proof: {required: []}", ["no-proof"]),
        ("proof: {required: [graph_break]}", []),
        ("claims: [{metric: ttft_ms, value: 80, source: a talk}]", ["never-compared"]),
        ("claims: [{metric: gemm_flops, value: 1e12, source: x, device: H100, dtype: bf16, shape: 8}]", []),
        (f"unhot: [{{op: x, {OURS}}}]", ["unused"]),
        (f"extends: ['builtin:llm-decode']\nunhot: [{{op: gate_attn, {OURS}}}]", []),
        ("cold: [{op: x, reason: FILL IN, owner: o, expires: 2027-03-31}]", ["placeholder"]),
    ],
)
def test_advice(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert codes(tmp_path, text + "\n") == expected


@pytest.mark.parametrize(
    ("today", "expected"),
    [
        (date(2027, 3, 16), []),
        (date(2027, 3, 17), ["expires-soon"]),
        (date(2027, 3, 31), ["expires-soon"]),
        (date(2027, 4, 1), ["expired"]),
    ],
)
def test_dates(tmp_path: Path, today: date, expected: list[str]) -> None:
    assert codes(tmp_path, f"cold: [{{{COLD}}}]\n", today) == expected


@pytest.mark.parametrize("section", ["cold", "unhot"])
@pytest.mark.parametrize(
    ("today", "what"),
    [
        (date(2027, 3, 31), "expires on 2027-03-31, owner serving-team"),
        (date(2027, 4, 1), "expired on 2027-03-31, owner serving-team: take it out, or decide again"),
    ],
)
def test_an_entry_that_ends_is_named_with_its_section(
    tmp_path: Path, section: str, today: date, what: str
) -> None:
    rules = policy(tmp_path, f"{section}: [{{op: x, {OURS}}}]\n", today)
    assert f"the {section} entry {what}" in [one.text for one in advise(rules, today, SOON, READERS)]


def test_what_a_run_does_not_use(tmp_path: Path) -> None:
    rules = policy(tmp_path, f"cold:\n  - {{{COLD}}}\n  - {{op: 'aten::topk', {OURS}}}\n")
    findings = [judge(event("aten::sort"), rules, TODAY)]
    (found,) = advise(rules, TODAY, SOON, READERS, findings)
    assert (found.code, found.source.endswith("policy.yaml:4")) == ("unused", True)


def test_advice_comes_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = (
        f"cold:\n  - {{op: '*', {OURS}}}\n  - {{op: x, max_count: 0, {OURS}}}\nhot:\n  - op: y\n  - op: y\n"
    )
    found = advise(policy(tmp_path, text), TODAY, SOON, READERS)
    lines = [int(one.source.rpartition(":")[2]) for one in found]
    assert lines == sorted(lines)
    assert len(found) == 4


@pytest.mark.parametrize("name", shipped.names())
def test_the_shipped_policies_are_clean(name: str) -> None:
    assert advise(load(f"builtin:{name}", TODAY), TODAY, SOON, READERS) == []


def test_faults_of_a_shipped_policy_are_told_to_its_keepers_alone(tmp_path: Path) -> None:
    written(tmp_path, f"version: 1\ncold: [{{op: '*', {OURS}}}]\n", "base.yaml")
    assert codes(tmp_path, "extends: [base.yaml]\n") == ["too-wide"]
