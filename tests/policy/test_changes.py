"""What one policy makes of another: each key, in both directions, and a property that no loosening escapes."""

from __future__ import annotations

from dataclasses import fields
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fallback_gate.model import Decision, Kind, RuleSource, Scope
from fallback_gate.model.inputs import Direction, PolicyChange
from fallback_gate.model.measures import QUANTITIES, SETTINGS
from fallback_gate.policy import ColdEntry, HotEntry, Policy, judge, limits, load, messages, sheet
from fallback_gate.policy.changes import SECTIONS, compare
from fallback_gate.policy.entry import MATCH_KEYS
from fallback_gate.policy.shipped import names
from tests.policy.make import TODAY, event, policy, written

L, C, T, N = Direction.LOOSENED, Direction.CHANGED, Direction.TIGHTENED, Direction.NEUTRAL
OURS = "reason: r, owner: o, expires: 2027-03-31"
MESSAGE = 'id: own/m, compiler: mine, anchor: slow path, pattern: "slow path: (?P<op>.+)", matches: ["slow path: x"]'
MARKER = 'id: own/end, compiler: mine, anchor: all done, pattern: "all done", matches: ["all done"]'

CLAIM = "claims: [{metric: output_tokens_per_second, value: 300, source: s, %s}]"
LATE = "claims: [{metric: ttft_ms, value: %s, source: s, at_least: 80%%}]"

