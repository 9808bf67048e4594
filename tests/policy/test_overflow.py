"""Room 5: where more was said of an event than is kept: it may be hot, and it is never cold. Field by field."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fallback_gate.model import Class, Decision, Event, Kind, Location, Place, Scope, Variants
from fallback_gate.policy import judge, limits

from .make import OURS, TODAY, event, policy, written

VARIANTS = Variants(
    ops=(("aten::topk",),), names=("aten::topk",), layers=("l.1",), places=(Place("f", ("f",), ("m.py",)),)
)
PLAIN = event("aten::topk", layer="l.1", files=("m.py",), at=(None, None, "f"), variants=VARIANTS)
FIELDS = ("ops", "names", "layers", "places", "all")


def overflowing(field: str, subject: Event = PLAIN) -> Event:
    assert subject.variants
    return replace(subject, variants=subject.variants._replace(overflowed=frozenset({field})))


@pytest.mark.parametrize(
    ("entry", "asks"),
    [
        ("op: elsewhere", {"ops", "names", "layers", "places"}),
        ("function: elsewhere", {"places"}),
        ("file: elsewhere.py", {"places"}),
        ("layer: elsewhere", {"names", "layers"}),
        ("compiler: elsewhere", set()),
        ("kinds: graph_break", set()),
    ],
)
def test_a_hot_entry_counts_as_matched_by_what_is_not_kept(
    tmp_path: Path, entry: str, asks: set[str]
) -> None:
    rules = policy(tmp_path, f"unlisted: warn\nhot: [{{{entry}}}]\n")
    assert judge(PLAIN, rules, TODAY).event_class is Class.UNLISTED
    for field in FIELDS:
        found = judge(overflowing(field), rules, TODAY)
        assert found.event_class is (Class.HOT if field in asks else Class.UNLISTED), field
        if field in asks:
            assert found.decision is Decision.BLOCKED
            assert "its reports differ in more ways than are kept" in (found.why or "")


@pytest.mark.parametrize(
    ("entry", "asks"),
    [
        ("op: 'aten::topk'", {"ops", "all"}), ("function: f", {"places", "all"}), ("file: m.py", {"places", "all"}),
        ("layer: l.1", {"layers", "all"}), ("compiler: torch.compile", {"all"}), ("kinds: op_fallback", {"all"}),
    ],
)  # fmt: skip
def test_a_cold_entry_allows_nothing_of_which_its_key_is_not_kept(
    tmp_path: Path, entry: str, asks: set[str]
) -> None:
    rules = policy(tmp_path, f"cold: [{{{entry}, {OURS}}}]\n")
    assert judge(PLAIN, rules, TODAY).decision is Decision.ALLOWED
    for field in FIELDS:
        found = judge(overflowing(field), rules, TODAY)
        assert found.decision is (Decision.BLOCKED if field in asks else Decision.ALLOWED), field
        if field in asks:
            assert (
                found.why
                == "its reports differ in more ways than are kept, so it counts as hot where it may be and never as cold"
            )


def test_a_cold_file_is_the_place_of_the_event_where_that_is_told(tmp_path: Path) -> None:
    """Its own location stands, whatever else was said."""
    rules = policy(tmp_path, f"cold: [{{file: m.py, {OURS}}}]\n")
    there = replace(PLAIN, location=Location("m.py", 3, "f"))
    assert judge(overflowing("places", there), rules, TODAY).decision is Decision.ALLOWED
    away = replace(PLAIN, location=Location("n.py", 3, "f"))
    assert judge(away, rules, TODAY).decision is Decision.BLOCKED


@pytest.mark.parametrize(
    ("variants", "entry", "allowed"),
    [
        (VARIANTS._replace(layers=("l.1", "l.2")), "layer: l.1", False),
        (VARIANTS._replace(layers=("l.1", "l.2")), "layer: 'l.*'", True),
        (VARIANTS._replace(layers=("l.1", None)), "layer: 'l.*'", False),
        (VARIANTS._replace(places=(Place("f", ("f",), ()),)), "file: '*'", False),
        (VARIANTS._replace(places=(Place("f", ("f",), ("m.py",)), Place("f", (), ("n.py",)))), "file: m.py", False),
        (VARIANTS._replace(ops=(("aten::topk",), ("aten::sort",))), "op: 'aten::topk'", False),
        (VARIANTS._replace(ops=(("aten::topk",), ("aten::sort",))), "op: ['aten::topk', 'aten::sort']", True),
    ],
)  # fmt: skip
def test_a_cold_entry_matches_all_reports(
    tmp_path: Path, variants: Variants, entry: str, allowed: bool
) -> None:
    rules = policy(tmp_path, f"cold: [{{{entry}, {OURS}}}]\n")
    found = judge(replace(PLAIN, variants=variants), rules, TODAY)
    assert (found.decision is Decision.ALLOWED) is allowed


@pytest.mark.parametrize(
    ("subject", "entry", "why"),
    [
        (event("aten::sort"), "{op: 'aten::sort', layer: x}", "the log does not tell the layer, so the entry counts as matched"),
        (event("aten::sort"), "{op: 'aten::sort', layer: x, file: y, function: z}", "the log does not tell the function and file and layer, so the entry counts as matched"),
        (event("aten::sort"), "{op: 'aten::sort'}", None),
    ],
)  # fmt: skip
def test_why_a_hot_entry_holds(tmp_path: Path, subject: Event, entry: str, why: str | None) -> None:
    found = judge(subject, policy(tmp_path, f"hot: [{entry}]\n"), TODAY)
    assert (found.event_class, found.why) == (Class.HOT, why)


@pytest.mark.parametrize(
    ("scope", "why"),
    [
        (Scope.REGION, "a whole function runs eager and may hide a hot operator"),
        (Scope.PROGRAM, "a whole graph, session or process falls back and may hide a hot operator"),
        (Scope.UNKNOWN, "the message names no operator and may mean a hot one"),
    ],
)
def test_what_may_hide_a_hot_operator(tmp_path: Path, scope: Scope, why: str) -> None:
    """Wildcards name nothing: only an entry that names the very thing allows it beside a hot list."""
    subject = event("decode", scope=scope, kind=Kind.EAGER_FRAME)
    hot, wild = "hot: [{op: gate_attn}]\n", f"cold: [{{op: '*', {OURS}}}]\n"
    named, some = f"cold: [{{op: decode, {OURS}}}]\n", f"cold: [{{op: ['*', other], {OURS}}}]\n"
    for text, decision in ((wild, Decision.BLOCKED), (named, Decision.ALLOWED), (some, Decision.BLOCKED)):
        assert judge(subject, policy(tmp_path, hot + text), TODAY).decision is decision
        assert judge(subject, policy(tmp_path, text), TODAY).decision is (Decision.ALLOWED)
    found = judge(subject, policy(tmp_path, hot), TODAY)
    assert (found.event_class, found.decision, found.why) == (Class.HOT, Decision.BLOCKED, why)
    loose = judge(subject, policy(tmp_path, "unlisted: warn\n"), TODAY)
    assert (loose.event_class, loose.decision, loose.why) == (
        Class.UNLISTED,
        Decision.WARNED,
        "no entry of the policy names it",
    )


def test_an_entry_without_a_count_allows_before_one_that_counts(tmp_path: Path) -> None:
    counted, free = f"{{op: 'aten::sort', max_count: 1, {OURS}}}", f"{{op: 'aten::*', {OURS}}}"
    for entries, line in ((f"[{counted},\n {free}]", 3), (f"[{free},\n {counted}]", 2)):
        found = judge(event("aten::sort"), policy(tmp_path, f"cold: {entries}\n"), TODAY)
        assert found.rule
        assert found.rule.source.endswith(f"policy.yaml:{line}")


def test_the_sentences_of_limits(tmp_path: Path) -> None:
    rules = policy(tmp_path, "unlisted: warn\nbudgets: {events: 1, op_fallback: 9}\n")
    said = limits([judge(event("a", sites=2), rules, TODAY)], rules)
    assert said.exceeded == ("the budget for events is 1, exceeded by 2 sites",)
    assert said.open == ()
    once = limits([judge(event("a", count_is_lower_bound=True, ranks=(0,)), rules, TODAY)], rules)
    assert once.open == (
        "the budget for events is 1, met by at least 1 site on rank 0: the compiler says it once for many",
        "the budget for op_fallback is 9, met by at least 1 site on rank 0: the compiler says it once for many",
    )
    path = written(tmp_path, "x")
    counted = policy(tmp_path, f"cold: [{{op: [a, b], kinds: op_fallback, max_count: 0, {OURS}}}]\n")
    said = limits([judge(event("a"), counted, TODAY)], counted)
    assert said.exceeded == (
        f"max_count of the cold entry op a | b, kinds op_fallback ({path}:2) is 0, exceeded by 1 site",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("logs: [1]", "logs[0]"), ("expect: {compilers: [1]}", "expect.compilers[0]"), ("expect: {instruments: [1]}", "expect.instruments[0]"),
        ("proof: {required: [1]}", "proof.required[0]"), ("proof: {accept_unobservable: [1]}", "proof.accept_unobservable[0]"),
        ("hot: [{op: [1]}]", "hot[0].op[0]"),
    ],
)  # fmt: skip
def test_an_item_of_a_list_is_checked_at_its_place(tmp_path: Path, text: str, said: str) -> None:
    from fallback_gate.errors import PolicyError

    with pytest.raises(PolicyError) as caught:
        policy(tmp_path, text)
    (problem,) = caught.value.problems
    assert f":2: must be text and is a number ({said}); " in problem


def test_instruments_may_be_expected(tmp_path: Path) -> None:
    assert policy(tmp_path, "expect: {instruments: [trace]}").expect_instruments == ("trace",)
    base = written(
        tmp_path, "version: 1\nexpect: {instruments: [trace], compilers: [tvm], ranks: 3}\n", "base.yaml"
    )
    assert base
    below = policy(tmp_path, "extends: [base.yaml]")
    assert (below.expect_instruments, below.expect_compilers, below.expect_ranks) == (("trace",), ("tvm",), 3)
    own = policy(tmp_path, "extends: [base.yaml]\nexpect: {instruments: [], compilers: [iree], ranks: 1}")
    assert (own.expect_instruments, own.expect_compilers, own.expect_ranks) == ((), ("iree",), 1)
