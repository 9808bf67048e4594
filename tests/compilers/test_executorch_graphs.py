"""Room 3: lowered graphs of ExecuTorch that a program prints; lines of real runs of 1.5, shortened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fallback_gate import check
from fallback_gate.compilers import READERS
from fallback_gate.model import Kind, State

Read = Callable[..., Any]

EDGE = "executorch.exir.dialects.edge._ops"
DELEGATE = "torch.ops.higher_order.executorch_call_delegate"
BETWEEN = [  # of a sorter: linear | sort, cumsum, gather | add, where XNNPACK takes the first and the last
    f"%executorch_call_delegate : [num_users=1] = call_function[target={DELEGATE}](args = (%lowered_module_0, %x), kwargs = {{}})",
    "%getitem_3 : [num_users=2] = call_function[target=operator.getitem](args = (%executorch_call_delegate, 0), kwargs = {})",
    f"%aten_sort_default : [num_users=2] = call_function[target={EDGE}.aten.sort.default](args = (%getitem_3,), kwargs = {{}})",
    f"%aten_cumsum_default : [num_users=1] = call_function[target={EDGE}.aten.cumsum.default](args = (%getitem, -1), kwargs = {{}})",
    f"%aten_gather_default : [num_users=1] = call_function[target={EDGE}.aten.gather.default](args = (%getitem_3, -1, %getitem_1), kwargs = {{}})",
    "%lowered_module_1 : [num_users=1] = get_attr[target=lowered_module_1]",
]
INSIDE = [
    "    backend_id: XnnpackBackend",
    "    lowered graph():",
    f"      %aten_add_tensor : [num_users=1] = call_function[target={EDGE}.aten.add.Tensor](args = (%a, %b), kwargs = {{}})",
    "      return [aten_add_tensor]",
]
LAST = [
    f"%executorch_call_delegate_1 : [num_users=1] = call_function[target={DELEGATE}](args = (%lowered_module_1, %a, %b), kwargs = {{}})",
    "%getitem_2 : [num_users=1] = call_function[target=operator.getitem](args = (%executorch_call_delegate_1, 0), kwargs = {})",
    "return (getitem_2,)",
]
HEAD = ["graph():", "  %x : [num_users=1] = placeholder[target=x]"]
DELEGATED = [*HEAD, *("  " + line for line in BETWEEN), *INSIDE, *("  " + line for line in LAST)]
CODE = [
    "    class GraphModule(torch.nn.Module):",
    '        def forward(self, x: "f32[2, 16]"):',
    "            lowered_module_0 = self.lowered_module_0",
    f"            executorch_call_delegate = {DELEGATE}(lowered_module_0, x);  lowered_module_0 = x = None",
    "    ",
    "            # File: /app/nets.py:12 in forward, code: v, i = torch.sort(y, dim=-1)",
    '            getitem_3: "f32[2, 16]" = executorch_call_delegate[0];  executorch_call_delegate = None',
    "            aten_sort_default = executorch_exir_dialects_edge__ops_aten_sort_default(getitem_3)",
    '            aten_cumsum_default: "f32[2, 16]" = executorch_exir_dialects_edge__ops_aten_cumsum_default(getitem, -1);  getitem = None',
    '            aten_gather_default: "f32[2, 16]" = executorch_exir_dialects_edge__ops_aten_gather_default(getitem_3, -1, getitem_1)',
    f"            executorch_call_delegate_1 = {DELEGATE}(lowered_module_1, aten_cumsum_default, aten_gather_default)",
    '            getitem_2: "f32[2, 16]" = executorch_call_delegate_1[0]',
    "            return (getitem_2,)",
]
CLEAN = [*HEAD, "  " + BETWEEN[0], "  " + BETWEEN[1], "  return (getitem_3,)"]


def states(read: Read, lines: list[str]) -> list[str]:
    processes = read(*lines).evidence.processes.values()
    return sorted(s for by in processes for one in by.values() for (s,) in one.of("executorch/graph-printed"))


@pytest.mark.parametrize("lines", [DELEGATED, ["Lowered:", *CODE, "", "Graph signature:"]])
def test_what_stands_between_the_delegates_is_told_and_what_is_inside_is_not(
    lines: list[str], read: Read
) -> None:
    reports = read(*lines).reports
    assert sorted(report.op for report in reports) == ["aten::cumsum", "aten::gather", "aten::sort"]
    assert {report.kind.value for report in reports} == {"op_fallback"}
    assert all(report.op.removeprefix("aten::") in lines[report.position - 1] for report in reports)


def test_a_graph_of_delegates_alone_is_whole(read: Read) -> None:
    assert read(*CLEAN).reports == []
    assert states(read, CLEAN) == ["whole"]


def test_a_graph_without_its_start_or_its_end_is_not_whole(read: Read) -> None:
    assert states(read, CLEAN[2:]) == ["cut"]
    assert states(read, CLEAN[:-1]) == []


def test_a_branch_hides_what_is_in_it(read: Read) -> None:
    cond = "  %cond : [num_users=1] = call_function[target=torch.ops.higher_order.cond](args = (%gt, %a, %b, [%x]), kwargs = {})"
    said = read(*CLEAN[:-1], cond, CLEAN[-1])
    assert states(read, [*CLEAN[:-1], cond, CLEAN[-1]]) == ["nested"]
    assert [report.op for report in said.reports] == ["cond"]


def test_steps_of_a_partitioner_and_a_graph_before_it_tell_nothing(read: Read) -> None:
    steps = [
        "[DEBUG 2026-12-01 00:35:41,338 backend_api.py:484] Partitioned graph module: GraphModule(",
        "def forward(self, x):",
        "    aten_sort_default = executorch_exir_dialects_edge__ops_aten_sort_default(x);  x = None",
        "    fused_tag0 = self.fused_tag0(aten_sort_default);  aten_sort_default = None",
        "    return (fused_tag0,)",
    ]
    assert read(*steps).reports == []
    assert states(read, steps) == []


def test_sizes_are_no_computation_and_an_overload_is_no_name(read: Read) -> None:
    head = "op_type,occurrences_in_delegated_graphs,occurrences_in_non_delegated_graphs"
    rows = [
        "_assert_scalar,0,2",
        "aten_sum_dim_int_list,0,1",
        "aten_where_self,0,1",
        "ge,0,1",
        "sym_size,0,1",
    ]
    said = read(head, *rows, "Total,0,6")
    assert [report.op for report in said.reports] == ["aten::sum", "aten::where"]


SKIPPED = (
    "INFO:root:[Vulkan Partitioner] Due to [no operator implementation], skipping aten.sort.default(...)"
)
VERDICTS = ["[QnnPartitioner] aten.linear.default | True", "[QnnPartitioner] aten.sort.default | False"]


@pytest.mark.parametrize("said", [[SKIPPED], VERDICTS])
def test_what_a_partitioner_and_the_graph_tell_of_one_operator_is_one_event(
    said: list[str], tmp_path: Path
) -> None:
    log = tmp_path / "export.log"
    log.write_text("\n".join([*said, *DELEGATED, ""]), encoding="utf-8")
    events = [finding.event for finding in check([str(log)]).findings]
    assert sorted(event.op for event in events) == ["aten::cumsum", "aten::gather", "aten::sort"]
    assert next(event.lines for event in events if event.op == "aten::sort") == (len(said), len(said) + 5)


def test_a_program_that_is_lowered_behind_the_last_graph_owes_one(read: Read) -> None:
    def proof(lines: list[str]) -> State:
        (by,) = read(*lines).evidence.processes.values()
        return READERS["executorch"].prove(by["executorch"])[Kind.OP_FALLBACK].state

    assert proof([SKIPPED, *DELEGATED]) is State.PROVEN
    assert proof([*DELEGATED, SKIPPED]) is State.UNPROVEN
    assert proof([SKIPPED]) is State.UNPROVEN