# Old, new, and what the step from one to the other is, as (direction, key, a piece of the text); the step
# back is told by the other column.
TABLE: list[tuple[str, str, str, list[tuple[Direction, str, str]], list[tuple[Direction, str, str]]]] = [
    ("hot", "hot: [{op: a}, {op: b}]", "hot: [{op: a}]", [(L, "hot", "op b removed")], [(T, "hot", "op b added")]),
    ("hot.op", "hot: [{op: 'aten::*'}]", "hot: [{op: 'aten::sort'}]",
     [(L, "hot", "op aten::* narrowed to op aten::sort")], [(T, "hot", "op aten::sort widened to op aten::*")]),
    ("hot.function", "hot: [{op: a}]", "hot: [{op: a, function: f}]", [(L, "hot", "narrowed to op a, function f")],
     [(C, "hot", "became op a, which misses"), (T, "hot", "widened to op a")]),
    ("hot.file", "hot: [{file: ['a.py', 'b.py']}]", "hot: [{file: a.py}]", [(L, "hot", "narrowed to file a.py")],
     [(T, "hot", "widened to file a.py | b.py")]),
    ("hot.layer", "hot: [{layer: '*'}]", "hot: [{layer: l1}]", [(L, "hot", "narrowed")], [(T, "hot", "widened")]),
    ("hot.compiler", "hot: [{op: a, compiler: [tvm, iree]}]", "hot: [{op: a, compiler: tvm}]",
     [(L, "hot", "narrowed")], [(T, "hot", "widened")]),
    ("hot.kinds", "hot: [{op: a, kinds: ['*']}]", "hot: [{op: a, kinds: [graph_break]}]",
     [(L, "hot", "narrowed")], [(T, "hot", "widened")]),
    ("hot.why", "hot: [{op: a, why: x}]", "hot: [{op: a, why: y}]", [(N, "hot", "why 'x' -> 'y'")],
     [(N, "hot", "why 'y' -> 'x'")]),
    ("hot.share_of_step", "hot: [{op: a, share_of_step: '>2%'}]", "hot: [{op: a, share_of_step: '>5%'}]",
     [(L, "hot", "narrowed")], [(T, "hot", "widened")]),
    ("the last hot entry", "hot: [{op: a}]", "", [(L, "hot", "op a removed"), (L, "hot", "nothing is hot")],
     [(T, "hot", "op a added")]),
    ("cold", "", f"cold: [{{op: a, {OURS}}}]", [(L, "cold", "op a added, until 2027-03-31")],
     [(T, "cold", "op a removed")]),
    ("cold.op", f"cold: [{{op: a, {OURS}}}]", f"cold: [{{op: 'a*', {OURS}}}]", [(L, "cold", "op a widened to op a*")],
     [(T, "cold", "op a* narrowed to op a")]),
    ("cold.function", f"cold: [{{function: f, {OURS}}}]", f"cold: [{{function: [f, g], {OURS}}}]",
     [(L, "cold", "widened")], [(T, "cold", "narrowed")]),
    ("cold.file", f"cold: [{{op: a, file: f.py, {OURS}}}]", f"cold: [{{op: a, {OURS}}}]", [(L, "cold", "widened")],
     [(T, "cold", "narrowed")]),
    ("cold.layer", f"cold: [{{layer: x, {OURS}}}]", f"cold: [{{layer: 'x*', {OURS}}}]", [(L, "cold", "widened")],
     [(T, "cold", "narrowed")]),
    ("cold.compiler", f"cold: [{{op: a, compiler: tvm, {OURS}}}]", f"cold: [{{op: a, compiler: '*', {OURS}}}]",
     [(L, "cold", "widened")], [(T, "cold", "narrowed")]),
    ("cold.kinds", f"cold: [{{op: a, kinds: [op_fallback], {OURS}}}]",
     f"cold: [{{op: a, kinds: [op_fallback, graph_break], {OURS}}}]", [(L, "cold", "widened")], [(T, "cold", "narrowed")]),
    ("cold.expires", f"cold: [{{op: a, {OURS}}}]", "cold: [{op: a, reason: r, owner: o, expires: 2027-12-31}]",
     [(L, "cold", "until 2027-03-31 -> until 2027-12-31")], [(T, "cold", "until 2027-12-31 -> until 2027-03-31")]),
    ("cold that had expired", "cold: [{op: a, reason: r, owner: o, expires: 2026-11-30}]", f"cold: [{{op: a, {OURS}}}]",
     [(L, "cold", "had expired, and holds until 2027-03-31")], [(T, "cold", "op a removed")]),
    ("cold.max_count", f"cold: [{{op: a, max_count: 2, {OURS}}}]", f"cold: [{{op: a, max_count: 5, {OURS}}}]",
     [(L, "cold", "max_count 2 -> 5")], [(T, "cold", "max_count 5 -> 2")]),
    ("no max_count", f"cold: [{{op: a, max_count: 2, {OURS}}}]", f"cold: [{{op: a, {OURS}}}]",
     [(L, "cold", "max_count 2 -> none")], [(T, "cold", "max_count none -> 2")]),
    ("cold.reason", f"cold: [{{op: a, {OURS}}}]", "cold: [{op: a, reason: q, owner: o, expires: 2027-03-31}]",
     [(N, "cold", "reason 'r' -> 'q'")], [(N, "cold", "reason 'q' -> 'r'")]),
    ("cold.owner", f"cold: [{{op: a, {OURS}}}]", "cold: [{op: a, reason: r, owner: p, expires: 2027-03-31}]",
     [(N, "cold", "owner 'o' -> 'p'")], [(N, "cold", "owner 'p' -> 'o'")]),
    ("cold.ticket", f"cold: [{{op: a, {OURS}}}]", f"cold: [{{op: a, ticket: T-1, {OURS}}}]",
     [(N, "cold", "ticket None -> 'T-1'")], [(N, "cold", "ticket 'T-1' -> None")]),
    ("one max_count for two", f"cold: [{{op: 'a*', max_count: 2, {OURS}}}]",
     f"cold: [{{op: a1, max_count: 2, {OURS}}}, {{op: a2, max_count: 2, {OURS}}}]",
     [(L, "cold", "op a2 added: counts apart"), (C, "cold", "op a* narrowed to op a1; its max_count")],
     [(L, "cold", "op a1 widened to op a*"), (C, "cold", "op a2 removed; its max_count")]),
    ("a max_count under a warning", f"unlisted: warn\ncold: [{{op: a, max_count: 0, {OURS}}}]", "unlisted: warn",
     [(C, "cold", "op a removed; its max_count")], [(L, "cold", "op a added")]),
    ("order of max_count", f"cold: [{{op: 'a*', max_count: 1, {OURS}}}, {{op: a1, max_count: 5, {OURS}}}]",
     f"cold: [{{op: a1, max_count: 5, {OURS}}}, {{op: 'a*', max_count: 1, {OURS}}}]",
     [(C, "cold", "stand in another order")], [(C, "cold", "stand in another order")]),
    ("unhot", "extends: [builtin:moe-serving]", f"extends: [builtin:moe-serving]\nunhot: [{{op: nothing, {OURS}}}]",
     [(L, "unhot", "op nothing added")], [(T, "unhot", "op nothing removed")]),
    ("unlisted", "unlisted: block", "unlisted: warn", [(L, "unlisted", "block -> warn")], [(T, "unlisted", "warn -> block")]),
    ("a share of unlisted", "unlisted: block", "unlisted: {block_if_share_above: 2%}",
     [(L, "unlisted", "block -> block_if_share_above 2%")], [(T, "unlisted", "2% -> block")]),
    ("a larger share of unlisted", "unlisted: {block_if_share_above: 2%}", "unlisted: {block_if_share_above: 10%}",
     [(L, "unlisted", "above 2% -> block_if_share_above 10%")], [(T, "unlisted", "")]),
    ("budgets", "budgets: {graph_break: 0}", "budgets: {graph_break: 3}", [(L, "budgets.graph_break", "0 -> 3")],
     [(T, "budgets.graph_break", "3 -> 0")]),
    ("budgets.events", "budgets: {events: 4}", "", [(L, "budgets.events", "4 -> none")], [(T, "budgets.events", "none -> 4")]),
    ("proof.required", "proof: {required: [graph_break, op_fallback]}", "proof: {required: [graph_break]}",
     [(L, "proof.required", "op_fallback need no proof")], [(T, "proof.required", "op_fallback need proof now"),
      (L, "proof.required", "need no proof any more")]),  # of compilers that owed all by default, and now one kind
    ("proof.accept_unobservable", "", "proof: {accept_unobservable: [op_fallback]}",
     [(L, "proof.accept_unobservable", "op_fallback added")], [(T, "proof.accept_unobservable", "op_fallback removed")]),
    ("expect.compilers", "expect: {compilers: [tvm]}", "", [(L, "expect.compilers", "tvm removed")],
     [(T, "expect.compilers", "tvm added")]),
    ("expect.ranks", "expect: {ranks: 8}", "expect: {ranks: 4}", [(L, "expect.ranks", "8 -> 4")],
     [(T, "expect.ranks", "4 -> 8")]),
    ("expect.instruments", "expect: {instruments: [trace]}", "", [(L, "expect.instruments", "trace removed")],
     [(T, "expect.instruments", "trace added")]),
    ("logs", "logs: [a.log, b.log]", "logs: [a.log]", [(L, "logs", "b.log removed")], [(C, "logs", "b.log added")]),
    ("name", "name: p", "name: q", [(N, "name", "p -> q")], [(N, "name", "q -> p")]),
    ("extends", "extends: [builtin:strict]", "", [(N, "extends", "builtin:strict -> nothing")], [(N, "extends", "")]),
    ("claims", CLAIM % "at_least: 90%", CLAIM % "at_least: 80%", [(L, "claims", "0.9 of it must be reached -> ")],
     [(T, "claims", "0.9 of it must be reached")]),
    ("claims.value of what should be high", CLAIM % "at_least: 90%", (CLAIM % "at_least: 90%").replace("300", "200"),
     [(L, "claims", "300 tok/s, 0.9 of it must be reached -> 200 tok/s")], [(T, "claims", "-> 300 tok/s")]),
    ("claims.value of what should be low", LATE % 20, LATE % 25, [(L, "claims", "20 ms, 0.8")], [(T, "claims", "-> 20 ms")]),
    ("claims.at_least", CLAIM % "at_least: 90%", CLAIM % "batch: 8", [(L, "claims", "-> none")], [(T, "claims", "none -> ")]),
    ("claims that decide nothing", CLAIM % "batch: 8", "", [(N, "claims", "")], [(N, "claims", "")]),
    ("rollback", "rollback: {artefact: a.plan, compiler: tensorrt, version: 10.9.0}", "",
     [(L, "rollback", "a.plan need not be there")], [(T, "rollback", "a.plan must be there")]),
    ("rollback.artefact", "rollback: {artefact: a.plan, compiler: tensorrt, version: 10.9.0}",
     "rollback: {artefact: b.plan, compiler: tensorrt, version: 10.9.0}",
     [(C, "rollback", "a.plan -> b.plan")], [(C, "rollback", "b.plan -> a.plan")]),
    ("tests", "tests: [{name: t, verdict: pass, text: x}]", "", [(N, "tests", "the case t removed")],
     [(N, "tests", "the case t added")]),
    ("a case", "tests: [{name: t, verdict: pass, text: x}]", "tests: [{name: t, verdict: blocked, text: x}]",
     [(N, "tests", "the case t changed")], [(N, "tests", "the case t changed")]),
    # each stays as it is, though the wide one, which now stands first, could take the place of the narrow one
    ("the order of entries that count", f"cold: [{{op: 'aten::sort', max_count: 1, {OURS}}}, {{op: 'aten::*', max_count: 1, {OURS}}}]",
     f"cold: [{{op: 'aten::*', max_count: 1, {OURS}}}, {{op: 'aten::sort', max_count: 1, {OURS}}}]",
     [(C, "cold", "in another order")], [(C, "cold", "in another order")]),
    ("a message", f"rules: [{{{MESSAGE}, kind: op_fallback, scope: operator}}]", "", [(L, "rules", "own/m of mine removed")],
     [(T, "rules", "own/m of mine added")]),
    ("a message that warns", f"unlisted: warn\nrules: [{{{MESSAGE}, kind: op_fallback, scope: operator}}]", "unlisted: warn",
     [(L, "rules", "removed")], [(C, "rules", "added")]),
    ("the kind of a message", f"rules: [{{{MESSAGE}, kind: op_fallback, scope: operator}}]",
     f"rules: [{{{MESSAGE}, kind: slower_kernel, scope: operator}}]", [(C, "rules", "says something else: kind")],
     [(C, "rules", "says something else: kind")]),
    ("the words of a message", f"rules: [{{{MESSAGE}, kind: op_fallback, scope: operator}}]",
     f"rules: [{{{MESSAGE}, kind: op_fallback, scope: operator, meaning: slow}}]", [(N, "rules", "other words")],
     [(N, "rules", "other words")]),
    ("a marker that proves", "", f"rules: [{{{MARKER}, proves: [op_fallback]}}]", [(L, "rules", "own/end of mine added")],
     [(T, "rules", "own/end of mine removed")]),
    ("a marker that ends", "", f"rules: [{{{MARKER}, ends: true}}]", [(L, "rules", "added")], [(T, "rules", "removed")]),
    ("a marker that starts", "", f"rules: [{{{MARKER}, starts: true}}]", [(C, "rules", "added")], [(C, "rules", "removed")]),
    ("instruments", "instruments: {trace: {eager_kernel_share: '<=10%'}}", "instruments: {trace: {eager_kernel_share: '<=50%'}}",
     [(L, "instruments.trace", "<=10% -> <=50%")], [(T, "instruments.trace", "<=50% -> <=10%")]),
    ("a limit under the default", "instruments: {trace: {eager_kernel_share: '<=10%'}}", "",
     [(L, "instruments.trace", "<=10% -> <=30% (by default)")], [(T, "instruments.trace", "")]),
    ("a limit over the default", "", "instruments: {trace: {eager_kernel_share: '<=50%'}}",
     [(L, "instruments.trace", "<=30% (by default) -> <=50%")], [(T, "instruments.trace", "")]),
    ("a limit from below", "instruments: {bench: {decode_tokens_per_second: '>=900'}}",
     "instruments: {bench: {decode_tokens_per_second: '>=800'}}", [(L, "instruments.bench", "")], [(T, "instruments.bench", "")]),
    ("a limit of another sort", "instruments: {trace: {step_us: '<=900'}}",
     "instruments: {trace: {step_us: '<=110% of baseline'}}", [(C, "instruments.trace", "")], [(C, "instruments.trace", "")]),
    ("a limit that asked for a baseline", "instruments: {counters: {dram_bytes: '<=110% of baseline'}}", "",
     [(L, "instruments.counters", "")], [(T, "instruments.counters", "")]),
    ("hbm_above", "", "instruments: {counters: {hbm_above: 90%}}", [(L, "instruments.counters", "hbm_above 70% (by default) -> 90%")],
     [(T, "instruments.counters", "")]),
    ("tensor_below", "", "instruments: {counters: {tensor_below: 5%}}", [(L, "instruments.counters", "tensor_below")],
     [(T, "instruments.counters", "")]),
    ("kernel_share", "", "instruments: {counters: {kernel_share: 50%}}", [(L, "instruments.counters", "kernel_share")],
     [(T, "instruments.counters", "")]),
    ("minimum_effect", "", "instruments: {bench: {minimum_effect: 20%}}", [(L, "instruments.bench", "minimum_effect")],
     [(T, "instruments.bench", "")]),
    ("maximum_noise", "", "instruments: {bench: {maximum_noise: 50%}}", [(C, "instruments.bench", "maximum_noise")],
     [(C, "instruments.bench", "")]),
]  # fmt: skip


