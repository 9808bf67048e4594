"""Room 4: one operator, whatever its spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fallback_gate.model.names import function, operator, perhaps, plain, spelled, spellings


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
        ("moe.gate.default", ("moe.gate.default", "moe.gate")),
        ("moe.gate.Tensor_Scalar", ("moe.gate.Tensor_Scalar", "moe.gate")),
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
    written = [f"{namespace}::{name}.{overload}", f"torch.ops.{namespace}.{name}.{overload}"]
    written.append(f"torch.ops.{namespace}::{name}.{overload}")
    assert {operator(one) for one in written} == {f"{namespace}::{name}"}
    assert {spellings(one) for one in written} == {(f"{namespace}.{name}.{overload}", f"{namespace}.{name}")}
    assert operator(f"{namespace}::{name}") == f"{namespace}::{name}"


@given(st.sampled_from(["aten", "prims", "quantized", "torchvision", "_C", "c10d"]), WORD, WORD)
def test_in_a_namespace_of_operators_the_third_part_is_an_overload(
    namespace: str, name: str, overload: str
) -> None:
    bare = f"{namespace}.{name}.{overload}"
    assert operator(bare) == f"{namespace}::{name}"
    assert spellings(bare) == (bare, f"{namespace}.{name}")


@pytest.mark.parametrize("name", ["moe.experts.up", "moe.experts.gate", "tower.attn.proj_out", "torch.x.y"])
def test_a_bare_path_of_three_parts_is_one_name(name: str) -> None:
    assert spellings(name) == (name,)
    assert operator(name) == name


def test_an_operator_of_a_namespace_with_dots_has_no_overload() -> None:
    assert spellings("a.b::c") == ("a.b.c",)
    assert operator("a.b::c") == "a.b::c"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("moe.experts.up", ("moe.experts",)),
        ("aten.sort.stable", ()),  # it surely has one
        ("moe::experts", ()),
        ("a.b::c", ()),
        ("model.mlp.gate", ()),  # it surely has none
        ("gate_attn", ()),
        ("moe.experts.0", ()),
    ],
)
def test_perhaps(name: str, expected: tuple[str, ...]) -> None:
    assert perhaps(name) == expected


@pytest.mark.parametrize(
    ("op", "further", "expected"),
    [
        ("bessel", ("bessel.default", "bessel.out"), ("bessel", "bessel.default")),
        ("aten::sort", ("aten.sort.stable", "sort"), ("aten::sort", "aten.sort.stable")),
        ("aten::sort", ("aten.topk",), ("aten::sort",)),
        ("moe::gate", ("moe.gate.fast", "moe.gate.fast.x"), ("moe::gate", "moe.gate.fast")),
        ("aten.sort.stable", ("aten::sort", "aten.sort.values"), ("aten.sort.stable", "aten::sort")),
    ],
)
def test_spelled(op: str, further: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert spelled(op, further) == expected


@given(st.text(max_size=60))
def test_any_text_has_a_name(text: str) -> None:
    assert plain(text) == plain(plain(text)) or plain(text).startswith("torch.ops.")
    assert spellings(text)[0] == plain(text)
