"""Room 4: comparable names: `aten.sort.stable`, `aten::sort`, `torch.ops.aten.sort.stable` are one operator.

PyTorch writes an operator as `namespace::name.overload` in C++ and as
`torch.ops.namespace.name.overload` in Python; logs mix both, with and without the overload.
"""

from __future__ import annotations

from fallback_gate.patterns import Pattern

_RESUMED = Pattern(r"^torch_dynamo_resume_in_(?P<function>.+)_at_\d+$")
_OLD_RESUMED = Pattern(r"^<resume in (?P<function>.+)>$")


def plain(name: str) -> str:
    """The name in dotted form without the `torch.ops.` prefix: `aten.sort.stable`."""
    return name.strip().replace("::", ".").removeprefix("torch.ops.")


def spellings(name: str) -> tuple[str, ...]:
    """The comparable forms of an operator's name: as said, and without its overload."""
    full = plain(name)
    parts = full.split(".")
    return (full, ".".join(parts[:-1])) if len(parts) > 2 else (full,)


def operator(name: str) -> str:
    """The name that people use for an operator that a log names: `aten::sort`.

    A name without a namespace (a function, a module) is returned as it stands.
    """
    parts = plain(name).split(".")
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 2:
        return "::".join(parts)
    return "::".join([".".join(parts[:-2]), parts[-2]])


def function(name: str) -> str:
    """The user's function behind a frame that Dynamo resumed: `torch_dynamo_resume_in_f_at_7` is `f`."""
    while match := _RESUMED.match(name) or _OLD_RESUMED.match(name):
        name = match["function"]
    return name
