"""Room 5: what a policy file may hold, what is wrong with it, and what it inherits."""

from __future__ import annotations

import hashlib
import os
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fallback_gate.compilers.rule import Marker, Rule
from fallback_gate.errors import PolicyError
from fallback_gate.model import Class, Kind, Scope
from fallback_gate.policy import document, judge, load
from fallback_gate.policy.document import LARGEST
from fallback_gate.policy.sheet import sheet

from .make import OURS, TODAY, event, policy, written

RULE = """
rules:
  - id: acme
    compiler: acme
    anchor: "acme: no kernel"
    pattern: 'acme: no kernel for (?P<op>\\w+)'
    kind: op_fallback
    scope: operator
    matches: ["acme: no kernel for sort"]
"""


def problems(path: str) -> tuple[str, ...]:
    with pytest.raises(PolicyError) as caught:
        load(path, TODAY)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return caught.value.problems


def valid_or_problems(path: str) -> None:
    """Anything but a policy or a PolicyError with problems fails."""
    try:
        load(path, TODAY)
    except PolicyError:
        assert problems(path)


# text, then for each problem its line and the words that it must hold
BAD: list[tuple[str, list[tuple[int, list[str]]]]] = [
    ("", [(1, ["version", "empty"])]),
    ("# nothing\n", [(1, ["version"])]),
    ("name: x\n", [(1, ["version is missing"])]),
    ("version: 2\n", [(1, ["version 2", "version 1"])]),
    ('version: "1"\n', [(1, ["whole number", "text"])]),
    ("version: true\n", [(1, ["whole number", "truth value"])]),
    ("version: 1.0\n", [(1, ["whole number"])]),
    ("- version: 1\n", [(1, ["mapping", "list"])]),
    ("just text\n", [(1, ["mapping", "text"])]),
    ("version: 1\nunlistd: warn\n", [(2, ["unlistd", "unlisted"])]),
    ("version: 1\nHOT: []\n", [(2, ["HOT", "nearest known key is hot"])]),
    ("version: 1\nunlisted: blok\n", [(2, ["blok", "nearest is block"])]),
    ("version: 1\nunlisted: off\n", [(2, ["text", "truth value"])]),
    ("version: 1\nname: 7\n", [(2, ["text", "number"])]),
    ("version: 1\nname: ' '\n", [(2, ["blank"])]),
    ("version: 1\nversion: 1\n", [(2, ["version", "twice", "line 1"])]),
    ("version: 1\nhot:\n  - op: a\n    op: b\n", [(4, ["'op'", "twice", "line 3"])]),
    ("version: 1\nhot: gate_attn\n", [(2, ["hot", "list"])]),
    ("version: 1\nhot: {op: x}\n", [(2, ["hot", "list"])]),
    ("version: 1\nhot:\n", [(2, ["hot", "list", "empty"])]),
    ("version: 1\nhot: [gate_attn]\n", [(2, ["hot[0]", "mapping"])]),
    ("version: 1\nhot:\n  - why: because\n", [(3, ["names nothing", "op"])]),
    ("version: 1\nhot:\n  - {}\n", [(3, ["names nothing"])]),
    ("version: 1\nhot:\n  - op: 3\n", [(3, ["hot[0].op", "text"])]),
    ("version: 1\nhot:\n  - op: []\n", [(3, ["hot[0].op", "empty list"])]),
    ("version: 1\nhot:\n  - op: [a, '']\n", [(3, ["hot[0].op[1]", "blank"])]),
    ("version: 1\nhot:\n  - op: 'a[b'\n", [(3, ["glob", "["])]),
    ("version: 1\nhot:\n  - op: 'a[z-a]'\n", [(3, ["glob", "backwards"])]),
    ("version: 1\nhot:\n  - op: ' a'\n", [(3, ["glob", "blanks"])]),
    ('version: 1\nhot:\n  - op: "a\\e[31m"\n', [(3, ["glob", "control"])]),
    (f"version: 1\nhot:\n  - op: {'a' * 1001}\n", [(3, ["glob", "longer"])]),
    ('version: 1\nextends: ["a\\0b"]\n', [(2, ["can't be read", "extends[0]"])]),
    ("version: 1\nhot:\n  - op: *attn*\n", [(3, ["YAML", "quotes"])]),
    ("version: 1\nhot:\n  - op: *attn\n", [(3, ["YAML", "quotes"])]),
    ("version: 1\nhot:\n  - op: x\n    owner: me\n", [(4, ["owner", "unknown key"])]),
    (
        "version: 1\nhot:\n  - op: x\n    kinds: [op_fallbak]\n",
        [(4, ["op_fallbak", "nearest is op_fallback"])],
    ),
    ("version: 1\nhot:\n  - op: x\n    kinds: ['x_*']\n", [(4, ["x_*", "no kind"])]),
    ("version: 1\ncold:\n  - {op: x}\n", [(3, ["reason"]), (3, ["owner"]), (3, ["expires"])]),
    ("version: 1\nunhot:\n  - {op: x}\n", [(3, ["reason"]), (3, ["owner"]), (3, ["expires"])]),
    (
        "version: 1\ncold:\n  - {op: x, reason: r, owner: o, expires: 2027-3-1}\n",
        [(3, ["2027-3-1", "YYYY-MM-DD"])],
    ),
    ("version: 1\ncold:\n  - {op: x, reason: r, owner: o, expires: '2027-3-1'}\n", [(3, ["YYYY-MM-DD"])]),
    ("version: 1\ncold:\n  - {op: x, reason: r, owner: o, expires: 2027-02-30}\n", [(3, ["2027-02-30"])]),
    ("version: 1\ncold:\n  - {op: x, reason: r, owner: o, expires: '2027-02-30'}\n", [(3, ["calendar"])]),
    ("version: 1\ncold:\n  - {op: x, reason: r, owner: o, expires: 20270331}\n", [(3, ["date", "number"])]),
    ("version: 1\ncold:\n  - {op: x, reason: r, owner: o, expires: '2027-W01-1'}\n", [(3, ["no date"])]),
    (
        "version: 1\ncold:\n  - {op: x, reason: r, owner: o, expires: 2027-03-31 10:00:00}\n",
        [(3, ["point in time"])],
    ),
    ("version: 1\ncold:\n  - {op: x, reason: r, owner: o, expires: soon}\n", [(3, ["soon"])]),
    (f"version: 1\ncold:\n  - {{op: x, max_count: -1, {OURS}}}\n", [(3, ["max_count", "-1"])]),
    (f"version: 1\ncold:\n  - {{op: x, max_count: true, {OURS}}}\n", [(3, ["max_count", "truth value"])]),
    (f"version: 1\ncold:\n  - {{op: x, max_count: '2', {OURS}}}\n", [(3, ["max_count", "text"])]),
    (
        f"version: 1\ncold:\n  - {{op: x, max_count: -0x{'f' * 5000}, {OURS}}}\n",
        [(3, ["max_count", "too large"])],
    ),
    (f"version: 1\ncold:\n  - {{op: x, max_count: 1.5, {OURS}}}\n", [(3, ["max_count"])]),
    (f"version: 1\ncold:\n  - {{op: x, ticket: 5, {OURS}}}\n", [(3, ["ticket", "text"])]),
    (f"version: 1\nunhot:\n  - {{op: x, max_count: 1, {OURS}}}\n", [(3, ["max_count", "unknown key"])]),
    (
        f"version: 1\nhot:\n  - op: 'aten::topk'\ncold:\n  - {{op: torch.ops.aten.topk, {OURS}}}\n",
        [(5, ["aten.topk", "line 3"])],
    ),
    (
        f"version: 1\nhot:\n  - op: [a, x]\ncold:\n  - {{op: [y, X], kinds: [op_fallback], {OURS}}}\n",
        [(5, ["'X'", "line 3"])],
    ),
    ("version: 1\nbudgets: {graph_brake: 0}\n", [(2, ["graph_brake", "graph_break"])]),
    ("version: 1\nbudgets: {events: -1}\n", [(2, ["budgets.events", "-1"])]),
    ("version: 1\nbudgets: {events: yes}\n", [(2, ["budgets.events", "truth value"])]),
    ("version: 1\nbudgets: [1]\n", [(2, ["budgets", "mapping"])]),
    ("version: 1\nproof: {requird: []}\n", [(2, ["requird", "required"])]),
    ("version: 1\nproof: {required: op_fallback}\n", [(2, ["proof.required", "list"])]),
    ("version: 1\nproof: {accept_unobservable: [breaks]}\n", [(2, ["breaks", "not known"])]),
    ("version: 1\nexpect: {ranks: 0}\n", [(2, ["expect.ranks"])]),
    ("version: 1\nexpect: {compilers: torch.compile}\n", [(2, ["expect.compilers", "list"])]),
    ("version: 1\nlogs: build/*.log\n", [(2, ["logs", "list"])]),
    ("version: 1\nextends: base.yaml\n", [(2, ["extends", "list"])]),
    ("version: 1\nextends:\n  - base.yaml\n", [(3, ["extends[0]", "does not exist"])]),
    ("version: 1\nextends: ['.']\n", [(2, ["extends[0]", "folder"])]),
    ("version: 1\nextends: ['builtin:lm-decode']\n", [(2, ["builtin:lm-decode", "builtin:llm-decode"])]),
    ("version: 1\nextends: [policy.yaml]\n", [(2, ["extends itself"])]),
    ("version: 1\nhot: [\n", [(3, ["YAML"])]),
    ("version: 1\n\thot: []\n", [(2, ["YAML"])]),
    ("version: 1\n---\nversion: 1\n", [(2, ["YAML", "single document"])]),
    ("version: 1\nname: !!python/name:os.system x\n", [(2, ["tag"])]),
    ("version: 1\nname: !!int x\n", [(2, ["int"])]),
    ("version: 1\nhot: !!set {a}\n", [(2, ["tag"])]),
    ("version: 1\n? [a]\n: b\n", [(2, ["key"])]),
    ("version: 1\nname: a\x07b\n", [(2, ["may not stand here"])]),
    ("version: 1\nhot: &a [*a]\n", [(2, ["holds itself"])]),
    ("version: 1\nname: " + "[" * 50 + "]" * 50 + "\n", [(2, ["levels of nesting"])]),
    ("version: 1\nhot: [&a {op: x}" + ", *a" * 101 + "]\n", [(2, ["aliases"])]),
    (
        "version: 1\nrules: [{}]\n",
        [(2, [word]) for word in ("id", "compiler", "anchor", "pattern", "kind", "scope")]
        + [(2, ["matches"])],
    ),
    ("version: 1" + RULE.replace("\\w+)", "\\w+"), [(6, ["rules[0].pattern", "not valid"])]),
    ("version: 1" + RULE.replace("?P<op>", "?P<opp>"), [(6, ["opp", "nearest", "op"])]),
    ("version: 1" + RULE.replace("op_fallback", "op_fall"), [(7, ["op_fall", "op_fallback"])]),
    ("version: 1" + RULE.replace("scope: operator", "scope: op"), [(8, ["'op'", "operator"])]),
    ("version: 1" + RULE.replace("for sort", "at sort"), [(9, ["rules[0].matches[0]", "does not match"])]),
    ("version: 1" + RULE + RULE.replace("\nrules:", ""), [(11, ["'acme'", "twice"])]),
    (
        "version: 1" + RULE + "    proves: [op_fallback]\n",
        [(7, ["kind", "unknown"]), (8, ["scope", "unknown"])],
    ),
    (
        "version: 1\nunlistd: warn\ncold:\n  - {op: s, reason: r, expires: 2027-03-31}\nbudgets: {events: -1}\n",
        [(2, ["unlistd"]), (4, ["owner"]), (5, ["events"])],
    ),
]


