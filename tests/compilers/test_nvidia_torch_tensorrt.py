"""Room 3: Torch-TensorRT: the header above a row decides what the row means; wording from real runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fallback_gate.compilers import READERS
from fallback_gate.model import State

SAMPLES = Path(__file__).parent.parent.parent / "sample_logs" / "nvidia"
Read = Callable[..., Any]
DRY = (SAMPLES / "torch-tensorrt-dry-run.2.14.0.log").read_text(encoding="utf-8").splitlines()
CLEAN = (SAMPLES / "torch-tensorrt-dry-run-clean.2.14.0.log").read_text(encoding="utf-8").splitlines()


def state(said: Any) -> State:
    """What the log proves about operators, in its one process."""
    (by,) = said.evidence.processes.values()
    proof = READERS["torch_tensorrt"].prove(by["torch_tensorrt"])
    return next(said.state for kind, said in proof.items() if kind.value == "op_fallback")


def test_the_dry_run_names_operators_and_places(read: Read) -> None:
    said = read(*DRY)
    assert [(report.op, report.position, report.site) for report in said.reports] == [
        ("acme::gate_attn", 15, None),
        ("acme::gate_attn", 18, "layers.0/gate_attn"),
        ("acme::gate_attn", 19, "layers.1/gate_attn_1"),
    ]
    assert state(said) is State.PROVEN


def test_the_overview_counts_under_its_second_header_only(read: Read) -> None:
    said = read(
        "DEBUG:torch_tensorrt.dynamo.partitioning._adjacency_partitioner:",
        "Supported Nodes:",
        "- torch.ops.aten.topk.default + Operator Count: 4",
        "",
        "DEBUG:torch_tensorrt.dynamo.partitioning._adjacency_partitioner:",
        "Unsupported or Excluded Nodes:",
        "- torch.ops.acme.gate_attn.default + Operator Count: 2",
        "- _operator.getitem + Operator Count: 3",
        "- <built-in function add> + Operator Count: 1",
        "",
        "- torch.ops.aten.sort.default + Operator Count: 1",
    )
    assert [(report.op, report.position, report.site, report.hint) for report in said.reports] == [
        ("acme::gate_attn", 7, "0", True),
        ("acme::gate_attn", 7, "1", True),
        ("add", 9, "0", True),
    ]


def test_a_count_beyond_reason_is_a_lower_bound(read: Read) -> None:
    rows = ["Unsupported or Excluded Nodes:", "- torch.ops.a.b.default + Operator Count: 999999999"]
    reports = read(*rows).reports
    assert len(reports) == 1000
    assert all(report.at_least for report in reports)


@pytest.mark.parametrize(
    ("line", "op"),
    [
        ("[top_k validator] It's not expected for k to be a dynamic or data-dependent value. aten::topk will run in PyTorch", "aten::topk"),
        ("[sort validator] Skipping node sort_1 with 0-D (scalar) input; aten.sort will run in PyTorch.", "aten::sort"),
        ("aten.repeat node repeat_2 has 9 repeat dims, which alone exceeds TensorRT's maximum supported tensor rank of 8. Falling back to PyTorch for this node.", "aten::repeat"),
        ("linalg_cross node cross has a non-static or non-3 sized dim 1 (size=s0); falling back to PyTorch.", "aten::linalg_cross"),
        ("Strided + dilated deconvolution 'deconv' is not supported on TensorRT-RTX. Falling back to PyTorch.", "aten::convolution"),
        ("Complex op 'torch.ops.aten.fft_r2c' has no explicit rewrite rule. Wrapping with view_as_complex", "aten::fft_r2c"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", ["", "DEBUG:torch_tensorrt.dynamo.conversion.aten_ops_converters:"])
def test_a_validator_that_refuses(before: str, line: str, op: str, read: Read) -> None:
    assert read(before + line).told == [("op_fallback", op, "operator")]


@pytest.mark.parametrize(
    "line",
    [
        "INFO:torch_tensorrt.dynamo.conversion.custom_ops_converters:TensorRT-LLM plugin for NCCL is not available. NCCL operations will fall back to PyTorch execution.",
        " torch.ops.acme.gate_attn.default: 2",
        "Node: torch.ops.acme.gate_attn.default, with layer location: layers.0/gate_attn",
        "- torch.ops.acme.gate_attn.default + Operator Count: 2",
        "[build] submodule _run_on_gpu_0 0 ops []",
        "[INFO] RFCNet: Deformable conv will run in PyTorch (hybrid mode)",
        "Unable to import quantization op. Please install modelopt library",
    ],
)
def test_no_fallback(line: str, read: Read) -> None:
    assert read(line).reports == []


SKIPPED = "110 supported operations detected in subgraph containing 112 computational nodes. Skipping this subgraph, since min_block_size was detected to be 500"
GRAPH = "INFO:torch_tensorrt.dynamo._compiler:Partitioning the graph via the fast partitioner"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (CLEAN, State.PROVEN),
        ([GRAPH, *CLEAN], State.PROVEN),
        ([GRAPH, *CLEAN, GRAPH], State.UNPROVEN),  # a second graph without its report
        ([*CLEAN, *CLEAN], State.UNPROVEN),  # two graphs: was the model broken?
        (CLEAN[:-1], State.UNPROVEN),  # cut before its end
        ([line for line in DRY if "gate_attn.default: 2" not in line], State.UNPROVEN),  # lists too little
        ([line.replace("118", "0") for line in CLEAN], State.UNPROVEN),  # nothing in the graph
        (DRY, State.PROVEN),
        (
            [line for line in DRY if "set to run in Torch:" not in line],
            State.UNPROVEN,
        ),  # whose nodes these are
        ([line for line in CLEAN if "Operators in Engine" not in line], State.UNPROVEN),  # who has the 118
        ([line.replace("Engine: 118", "Engine: 117") for line in CLEAN], State.UNPROVEN),  # nor who the last
        ([GRAPH], State.UNOBSERVABLE),
        ([SKIPPED], State.UNOBSERVABLE),
    ],
)
def test_what_a_dry_run_proves(lines: list[str], expected: State, read: Read) -> None:
    assert state(read(*lines)) is expected


def test_no_cut_of_a_clean_report_passes(read: Read) -> None:
    for end in range(11, len(CLEAN)):
        said = read(*CLEAN[:end])
        assert state(said) is not State.PROVEN, end


def test_a_report_of_one_rank_between_the_lines_of_another(read: Read) -> None:
    block = DRY[9:]
    said = read(*(line for part in block for line in (f"[rank1]: {part}", "[rank0]: step")))
    assert [report.op for report in said.reports] == ["acme::gate_attn"] * 3
    assert {process.rank for process in said.processes} == {1}
    assert state(said) is State.PROVEN
