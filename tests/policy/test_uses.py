"""Room 5: what became of each entry in a run."""

from __future__ import annotations

from pathlib import Path

from fallback_gate.policy import judge, load, uses
from tests.policy import make

POLICY = f"""\
version: 1
extends: [base.yaml]
hot:
  - op: gate_attn
  - op: never_seen
cold:
  - {{op: "aten::sort", {make.OURS}}}
  - {{op: "aten::topk", {make.OURS}}}
  - {{op: "aten::histc", reason: r, owner: o, expires: 2026-11-30}}
unhot:
  - {{op: inherited, {make.OURS}}}
"""


def test_used_unused_and_expired(tmp_path: Path) -> None:
    make.written(tmp_path, "version: 1\nhot:\n  - op: inherited\n", "base.yaml")
    policy = load(make.written(tmp_path, POLICY), make.TODAY)
    findings = [
        judge(make.event(op), policy, make.TODAY)
        for op in ("gate_attn", "gate_attn", "aten::sort", "aten::histc")
    ]
    found = uses(policy, findings, make.TODAY)
    assert [(use.section, use.entry["op"], use.used, use.expired) for use in found] == [
        ("hot", "gate_attn", True, False),
        ("hot", "never_seen", False, False),
        ("cold", "aten::sort", True, False),
        ("cold", "aten::topk", False, False),
        ("cold", "aten::histc", False, True),
        ("unhot", "inherited", True, False),
    ]
    assert [use.events for use in found] == [2, 0, 1, 0, 0, 0]
    assert found[0].source.endswith("policy.yaml:4")