@pytest.mark.parametrize(("text", "expected"), BAD)
def test_bad_policies(tmp_path: Path, text: str, expected: list[tuple[int, list[str]]]) -> None:
    path = written(tmp_path, "")
    Path(path).write_text(text, encoding="utf-8", newline="\n")
    found = problems(path)
    where = path.replace(os.sep, "/")
    assert len(found) == len(expected), found
    for said, (line, words) in zip(found, expected, strict=True):
        assert said.startswith(f"{where}:{line}: ")
        assert all(word in said for word in words), said
        assert said.isprintable()


def test_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_bytes(b"version: 1\nname: caf\xe9\n")
    assert [p.partition("policy.yaml")[2] for p in problems(str(path))] == [
        ":2: the file is not UTF-8; save it as UTF-8"
    ]


@pytest.mark.parametrize("codec", ["utf-16", "utf-8-sig"])
def test_encodings_that_tell_themselves(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_bytes("version: 1\nname: café\n".encode(codec))
    assert load(str(path), TODAY).name == "café"


def test_cut_utf16(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_bytes("version: 1\n".encode("utf-16")[:-1])
    assert "the file is not UTF-16; save it as UTF-8" in problems(str(path))[0]


@pytest.mark.parametrize(
    ("hot", "cold", "wrong"),
    [
        ("function: route", "function: route", True),
        ("function: route, kinds: [graph_break]", "function: [warm_up, route]", True),
        ("layer: blocks.3", "layer: blocks.3", True),
        ("op: topk, function: route", "op: sort, function: route", False),  # each names its operator
        ("function: route", "op: sort, function: route", False),
        ("function: '*route'", "function: '*route'", False),  # no literal name
        ("file: a.py", "file: a.py", False),  # a file holds both
    ],
)
def test_one_name_hot_and_cold(tmp_path: Path, hot: str, cold: str, wrong: bool) -> None:
    path = written(tmp_path, f"version: 1\nhot: [{{{hot}}}]\ncold: [{{{cold}, {OURS}}}]\n")
    if wrong:
        assert "is cold here and hot in line 2" in problems(path)[0]
    else:
        load(path, TODAY)


def test_too_large(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_bytes(b"version: 1\n" + b"#" * LARGEST)
    assert "larger than" in problems(str(path))[0]


def test_aliases_that_blow_up(tmp_path: Path) -> None:
    levels = ["version: 1\nname: x\nhot:\n  - &l0 [x, x, x, x, x, x, x, x, x, x]\n"]
    levels += [f"  - &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 9)]
    (found,) = problems(written(tmp_path, "".join(levels)))
    assert "aliases are expanded" in found


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("nowhere.yaml", ["'nowhere.yaml'", "does not exist"]),
        ("", ["does not exist"]),
        ("strict", ["builtin:strict"]),
        ("builtin:strikt", ["nearest is builtin:strict"]),
        ("builtin:", ["no shipped policy"]),
        (".", ["folder"]),
        ("a\0b", ["can't be read"]),
    ],
)
def test_no_such_policy(reference: str, words: list[str]) -> None:
    (found,) = problems(reference)
    assert all(word in found for word in words)


def test_no_policy_is_the_strict_rule() -> None:
    strict = load(None, TODAY)
    assert (strict.name, strict.unlisted, strict.hot, strict.cold) == ("strict", "block", (), ())
    assert (strict.summary.path, strict.summary.sha256) == (None, None)


def test_a_whole_policy(tmp_path: Path) -> None:
    text = f"""
    version: 1
    name: all of it
    unlisted: warn
    hot:
      - op: gate_attn
        why: every token
    cold:
      - {{op: "aten::sort*", kinds: [op_fallback], ticket: INF-1, max_count: 2, {OURS}}}
      - {{function: f, reason: r, owner: o, expires: '2026-12-31'}}
    budgets: {{graph_break: 0, events: 9}}
    proof: {{required: [graph_break], accept_unobservable: [op_fallback]}}
    expect: {{compilers: [torch.compile], ranks: 8}}
    logs: ["build/*.log", "/tmp/x.log", "s3://bucket/*.log"]
    """
    path = written(tmp_path, text)
    found = load(path, TODAY)
    where = path.replace(os.sep, "/")
    assert (found.name, found.unlisted) == ("all of it", "warn")
    assert found.summary.sha256 == hashlib.sha256(Path(path).read_bytes()).hexdigest()
    assert found.summary.path == path
    assert found.hot[0].rule.source == f"{where}:6"
    assert found.hot[0].rule.entry == {"op": "gate_attn", "why": "every token"}
    assert found.summary.hot == (found.hot[0].rule,)
    first, second = found.cold
    assert (first.op, first.kinds, first.max_count, first.ticket) == (
        ("aten::sort*",),
        ("op_fallback",),
        2,
        "INF-1",
    )
    assert first.rule.entry["expires"] == "2027-03-31"
    assert second.expires == date(2026, 12, 31)
    assert found.budgets == {"graph_break": 0, "events": 9}
    assert (found.required, found.accept_unobservable) == ({Kind.GRAPH_BREAK}, {Kind.OP_FALLBACK})
    assert (found.expect_compilers, found.expect_ranks) == (("torch.compile",), 8)
    assert [log.replace(os.sep, "/") for log in found.logs] == [
        f"{tmp_path.as_posix()}/build/*.log",
        "/tmp/x.log",
        "s3://bucket/*.log",
    ]


def test_defaults(tmp_path: Path) -> None:
    found = load(written(tmp_path, "version: 1\n", "team.yaml"), TODAY)
    assert (found.name, found.unlisted, found.required, found.expect_ranks) == ("team", "block", None, None)


def test_merge_keys_share_an_owner(tmp_path: Path) -> None:
    found = policy(tmp_path, f"cold:\n  - &own {{op: a, {OURS}}}\n  - {{<<: *own, op: b}}\n")
    assert [(entry.op, entry.owner) for entry in found.cold] == [
        (("a",), "serving-team"),
        (("b",), "serving-team"),
    ]


def test_a_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_bytes(b"\xef\xbb\xbfversion: 1\r\nname: x\r\nhot:\r\n  - op: a\r\n")
    assert load(str(path), TODAY).hot[0].rule.source.endswith("policy.yaml:4")


def test_rules(tmp_path: Path) -> None:
    marker = """  - id: end
    compiler: acme
    anchor: "acme: finished"
    pattern: "acme: finished, \\\\d+ ops"
    proves: [op_fallback]
    ends: true
    matches: ["acme: finished, 9 ops"]
    """
    rule, end = policy(tmp_path, RULE + marker).rules
    assert isinstance(rule, Rule)
    assert (rule.id, rule.anchor, rule.kind, rule.scope) == (
        "acme",
        ("acme: no kernel",),
        Kind.OP_FALLBACK,
        Scope.OPERATOR,
    )
    assert rule.limit
    assert isinstance(end, Marker)
    assert (end.proves, end.ends) == ({Kind.OP_FALLBACK}, True)


def test_extends_accumulates_and_own_values_win(tmp_path: Path) -> None:
    base = f"""
    version: 1
    name: base
    unlisted: warn
    hot: [{{op: a}}]
    cold: [{{op: b, {OURS}}}]
    budgets: {{events: 5, graph_break: 1}}
    proof: {{required: [graph_break], accept_unobservable: [op_fallback]}}
    expect: {{ranks: 2, compilers: [x]}}
    logs: [base.log]
    """
    written(tmp_path, base, "shared/base.yaml")
    own = f"""
    extends: [shared/base.yaml]
    hot: [{{op: c}}]
    cold: [{{op: d, {OURS}}}]
    budgets: {{graph_break: 0}}
    proof: {{required: [eager_frame]}}
    expect: {{ranks: 4}}
    """
    found = policy(tmp_path, own)
    assert (found.name, found.unlisted) == ("policy", "warn")
    assert [entry.op for entry in found.hot] == [("c",), ("a",)]
    assert [entry.op for entry in found.cold] == [("d",), ("b",)]
    assert found.budgets == {"events": 5, "graph_break": 0}
    assert found.required == {Kind.GRAPH_BREAK, Kind.EAGER_FRAME}
    assert found.accept_unobservable == {Kind.OP_FALLBACK}
    assert (found.expect_ranks, found.expect_compilers) == (4, ("x",))
    assert [log.replace(os.sep, "/") for log in found.logs] == [f"{tmp_path.as_posix()}/shared/base.log"]
    assert found.hot[1].rule.source == f"{tmp_path.as_posix()}/shared/base.yaml:5"
    block = policy(tmp_path, "extends: [shared/base.yaml]\nunlisted: block\n")
    assert block.unlisted == "block"


def test_a_file_that_is_extended_twice_counts_once(tmp_path: Path) -> None:
    written(tmp_path, f"version: 1\nhot: [{{op: a}}]\ncold: [{{op: b, {OURS}}}]\n{RULE}", "base.yaml")
    written(tmp_path, "version: 1\nextends: [base.yaml]\n", "left.yaml")
    written(tmp_path, "version: 1\nextends: [./base.yaml]\n", "right.yaml")
    found = policy(tmp_path, "extends: [left.yaml, right.yaml, base.yaml]\n")
    assert (len(found.hot), len(found.cold), len(found.rules)) == (1, 1, 1)


def test_problems_of_extended_files_come_too(tmp_path: Path) -> None:
    written(tmp_path, "version: 1\ncold: [{op: a, reason: r, owner: o}]\n", "base.yaml")
    path = written(tmp_path, "version: 1\nextends: [base.yaml]\nhott: []\n")
    first, second = problems(path)
    assert "policy.yaml:3: " in first
    assert "hott" in first
    assert "base.yaml:2: " in second
    assert "expires" in second


def test_a_cycle_of_two(tmp_path: Path) -> None:
    written(tmp_path, "version: 1\nextends: [policy.yaml]\n", "base.yaml")
    (found,) = problems(written(tmp_path, "version: 1\nextends: [base.yaml]\n"))
    assert "base.yaml:2: " in found
    assert "extends itself" in found


def test_the_same_name_hot_and_cold_in_two_files_is_no_error(tmp_path: Path) -> None:
    written(tmp_path, "version: 1\nhot: [{op: a}]\n", "base.yaml")
    found = policy(tmp_path, f"extends: [base.yaml]\ncold: [{{op: a, {OURS}}}]\n")
    assert judge(event("a"), found, TODAY).event_class is Class.HOT


@pytest.mark.parametrize(
    ("hot", "unhot", "left"),
    [
        ("op: gate_attn", "op: gate_attn", []),
        ("op: 'aten::topk'", "op: torch.ops.aten.topk", []),
        ("op: 'aten::topk'", "op: ATEN.topk", []),
        ("op: 'aten::sort.stable'", "op: 'aten::sort'", []),
        ("op: 'aten::sort'", "op: 'aten::*'", []),
        ("op: 'aten::sort'", "op: 'aten::sort.stable'", [("aten::sort",)]),
        ("op: '*attn*'", "op: '*attn*'", []),
        ("op: '*attn*'", "op: gate_attn", [("*attn*",)]),
        ("op: [gate_attn, 'aten::topk']", "op: 'aten::topk'", [("gate_attn",)]),
        ("op: [gate_attn, 'aten::topk']", "op: ['aten::topk', gate_attn]", []),
        ("{op: a, function: f}", "op: a", []),
        ("op: a", "{op: a, function: f}", [("a",)]),
        ("{op: a, kinds: [op_fallback]}", "{op: a, kinds: [op_fallback]}", []),
        ("{op: a, kinds: [op_fallback]}", "{op: a, kinds: [graph_break]}", [("a",)]),
        ("op: a", "op: b", [("a",)]),
        ("op: a", "function: a", [("a",)]),
    ],
)
def test_unhot(tmp_path: Path, hot: str, unhot: str, left: list[tuple[str, ...]]) -> None:
    hot, unhot = hot.strip("{}"), unhot.strip("{}")
    written(tmp_path, f"version: 1\nhot: [{{{hot}}}]\n", "base.yaml")
    found = policy(tmp_path, f"extends: [base.yaml]\nunhot: [{{{unhot}, {OURS}}}]\n")
    assert [entry.op for entry in found.hot] == left
    assert len(found.summary.hot) == len(left)
    kept = len(left) == 1 and left[0] != ("gate_attn",)
    assert found.unhot[0].used is not kept


def test_unhot_takes_no_entry_of_its_own_file_off(tmp_path: Path) -> None:
    found = policy(tmp_path, f"hot: [{{op: a}}]\nunhot: [{{op: a, {OURS}}}]\n")
    assert len(found.hot) == 1


def test_an_expired_unhot_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    written(tmp_path, "version: 1\nhot: [{op: a}]\n", "base.yaml")
    text = f"extends: [base.yaml]\nunhot: [{{op: a, {OURS}}}]\n"
    assert len(policy(tmp_path, text, date(2027, 3, 31)).hot) == 0
    assert len(policy(tmp_path, text, date(2027, 4, 1)).hot) == 1


@pytest.mark.parametrize("section", ["cold", "unhot"])
def test_only_a_shipped_excuse_needs_no_owner_and_no_end(section: str) -> None:
    """Shipped policies give a reason, and hold for the version of the tool."""
    text = f"version: 1\n{section}: [{{op: a, reason: r}}]\n".encode()
    told = {}
    for shipped in (True, False):
        page = document.read(text, "p.yaml")
        sheet(page, shipped)
        told[shipped] = list(page.told())
    assert told[True] == []
    assert told[False] == [
        f"p.yaml:2: owner is missing ({section}[0]); add `owner: ...`",
        f"p.yaml:2: expires is missing ({section}[0]); add `expires: ...`",
    ]


def test_a_hot_entry_taken_off_stays_off_for_those_who_extend(tmp_path: Path) -> None:
    written(tmp_path, "version: 1\nhot: [{op: a}, {op: b}]\n", "base.yaml")
    written(tmp_path, f"version: 1\nextends: [base.yaml]\nunhot: [{{op: a, {OURS}}}]\n", "team.yaml")
    assert [entry.op for entry in policy(tmp_path, "extends: [team.yaml]\n").hot] == [("b",)]


def test_an_id_is_taken_by_an_extended_file(tmp_path: Path) -> None:
    written(tmp_path, "version: 1\n" + RULE, "base.yaml")
    (found,) = problems(
        written(tmp_path, "version: 1\nextends: [base.yaml]\n" + RULE.replace("sort", "topk"))
    )
    assert "base.yaml:4" in found


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode())))
def test_any_bytes_are_a_policy_or_a_policy_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "policy.yaml"
    path.write_bytes(data)
    valid_or_problems(str(path))


SCRAPS = st.sampled_from(
    ["version: 1", "hot:", "  - op: a", "cold: [", "]", "- x", "{", "op: *", "&a", "<<: 1", ":"]
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(SCRAPS, max_size=8))
def test_any_scraps_are_a_policy_or_a_policy_error(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("\n".join(lines), encoding="utf-8")
    valid_or_problems(str(path))
