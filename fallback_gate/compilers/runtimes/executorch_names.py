"""Room 3: the names that ExecuTorch gives to operators of its edge dialect, and which of these compute nothing."""

from __future__ import annotations

from fallback_gate.patterns import Pattern

NAME = "executorch"
_ATEN = Pattern(
    r"^(?=.{1,300}$)(?:aten_|aten[.:]{1,2})(?P<name>_{0,2}[a-zA-Z0-9]\w*?)"
    r"[_.](?P<overload>default|out|(?:self_)?(?:tensor|scalar|int|dim|dimname|size|mode)(?:_(?:tensor|scalar|int|list|mode|out|correction))?"
    r"|self|start(?:_step)?|correction|vec|names|input|indices|using_ints|float|list|(?:dim_)?int_list|\w*intlist)$"
)
_COPY = Pattern(r"_\d+$")
_SYMBOLIC = Pattern(
    r"^(?:getitem|_assert_scalar(?:_default)?|sym_\w{1,60}|eq|ne|ge|gt|le|lt|add|sub|mul|neg|pow|mod|floordiv|truediv)$"
)


def names_of(node: str) -> tuple[str, ...]:
    """The names of an operator that the edge dialect writes `aten_add_scalar`, first the one to report."""
    bare = _COPY.sub("", node)
    if found := _ATEN.match(bare):
        return tuple(dict.fromkeys((f"aten::{found['name']}", bare, found["name"])))
    plain = bare.removesuffix("_default")
    namespace, _, rest = plain.partition("__" if plain.startswith("dim_order_ops__") else "_")
    spelled = (f"{namespace}::{rest}", rest) if rest else ()
    return tuple(dict.fromkeys((bare, plain, *spelled)))


def is_symbolic(op: str) -> bool:
    """Whether it is Python's own operator on a tuple or on a symbolic number: a shape is computed, no tensor."""
    return _SYMBOLIC.match(op) is not None