def told(changes: tuple[PolicyChange, ...]) -> list[tuple[Direction, str, str]]:
    return [(change.direction, change.key, change.what) for change in changes]


def holds(found: list[tuple[Direction, str, str]], wanted: list[tuple[Direction, str, str]]) -> None:
    for direction, key, piece in wanted:
        assert any(a is direction and b == key and piece in c for a, b, c in found), found


@pytest.mark.parametrize(
    ("old", "new", "there", "back"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_each_key_in_both_directions(
    tmp_path: Path,
    old: str,
    new: str,
    there: list[tuple[Direction, str, str]],
    back: list[tuple[Direction, str, str]],
) -> None:
    one, other = policy(tmp_path, old), policy(tmp_path, new)
    for found, wanted in ((compare(one, other, TODAY), there), (compare(other, one, TODAY), back)):
        holds(told(found), wanted)
        assert {change.direction for change in found} - {N, T} <= {row[0] for row in wanted}
    assert told(compare(one, one, TODAY)) == []


RULE = f"rules: [{{{MESSAGE}, kind: op_fallback, scope: operator}}]"
CASE = "tests: [{name: t, verdict: %s, text: x}]"


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ("hot: [{op: 'aten::*'}]", "hot: [{op: 'aten::sort'}]", ("old.yaml:2", "new.yaml:2")),  # narrowed
        ("hot: [{op: 'aten::sort'}]", "hot: [{op: 'aten::*'}]", ("old.yaml:2", "new.yaml:2")),  # widened
        ("hot: [{op: x}]\nname: p", "hot: [{op: x}, {op: y}]\nname: p", (None, "new.yaml:2")),
        (f"cold: [{{op: a, {OURS}}}]", f"cold: [{{op: 'a*', {OURS}}}]", ("old.yaml:2", "new.yaml:2")),
        (f"cold: [{{op: 'a*', {OURS}}}]", f"cold: [{{op: a, {OURS}}}]", ("old.yaml:2", "new.yaml:2")),
        (f"cold: [{{op: a, {OURS}}}]", "", ("old.yaml:2", None)),
        ("", f"cold: [{{op: a, {OURS}}}]", (None, "new.yaml:2")),
        (RULE, RULE.replace("scope: operator", "scope: operator, meaning: slow"), ("old.yaml:2", "new.yaml:2")),
        (RULE, "", ("old.yaml:2", None)),
        (CASE % "pass", CASE % "blocked", ("old.yaml:2", "new.yaml:2")),
        (CASE % "pass", "", ("old.yaml:2", None)),
        ("", CASE % "pass", (None, "new.yaml:2")),
    ],
)  # fmt: skip
def test_a_change_names_both_places(
    tmp_path: Path, old: str, new: str, places: tuple[str | None, str | None]
) -> None:
    one, other = (
        load(written(tmp_path, f"version: 1\n{text}\n", name), TODAY)
        for text, name in ((old, "old.yaml"), (new, "new.yaml"))
    )
    (change,) = [found for found in compare(one, other, TODAY) if found.key != "name"]
    assert (change.old and Path(change.old).name, change.new and Path(change.new).name) == places


