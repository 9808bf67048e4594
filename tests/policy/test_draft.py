"""Room 5: a first policy and a policy as data, word for word."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from fallback_gate.model import (
    Class,
    CompilerProof,
    Decision,
    Event,
    Finding,
    Kind,
    LogReport,
    Outcome,
    PolicySummary,
    ProcessVerdict,
    Scope,
    Verdict,
)
from fallback_gate.policy import draft
from fallback_gate.policy.draft import MOST, Proposal, proposals
from fallback_gate.policy.show import as_data

from .make import TODAY, event, policy, written


def verdict(*events: Event, **said: Any) -> Verdict:
    findings = tuple(Finding(one, Class.UNLISTED, Decision.BLOCKED) for one in events)
    values: dict[str, Any] = {
        "outcome": Outcome.BLOCKED, "exit_code": 1, "today": TODAY, "policy": PolicySummary("strict", None, None),
        "logs": (LogReport("compile.log", 1),), "processes": (), "findings": findings, "proven": True,
    }  # fmt: skip
    return Verdict(**{**values, **said})


def process(rank: int | None, *names: str) -> ProcessVerdict:
    compilers = tuple(CompilerProof(name, None, {}, frozenset()) for name in names)
    return ProcessVerdict("compile.log", rank, 1, Outcome.PASS, compilers)


def text(said: Verdict) -> list[str]:
    """The lines of a first policy behind its head."""
    return draft.draft(said, "x", str).splitlines()[7:]


BREAK: dict[str, Any] = {"kind": Kind.GRAPH_BREAK, "scope": Scope.SITE}


def test_a_whole_first_policy() -> None:
    said = verdict(
        event("my::topk", line=7),
        event("aten::sort", log="b.log", line=9),
        event("aten::sort", kind=Kind.DEVICE_FALLBACK, log="b.log"),
        event("gate_attn", line=None, **BREAK),
        event("Layer.forward", at=("/app/a b/decoder.py", 3, "forward"), line=2, **BREAK),
        event("*"),
        logs=tuple(LogReport(f"{name}.log", 1) for name in "abcde"),
        processes=(process(2, "torch.compile", "triton"), process(0, "torch.compile"), process(None)),
    )
    assert draft.draft(said, "llm", str).splitlines() == [
        "# A first policy, from a.log, b.log, c.log and 2 more.",
        "# Read each line before you keep it; docs/policy.md explains the keys, and",
        "# `fallback-gate policy lint` and `policy show` tell what it does.",
        "version: 1",
        'name: "llm"',
        '# extends: ["builtin:llm-decode"]   # also: llm-serving, moe-serving, training, vision',
        "unlisted: block",
        "",
        "# What may never fall back. These did; they block until they are repaired.",
        "hot:",
        '  - function: "Layer.forward"',
        '    file: "*/decoder.py"',
        '    why: "graph_break in compile.log:2"',
        '  - function: "gate_attn"',
        '    why: "graph_break in compile.log"',
        '  - op: "my::topk"',
        '    why: "op_fallback in compile.log:7"',
        "",
        "# What may fall back. Take the # off where that is right, and say why, whose, until when.",
        "# cold:",
        '#   - op: "aten::sort"   # b.log:9',
        "#     kinds: [op_fallback, device_fallback]",
        "#     reason: FILL IN",
        "#     owner: FILL IN",
        "#     expires: 2027-03-01",
        "",
        "# What must be in each run; what is absent is unproven.",
        "expect:",
        '  compilers: ["torch.compile", "triton"]',
        "  ranks: 3",
        "",
        "# 1 fallback names no operator; it blocks.",
    ]


def test_a_first_policy_of_nothing() -> None:
    assert text(verdict(proven=False)) == [
        "",
        "# What may never fall back.",
        '# hot: [{op: "my::operator", why: runs in every layer}]',
        "",
        "# What may fall back. Take the # off where that is right, and say why, whose, until when.",
        '# cold: [{op: "aten::sort", reason: why it may, owner: whose it is, expires: 2027-03-31}]',
        "",
        "# What must be in each run; what is absent is unproven.",
        "# expect: {compilers: [torch.compile]}",
        "",
        "# These logs could not have shown every fallback: the list may be short. See what",
        "# `fallback-gate check` says under Unproven, and record them again.",
    ]
    assert "# 2 fallbacks name no operator; they block." in text(verdict(event("*"), event("*")))
    assert text(verdict(processes=(process(1),)))[-2:] == ["expect:", "  ranks: 2"]
    assert text(verdict(processes=(process(None, "tvm"),)))[-2:] == ["expect:", '  compilers: ["tvm"]']


@pytest.mark.parametrize(("count", "more"), [(MOST, False), (MOST + 1, True)])
@pytest.mark.parametrize(
    ("name", "mark"), [("my::op{}", "  # and 1 more"), ("aten::sort{}", "#   and 1 more")]
)
def test_a_list_has_an_end(count: int, more: bool, name: str, mark: str) -> None:
    lines = text(verdict(*(event(name.format(number)) for number in range(count))))
    assert (mark in lines) is more
    assert sum("- op:" in line for line in lines) == MOST


def test_what_would_match_nothing_is_left_out() -> None:
    """A name that the report masks, one that holds a control character, one that names nothing."""
    events = [event("my::ghp_secret"), event("my::\x1bop"), event("*"), event("my::fine")]
    lines = draft.draft(
        verdict(*events), "ghp_secret", lambda said: said.replace("ghp_secret", "***")
    ).splitlines()
    assert [line for line in lines if "- op" in line] == ['  - op: "my::fine"']
    assert 'name: "***"' in lines


@pytest.mark.parametrize(
    ("subject", "hot"),
    [
        (event("my::thing"), True), (event("aten::sort"), False), (event("prims::x"), False),
        (event("aten::convolution"), True), (event("aten::mm"), True), (event("aten::add"), False),
        (event("aten::scaled_dot_product_attention"), True), (event("MatMul"), True), (event("Slice"), False),
        (event("f", **BREAK), True), (event("sort", kind=Kind.GRAPH_BREAK), False),
        (event("f", kind=Kind.EAGER_FRAME, scope=Scope.REGION), True),
        (event("f", kind=Kind.RECOMPILE_LIMIT, scope=Scope.REGION), True),
        (event("f", kind=Kind.DEVICE_FALLBACK, scope=Scope.REGION), False),
    ],
)  # fmt: skip
def test_what_is_proposed_as_hot(subject: Event, hot: bool) -> None:
    (one,) = proposals([subject])
    assert one.is_hot is hot


@pytest.mark.parametrize(
    ("name", "places", "file"),
    [
        ("forward", ["/app/m.py"], "*/m.py"), ("Layer.forward", ["C:\\app\\m.py"], "*/m.py"), ("<lambda>", ["m.py"], "*/m.py"),
        ("forward", ["/app/m.py", "/app/n.py"], None), ("forward", [None], None), ("forward", ["/app/m.py", None], None),
        ("gate_attn", ["/app/m.py"], None), ("forward", ["/app/m[.py"], None), ("forward", ["/app/m.py", "/app/m.py"], "*/m.py"),
        ("forward", ["/app/"], None),
    ],
)  # fmt: skip
def test_a_function_that_many_files_have(name: str, places: list[str | None], file: str | None) -> None:
    events = [event(name, at=(place, 1, name) if place else None, **BREAK) for place in places]
    (one,) = proposals(events)
    assert one == Proposal("function", name, file, ("graph_break",), "compile.log:1", True)
    (op,) = proposals([event("forward", at=("/app/m.py", 1, "forward"))])
    assert op.file is None


def test_one_entry_for_each_key_and_name_hot_first() -> None:
    events = [event("b"), event("a"), event("my::b"), event("a", **BREAK), event("b")]
    assert [(one.is_hot, one.key, one.name) for one in proposals(events)] == [
        (True, "function", "a"), (True, "op", "my::b"), (False, "op", "a"), (False, "op", "b"),
    ]  # fmt: skip


POLICY = """\
name: llm
extends: [base.yaml]
unlisted: {block_if_share_above: "2.5%"}
hot:
  - {op: gate_attn, kinds: [graph_break], why: every token}
  - {op: "*", share_of_step: ">2%"}
