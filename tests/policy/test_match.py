"""Room 5: each sentence of the matching rules, with an event that it covers and one that it does not."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from fallback_gate.model import Class, Decision, Event, Kind, Scope
from fallback_gate.policy import judge

from .make import OURS, TODAY, event, policy

BREAK: dict[str, Any] = {
    "kind": Kind.GRAPH_BREAK,
    "scope": Scope.SITE,
    "names": ("gate_attn", "Tensor.item", "aten::_local_scalar_dense"),
    "stack": ("gate_attn", "DecoderLayer.forward"),
    "files": ("/app/moe/attention.py", "/app/moe/decoder.py"),
    "at": ("/app/moe/attention.py", 42, "gate_attn"),
}
BARE: dict[str, Any] = {**BREAK, "stack": ("gate_attn", "forward")}
ATTN = event("gate_attn", **BREAK)
PLAIN = event("gate_attn", **BARE)
SORT = event("aten::sort", names=("torch.ops.aten.sort.stable", "aten.sort.stable"))
CUSTOM = event("moe::gate_attn", names=("torch.ops.moe.gate_attn.default",))
FRAME = event(
    "decode_step",
    kind=Kind.EAGER_FRAME,
    scope=Scope.REGION,
    at=("/app/moe/decoder.py", 130, "decode_step"),
)
PROGRAM = event("*", kind=Kind.EAGER_FRAME, scope=Scope.PROGRAM, reason="the compiler is switched off")
COMPLEX = event(
    "*", id="torch/complex", scope=Scope.UNKNOWN, reason="no code generation for complex operators"
)
LAYER = event("Softmax", layer="model.layers.0.self_attn", kind=Kind.DEVICE_FALLBACK, compiler="onnxruntime")


@pytest.mark.parametrize(
    ("entry", "subject"),
    [
        ("op: gate_attn", ATTN),
        ("op: GATE_ATTN", ATTN),
        ("op: [other, gate_attn]", ATTN),
        ("op: gate_attn", CUSTOM),
        ('op: "moe::gate_attn"', CUSTOM),
        ("op: torch.ops.moe.gate_attn", CUSTOM),
        ("op: torch.ops.moe.gate_attn.default", CUSTOM),
        ("op: '*attn*'", CUSTOM),
        ("op: Tensor.item", ATTN),
        ("op: item", ATTN),
        ("op: _local_scalar_dense", ATTN),
        ("op: forward", ATTN),
        ("op: DecoderLayer.forward", ATTN),
        ("op: DecoderLayer.forward", PLAIN),
        ('op: "*Layer.forward"', PLAIN),
        ('op: "aten::sort"', SORT),
        ('op: "aten.sort"', SORT),
        ('op: "torch.ops.aten.sort.stable"', SORT),
        ('op: "aten::sort*"', SORT),
        ("op: sort", SORT),
        ("op: '*self_attn*'", LAYER),
        ("op: self_attn", LAYER),  # the last part of a path, whatever stands before it
        ("op: forward", event("f", stack=("model.DecoderLayer.forward",))),
        ("op: model.DecoderLayer.forward", PLAIN),
        ("op: model.DecoderLayer.forward", ATTN),
        ("op: '*'", COMPLEX),  # whatever operator is not named
        ("function: gate_attn", ATTN),
        ('function: "*Layer.forward"', ATTN),
        ("function: forward", ATTN),
        # a function of the user that is left out stands in no stack: the break is in its caller
        ("function: gate_attn", event(scope=Scope.SITE, at=("a.py", 3, "forward"), stack=("forward",))),
        ("function: DecoderLayer.forward", ATTN),
        ('function: "*Layer.forward"', PLAIN),
        # the log tells the last parts of what is meant
        ("function: model.DecoderLayer.forward", PLAIN),
        ("function: model.DecoderLayer.forward", ATTN),
        ("file: srv/app/moe/decoder.py", event("f", files=("decoder.py",))),
        ("file: srv/app/moe/decoder.py", event("f", files=("moe/decoder.py",))),
        ("file: /app/moe/decoder.py", event("f", files=("../moe/decoder.py",))),
        ('file: "app/*/decoder.py"', event("f", files=(".\\moe\\decoder.py",))),
        ('file: "*/decoder.py"', ATTN),
        ("file: decoder.py", ATTN),
        ("file: moe/decoder.py", ATTN),
        ('file: "*/decoder.py"', event("f", files=("decoder.py",))),
        ('file: "*/moe/decoder.py"', event("f", files=("decoder.py",))),
        ('file: "*/decoder.py"', event("f", files=("C:\\app\\moe\\decoder.py",))),
        ('file: "app/moe/*.py"', event("f", at=("/app/moe/decoder.py", 1, None))),
        ("file: ./moe/decoder.py", ATTN),
        ("file: app/moe/decoder.py", event("f", at=("/app/tests/../moe/decoder.py", 1, None))),
        # as it stands in the log
        ("file: /app/tests/../moe/decoder.py", event("f", at=("/app/tests/../moe/decoder.py", 1, None))),
        ('file: "/app/*/../moe/*.py"', event("f", at=("/app/tests/../moe/decoder.py", 1, None))),
        ('file: "/app//moe/*.py"', event("f", at=("/app//moe/decoder.py", 1, None))),
        ('layer: "*.self_attn"', LAYER),
        ("kinds: op_fallback", SORT),
        ('kinds: "*_fallback"', SORT),
        ("compiler: torch.compile", SORT),
        ("compiler: 'Torch.*'", SORT),
        ('{op: "aten::sort", kinds: [op_fallback, graph_break]}', SORT),
        # the log tells no file, function or layer: matched, since another key matches by a known fact
        ('{op: "aten::sort", file: "*/router.py"}', SORT),
        ('{op: "aten::sort", function: route}', SORT),
        ('{op: "aten::sort", layer: "*.router"}', SORT),
        ("{op: gate_attn, kinds: [op_fallback]}", COMPLEX),  # nor the operator
        ("{function: route, kinds: [op_fallback]}", SORT),
        # resumed frames are the function that they resume
        ("function: f", event("g", stack=("torch_dynamo_resume_in_f_at_7",))),
        # of a frame, the operator is the function
        ("function: decode_step", event("decode_step", scope=Scope.REGION, kind=Kind.EAGER_FRAME)),
    ],
)
def test_hot_matches(tmp_path: Path, entry: str, subject: Event) -> None:
    entry = entry if entry.startswith("{") else "{" + entry + "}"
    found = judge(subject, policy(tmp_path, f"unlisted: warn\nhot: [{entry}]\n"), TODAY)
    assert (found.event_class, found.decision) == (Class.HOT, Decision.BLOCKED)
    assert found.rule is not None
    assert found.rule.source.endswith("policy.yaml:3")


@pytest.mark.parametrize(
    ("entry", "subject"),
    [
        ("op: gate", ATTN),
        ('op: "mylib::gate_attn"', CUSTOM),
        ('op: "aten::sort.values"', SORT),
        ('op: "aten::topk"', SORT),
        ("op: sor", SORT),
        ("op: DecoderLayer.backward", PLAIN),
        ("op: OtherLayer.forward", ATTN),
        ('op: "aten.forward"', PLAIN),
        ("function: route", ATTN),
        ('function: "*Attention.forward"', ATTN),
        ('function: "*Layer.backward"', PLAIN),
        ('function: "*Layer.*"', event("f", stack=("forward",))),
        ('function: "Router.*ward"', ATTN),  # the log tells the class, and it is another one
        ("function: model.Router.forward", ATTN),
        ("function: Softmax", LAYER),  # an operator is no function
        ("function: 'aten::topk'", event("aten::topk", scope=Scope.SITE)),
        ('file: "*/router.py"', ATTN),
        ('file: "*/moe/decoder.py"', event("f", files=("/app/dense/decoder.py",))),
        ('file: "*/moe/decoder.py"', event("f", files=("dense/decoder.py",))),
        ('file: "src/*.py"', event("f", files=("tests/decoder.py",))),
        # of a path from the root nothing is missing
        ('file: "srv/*/moe/decoder.py"', event("f", files=("/moe/decoder.py",))),
        ('file: "srv/*/moe/decoder.py"', event("f", files=("C:\\moe\\decoder.py",))),
        ('layer: "*.mlp"', LAYER),
        ("kinds: graph_break", SORT),
        ("compiler: tensorrt", SORT),
        # one known fact that differs is enough
        ('{op: "aten::sort", kinds: [graph_break]}', SORT),
        ('{op: gate_attn, file: "*/router.py"}', ATTN),
        ("{op: gate_attn, compiler: tvm}", ATTN),
        # unknown facts alone match nothing
        ("function: route", SORT),
        ('file: "*/router.py"', SORT),
        ('{function: route, file: "*/router.py"}', SORT),
        ('layer: "?*"', event("aten::sort")),
    ],
)
def test_hot_does_not_match(tmp_path: Path, entry: str, subject: Event) -> None:
    entry = entry if entry.startswith("{") else "{" + entry + "}"
    found = judge(subject, policy(tmp_path, f"unlisted: warn\nhot: [{entry}]\n"), TODAY)
    assert (found.event_class, found.decision, found.rule) == (Class.UNLISTED, Decision.WARNED, None)


@pytest.mark.parametrize(
    ("entry", "subject"),
    [
        ("op: gate_attn", ATTN),
        ('op: "aten::sort"', SORT),
        ("op: ATEN.SORT", SORT),
        ('op: "aten::sort.stable"', SORT),
        ("op: torch.ops.aten.sort", SORT),
        ('op: "*"', SORT),
        ("function: gate_attn", ATTN),
        ("function: 'gate_*'", ATTN),
        # two spellings of the innermost function
        ("function: warm", event("f", at=("a.py", 3, "warm"), stack=("Sampler.warm", "main"))),
        ("function: Sampler.warm", event("f", at=("a.py", 3, "warm"), stack=("Sampler.warm", "main"))),
        ('op: "[*]"', COMPLEX),  # what names no operator, and nothing else
        ('function: "*forward"', event("f", stack=("DecoderLayer.forward",))),
        ('file: "*/attention.py"', ATTN),
        ('file: "*/router.py"', event("f", files=("router.py", "/app/main.py"))),
        ("file: ./moe/router.py", event("f", files=("moe/router.py",))),
        ("file: moe/router.py", event("f", files=("./moe/router.py",))),
        ('layer: "model.layers.*"', LAYER),
        ("kinds: [op_fallback]", SORT),
        ('op: "aten::sort", kinds: [op_fallback]', SORT),
        ('op: gate_attn, function: gate_attn, file: "*/attention.py"', ATTN),
    ],
)
def test_cold_matches(tmp_path: Path, entry: str, subject: Event) -> None:
    found = judge(subject, policy(tmp_path, f"cold: [{{{entry}, {OURS}}}]\n"), TODAY)
    assert (found.event_class, found.decision) == (Class.COLD, Decision.ALLOWED)


@pytest.mark.parametrize(
    ("entry", "subject"),
    [
        ("op: Tensor.item", ATTN),  # the offending call is not the operator
        ("op: item", ATTN),
        ("op: forward", ATTN),  # nor is a caller
        ("op: sort", SORT),  # a bare name is no operator of a namespace
        ("op: gate_attn", CUSTOM),
        ('op: "aten::sort.values"', SORT),  # another overload
        ('op: "[*]"', SORT),
        # a message names no operator, whatever it is about
        ('op: "aten::sort"', event("*", scope=Scope.UNKNOWN, names=("aten.sort.stable",))),
        ("function: Softmax", LAYER),  # an operator is no function
        ("function: 'aten::topk'", event("aten::topk", scope=Scope.SITE)),
        ("function: decode", event("f", at=("a.py", 3, "warm"), stack=("decode",))),  # a caller
        ("function: '*'", event("*", scope=Scope.SITE)),  # no function is told
        ('function: "*forward"', ATTN),  # not the innermost
        ("function: forward", event("f", stack=("DecoderLayer.forward",))),  # not as the log tells it
        ("function: DecoderLayer.forward", event("f", stack=("forward",))),  # the log does not tell the class
        ('file: "*/decoder.py"', ATTN),  # not the innermost
        ("file: attention.py", ATTN),  # not as the log tells it
        ('file: "/app/tests/*"', event("f", files=("/app/tests/../moe/decoder.py",))),
        ('op: "aten::sort", file: "*/router.py"', SORT),  # a fact that the log does not tell
        ('op: "aten::sort", function: route', SORT),
        ('op: "aten::sort", layer: "*"', SORT),
        ("op: gate_attn, kinds: [op_fallback]", ATTN),  # a known fact that differs
        ("op: gate_attn, compiler: tvm", ATTN),
    ],
)
def test_cold_does_not_match(tmp_path: Path, entry: str, subject: Event) -> None:
    found = judge(subject, policy(tmp_path, f"cold: [{{{entry}, {OURS}}}]\n"), TODAY)
    assert (found.event_class, found.decision) == (Class.UNLISTED, Decision.BLOCKED)


@pytest.mark.parametrize(
    ("glob", "names", "is_hot"),
    [
        ("aten::sort.stable", (), True),  # the log tells no overload: this one may be meant
        ("torch.ops.aten.sort.stable", (), True),
        ("aten::sort.*", ("aten::sort",), True),
        ("aten::sort.stable", ("torch.ops.aten.sort.values",), False),  # it tells another one
        ("aten::argsort.stable", (), False),
        ("mylib::sort.stable", (), False),
        ("*::*.out", (), False),  # names nothing but overloads
    ],
)
def test_an_overload_that_the_log_does_not_tell_is_hot(
    tmp_path: Path, glob: str, names: tuple[str, ...], is_hot: bool
) -> None:
    found = judge(event("aten::sort", names=names), policy(tmp_path, f'hot: [{{op: "{glob}"}}]\n'), TODAY)
    assert (found.event_class is Class.HOT) == is_hot


def test_hot_beats_cold(tmp_path: Path) -> None:
    rules = policy(tmp_path, f'hot: [{{op: "moe::gate_attn"}}]\ncold: [{{op: "*", {OURS}}}]\n')
    assert judge(CUSTOM, rules, TODAY).event_class is Class.HOT
    assert judge(SORT, rules, TODAY).event_class is Class.COLD


def test_hot_beats_cold_where_no_operator_is_named(tmp_path: Path) -> None:
    """What the log does not tell counts as matched beside a known fact, and `*` is any operator."""
    for entry, why in (
        ("op: gate_attn, kinds: op_fallback", "the log does not tell the op, so the entry counts as matched"),
        ("op: '*'", None),
    ):
        rules = policy(tmp_path, f"hot: [{{{entry}}}]\ncold: [{{op: torch/complex, {OURS}}}]\n")
        found = judge(COMPLEX, rules, TODAY)
        assert (found.event_class, found.rule, found.why) == (Class.HOT, rules.hot[0].rule, why)


@pytest.mark.parametrize("subject", [FRAME, PROGRAM, COMPLEX])
def test_what_may_hide_a_hot_operator_is_hot(tmp_path: Path, subject: Event) -> None:
    found = judge(subject, policy(tmp_path, "unlisted: warn\nhot: [{op: something_else}]\n"), TODAY)
    assert (found.event_class, found.decision, found.rule) == (Class.HOT, Decision.BLOCKED, None)
    assert found.why
    without = judge(subject, policy(tmp_path, "unlisted: warn\n"), TODAY)
    assert (without.event_class, without.decision) == (Class.UNLISTED, Decision.WARNED)


def test_a_site_is_judged_by_its_own_names(tmp_path: Path) -> None:
    found = judge(ATTN, policy(tmp_path, "unlisted: warn\nhot: [{op: something_else}]\n"), TODAY)
    assert found.event_class is Class.UNLISTED


@pytest.mark.parametrize(
    ("entry", "subject", "expected"),
    [
        ("function: decode_step", FRAME, Class.COLD),
        ("op: decode_step", FRAME, Class.COLD),
        ("function: '*_step'", FRAME, Class.COLD),
        ("op: '*', function: decode_step", FRAME, Class.COLD),
        ("function: '*'", FRAME, Class.HOT),
        ("op: '*'", FRAME, Class.HOT),
        ("op: '?*'", FRAME, Class.HOT),
        ("op: '[a-z]*'", FRAME, Class.HOT),
        ("function: '*[_.]*'", FRAME, Class.HOT),
        ("op: ['*', forward]", FRAME, Class.HOT),
        ("file: '*/decoder.py'", FRAME, Class.HOT),
        ("kinds: [eager_frame]", FRAME, Class.HOT),
        ("compiler: torch.compile", FRAME, Class.HOT),
        ("function: decode_step, kinds: [graph_break]", FRAME, Class.HOT),
        ("op: '*'", PROGRAM, Class.HOT),
        ("op: '*complex operators*'", COMPLEX, Class.COLD),
        ("op: torch/complex", COMPLEX, Class.COLD),
        ("op: '*other message*'", COMPLEX, Class.HOT),
    ],
)
def test_only_a_cold_entry_that_names_it_lets_a_region_go(
    tmp_path: Path, entry: str, subject: Event, expected: Class
) -> None:
    rules = policy(tmp_path, f"hot: [{{op: something_else}}]\ncold: [{{{entry}, {OURS}}}]\n")
    assert judge(subject, rules, TODAY).event_class is expected


def test_hot_beats_a_cold_entry_that_names_the_region(tmp_path: Path) -> None:
    rules = policy(tmp_path, f"hot: [{{function: 'decode*'}}]\ncold: [{{op: decode_step, {OURS}}}]\n")
    assert judge(FRAME, rules, TODAY).event_class is Class.HOT


@pytest.mark.parametrize(
    ("today", "expected"),
    [(date(2027, 3, 31), Class.COLD), (date(2027, 4, 1), Class.UNLISTED)],
)
def test_the_last_day_is_included(tmp_path: Path, today: date, expected: Class) -> None:
    rules = policy(tmp_path, f'cold: [{{op: "aten::sort", {OURS}}}]\n', today)
    assert judge(SORT, rules, today).event_class is expected


def test_of_two_cold_entries_the_one_without_a_limit_allows(tmp_path: Path) -> None:
    rules = policy(
        tmp_path, f"cold: [{{op: 'aten::*', max_count: 1, {OURS}}}, {{op: 'aten::sort', {OURS}}}]\n"
    )
    rule = judge(SORT, rules, TODAY).rule
    assert rule is not None
    assert rule.entry["op"] == "aten::sort"


def test_a_layer_is_named_as_it_is_written(tmp_path: Path) -> None:
    name = "(Unnamed Layer* 10) [Slice]"
    rules = policy(tmp_path, f"cold: [{{layer: '{name}', {OURS}}}]\n")
    assert judge(event("Slice", layer=name), rules, TODAY).event_class is Class.COLD
    assert (
        judge(event("Slice", layer="(Unnamed Layer* 10) [Shuffle]"), rules, TODAY).event_class
        is Class.UNLISTED
    )
