"""Room 5: the reports that are folded into one event are judged each: hot by any, cold by all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fallback_gate.events import fold as folding
from fallback_gate.events import variants as varying
from fallback_gate.events.fold import Fold
from fallback_gate.model import Class, Decision, Finding, Kind, Location, ProcessKey, Report, Scope
from fallback_gate.policy import judge

from .make import OURS, TODAY, policy


def said(op: str = "*", **more: Any) -> Report:
    """A report; `at` is (file, line, function)."""
    at = more.pop("at", None)
    values: dict[str, Any] = {
        "id": "torch/some-message",
        "compiler": "torch.compile",
        "kind": Kind.OP_FALLBACK,
        "scope": Scope.OPERATOR,
        "op": op,
        "position": 1,
        "text": "",
        "location": Location(*at) if at else None,
    }
    return Report(**{**values, **more})


def lines(log: str, positions: Iterable[int]) -> Mapping[int, int]:
    """Positions are lines here."""
    return {position: position for position in positions}


def judged(folder: Path, text: str, *reports: Report) -> Finding:
    """The one event of the reports under a policy."""
    fold = Fold()
    for report in reports:
        fold.add(report, ProcessKey("a.log"))
    (event,) = fold.events(lines, {})
    return judge(event, policy(folder, text), TODAY)


SKIP: dict[str, Any] = {"kind": Kind.CUDAGRAPH_SKIP, "scope": Scope.PROGRAM}
MUTATED = said(reason="skipping cudagraphs due to mutated inputs (32 instances)", **SKIP)
MUTATED_LESS = said(reason="skipping cudagraphs due to mutated inputs (2 instances)", **SKIP)
CPU = said(reason="skipping cudagraphs due to cpu device (arg1_1)", **SKIP)

BREAK: dict[str, Any] = {"kind": Kind.GRAPH_BREAK, "scope": Scope.SITE, "at": ("helper.py", 9, "helper")}
DEEP = said("helper", stack=("helper", "cold_path", "warm", "main"), files=("helper.py",) * 4, **BREAK)
SHORT = said("helper", stack=("helper", "gate_attn"), files=("helper.py", "attn.py"), **BREAK)

GATHER: dict[str, Any] = {"kind": Kind.DEVICE_FALLBACK, "compiler": "onnxruntime"}
EMBED = said("Gather", layer="/embed/G", **GATHER)
DECODER = said("Gather", layer="/decoder/G", **GATHER)
NO_LAYER = said("Gather", **GATHER)

STABLE = said("aten::sort", names=("aten.sort.stable",))
VALUES = said("aten::sort", names=("aten.sort.values",))

A = said("aten::topk", at=("a.py", 3, "warm"))
A_OTHER = said("aten::topk", at=("a.py", 3, "decode"))
A_QUALIFIED = said("aten::topk", at=("a.py", 3, "Sampler.warm"))
A_DECODE = said("aten::topk", at=("a.py", 3, "Sampler.decode"))

IN_A = said("aten::topk", stack=("warm",), files=("a.py",))
IN_B = said("aten::topk", stack=("decode",), files=("b.py",))
IN_CLASS = said("aten::topk", stack=("Sampler.warm",), files=("a.py",))
NOWHERE = said("aten::topk")


@pytest.mark.parametrize(
    ("entry", "allowed", "other"),
    [
        ("op: '*mutated inputs*', kinds: [cudagraph_skip]", MUTATED, CPU),
        ("layer: '/embed/*'", EMBED, DECODER),
        ("op: Gather, layer: '/embed/*'", EMBED, DECODER),
        ("layer: '/embed/*'", EMBED, NO_LAYER),
        ("op: aten.sort.stable", STABLE, VALUES),
        ("function: warm", A, A_OTHER),
        ("function: Sampler.decode", A_DECODE, A),  # no other words for the same function
        ("function: warm", IN_A, IN_B),
        ("function: Sampler.warm", IN_CLASS, IN_A),  # without a line they may be two functions
        ("file: a.py", IN_A, IN_B),
        ("file: a.py", IN_A, NOWHERE),
        ("op: '*mutated*'", MUTATED, said(id="torch/other", **SKIP)),
    ],
)
def test_a_cold_entry_allows_only_what_it_matches_in_all_reports(
    tmp_path: Path, entry: str, allowed: Report, other: Report
) -> None:
    text = f"cold: [{{{entry}, {OURS}}}]\n"
    assert judged(tmp_path, text, allowed, allowed).decision is Decision.ALLOWED
    assert judged(tmp_path, text, other).decision is Decision.BLOCKED
    for reports in ((allowed, other), (other, allowed), (allowed, other, allowed)):
        found = judged(tmp_path, text, *reports)
        assert found.decision is Decision.BLOCKED
        assert reports[0] is other or "some of its reports" in str(found.why)


@pytest.mark.parametrize(
    ("entry", "reports"),
    [
        ("function: warm", (A, A_OTHER)),
        ("function: decode", (A, A_OTHER)),
        ("function: decode", (IN_A, IN_B)),
        ("file: b.py", (IN_A, IN_B)),
        ("op: aten.sort.stable", (STABLE, VALUES)),
    ],
)
def test_an_entry_that_allows_some_reports_is_said_to(
    tmp_path: Path, entry: str, reports: tuple[Report, ...]
) -> None:
    found = judged(tmp_path, f"cold: [{{{entry}, {OURS}}}]\n", *reports)
    assert (found.decision, "allows some of its reports" in str(found.why)) == (Decision.BLOCKED, True)


def test_what_no_entry_names_is_said_to_be_so_however_many_its_places(tmp_path: Path) -> None:
    found = judged(tmp_path, f"cold: [{{function: elsewhere, {OURS}}}]\n", A, A_OTHER)
    assert (found.decision, found.why) == (Decision.BLOCKED, "no entry of the policy names it")


@pytest.mark.parametrize(
    ("entry", "reports"),
    [
        ("op: '*mutated inputs*'", (MUTATED, MUTATED_LESS)),
        ("op: ['*mutated inputs*', '*cpu device*']", (MUTATED, CPU)),
        ("op: 'aten::sort'", (STABLE, VALUES)),
        ("op: [aten.sort.stable, aten.sort.values]", (STABLE, VALUES)),
        ("op: Gather", (EMBED, DECODER, NO_LAYER)),
        ("layer: ['/embed/*', '/decoder/*']", (EMBED, DECODER)),
        ("function: helper", (DEEP, SHORT)),
        ("file: helper.py", (SHORT, DEEP)),
        # one says the function's class and one does not: the same function in other words
        ("function: Sampler.warm", (A, A_QUALIFIED)),
    ],
)
def test_a_cold_entry_that_matches_all_reports_allows(
    tmp_path: Path, entry: str, reports: tuple[Report, ...]
) -> None:
    assert judged(tmp_path, f"cold: [{{{entry}, {OURS}}}]\n", *reports).decision is Decision.ALLOWED


@pytest.mark.parametrize(
    ("hot", "cold", "other", "meant"),
    [
        ("function: gate_attn", "function: helper", DEEP, SHORT),
        ("op: gate_attn", "function: helper", DEEP, SHORT),
        ("file: attn.py", "function: helper", DEEP, SHORT),
        ("layer: '/decoder/*'", "op: Gather", EMBED, DECODER),
        ("op: '/decoder/*'", "op: Gather", EMBED, DECODER),
        ("op: aten.sort.values", "op: 'aten::sort'", STABLE, VALUES),
        # the log does not tell the layer of one of them
        ("op: Gather, layer: '/decoder/*'", "op: Gath*", EMBED, NO_LAYER),
        ("op: 'aten::topk', function: gate", "op: 'aten::top*'", IN_A, NOWHERE),
        ("op: 'aten::topk', file: gate.py", "op: 'aten::top*'", IN_A, NOWHERE),
    ],
)
def test_a_hot_entry_matches_any_report(
    tmp_path: Path, hot: str, cold: str, other: Report, meant: Report
) -> None:
    text = f"hot: [{{{hot}}}]\ncold: [{{{cold}, {OURS}}}]\n"
    assert judged(tmp_path, text, other).event_class is Class.COLD
    assert judged(tmp_path, text, other, meant).event_class is Class.HOT
    assert judged(tmp_path, text, meant, other).event_class is Class.HOT


def gathers(count: int) -> list[Report]:
    """So many reports of one operator, each of another layer."""
    return [said("Gather", layer=f"/embed/{n}", **GATHER) for n in range(count)]


def test_a_late_hot_layer_is_found(tmp_path: Path) -> None:
    text = f"hot: [{{layer: '/decoder/*'}}]\ncold: [{{op: Gather, {OURS}}}]\n"
    assert judged(tmp_path, text, *gathers(150)).event_class is Class.COLD
    assert judged(tmp_path, text, *gathers(150), DECODER).event_class is Class.HOT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"cold: [{{layer: '/embed/*', {OURS}}}]", Class.UNLISTED),
        (f"cold: [{{op: Gather, {OURS}}}]", Class.COLD),
        (f"hot: [{{layer: '/decoder/*'}}]\ncold: [{{op: Gather, {OURS}}}]", Class.HOT),
        ("unlisted: warn\nhot: [{op: GateAttn}]", Class.HOT),
        (f"hot: [{{layer: '/decoder/*', kinds: [graph_break]}}]\ncold: [{{op: Gather, {OURS}}}]", Class.COLD),
    ],
)
def test_what_is_not_kept_may_be_hot_and_is_never_cold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: Class
) -> None:
    monkeypatch.setattr(varying, "MOST_VARIANTS", 20)
    found = judged(tmp_path, text + "\n", *gathers(30))
    assert found.event_class is expected
    if expected is not Class.COLD:
        assert "more ways than are kept" in str(found.why)


@pytest.mark.parametrize("entry", ["op: '*'", "kinds: [op_fallback]", "op: '*kept apart*'", "compiler: '*'"])
def test_no_cold_entry_allows_what_is_not_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    monkeypatch.setattr(folding, "MOST_EVENTS", 0)
    text = f"cold: [{{{entry}, {OURS}}}]\n"
    assert judged(tmp_path, text, STABLE, NOWHERE).decision is Decision.BLOCKED


def test_modules_of_one_parent_are_not_overloads(tmp_path: Path) -> None:
    for name in ("moe.experts.up", "moe.experts.gate"):
        cold = f"cold: [{{op: moe.experts, {OURS}}}]\n"
        assert judged(tmp_path, cold, said(name)).decision is Decision.BLOCKED
        # hot is read widely: it may be an overload after all
        hot = 'unlisted: warn\nhot: [{op: "moe::experts"}]\n'
        assert judged(tmp_path, hot, said(name)).decision is Decision.BLOCKED
