"""The red line: what blocks, what settles a hot entry, and what leaves it open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fallback_gate.errors import InputError, PolicyError
from fallback_gate.model import Kind, Outcome, Scope
from fallback_gate.model.matrix import Cell, Column, Matrix
from fallback_gate.reports import coverage_file
from fallback_gate.walks.cover import cover
from tests.coverage.matrices import LOGS, PROFILES, TODAY, TRACES, cells, columns, held
from tests.instruments.command import run

CUSTOM_OP = LOGS / "moe-decoder-h200" / "custom-op.debug.log.gz"
FIXED = LOGS / "moe-decoder-h200" / "fixed.debug.log.gz"


def kept(folder: Path, *rows: Cell, name: str = "matrix.json") -> Path:
    path = folder / name
    path.write_text(coverage_file.render(Matrix(rows)), "utf-8")
    return path


def cell(op: str, column: Column = Column.LIBRARY, backend: str = "b", **further: Any) -> Cell:
    return Cell(op, backend, column, **further)


@pytest.mark.parametrize(
    ("rows", "hot", "outcome"),
    [
        ([cell("a")], [{"op": "a"}], Outcome.PASS),
        ([cell("a", Column.GENERATED)], [{"op": "a"}], Outcome.PASS),
        ([cell("a", Column.HAND_WRITTEN)], [{"op": "a"}], Outcome.PASS),
        ([cell("a", Column.FALLBACK)], [{"op": "a"}], Outcome.BLOCKED),
        ([cell("a", Column.UNKNOWN)], [{"op": "a"}], Outcome.UNPROVEN),
        ([cell("a"), cell("a", Column.FALLBACK)], [{"op": "a"}], Outcome.BLOCKED),
        ([cell("a"), cell("a", Column.UNKNOWN)], [{"op": "a"}], Outcome.UNPROVEN),
        ([cell("a"), cell("b", Column.FALLBACK)], [{"op": "a"}], Outcome.PASS),
        ([cell("a")], [{"op": "a"}, {"op": "b"}], Outcome.UNPROVEN),
        ([cell("a", Column.FALLBACK)], [{"op": "a"}, {"op": "b"}], Outcome.BLOCKED),
        ([cell("a")], [], Outcome.UNPROVEN),
        ([cell("a", Column.FALLBACK)], [], Outcome.UNPROVEN),
        ([cell("aten::topk", Column.FALLBACK)], [{"op": "TopK"}], Outcome.BLOCKED),
        ([cell("x", Column.FALLBACK, names=("/attn/TopK",))], [{"layer": "/attn/*"}], Outcome.BLOCKED),
        ([cell("x", Column.FALLBACK, functions=("gate_attn",))], [{"op": "gate_attn"}], Outcome.BLOCKED),
        ([cell("f", Column.FALLBACK, scope=Scope.REGION)], [{"op": "a"}], Outcome.BLOCKED),
        ([cell("*", Column.FALLBACK, scope=Scope.UNKNOWN)], [{"op": "a"}], Outcome.BLOCKED),
        ([cell("a", Column.FALLBACK, kind=Kind.DEVICE_FALLBACK)], [{"op": "a", "kinds": ["device_fallback"]}], Outcome.BLOCKED),
        ([cell("a")], [{"op": "a", "kinds": ["device_fallback"]}], Outcome.PASS),
        ([cell("a", Column.FALLBACK, kind=Kind.OP_FALLBACK), cell("c")], [{"op": "a", "kinds": ["device_fallback"]}, {"op": "c"}], Outcome.UNPROVEN),
    ],
)  # fmt: skip
def test_the_outcome(rows: list[Cell], hot: list[dict[str, Any]], outcome: Outcome, tmp_path: Path) -> None:
    found = held(tmp_path, kept(tmp_path, *rows), hot=hot)
    assert found.outcome is outcome
    assert found.exit_code == {Outcome.PASS: 0, Outcome.BLOCKED: 1, Outcome.UNPROVEN: 3}[outcome]


def test_an_empty_matrix_is_unproven(tmp_path: Path) -> None:
    assert held(tmp_path, kept(tmp_path), hot=[{"op": "a"}]).outcome is Outcome.UNPROVEN


def test_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    for logs in ([], ["missing.log"], ["*.nothing"]):
        with pytest.raises(InputError):
            held(tmp_path, *logs)
    with pytest.raises(PolicyError):
        held(tmp_path, kept(tmp_path, cell("a")), hot=[{"opp": "a"}])


def test_exit_zero_hides_a_block_and_nothing_else(tmp_path: Path) -> None:
    blocked = held(tmp_path, kept(tmp_path, cell("a", Column.FALLBACK)), hot=[{"op": "a"}], exit_zero=True)
    assert (blocked.outcome, blocked.exit_code) == (Outcome.BLOCKED, 0)
    open_ = held(tmp_path, kept(tmp_path, cell("a")), hot=[{"op": "b"}], exit_zero=True)
    assert (open_.outcome, open_.exit_code) == (Outcome.UNPROVEN, 3)


def test_a_log_puts_its_events_into_the_fallback_column(tmp_path: Path) -> None:
    found = held(tmp_path, CUSTOM_OP, hot=[{"op": "gate_attn"}])
    assert found.outcome is Outcome.BLOCKED
    assert [red.cell.op for red in found.red] == ["moe::gate_attn"]
    assert columns(found) == {op: {Column.FALLBACK} for op in ("aten::histc", "aten::topk", "moe::gate_attn")}


def test_a_log_that_proves_its_silence_settles_what_no_cell_tells(tmp_path: Path) -> None:
    """`gate_attn` is a function of the user: no cell is about it, and the log would have said it."""
    assert held(tmp_path, FIXED, hot=[{"op": "gate_attn"}]).outcome is Outcome.PASS
    default = LOGS / "moe-decoder-h200" / "custom-op.default.log"
    assert held(tmp_path, default, hot=[{"op": "gate_attn"}]).outcome is Outcome.UNPROVEN


def test_a_named_file_that_is_no_log_leaves_the_matrix_unproven(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing in here\n", "utf-8")
    trace = str(TRACES / "moe-decoder.compiled.json.gz")
    found = held(tmp_path, tmp_path / "notes.txt", traces=[trace], hot=[{"op": "aten::_grouped_mm"}])
    assert found.outcome is Outcome.UNPROVEN


def test_back_ends_are_merged_and_those_read_now_replace_their_old_cells(tmp_path: Path) -> None:
    old = kept(tmp_path, cell("old", backend="openvino"), cell("gone", Column.FALLBACK, backend="tensorrt"))
    graph = PROFILES / "openvino-cpu.2026.4.xml"
    found = held(tmp_path, graph, hot=[{"op": "Softmax"}], kept=str(old))
    assert "old" not in columns(found)
    assert columns(found, "tensorrt") == {"gone": {Column.FALLBACK}}
    assert found.outcome is Outcome.PASS
    red = held(tmp_path, graph, hot=[{"op": "Softmax"}, {"op": "gone"}], kept=str(old))
    assert red.outcome is Outcome.BLOCKED


def test_what_was_kept_settles_no_hot_entry(tmp_path: Path) -> None:
    old = kept(tmp_path, cell("a", backend="tensorrt"))
    found = held(tmp_path, PROFILES / "openvino-cpu.2026.4.xml", hot=[{"op": "a"}], kept=str(old))
    assert found.outcome is Outcome.UNPROVEN


def test_what_was_compiled_is_not_yet_what_ran(tmp_path: Path) -> None:
    """The log shows output code alone: a graph break could have left the operator eager without a word."""
    log = LOGS / "torch" / "fallback-kernels-output-code.2.9.1.log"
    found = held(tmp_path, log, hot=[{"op": "aten::bmm"}])
    assert columns(found)["aten::bmm"] == {Column.LIBRARY}
    assert found.outcome is Outcome.UNPROVEN
    assert any("nothing that was read shows what ran" in why for why in found.open)
    proven = held(tmp_path, LOGS / "torch" / "clean.2.14.1.log", hot=[{"op": "aten::bmm"}])
    assert proven.outcome is Outcome.PASS


def test_several_files_make_one_matrix(tmp_path: Path) -> None:
    found = held(
        tmp_path,
        PROFILES / "openvino-cpu.2026.4.xml",
        PROFILES / "onnxruntime-openvino.1.24.json",
        traces=[str(TRACES / "moe-decoder.compiled.json.gz")],
        hot=[{"op": "TopK"}],
    )
    assert found.matrix.backends == ("onnxruntime", "openvino", "torch.compile")
    assert {red.cell.backend for red in found.red} == {"onnxruntime", "torch.compile"}
    assert [one.column for one in cells(found, "TopK")] == [Column.FALLBACK, Column.LIBRARY]


def test_the_user_names_the_back_end(tmp_path: Path) -> None:
    graph, trace = PROFILES / "openvino-cpu.2026.4.xml", TRACES / "moe-decoder.custom-op.json.gz"
    asked = {"traces": [str(trace)], "hot": [{"op": "gate_attn", "compiler": "torch.compile"}]}
    found = held(tmp_path, graph, CUSTOM_OP, backend="edge", **asked)
    assert found.matrix.backends == ("edge",)
    assert [red.cell.op for red in found.red] == ["moe::gate_attn"]


def test_what_has_more_names_than_are_kept_may_be_any_of_them(tmp_path: Path) -> None:
    """300 layers run one operator on the CPU: a hot layer among them is not lost, whichever it is."""
    nodes = [
        {"cat": "Node", "name": f"/layer{at}/TopK_kernel_time", "dur": 1,
         "args": {"op_name": "TopK", "provider": provider}}
        for at, provider in enumerate(["CUDAExecutionProvider", *["CPUExecutionProvider"] * 300])
    ]  # fmt: skip
    profile = tmp_path / "profile.json"
    profile.write_text(json.dumps([{"cat": "Session", "name": "model_run", "args": {}}, *nodes]), "utf-8")
    assert held(tmp_path, profile, hot=[{"layer": "/layer299/*"}]).outcome is Outcome.BLOCKED
    assert held(tmp_path, profile, hot=[{"layer": "/layer2/*"}]).outcome is Outcome.BLOCKED


def test_a_share_of_the_step_can_be_hot(tmp_path: Path) -> None:
    """The experts' product takes 59% of the kernel time in the good run, top-k under 2%."""
    trace = str(TRACES / "moe-decoder.compiled.json.gz")
    hot = [{"op": "aten::topk", "share_of_step": ">1%"}, {"op": "aten::_grouped_mm"}]
    assert held(tmp_path, traces=[trace], hot=hot).outcome is Outcome.BLOCKED
    hot = [{"op": "aten::topk", "share_of_step": ">5%"}, {"op": "aten::_grouped_mm"}]
    assert held(tmp_path, traces=[trace], hot=hot).outcome is not Outcome.BLOCKED


