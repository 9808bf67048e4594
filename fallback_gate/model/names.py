"""Beside the vocabulary: names of operators; `aten.sort.stable` and `torch.ops.aten.sort.stable` are one.

PyTorch writes an operator as `namespace::name.overload` in C++ and as
`torch.ops.namespace.name.overload` in Python; logs mix both, with and without the overload.
"""

from __future__ import annotations

from functools import lru_cache

from fallback_gate.patterns import Pattern

_RESUMED = Pattern(r"^torch_dynamo_resume_in_(?P<function>.+)_at_\d+$")
_MODULE_ROOTS = frozenset(
    {
        "model",
        "module",
        "self",
        "transformer",
        "encoder",
        "decoder",
        "backbone",
        "layers",
        "blocks",
        "network",
        "net",
    }
)
_NAMESPACES = frozenset(
    {
        *("aten", "prim", "prims", "rngprims", "inductor", "inductor_prims", "higher_order", "debugprims"),
        *("_c", "c10d", "_c10d_functional", "c10d_functional", "_dtensor", "symm_mem", "fsdp"),
        *("quantized", "quantized_decomposed", "_quantized", "sparse", "profiler"),
        *("mkldnn", "mkldnn_prepacked", "mkl", "onednn", "mkldnn_quantized", "xnnpack", "prepacked"),
        *("torchvision", "torchaudio", "torchao", "fbgemm", "xformers", "torch_ipex", "npu", "hpu"),
        *("_moe_c", "_c_cache_ops", "_c_custom_ar", "_quantized_decomposed"),
    }
)
_OVERLOAD = Pattern(r"^(?:Tensor|Scalar)(?:_[A-Za-z]+)*$")
_OLD_RESUMED = Pattern(r"^<resume in (?P<function>.+)>$")


def plain(name: str) -> str:
    """The name in dotted form without the `torch.ops.` prefix: `aten.sort.stable`."""
    return name.strip().replace("::", ".").removeprefix("torch.ops.")


def _has_overload(name: str, parts: list[str]) -> bool:
    """Whether the last part is an overload: as in `torch.ops.aten.sort.stable`, `aten.sort.stable`.

    A path of modules or nodes has dots too (`model.layers.0.mlp.gate`, `moe.experts.up`), and its last
    part is its name. A bare name of three parts is an operator with its overload only where its namespace
    is one of operators, or where no module would be called like its last part.
    """
    if len(parts) < 3 or not all(part.isidentifier() for part in parts):
        return False
    written = name.strip()
    if "::" in written:
        return "." in written.rpartition("::")[2]
    if written.startswith("torch.ops.") or parts[-1] == "default":
        return True
    if len(parts) != 3 or parts[0] in _MODULE_ROOTS:
        return False
    return parts[0].lower() in _NAMESPACES or _OVERLOAD.match(parts[-1]) is not None


@lru_cache(maxsize=4096)
def spellings(name: str) -> tuple[str, ...]:
    """The comparable forms of an operator's name: as said, and without its overload."""
    full = plain(name)
    parts = full.split(".")
    return (full, ".".join(parts[:-1])) if _has_overload(name, parts) else (full,)


def perhaps(name: str) -> tuple[str, ...]:
    """The form without an overload of a name of which nobody knows whether it has one: `moe.experts.up`."""
    parts = plain(name).split(".")
    is_open = len(parts) == 3 and all(part.isidentifier() for part in parts) and "::" not in name
    if not is_open or parts[0] in _MODULE_ROOTS or _has_overload(name, parts):
        return ()
    return (".".join(parts[:2]),)


@lru_cache(maxsize=2048)
def spelled(op: str, further: tuple[str, ...]) -> tuple[str, ...]:
    """The operator and those of the further names that are the same operator, with an overload or not."""
    return (op, *(name for name in further if _same(op, name)))


def _same(one: str, other: str) -> bool:
    """Whether two names are one operator; a name without an overload is any of its overloads."""
    left, right = plain(one).lower(), plain(other).lower()
    if left == right or left in _lower(other) or right in _lower(one) or right == f"{left}.default":
        return True
    return "::" in one and right.startswith(f"{left}.") and right.count(".") == 2


def _lower(name: str) -> tuple[str, ...]:
    return tuple(form.lower() for form in spellings(name))


@lru_cache(maxsize=4096)
def operator(name: str) -> str:
    """The name that people use for an operator that a log names: `aten::sort`.

    A name without a namespace (a function, a module) is returned as it stands.
    """
    full = plain(name)
    parts = full.split(".")
    if not all(part.isidentifier() for part in parts) or len(parts) == 1:
        return full
    if _has_overload(name, parts):
        parts.pop()
    elif len(parts) > 2 and "::" not in name:
        return full
    return "::".join([".".join(parts[:-1]), parts[-1]])


@lru_cache(maxsize=4096)
def function(name: str) -> str:
    """The user's function behind a frame that Dynamo resumed: `torch_dynamo_resume_in_f_at_7` is `f`."""
    while match := _RESUMED.match(name) or _OLD_RESUMED.match(name):
        name = match["function"]
    return name
