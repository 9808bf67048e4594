"""Room 3: OpenVINO's reference kernels in the forms in which programs print them; lines of real runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Read = Callable[..., Any]

NODES = [  # of an integer hash, as 2026.4 ran it: name, type, kernel, status
    ("x", "Parameter", "unknown_i64", "Status.NOT_RUN"),
    ("Convert_3644", "Convert", "ref_i64", "Status.EXECUTED"),
    ("hash/and", "BitwiseAnd", "jit_avx512_i32", "Status.EXECUTED"),
    ("hash/gather", "GatherElements", "ref_any_f32", "Status.EXECUTED"),
    ("spec/idft", "IDFT", "ref_any_f32", "Status.NOT_RUN"),
    ("Result_11", "Result", "ref_f32", "Status.OPTIMIZED_OUT"),
]
NAIVE = [
    ("Convert", "Convert_3644", "layer type Convert, kernel ref_i64"),
    ("GatherElements", "hash/gather", "layer type GatherElements, kernel ref_any_f32"),
    ("IDFT", "spec/idft", "layer type IDFT, kernel ref_any_f32"),
]
KEYS = ("node_name", "node_type", "exec_type", "status")
OBJECTS = [dict(zip(KEYS, node, strict=True)) for node in NODES]


def said(read: Read, lines: list[str]) -> list[tuple[str, str, str]]:
    """Operator, layer and reason of each report, which all are of one kind."""
    reports = read(*lines).reports
    assert {report.kind.value for report in reports} <= {"reference_kernel"}
    return [(report.op, report.layer, report.reason) for report in reports]


@pytest.mark.parametrize(
    "lines",
    [
        [f"{name:20} {kind:16} {how:18} {status:20} 17" for name, kind, how, status in NODES],
        [";".join(node) for node in NODES],
        [f"INFO:root:node={a} type={b} exec={c} status={d}" for a, b, c, d in NODES],
        [f"{a} | {b} | {c} | {d}" for a, b, c, d in NODES],
        [json.dumps(OBJECTS)],
        [json.dumps(one) for one in OBJECTS],
        [json.dumps(list(node)) for node in NODES],
        json.dumps(OBJECTS, indent=1).split("\n"),
        [str(OBJECTS)],
        [str(node) for node in NODES],
        [str([{"name": a, "layerType": b, "primitiveType": c, "status": d} for a, b, c, d in NODES])],
    ],
)
def test_each_node_on_a_reference_kernel_is_told_once(lines: list[str], read: Read) -> None:
    assert said(read, lines) == NAIVE


@pytest.mark.parametrize(
    ("lines", "ops"),
    [
        (["MatMul ref_f32 0.12", "MatMul ref_f16 0.13"], []),  # somebody's own variables
        (["MatMul ref_f32 0.12", "x Input unknown_f32 0"], ["MatMul"]),
        (["Gather ref_any_f32"], ["Gather"]),
        (["kernel ref_any_f32"], []),  # of which node, it does not say
        (["ref_any_f32 Gather enc/Gather"], ["Gather"]),
        (["x.ref_f32 MatMul jit_avx512"], []),
        (["Gather\tref_any_bf16"], ["Gather"]),
        (["DFT_4 EXECUTED ref_any_f32 25"], ["DFT"]),  # by its name, since no type is told
        (["hash/roll_12 status:NOT_RUN exec:ref_f32:0"], ["roll"]),
        (["Status.EXECUTED ref_f32 0.12"], []),
    ],
)
def test_what_is_a_kernel(lines: list[str], ops: list[str], read: Read) -> None:
    assert [op for op, *_ in said(read, lines)] == ops


def test_nodes_of_a_yaml_list_and_of_bytes_keep_their_names(read: Read) -> None:
    yaml = [
        line
        for a, b, c, _ in NODES
        for line in (f"- name: {a}", f"  layerType: {b}", f"  primitiveType: {c}")
    ]
    told = [(op, layer) for op, layer, _ in said(read, yaml)]
    assert told[:3] == [(op, layer) for op, layer, _ in NAIVE]
    # of a roll over bytes, as 2025.2 ran it
    roll = ["INFO tokens -> unknown_I8 (Input)", "INFO q/roll -> ref_I8 (Roll)"]
    assert [(op, reason) for op, _, reason in said(read, roll)] == [
        ("Roll", "layer type Roll, kernel ref_I8")
    ]


def test_kernels_that_are_only_counted_are_told_without_a_node(read: Read) -> None:
    (report,) = read("Counter({'unknown_f32': 9, 'jit_avx512_f32': 1, 'ref_any_f32': 3})").reports
    assert (report.op, report.scope.value) == ("*", "unknown")
    assert read("Counter({'unknown_f32': 9, 'ref_any_f32': 0})").reports == []