def test_no_key_of_the_language_is_forgotten() -> None:
    """Each key that a policy may have stands in the table above."""
    text = "\n".join(f"{row[1]}\n{row[2]}" for row in TABLE)
    known = {*sheet.KEYS, *sheet.HOT_KEYS, *sheet.COLD_KEYS, *sheet.PROOF_KEYS, *sheet.EXPECT_KEYS} - {
        "version"
    }
    known |= {"events", "graph_break", "block_if_share_above", *messages.MARKER_SAYS, "meaning"}
    known |= {name for settable in SETTINGS.values() for name in settable}
    assert [key for key in sorted(known) if f"{key}:" not in text] == []
    assert set(MATCH_KEYS) <= known


def test_no_field_of_a_policy_is_forgotten() -> None:
    assert {field.name for field in fields(Policy)} - {"summary"} == set(SECTIONS)


@pytest.mark.parametrize("instrument", QUANTITIES)
def test_each_quantity_is_ranked(tmp_path: Path, instrument: str) -> None:
    """Whatever is measured: a higher upper bound is looser, and no bound looser still."""
    for name, quantity in QUANTITIES[instrument].items():
        percent = "%" if quantity.unit == "share" else ""
        few, many = (
            policy(tmp_path / side, f"instruments: {{{instrument}: {{{name}: '<={number}{percent}'}}}}")
            for side, number in (("few", 1), ("many", 90))
        )
        key = f"instruments.{instrument}"
        assert [(c.direction, c.key) for c in compare(few, many, TODAY)] == [(L, key)], name
        assert [(c.direction, c.key) for c in compare(many, few, TODAY)] == [(T, key)], name


