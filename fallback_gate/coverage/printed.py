"""The annex, the coverage matrix: tables in logs: ONNX Runtime's nodes by provider, OpenVINO's kernels.

The readers of both know the tables; here their rows become cells, the covered ones too. A table that is cut,
or a graph with a body that is not shown, proves less.
"""

from __future__ import annotations

from typing import Final

from fallback_gate.compilers.runtimes import onnxruntime_placement, openvino_kernels
from fallback_gate.coverage import onnxruntime, openvino
from fallback_gate.errors import Unreadable
from fallback_gate.model.matrix import Cell, Read
from fallback_gate.scan.anchors import Anchors
from fallback_gate.scan.record import Record
from fallback_gate.scan.view import Exhausted
from fallback_gate.scan.window import Scan
from fallback_gate.sources import Source

PLACEMENTS: Final = onnxruntime_placement.NODES.anchor[0]
GRAPH: Final = openvino_kernels.PRINTED.anchor[0]
_CUT = "a printed table is cut: rows of it are missing"


def read(source: Source, target: str | None) -> tuple[list[Cell], Read | None]:
    """The cells of the tables in a log. `target`: the provider or device that was asked, if it is known."""
    cells: list[Cell] = []
    problem = None
    tables = {PLACEMENTS: _placements, GRAPH: _graph}
    names = tuple(tables)
    try:
        with source.open() as stream:
            scan = Scan(Anchors(names), stream, count_lines=False)
            for hit in scan:
                for anchor in hit.anchors:
                    rows, trouble = tables[names[anchor]](hit.record, target)
                    cells += rows
                    problem = problem or trouble
            problem = problem or scan.extent.problem
    except (Unreadable, Exhausted) as cut:
        problem = str(cut)
    found = Read(source.path, "tables of kernels", len(cells), problem)
    return cells, found if cells or problem else None


def _placements(record: Record, target: str | None) -> tuple[list[Cell], str | None]:
    """The nodes of one session."""
    found = onnxruntime_placement.placement(record)
    providers = {group.provider for group in found.groups}
    kernels = (
        onnxruntime.Kernel(name, op, group.provider)
        for group in found.groups
        for op, name, _ in group.nodes
        if not op.startswith("Memcpy")
    )
    cut = found.cut and bool(found.groups)
    return [onnxruntime.cell(kernel, providers, target) for kernel in kernels], _CUT if cut else None


def _graph(record: Record, target: str | None) -> tuple[list[Cell], str | None]:
    """The rows of one executed graph."""
    cells, last, body = list[Cell](), "", ""
    for row, _ in openvino_kernels.rows(record):
        last, name = row["type"], row["name"].strip()
        body = last if last in openvino_kernels.WITH_BODY else body
        said = {"type": last, "primitiveType": row["how"], "runtimePrecision": row["precision"]}
        cell = openvino.cell({**said, "name": name, "originalLayersNames": name}, (), target)
        cells += [cell] if cell else []
    if body:
        return cells, openvino.IN_A_BODY.format(body)
    return cells, _CUT if last != "Output" else None