unhot:
  - {op: inherited, reason: r, owner: o, expires: 2026-12-01}
cold:
  - {op: ["aten::sort", "aten::topk"], reason: warm-up, owner: team, expires: 2026-11-30, ticket: INF-1, max_count: 2}
budgets: {graph_break: 0, events: 5}
proof: {required: [op_fallback, graph_break], accept_unobservable: [untuned_config]}
expect: {compilers: [torch.compile], ranks: 8}
logs: ["build/*.log"]
rules:
  - {id: acme/fell, compiler: acme, anchor: "acme fell", pattern: "acme fell (?P<op>\\\\w+)", kind: op_fallback, scope: operator, matches: ["acme fell x"]}
  - {id: acme/done, compiler: acme, anchor: "acme done", pattern: "acme done", proves: [op_fallback], ends: true, matches: ["acme done"]}
tests:
  - {name: blocks, text: "acme fell x", verdict: blocked}
"""


def test_a_policy_as_data(tmp_path: Path) -> None:
    base = written(tmp_path, "version: 1\nhot: [{op: inherited}, {op: kept}]\n", "base.yaml")
    path = str(tmp_path / "policy.yaml")
    said = policy(tmp_path, POLICY)
    found = as_data(said, TODAY)
    assert len(found.pop("sha256")) == 64
    excuse = {"owner": "o", "ticket": None, "reason": "r"}
    assert found == {
        "version": 1, "name": "llm", "path": path, "unlisted": {"block_if_share_above": "2.5%"},
        "hot": [
            {"op": ["gate_attn"], "kinds": ["graph_break"], "why": "every token", "share_of_step": None, "source": f"{path}:6"},
            {"op": ["*"], "why": None, "share_of_step": ">2%", "source": f"{path}:7"},
            {"op": ["kept"], "why": None, "share_of_step": None, "source": f"{base}:2"},
        ],
        "unhot": [{"op": ["inherited"], **excuse, "expires": "2026-12-01", "expired": False, "source": f"{path}:9"}],
        "cold": [
            {"op": ["aten::sort", "aten::topk"], "reason": "warm-up", "owner": "team", "ticket": "INF-1",
             "expires": "2026-11-30", "expired": True, "max_count": 2, "source": f"{path}:11"},
        ],
        "budgets": {"graph_break": 0, "events": 5},
        "proof": {"required": ["graph_break", "op_fallback"], "accept_unobservable": ["untuned_config"]},
        "expect": {"compilers": ["torch.compile"], "ranks": 8, "instruments": []},
        "instruments": {}, "logs": [str(tmp_path / "build/*.log")],
        "rules": [
            {"id": "acme/fell", "compiler": "acme", "reports": "op_fallback", "proves": None, "source": f"{path}:17"},
            {"id": "acme/done", "compiler": "acme", "reports": None, "proves": ["op_fallback"], "source": f"{path}:18"},
        ],
        "claims": [], "rollback": None,
        "tests": [{"name": "blocks", "verdict": "blocked", "source": f"{path}:20"}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("share", "said"), [("2%", "2%"), ("0.5%", "0.5%"), ("10%", "10%"), ("100%", "100%")]
)
def test_a_share_as_it_was_written(tmp_path: Path, share: str, said: str) -> None:
    rules = policy(tmp_path, f'unlisted: {{block_if_share_above: "{share}"}}')
    assert as_data(rules, TODAY)["unlisted"] == {"block_if_share_above": said}
    plain = as_data(policy(tmp_path, "unlisted: warn"), date(2026, 1, 1))
    assert (plain["unlisted"], plain["proof"]["required"], plain["expect"]["ranks"]) == ("warn", None, None)