def test_what_required_means_to_each_compiler(tmp_path: Path) -> None:
    """A kind that no log of a compiler can show leaves it what it owes by default; one more kind takes that."""
    other = policy(tmp_path / "a", "proof: {required: [device_fallback]}")
    more = policy(tmp_path / "b", "proof: {required: [device_fallback, graph_break]}")
    assert any(c.direction is L and "op_fallback" in c.what for c in compare(other, more, TODAY))
    default = policy(tmp_path / "c", "")
    one = policy(tmp_path / "d", "proof: {required: [graph_break]}")
    assert any(c.direction is L for c in compare(default, one, TODAY))


def test_a_name_under_wildcards_holds_where_a_whole_function_runs_eager(tmp_path: Path) -> None:
    """With a hot list, `*` allows no region and a name does: the event tells which policy lets it go."""
    region = event("decode", kind=Kind.EAGER_FRAME, scope=Scope.REGION, at=("m.py", 3, "decode"))
    wide = policy(tmp_path / "a", f"hot: [{{op: attn}}]\ncold: [{{function: '*', {OURS}}}]")
    named = policy(
        tmp_path / "b",
        f"hot: [{{op: attn}}]\ncold: [{{function: '*', {OURS}}}, {{function: decode, {OURS}}}]",
    )
    assert [judge(region, one, TODAY).decision for one in (wide, named)] == [
        Decision.BLOCKED,
        Decision.ALLOWED,
    ]
    assert [c.direction for c in compare(wide, named, TODAY)] == [L]