def test_the_hot_list_of_a_good_run_holds_the_next_ones(tmp_path: Path) -> None:
    """`policy hot` writes it from a trace: the run itself passes, and both slow ones are blocked."""
    good = TRACES / "moe-decoder.compiled.json.gz"
    policy = tmp_path / "hot.yaml"
    policy.write_bytes(run(tmp_path, "policy", "hot", str(good)).stdout)

    def outcome(name: str) -> Outcome:
        trace = str(TRACES / f"moe-decoder.{name}.json.gz")
        return cover((), [trace], str(policy), today=TODAY, cwd=tmp_path, environ={}).outcome

    assert outcome("compiled") is Outcome.PASS
    assert outcome("custom-op") is outcome("gathered") is outcome("disabled") is Outcome.BLOCKED


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    folder = tmp_path / "build"
    folder.mkdir()
    for name in ("openvino-cpu.2026.4.xml", "onnxruntime-openvino.1.24.json"):
        (folder / name).write_bytes((PROFILES / name).read_bytes())
    (folder / "compile.log.gz").write_bytes(CUSTOM_OP.read_bytes())
    (folder / "settings.json").write_text(json.dumps({"a": 1}), "utf-8")
    found = held(tmp_path, "build", hot=[{"op": "gate_attn"}])
    assert set(found.matrix.backends) == {"onnxruntime", "openvino", "torch.compile"}
    assert found.outcome is Outcome.BLOCKED
