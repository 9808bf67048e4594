"""Room 3: executed graphs of OpenVINO in forms of the program's own: which of them are whole; lines of real runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Read = Callable[..., Any]

NODES = [  # of a perceptron, as 2026.4 ran it on a machine with bfloat16: name, type, kernel
    ("x", "Input", "unknown_f32"),
    ("x_f32_bf16_MatMul_4", "Reorder", "jit_uni_f32"),
    ("Constant_3", "Const", "unknown_f32"),
    ("MatMul_4/transpose_b", "Transpose", "unknown_f32"),
    ("Constant_5308", "Const", "unknown_dynamic"),
    ("MatMul_4", "FullyConnected", "brgemm_avx512_bf16"),
    ("Softmax_9", "Softmax", "jit_avx512_f32"),
    ("Result_10", "Output", "unknown_f32"),
]
OBJECTS = [{"name": name, "layerType": kind, "primitiveType": how} for name, kind, how in NODES]
XML = [
    '<net name="clean" version="11">',
    "\t<layers>",
    *(
        f'\t\t<layer id="{at}" name="{name}" type="{kind}">\n\t\t\t<data execOrder="{at}" primitiveType="{how}" />\n\t\t</layer>'
        for at, (name, kind, how) in enumerate(NODES)
    ),
    "\t</layers>",
    "</net>",
]


def table(nodes: list[tuple[str, str, str]]) -> list[str]:
    return [f"| {name} | {kind} | {how} | 3 |" for name, kind, how in nodes]


def ordered(nodes: list[tuple[str, str, str]]) -> list[str]:
    return [f"{at}\t{name}\t{kind}\t{how}" for at, (name, kind, how) in enumerate(nodes)]


def states(read: Read, lines: list[str]) -> list[str]:
    """What is said of each graph."""
    processes = read(*"\n".join(lines).split("\n")).evidence.processes.values()
    return sorted(
        state for by in processes for one in by.values() for state, _ in one.of("openvino/graph-told")
    )


@pytest.mark.parametrize(
    "lines",
    [
        table(NODES),
        ["| node | type | primitive | us |", "|---|---|---|---|", *table(NODES), "ok"],
        [f"{kind:20} {how:28} {name}" for name, kind, how in NODES],
        ["name,layerType,primitiveType", *(",".join(node) for node in NODES)],
        [f"exec node={a} layerType={b} primitiveType={c} precision=f32" for a, b, c in NODES],
        [f"{a} {{'layerType': '{b}', 'primitiveType': '{c}', 'execTimeMcs': '3'}}" for a, b, c in NODES],
        [json.dumps(OBJECTS)],
        json.dumps(OBJECTS, indent=2).split("\n"),
    ],
)
def test_a_graph_without_an_order_may_lack_nodes(lines: list[str], read: Read) -> None:
    assert states(read, ["compiled", *lines, "done"]) == ["unordered"]  # from its input to an output of it


@pytest.mark.parametrize(
    "lines",
    [
        table(NODES[:-1]),  # its output is missing
        [*table(NODES[:3]), "...", *table(NODES[4:])],  # and here a row inside
        json.dumps(OBJECTS[:-1], indent=2).split("\n"),
    ],
)
def test_a_graph_that_misses_its_end_is_cut(lines: list[str], read: Read) -> None:
    assert "whole" not in states(read, lines)
    assert "cut" in states(read, lines)


@pytest.mark.parametrize(
    "lines",
    [
        table([node for node in NODES if not node[2].startswith("unknown")]),  # only what ran
        table(sorted(NODES, key=lambda node: node[2])),  # by kernel, as a list of the slowest is by time
        json.dumps(OBJECTS, indent=2).split("\n")[:-1][6:],  # its first lines are lost
        # benchmark_app 2026.4 -json_stats -report_type average_counters names the first node only
        json.dumps(
            {"nodes": [{"name": "x", "node_type": "Parameter", "exec_type": "unknown_f32"}]}, indent=4
        ).split("\n"),
        ["Input of unknown_f32 was refused"],
        XML,  # what is cut out of its middle would not show
    ],
)
def test_a_list_that_is_no_whole_graph_is_none(lines: list[str], read: Read) -> None:
    assert "whole" not in states(read, lines)


@pytest.mark.parametrize("count", [3, 5, 10, 20, 100])
def test_the_first_nodes_of_a_graph_with_several_outputs_are_not_the_whole(count: int, read: Read) -> None:
    # As 2026.4 ordered a model with four results: tokens Input, act/erf Subgraph, Result_22 Output, ...
    inner = [(f"act/erf_{at}", "Subgraph", "jit_avx512_f32") for at in range(count - 2)]
    first = [NODES[0], *inner, ("Result_22", "Output", "unknown_f32")]
    assert "whole" not in states(read, table(first))
    objects = [{"name": name, "layerType": kind, "primitiveType": how} for name, kind, how in first]
    assert "whole" not in states(read, [json.dumps(objects)])


def test_nodes_that_tell_their_order_are_whole_without_a_gap(read: Read) -> None:
    # A model with several results: the first one to be printed is not the last to run.
    order = [0, 1, 2, 3, 7, 6, 4, 5]
    rows = [f"{at}\t{a}\t{b}\t{c}" for at, (a, b, c) in zip(order, NODES, strict=True)]
    told = [
        f"{a} {{'execOrder': '{at}', 'layerType': '{b}', 'primitiveType': '{c}'}}"
        for at, (a, b, c) in zip(order, NODES, strict=True)
    ]
    for lines in (rows, told):
        assert states(read, lines) == ["whole"]
        assert states(
            read,
            [line.replace("7", "35", 1) if line.startswith("7") or "'7'" in line else line for line in lines],
        ) == ["cut"]


def test_a_kernel_that_is_not_picked_yet_and_a_body_are_told(read: Read) -> None:
    early = [*NODES[:5], ("MatMul_4", "FullyConnected", "undef_bf16"), *NODES[6:]]
    assert states(read, ordered(early)) == ["early"]
    nested = [*NODES[:5], ("solve", "Loop", "unknown_f32"), *NODES[6:]]
    assert states(read, ordered(nested)) == ["nested"]


def test_the_graph_under_the_known_header_is_told_once(read: Read) -> None:
    head = "executed graph: layerType primitiveType runtimePrecision name"
    lines = [head, *(f"  {kind:24} {how:24} f32    {name}" for name, kind, how in NODES)]
    assert states(read, lines) == []
    assert read(*lines).markers == {"openvino/graph-printed"}
