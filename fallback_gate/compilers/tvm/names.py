"""Room 3: what TVM calls an operator, in each of its languages, and the report that bears the names.

Relax writes `relax.nn.softmax` and, in a printed module, `R.nn.softmax`; Relay writes `nn.dense`; AutoTVM
names a template after the operator, the layout or trick, and the target: `dense_pack.x86`; a fused function
joins all its operators: `fused_nn_dense_add`, under Relay with `tvmgen_default_` in front.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.model import Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

_COMPUTE = (
    r"(?:(?:bitserial|sparse|depthwise|group|deformable)_)?conv[123]d(?:_transpose)?"
    r"|(?:bitserial_|sparse_)?dense|batch_matmul|matmul|einsum|attention|softmax|(?:batch|layer|group|rms)_norm"
    r"|topk|argsort|sort|scatter\w*|gather\w*|take|one_hot|cumsum|correlation|dilation2d|roi_align"
)
_BASE = Pattern(rf"(?:contrib_)?(?P<op>{_COMPUTE})(?=_|\d*$|\d*_)")
_PART = Pattern(rf"(?:^|_)(?P<op>{_COMPUTE})\d*(?=_|$)")
_GENERATED = Pattern(r"^tvmgen_(?:default_)?")
_NN = Pattern(r"^(?:.*conv[123]d.*|.*dense|batch_matmul|softmax|.*_norm|attention|dilation2d|correlation)$")


def relax(name: str) -> tuple[str, ...]:
    """The names of a Relax operator, first the one to report: `relax.topk`, or `nn.softmax`."""
    bare = name.removeprefix("relax.").removeprefix("R.")
    first = bare if "." in bare else f"relax.{bare}"
    return tuple(dict.fromkeys((first, bare, f"relax.{bare}", bare.rpartition(".")[2])))


def template(name: str) -> tuple[str, ...]:
    """The names of what an AutoTVM template or a strategy computes: `dense_pack.x86` computes `dense`."""
    base = name.strip().partition(".")[0]
    found = _BASE.match(base)
    op = found["op"] if found else base
    relay: tuple[str, ...] = (f"nn.{op}",) if _NN.match(op) else ()
    if op.startswith(("depthwise_conv", "group_conv")):
        relay += (f"nn.{op.partition('_')[2]}",)
    return tuple(dict.fromkeys((op, *relay, base, name)))


def fused(name: str) -> tuple[str, ...]:
    """The names of a fused function: as said, without its prefix, and the operators that do the work."""
    bare = _GENERATED.sub("", name)
    rest, parts = bare, []
    while found := _PART.search(rest):
        parts.append(found["op"])
        rest = rest[found.end() :]
    relay = [f"nn.{part}" for part in parts if f"nn_{part}" in bare]
    return tuple(dict.fromkeys((bare, name, *parts, *relay)))


def named(report: Report, names: tuple[str, ...]) -> Report:
    """The report, for these names of one operator, of which the first is reported."""
    return report._replace(op=names[0], names=tuple(dict.fromkeys(names)), scope=Scope.OPERATOR)


def of_relax(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A message that names a Relax operator."""
    yield named(by_groups(rule, record, match), relax(match["op"]))


def of_fused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A message that names a function of the lowered module."""
    yield named(by_groups(rule, record, match), fused(match["op"]))


def of_template(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A message that names an AutoTVM template, or the operator of a strategy."""
    yield named(by_groups(rule, record, match), template(match["op"].replace(" ", "_").lower()))
