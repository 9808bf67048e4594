"""Tables of kernels in real logs of ONNX Runtime and OpenVINO."""

from __future__ import annotations

from pathlib import Path

from fallback_gate.model import Outcome
from fallback_gate.model.matrix import Column
from tests.coverage.matrices import LOGS, columns, held

PLACED = LOGS / "onnxruntime" / "openvino-ext-verbose.1.24.log"
GRAPH = LOGS / "openvino" / "clean-execgraph.2026.4.log"


def test_nodes_by_provider(tmp_path: Path) -> None:
    """The block lists five parts that OpenVINO took and four nodes of the CPU."""
    found = held(tmp_path, PLACED, hot=[{"op": "GateAttn"}])
    told = columns(found, "onnxruntime")
    parts = {f"OpenVINO-EP-subgraph_{number}" for number in range(1, 6)}
    assert told == {
        "GateAttn": {Column.FALLBACK},
        "TopK": {Column.FALLBACK},
        **{part: {Column.GENERATED} for part in parts},
    }
    assert found.outcome is Outcome.BLOCKED
    (table,) = (one for one in found.read if one.format == "tables of kernels")
    assert (table.cells, table.problem) == (9, None)


def test_a_block_that_is_cut_proves_less(tmp_path: Path) -> None:
    lines = PLACED.read_text("utf-8").splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if "GateAttn (/layer1" in line)
    (tmp_path / "cut.log").write_text("".join(lines[:at]), "utf-8")
    found = held(tmp_path, tmp_path / "cut.log", hot=[{"op": "OpenVINO-EP-subgraph_1"}])
    assert found.outcome is Outcome.UNPROVEN
    assert any("table is cut" in why for why in found.open)


def test_a_printed_graph(tmp_path: Path) -> None:
    found = held(tmp_path, GRAPH, hot=[{"op": "FullyConnected"}])
    assert found.outcome is Outcome.PASS
    told = columns(found)
    assert told["FullyConnected"] == told["MVN"] == {Column.LIBRARY}
    assert told["LayerNormalization"] == {Column.GENERATED}
    rows = [line.split() for line in GRAPH.read_text("utf-8").splitlines() if line.startswith("  ")]
    ran = [row for row in rows if not row[1].startswith(("unknown", "undef")) and row[0] != "Reorder"]
    assert [one.cells for one in found.read if one.format == "tables of kernels"] == [len(ran)]


def test_a_printed_graph_of_the_cpu_where_the_gpu_was_asked(tmp_path: Path) -> None:
    assert held(tmp_path, GRAPH, hot=[{"op": "MVN"}], target="GPU").outcome is Outcome.BLOCKED


def test_the_body_of_a_loop_is_not_shown(tmp_path: Path) -> None:
    log = LOGS / "openvino" / "loop-execgraph.2026.4.log"
    assert held(tmp_path, log, hot=[{"op": "FullyConnected"}]).outcome is Outcome.UNPROVEN