def test_the_same_rules_in_another_file_change_nothing(tmp_path: Path) -> None:
    text = f"hot: [{{op: a}}]\ncold: [{{op: b, {OURS}}}]\nbudgets: {{events: 3}}"
    policy(tmp_path / "new" / "base", text)
    flat, split = (
        policy(tmp_path / "old", f"name: p\n{text}"),
        policy(tmp_path / "new", "name: p\nextends: [base/policy.yaml]"),
    )
    assert {c.direction for c in compare(flat, split, TODAY)} == {N}


@pytest.mark.parametrize("name", names())
def test_leaving_a_shipped_policy_is_told(tmp_path: Path, name: str) -> None:
    """Each of its hot entries is loosened, each of its excuses tightened, under the keys where they stand."""
    base, left = policy(tmp_path / "a", f"extends: [builtin:{name}]"), policy(tmp_path / "b", "")
    found = compare(base, left, TODAY)
    gone = [c.old for c in found if c.direction is L and c.old is not None and c.key == "hot"]
    assert gone == [entry.rule.source for entry in base.hot]
    assert {c.old for c in found if c.key == "cold"} <= {entry.rule.source for entry in base.cold}


# -- the property ------------------------------------------------------------------------------------------

OPS = ("aten::sort", "aten::sort.stable", "aten::topk", "attn", "gate.attn", "*")
OP_GLOBS = (
    "aten::sort",
    "aten::*",
    "sort",
    "attn",
    "*attn",
    "*",
    "gate.attn",
    "aten::sort.stable",
    "at??::topk",
)
FUNCTIONS = ("f", "Layer.f", "g")
FUNCTION_GLOBS = ("f", "Layer.f", "*", "*.f", "g")
KINDS = (Kind.OP_FALLBACK, Kind.GRAPH_BREAK)


