r"""Room 3: a lowered graph of ExecuTorch that a program prints: what stands between the calls of its delegates.

    %executorch_call_delegate : ... = call_function[target=torch.ops.higher_order.executorch_call_delegate](args = ...)
    %aten_sort_default : ... = call_function[target=executorch.exir.dialects.edge._ops.aten.sort.default](args = ...)

by `print(graph_module.graph)` or `print_delegated_graph(graph_module)`, and the same as code, by
`print(exported_program)`, `graph_module.code` or `print_readable()`:

    aten_sort_default = executorch_exir_dialects_edge__ops_aten_sort_default(getitem_3)

A graph without such a call is one before it is lowered, as is what the log shows at DEBUG of a partitioner's steps
(`self.fused_tag0(...)`): it tells nothing. What is indented more than the calls belongs to a delegate.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Marker, Rule, Sighting, compiled
from fallback_gate.compilers.runtimes.executorch_names import NAME, is_symbolic, names_of
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Line, Record

PRINTED = "executorch/graph-printed"
LONGEST = 20_000  # lines of one graph
_CALL = r"\btorch\.ops\.higher_order\.executorch_call_delegate\]?\("
_OP = Pattern(
    r"\[target=(?:executorch\.exir\.dialects\.edge\._ops|torch\.ops)\.(?P<node>\w{1,60}\.\w[\w.]{0,150})\]"
    r"|= executorch_exir_dialects_edge__ops_(?P<code>\w{1,200})\("
    r"|= torch\.ops\.(?P<plain>\w{1,60}\.\w[\w.]{0,150})\("
)
_BEGINS = Pattern(r"^\s*(?:graph\(\):|def forward\(.*)\s*$")
_ENDS = Pattern(r"^\s*return\b")
_BODIES = Pattern(r"^higher_order\.(?:cond|while_loop|map_impl|map|scan)\b")


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _above(record: Record) -> tuple[list[tuple[str, Line]], bool, bool]:
    """The operators between the call and the one before it, whether there is one, and whether the graph's start is seen."""
    found: list[tuple[str, Line]] = []
    own = _indent(record.text)
    for line in record.preceding(LONGEST):
        indent = _indent(line.text)
        if indent <= own and _BEGINS.match(line.text):
            return found, False, True
        if indent != own:
            continue
        if compiled(_CALL).search(line.text):
            return found, True, False
        if op := _operator(line.text):
            found.append((op, line))
    return found, False, False


def _below(record: Record) -> tuple[list[tuple[str, Line]], bool]:
    """The operators between the last call and the end of the graph; none where another call follows."""
    found: list[tuple[str, Line]] = []
    own = _indent(record.text)
    for line in record.following(LONGEST):
        if _indent(line.text) != own:
            continue
        if compiled(_CALL).search(line.text):
            return [], False
        if _ENDS.match(line.text):
            return found, True
        if op := _operator(line.text):
            found.append((op, line))
    return found, False


def _operator(text: str) -> str | None:
    """The operator that the line calls, as the edge dialect writes it; none where it computes no tensor."""
    found = _OP.search(text)
    if found is None:
        return None
    said = next(name for name in found.groups() if name)
    op = said.replace(".", "_").lower()
    if op.startswith(
        ("higher_order_executorch", "executorch_prim", "aten_sym_", "aten__assert_")
    ) or is_symbolic(op):
        return None
    return f"higher_order.{said.partition('.')[2]}" if _BODIES.match(said) else op


def outside(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operators between this call of a delegate and its neighbours."""
    report = by_groups(rule, record, match)
    for op, line in (*_above(record)[0], *_below(record)[0]):
        names = (op.rpartition(".")[2], op) if op.startswith("higher_order.") else names_of(op)
        yield report._replace(
            op=names[0],
            names=names,
            position=record.position_at(line.at),
            text=line.text,
            reason="it stands outside the delegates of the lowered graph",
        )


def printed(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """Whether the graph around the call is whole: one says so for the graph's end, and one for its start."""
    above, follows, begins = _above(record)
    below, ends = _below(record)
    nested = any(op.startswith("higher_order.") for op, _ in (*above, *below))
    if not follows and not begins:
        yield Sighting(marker.id, record.position, ("cut",))
    elif nested:
        yield Sighting(marker.id, record.position, ("nested",))
    elif ends:
        yield Sighting(marker.id, record.position, ("whole",))


_GRAPH = """graph():
    %x : [num_users=1] = placeholder[target=x]
    %lowered_module_0 : [num_users=1] = get_attr[target=lowered_module_0]
    %executorch_call_delegate : [num_users=1] = call_function[target=torch.ops.higher_order.executorch_call_delegate](args = (%lowered_module_0, %x), kwargs = {})
    %getitem_3 : [num_users=2] = call_function[target=operator.getitem](args = (%executorch_call_delegate, 0), kwargs = {})
    %aten_sort_default : [num_users=2] = call_function[target=executorch.exir.dialects.edge._ops.aten.sort.default](args = (%getitem_3,), kwargs = {})
    return (aten_sort_default,)"""
_CODE = """        def forward(self, x: "f32[2, 16]"):
            lowered_module_0 = self.lowered_module_0
            executorch_call_delegate = torch.ops.higher_order.executorch_call_delegate(lowered_module_0, x);  lowered_module_0 = x = None
            getitem_3: "f32[2, 16]" = executorch_call_delegate[0];  executorch_call_delegate = None
            aten_sort_default = executorch_exir_dialects_edge__ops_aten_sort_default(getitem_3)
            return (aten_sort_default,)"""
_ANCHORS = ("higher_order.executorch_call_delegate",)

OUTSIDE = Rule(
    id="executorch/outside-delegates",
    compiler=NAME,
    anchor=_ANCHORS,
    pattern=_CALL,
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="No delegate takes the operator: it stands between the calls of the delegates, and a portable kernel computes it on the CPU.",
    help="Rewrite the operator in what the backend takes, or build it with optimised kernels (optimized_native_cpu_ops_lib).",
    seen_in="1.5 (run), printed by the program",
    matches=(_GRAPH, _CODE),
    ignores=(
        "    fused_tag0 = self.fused_tag0(aten_sort_default);  aten_sort_default = None",
        "assert node.target is torch.ops.higher_order.executorch_call_delegate",
    ),
    read=outside,
)
MARKER = Marker(
    id=PRINTED,
    compiler=NAME,
    anchor=_ANCHORS,
    pattern=_CALL,
    shows="A lowered graph was printed: whole, without the bodies of branches and loops, or cut.",
    seen_in=OUTSIDE.seen_in,
    matches=(_GRAPH, _CODE),
    read=printed,
)
