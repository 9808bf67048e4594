"""The annex, the coverage matrix: shapes and types, spelled alike whoever wrote them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

MOST_INPUTS: Final = 8
RESULT: Final = "out "  # before the shape of a result, where a file does not tell those of the inputs

_SPELLED: Final = {
    "float": "f32", "float32": "f32", "fp32": "f32", "double": "f64", "float64": "f64", "fp64": "f64",
    "half": "f16", "float16": "f16", "fp16": "f16", "bfloat16": "bf16", "tf32": "tf32",
    "int64": "i64", "long": "i64", "int32": "i32", "int": "i32", "int16": "i16", "short": "i16", "int8": "i8",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "b8", "boolean": "b8",
    "int4": "i4", "uint4": "u4", "fp8": "f8", "fp4": "f4",
    "float8_e4m3fn": "f8e4m3", "float8e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "float8e5m2": "f8e5m2",
}  # fmt: skip
_PLAIN = re.compile(r"[a-z][a-z0-9_]{0,15}")


def dtype(said: str) -> str:
    """The type's short name (`bf16`, `i64`); empty for what is none."""
    name = (
        said.strip().lower().removeprefix("torch.").removeprefix("c10::").removeprefix("tensor(").rstrip(")")
    )
    name = _SPELLED.get(name, name)
    return name if _PLAIN.fullmatch(name) else ""


def dims(sizes: Iterable[object]) -> str:
    """One shape: `24x2048`; `scalar` where there is no axis."""
    return "x".join(str(size) for size in sizes) or "scalar"


def inputs(shapes: Sequence[str]) -> str:
    """The shapes of an operator's inputs; of many the first."""
    kept = [shape for shape in shapes if shape][:MOST_INPUTS]
    return ", ".join(kept) + (", ..." if len(shapes) > MOST_INPUTS else "")