def some(values: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(values), max_size=2, unique=True).map(tuple)


@st.composite
def keys(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    said = {
        "op": draw(some(OP_GLOBS)),
        "function": draw(some(FUNCTION_GLOBS)),
        "kinds": draw(some(("op_fallback", "graph_break", "*"))),
    }
    return said if any(said.values()) else {"op": ("aten::sort",)}


COUNTER = iter(range(10**9))


def rule() -> RuleSource:
    return RuleSource({"at": next(COUNTER)}, "p.yaml:1")


DAYS = st.sampled_from([None, date(2026, 11, 1), date(2027, 1, 1), date(2027, 6, 1)])
HOT = keys().map(lambda said: HotEntry(rule(), **said))
COLD = st.builds(
    lambda said, until, most: ColdEntry(rule(), **said, reason="r", expires=until, max_count=most),
    keys(), DAYS, st.sampled_from([None, None, 0, 1, 2]),
)  # fmt: skip
SUMMARY = load(None, TODAY).summary
POLICIES = st.builds(
    lambda hot, cold, unlisted, budgets: Policy(SUMMARY, "p", unlisted, hot=tuple(hot), cold=tuple(cold), budgets=budgets),
    st.lists(HOT, max_size=2), st.lists(COLD, max_size=3), st.sampled_from(["block", "warn"]),
    st.dictionaries(st.sampled_from(["events", "graph_break"]), st.integers(0, 3), max_size=2),
)  # fmt: skip
EVENTS = st.builds(
    lambda op, kind, scope, at, sites: event(
        op, kind=kind, scope=Scope.UNKNOWN if op == "*" else scope, at=("m.py", 1, at) if at else None, sites=sites
    ),
    st.sampled_from(OPS), st.sampled_from(KINDS), st.sampled_from([Scope.OPERATOR, Scope.SITE, Scope.REGION]),
    st.sampled_from([None, *FUNCTIONS]), st.integers(1, 3),
)  # fmt: skip
WEIGHT = {Decision.ALLOWED: 0, Decision.WARNED: 1, Decision.BLOCKED: 2}


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(POLICIES, POLICIES, st.lists(EVENTS, min_size=1, max_size=3), st.booleans())
def test_where_nothing_is_looser_no_run_passes_that_was_blocked(
    old: Policy, other: Policy, events: list[object], grown: bool
) -> None:
    """Also between policies that share entries, which two drawn ones seldom do."""
    new = other
    if grown:
        kept = Policy(
            SUMMARY, "p", old.unlisted, hot=(*old.hot, *other.hot), cold=old.cold[:2], budgets=old.budgets
        )
        new = kept
    if any(change.may_loosen for change in compare(old, new, TODAY)):
        return
    before, after = ([judge(one, by, TODAY) for one in events] for by in (old, new))  # type: ignore[arg-type]
    for was, now in zip(before, after, strict=True):
        assert WEIGHT[now.decision] >= WEIGHT[was.decision]
    if limits(before, old).exceeded or any(f.decision is Decision.BLOCKED for f in before):
        assert limits(after, new).exceeded or any(f.decision is Decision.BLOCKED for f in after)
