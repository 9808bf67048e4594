"""Room 3: accelerators and edge runtimes: what a log of theirs proves, and that a cut one proves nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fallback_gate.compilers import READERS, shared
from fallback_gate.compilers.rule import Evidence
from fallback_gate.model import Kind, Proof, State
from tests.compilers.conftest import family

Read = Callable[..., Any]
DEVICE, OPERATOR = Kind.DEVICE_FALLBACK, Kind.OP_FALLBACK

REPORT = [
    "Metric: CompileTime",
    "  TotalSamples: 4",
    "  Accumulator: 200ms100.000us",
    "Metric: ExecuteTime",
    "  TotalSamples: 40",
    "Counter: CreateXlaTensor",
    "  Value: 100",
    "Counter: xla::add",
    "  Value: 400",
]
NEURON = [
    "INFO:Neuron:Number of arithmetic operators (pre-compilation) before = 120, fused = 120, percent fused = 100.0%",
    "INFO:Neuron:Compiling function _NeuronGraph$21 with neuron-cc",
    "INFO:Neuron:Number of arithmetic operators (post-compilation) before = 120, compiled = 120, percent compiled = 100.0%",
    "INFO:Neuron:Neuron successfully compiled 1 sub-graphs, Total fused subgraphs = 1, Percent of model sub-graphs successfully compiled = 100.0%",
]
BENCHMARK = [
    "INFO: Log parameter values verbosely: [0]",
    "INFO: Created TensorFlow Lite delegate for GPU.",
    "INFO: Explicitly applied GPU delegate, and the model graph will be completely executed by the delegate.",
]
EDGETPU = [
    "Edge TPU Compiler version 16.0.384591198",
    "Started a compilation timeout timer of 180 seconds.",
    "Model compiled successfully in 1524 ms.",
    "Input model: a.tflite",
    "Total number of operations: 267",
    "Compilation succeeded!",
]
RKNN = [
    "I rknn building ...",
    "D RKNN: [09:38:25.031]    Network Layer Information Table",
    "D RKNN: [09:38:25.031] ------------",
    "D RKNN: [09:38:25.031] ID   OpType       DataType Target InputShape  OutputShape  FullName",
    "D RKNN: [09:38:25.031] ------------",
    "D RKNN: [09:38:25.031] 0    InputOperator  INT8  CPU    \\          (1,3,8,8)    InputOperator:in",
    "D RKNN: [09:38:25.031] 1    Conv           INT8  NPU    (1,3,8,8)  (1,16,8,8)   Conv:c1",
    "D RKNN: [09:38:25.031] ------------",
    "I rknn building done.",
]
TIDL = ["Final number of subgraphs created are : 1, - Offloaded Nodes - 313, Total Nodes - 313"]

CLEAN = [
    ("torch.xla", DEVICE, REPORT),
    ("neuron", DEVICE, NEURON),
    ("tflite", OPERATOR, BENCHMARK),
    ("edgetpu", DEVICE, EDGETPU),
    ("rknn", DEVICE, RKNN),
    ("tidl", DEVICE, TIDL),
]


def state(said: Any, compiler: str, kind: Kind) -> State:
    """What the one process of the log proves."""
    ((_, compilers),) = said.evidence.processes.items()
    return READERS[compiler].prove(compilers[compiler])[kind].state


@pytest.mark.parametrize(("compiler", "kind", "lines"), CLEAN)
def test_a_whole_clean_log_is_proven(compiler: str, kind: Kind, lines: list[str], read: Read) -> None:
    said = read(*lines)
    assert said.reports == []
    assert state(said, compiler, kind) is State.PROVEN


@pytest.mark.parametrize(("compiler", "kind", "lines"), CLEAN)
def test_a_log_that_is_cut_anywhere_proves_nothing(
    compiler: str, kind: Kind, lines: list[str], read: Read
) -> None:
    last = len(lines) - (1 if lines is REPORT else 0)
    for cut in range(1, last):
        said = read(*lines[:cut])
        if said.evidence.processes and (lines is not REPORT or cut < 8):
            assert state(said, compiler, kind) is not State.PROVEN, lines[:cut]


@pytest.mark.parametrize(
    ("compiler", "kind", "lines"),
    [
        ("torch.xla", DEVICE, [*REPORT, *(f"step {n}" for n in range(30))]),
        ("torch.xla", DEVICE, [*REPORT, "Traceback (most recent call last):", "ValueError: x"]),
        ("torch.xla", DEVICE, [*REPORT, "Bus error", "next of the batch", *["served"] * 3]),
        ("torch.xla", DEVICE, [*REPORT, "  Value: 3", ""]),  # of a counter that is lost
        ("neuron", DEVICE, [*NEURON, NEURON[0]]),
        ("neuron", DEVICE, [NEURON[0], NEURON[1], NEURON[3]]),
        (
            "neuron",
            DEVICE,
            [
                "INFO:Neuron:The following operations are currently not supported in torch-neuron for this model:",
                "INFO:Neuron:aten::nonzero",
                *(
                    line.replace("fused = 120", "fused = 114").replace("compiled = 120", "compiled = 114")
                    for line in NEURON
                ),
            ],
        ),
        ("neuron", DEVICE, [NEURON[0], NEURON[2].replace("compiled = 120", "compiled = 60"), NEURON[3]]),
        ("tflite", OPERATOR, [*BENCHMARK, BENCHMARK[0]]),
        ("tflite", OPERATOR, [BENCHMARK[0], BENCHMARK[2].replace("GPU", "NNAPI")]),
        ("tflite", OPERATOR, BENCHMARK[1:2]),
        ("edgetpu", DEVICE, [*EDGETPU, *EDGETPU[1:4]]),
        ("edgetpu", DEVICE, [*EDGETPU[:-1], "Compilation failed!"]),
        (
            "edgetpu",
            DEVICE,
            [*EDGETPU[:-1], "Number of operations that will run on Edge TPU: 264", EDGETPU[-1]],
        ),
        ("neuron", DEVICE, [line.replace("= 120", "= 0") for line in NEURON]),
        ("edgetpu", DEVICE, [line.replace(": 267", ": 0") for line in EDGETPU]),
        ("rknn", DEVICE, [*RKNN, RKNN[0]]),
        ("rknn", DEVICE, [*RKNN[:6], RKNN[6].replace("] 1 ", "] 2 "), *RKNN[7:]]),  # 1 is lost
        ("rknn", DEVICE, [*RKNN, RKNN[0], RKNN[-1]]),
        ("tidl", DEVICE, [*TIDL, TIDL[0].replace("313,", "306,")]),
    ],
)
def test_what_is_still_open_is_not_proven(compiler: str, kind: Kind, lines: list[str], read: Read) -> None:
    assert state(read(*lines), compiler, kind) is State.UNPROVEN


@pytest.mark.parametrize(
    ("gone", "expected"),
    [("DEQUANTIZE, ofm", State.UNPROVEN), ("QUANTIZE, ofm", State.PROVEN), ("no such line", State.PROVEN)],
)
def test_vela_names_as_many_operators_as_it_counts(gone: str, expected: State, read: Read) -> None:
    sample = Path(__file__).parents[2] / "sample_logs" / "vela" / "quantize.5.2.log"
    lines = sample.read_text(encoding="utf-8").splitlines()
    said = read(*(line for line in lines if gone not in line))
    assert state(said, "vela", DEVICE) is expected  # without both, the count itself is the event


@pytest.mark.parametrize(
    ("on_npu", "expected"), [("0 (0.0%)", State.UNPROVEN), ("33 (100.0%)", State.PROVEN)]
)
def test_a_network_of_no_operators_proves_nothing(on_npu: str, expected: State, read: Read) -> None:
    said = read("Network summary for a", "CPU operators = 0 (0.0%)", "", "", f"NPU operators = {on_npu}")
    assert state(said, "vela", DEVICE) is expected


@pytest.mark.parametrize(
    ("lines", "compiler"),
    [
        ([NEURON[0], NEURON[2].replace("compiled = 120", "compiled = 60"), NEURON[3]], "neuron"),
        ([TIDL[0].replace("313,", "306,")], "tidl"),
        ([" Number of subgraphs:2 , 31 nodes delegated out of 38 nodes  "], "tidl"),
        ([BENCHMARK[2].replace("completely", "partially")], "tflite"),
        (
            [
                "INFO: Though GPU delegate is explicitly applied, the model graph will not be executed by the delegate."
            ],
            "tflite",
        ),
    ],
)
def test_a_share_below_all_is_an_event_without_a_name(lines: list[str], compiler: str, read: Read) -> None:
    (report,) = read(*lines).reports
    assert (report.compiler, report.op, report.scope.value) == (compiler, "*", "program")


def test_what_the_benchmark_leaves_is_named_by_a_whole_list(read: Read) -> None:
    header = "ERROR: Following operations are not supported by GPU delegate:"
    split = "90 operations will run on the GPU, and the remaining 30 operations will run on the CPU."
    partially = BENCHMARK[2].replace("completely", "partially")
    whole = [BENCHMARK[0], header, "GATHER: Operation is not supported.", split, partially]
    assert state(read(*whole), "tflite", OPERATOR) is State.PROVEN
    assert state(read(*whole[:3], partially), "tflite", OPERATOR) is State.UNPROVEN


@pytest.mark.parametrize(
    "reader",
    [
        reader
        for reader in (*family("accelerators"), *family("edge"))
        if reader.name not in {c for c, _, _ in CLEAN}
    ],
    ids=lambda reader: reader.name,
)
def test_a_stack_that_shows_no_end_proves_nothing(reader: Any) -> None:
    proofs = reader.prove(Evidence())
    assert reader.required <= proofs.keys()
    assert all(proof.state is not State.PROVEN and proof.why for proof in proofs.values())


@pytest.mark.parametrize(
    ("prove", "state"), [(shared.unshown, State.UNOBSERVABLE), (shared.unended, State.UNPROVEN)]
)
@pytest.mark.parametrize(("setting", "said"), [("LOG=2", "LOG=2"), ("", None)])
def test_a_refusal_says_why_and_what_would_show_it(
    prove: Callable[..., Any], state: State, setting: str, said: str | None
) -> None:
    refused = prove("it is silent", setting, DEVICE, OPERATOR)(Evidence())
    assert refused == dict.fromkeys((DEVICE, OPERATOR), Proof(state, "it is silent", None, said))
