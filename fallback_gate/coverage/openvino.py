"""The annex, the coverage matrix: OpenVINO's executed graph, as `get_runtime_model()` is saved.

`openvino.serialize(compiled.get_runtime_model(), "graph.xml")` writes a `net` of `layer` elements. Their
`data` has `primitiveType` (the kernel), `runtimePrecision`, `execTimeMcs` (microseconds, with PERF_COUNT on,
else `not_executed`) and `originalLayersNames`, the nodes of the model that the layer computes; `port`
elements under `input` have the dimensions.

A reference kernel is a fallback; so is every kernel of the CPU where the user says that another device was
asked. `Subgraph` is code that Snippets generated; all else is a kernel of oneDNN or of the plugin. Where no
kernel runs (`unknown_f32`, `undef`) there is no cell.

Source: docs.openvino.ai, "Runtime model (execution graph)"; 2026.4 (run).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final
from xml.parsers import expat

from fallback_gate.compilers.runtimes.openvino_kernels import NAME, WITH_BODY, operator
from fallback_gate.coverage import shapes
from fallback_gate.errors import Unreadable
from fallback_gate.model import Kind
from fallback_gate.model.matrix import Cell, Column
from fallback_gate.sources.reader import Reader

MOST_LAYERS: Final = 200_000
_CHUNK = 1 << 20
_NO_KERNEL = re.compile(r"^(?:unknown|undef)")
_REFERENCE = re.compile(r"(?i)(?:^|[_:])ref(?:$|[_:])")
_OF_CPU = re.compile(r"avx|sse|brgemm|mlas|(?:^|_)acl|jit_uni|^ref_any|asimd|sve_|^simple_|^gemm_")
_FREE: Final = {"Input", "Const", "Parameter", "Constant", "Output", "Result", "Reorder", "reorder"}
IN_A_BODY = "the graph has a loop or a condition ({}), and what runs in its body is not in the file"


class Graph:
    """Takes the elements of the file as they come; `cells` are those of the layers that are closed."""

    def __init__(self, target: str | None) -> None:
        self.target = target
        self.cells: list[Cell] = []
        self.problem: str | None = None
        self.layers = 0
        self.is_net = False
        self._layer: dict[str, str] = {}
        self._shapes: list[str] = []
        self._sizes: list[str] | None = None
        self._side, self._text = "", ""

    def start(self, name: str, said: dict[str, str]) -> None:
        """An element opens."""
        self._text = ""
        if name == "net":
            self.is_net = True
        elif name == "layer":
            self.layers += 1
            if self.layers > MOST_LAYERS:
                raise Unreadable(f"more than {MOST_LAYERS:,} layers")
            self._layer, self._shapes = dict(said), []
        elif name == "data":
            self._layer = {**said, **self._layer}
        elif name in ("input", "output"):
            self._side = name
        elif name == "port":
            self._sizes = []

    def text(self, said: str) -> None:
        """Text of an element: a dimension is short."""
        if len(self._text) < 32:
            self._text += said

    def end(self, name: str) -> None:
        """An element closes."""
        if name == "dim" and self._sizes is not None and len(self._sizes) < 32:
            self._sizes.append(self._text.strip())
        elif name == "port" and self._sizes is not None:
            if self._side == "input":
                self._shapes.append(shapes.dims(self._sizes))
            self._sizes = None
        elif name == "layer":
            self._close(self._layer)

    def _close(self, said: Mapping[str, str]) -> None:
        kind = said.get("type", "")
        if kind in WITH_BODY:
            self.problem = IN_A_BODY.format(kind)
        found = cell(said, self._shapes, self.target)
        if found is not None:
            self.cells.append(found)


def cell(said: Mapping[str, str], inputs: Sequence[str], target: str | None) -> Cell | None:
    """The cell of a layer by its attributes; None where no kernel runs."""
    kind, name, how = said.get("type", ""), said.get("name", ""), said.get("primitiveType", "")
    if kind in _FREE or (how and _NO_KERNEL.match(how)):
        return None
    originals = tuple(one for one in said.get("originalLayersNames", "").split(",") if one)
    ops = tuple(operator("Subgraph", one) for one in originals if "/" in one)
    column, fell, reason = _column(kind, how, target)
    time = said.get("execTimeMcs", "")
    return Cell(
        op=operator(kind, name) if "/" in name or kind == "Reference" else kind,
        backend=NAME,
        column=column,
        shape=shapes.inputs(inputs),
        dtype=shapes.dtype(said.get("runtimePrecision", "")),
        by=(how,) if how else (),
        microseconds=float(time) if time.isdigit() else None,
        shared=len(originals) > 1,
        names=tuple(dict.fromkeys((*ops, kind, name, *originals)))[:16],
        kind=fell,
        reason=reason,
    )


def _column(kind: str, how: str, target: str | None) -> tuple[Column, Kind | None, str | None]:
    if _REFERENCE.search(how) or kind == "Reference":
        return Column.FALLBACK, Kind.REFERENCE_KERNEL, f"layer type {kind}, kernel {how}"
    if target and not target.upper().startswith(("CPU", "AUTO", "MULTI", "HETERO")) and _OF_CPU.search(how):
        return Column.FALLBACK, Kind.DEVICE_FALLBACK, f"{how} is a kernel of the CPU, and {target} was asked"
    if not how:
        return Column.UNKNOWN, None, None
    return (Column.GENERATED if kind == "Subgraph" else Column.LIBRARY), None, None


def cells(text: Reader, target: str | None) -> tuple[list[Cell], str | None]:
    """The layers of an executed graph, and why they prove less. Raises `Unreadable` for what is none.

    `target`: the device that was asked for, where the user tells it.
    """
    graph = Graph(target)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = graph.start
    parser.EndElementHandler = graph.end
    parser.CharacterDataHandler = graph.text
    parser.StartDoctypeDeclHandler = _refused
    buffer = bytearray(_CHUNK)
    try:
        while count := text.readinto(buffer):
            parser.Parse(bytes(memoryview(buffer)[:count]), False)
        parser.Parse(b"", True)
    except (expat.ExpatError, Unreadable) as wrong:
        graph.problem = f"the graph is cut short or damaged: {wrong}"
    if not graph.is_net:
        raise Unreadable(graph.problem or "no graph of OpenVINO: there is no net element")
    if not graph.cells:
        graph.problem = graph.problem or "the graph holds no kernel: save compiled.get_runtime_model()"
    elif all(cell.column is Column.UNKNOWN for cell in graph.cells):
        graph.problem = graph.problem or "a model and no executed graph: save compiled.get_runtime_model()"
    return graph.cells, graph.problem


def _refused(*said: object) -> None:
    raise Unreadable("a document type, which an executed graph has not")
