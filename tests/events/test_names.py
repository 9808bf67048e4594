"""Room 4: one operator, whatever its spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.events.names import function, operator, plain, spellings


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aten::sort", "aten.sort"),
        ("aten.sort.stable", "aten.sort.stable"),
        ("torch.ops.aten.sort.stable", "aten.sort.stable"),
        ("aten::isin.Tensor_Tensor_out", "aten.isin.Tensor_Tensor_out"),
        (" gate_attn ", "gate_attn"),
        ("*", "*"),
    ],
)
def test_plain(name: str, expected: str) -> None:
    assert plain(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aten::sort", ("aten.sort",)),
        ("aten::sort.stable", ("aten.sort.stable", "aten.sort")),
        ("torch.ops.moe.gate_attn.default", ("moe.gate_attn.default", "moe.gate_attn")),
        ("Tensor.item", ("Tensor.item",)),
        ("gate_attn", ("gate_attn",)),
        ("model.layers.0.mlp.gate", ("model.layers.0.mlp.gate",)),
        ("model.mlp.gate", ("model.mlp.gate",)),
        ("/backbone/stages.2/blocks.14/attn/Div_4", ("/backbone/stages.2/blocks.14/attn/Div_4",)),
        ("a.b.c.default", ("a.b.c.default", "a.b.c")),
    ],
)
def test_spellings(name: str, expected: tuple[str, ...]) -> None:
    assert spellings(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch.ops.aten.topk.default", "aten::topk"),
        ("aten.topk", "aten::topk"),
        ("aten::sort.stable", "aten::sort"),
        ("aten::sort", "aten::sort"),
        ("gate_attn", "gate_attn"),
        ("*", "*"),
        ("model.layers.0.mlp.gate", "model.layers.0.mlp.gate"),
        ("model.mlp.gate", "model.mlp.gate"),
        ("/backbone/stages.2/blocks.14/attn/Div_4", "/backbone/stages.2/blocks.14/attn/Div_4"),
        ("a.b.c.default", "a.b::c"),
    ],
)
def test_operator(name: str, expected: str) -> None:
    assert operator(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gate_attn", "gate_attn"),
        ("torch_dynamo_resume_in_gate_attn_at_37", "gate_attn"),
        ("torch_dynamo_resume_in_torch_dynamo_resume_in_f_at_1_at_22", "f"),
        ("torch_dynamo_resume_in_look_at_me_at_7", "look_at_me"),
        ("<resume in forward>", "forward"),
        ("torch_dynamo_resume_in_f", "torch_dynamo_resume_in_f"),
    ],
)
def test_function(name: str, expected: str) -> None:
    assert function(name) == expected


WORD = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)


@given(WORD, WORD, WORD)
def test_all_spellings_of_an_operator_are_one(namespace: str, name: str, overload: str) -> None:
    written = [f"{namespace}::{name}.{overload}", f"{namespace}.{name}.{overload}"]
    written += [f"torch.ops.{one}" for one in written]
    assert {operator(one) for one in written} == {f"{namespace}::{name}"}
    assert {spellings(one) for one in written} == {(f"{namespace}.{name}.{overload}", f"{namespace}.{name}")}
    assert operator(f"{namespace}::{name}") == f"{namespace}::{name}"


@given(st.text(max_size=60))
def test_any_text_has_a_name(text: str) -> None:
    assert plain(text) == plain(plain(text)) or plain(text).startswith("torch.ops.")
    assert spellings(text)[0] == plain(text)
