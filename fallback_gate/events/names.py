"""Room 4: comparable names: `aten.sort.stable`, `aten::sort`, `torch.ops.aten.sort.stable` are one operator.

PyTorch writes an operator as `namespace::name.overload` in C++ and as
`torch.ops.namespace.name.overload` in Python; logs mix both, with and without the overload.
"""

from __future__ import annotations

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
_OLD_RESUMED = Pattern(r"^<resume in (?P<function>.+)>$")


def plain(name: str) -> str:
    """The name in dotted form without the `torch.ops.` prefix: `aten.sort.stable`."""
    return name.strip().replace("::", ".").removeprefix("torch.ops.")


def _has_overload(name: str, parts: list[str]) -> bool:
    """Whether the last part is an overload: as in `torch.ops.aten.sort.stable`, `aten.sort.stable`.

    A path of modules or nodes has dots too (`model.layers.0.mlp.gate`), and its last part is its name.
    """
    if len(parts) < 3 or not all(part.isidentifier() for part in parts):
        return False
    written = name.strip()
    if "::" in written or written.startswith("torch.ops."):
        return True
    return parts[-1] == "default" or (len(parts) == 3 and parts[0] not in _MODULE_ROOTS)


def spellings(name: str) -> tuple[str, ...]:
    """The comparable forms of an operator's name: as said, and without its overload."""
    full = plain(name)
    parts = full.split(".")
    return (full, ".".join(parts[:-1])) if _has_overload(name, parts) else (full,)


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
    elif len(parts) > 2 and parts[0] in _MODULE_ROOTS | {"torch"} or len(parts) > 3:
        return full
    return "::".join([".".join(parts[:-1]), parts[-1]])


def function(name: str) -> str:
    """The user's function behind a frame that Dynamo resumed: `torch_dynamo_resume_in_f_at_7` is `f`."""
    while match := _RESUMED.match(name) or _OLD_RESUMED.match(name):
        name = match["function"]
    return name
