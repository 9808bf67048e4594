"""What people call a compiler: every alias leads to one that there is, and no name is taken from its owner."""

from __future__ import annotations

import pytest

from fallback_gate.capture.plan import chosen
from fallback_gate.capture.table import TABLE
from fallback_gate.compilers import READERS
from fallback_gate.model.aliases import ALIASES, called, plain


def test_each_alias_means_readers_that_there_are() -> None:
    for alias, names in ALIASES.items():
        assert alias == plain(alias)
        assert set(names) <= READERS.keys(), alias
        assert alias not in map(plain, READERS), f"{alias} is a reader's own name"


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("torch", ("torch.compile",)),
        ("PyTorch", ("torch.compile",)),
        ("trt", ("tensorrt",)),
        ("TensorRT", ("tensorrt",)),
        ("vllm", ("vLLM",)),
        ("ort", ("onnxruntime",)),
        ("ONNX", ("onnxruntime",)),
        ("hpu", ("gaudi",)),
        ("torch_compile", ("torch.compile",)),
        ("nosuch", ()),
        ("", ()),
    ],
)
def test_what_a_name_means(name: str, names: tuple[str, ...]) -> None:
    assert called(name, READERS) == names


def test_a_family_means_all_of_it() -> None:
    assert set(called("tvm", READERS)) == {name for name in READERS if name.startswith("tvm.")}


def test_a_compiler_of_the_users_own_keeps_its_name() -> None:
    assert called("onnx", [*READERS, "onnx"]) == ("onnx",)


@pytest.mark.parametrize("name", ["trt", "onnx", "pytorch", "npu", "vllm", "ort", "hpu", "tvm", "torch"])
def test_a_recording_takes_the_same_names(name: str) -> None:
    assert {stack.name for stack in chosen([name], {})} >= set(called(name, [one.name for one in TABLE]))
