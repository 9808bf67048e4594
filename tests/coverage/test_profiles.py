"""Profiles of ONNX Runtime, layers of TensorRT, graphs of OpenVINO: real ones, and small ones by hand."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fallback_gate.model import Kind, Outcome
from fallback_gate.model.matrix import Column
from tests.coverage.matrices import PROFILES, cells, columns, held

ORIGINS = sorted(PROFILES.glob("*.origin.yaml"))


@pytest.mark.parametrize("path", ORIGINS, ids=lambda path: path.name.removesuffix(".origin.yaml"))
def test_a_sample_has_the_columns_of_its_origin(path: Path, tmp_path: Path) -> None:
    said = yaml.safe_load(path.read_text("utf-8"))
    found = held(tmp_path, PROFILES / said["file"], target=said.get("target"))
    assert columns(found) == {op: {Column(column)} for op, column in said["columns"].items()}
    assert [one.problem for one in found.read] == [None]


def test_every_sample_has_an_origin() -> None:
    named = {yaml.safe_load(path.read_text("utf-8"))["file"] for path in ORIGINS}
    assert named == {path.name for path in PROFILES.iterdir() if path.suffix in (".json", ".xml")}


def test_times_of_onnxruntime_are_medians_of_the_runs(tmp_path: Path) -> None:
    file = PROFILES / "onnxruntime-cpu.1.32.json"
    times: dict[str, list[int]] = defaultdict(list)
    for event in json.loads(file.read_text("utf-8")):
        if event["name"].endswith("_kernel_time"):
            times[event["name"].removesuffix("_kernel_time")].append(event["dur"])
    found = held(tmp_path, file, target="CPUExecutionProvider")
    assert {name: len(runs) for name, runs in times.items()} == dict.fromkeys(times, 3)
    (softmax,), (down,) = cells(found, "Softmax"), [c for c in cells(found, "MatMul") if c.shape == "2x8x128"]
    assert softmax.microseconds == median(times["/router/Softmax"])
    assert down.microseconds == median(times["/mlp/down/MatMul"])
    (up,) = (cell for cell in cells(found, "MatMul") if cell.shape == "2x8x64")
    assert up.microseconds == median(times["/mlp/up/MatMul"]) + median(times["/router/MatMul"])
    assert (up.dtype, up.by, up.names) == (
        "f32",
        ("CPUExecutionProvider",),
        ("/mlp/up/MatMul", "/router/MatMul"),
    )


def test_a_profile_of_the_cpu_alone_is_unknown_until_the_user_says_what_was_asked(tmp_path: Path) -> None:
    """The whole session may have fallen back to the CPU: that is no pass."""
    file = PROFILES / "onnxruntime-cpu.1.32.json"
    hot = [{"op": "TopK"}]
    silent = held(tmp_path, file, hot=hot)
    assert silent.outcome is Outcome.UNPROVEN
    assert {cell.column for cell in silent.matrix.cells} == {Column.UNKNOWN}
    assert "--target" in " ".join(silent.notes)
    assert held(tmp_path, file, hot=hot, target="CPUExecutionProvider").outcome is Outcome.PASS
    fell = held(tmp_path, file, hot=hot, target="CUDAExecutionProvider")
    assert fell.outcome is Outcome.BLOCKED
    assert {(cell.column, cell.kind) for cell in fell.matrix.cells} == {
        (Column.FALLBACK, Kind.DEVICE_FALLBACK)
    }


def test_a_profile_that_is_cut_never_passes(tmp_path: Path) -> None:
    whole = (PROFILES / "onnxruntime-cpu.1.32.json").read_text("utf-8")
    cut = tmp_path / "profile.json"
    cut.write_text(whole[: len(whole) * 2 // 3], "utf-8")
    found = held(tmp_path, cut, hot=[{"op": "TopK"}], target="CPUExecutionProvider")
    assert found.outcome is Outcome.UNPROVEN
    assert any("cut short" in why for why in found.open)


def test_an_openvino_graph_of_the_cpu_is_a_fallback_where_the_gpu_was_asked(tmp_path: Path) -> None:
    file = PROFILES / "openvino-cpu.2026.4.xml"
    found = held(tmp_path, file, hot=[{"op": "Softmax"}], target="GPU")
    assert found.outcome is Outcome.BLOCKED
    assert held(tmp_path, file, hot=[{"op": "Softmax"}], target="CPU").outcome is Outcome.PASS
    assert held(tmp_path, file, hot=[{"op": "Gather"}], target="CPU").outcome is Outcome.BLOCKED


def test_what_openvino_fused_is_known_by_the_nodes_of_the_model(tmp_path: Path) -> None:
    """Gelu has no kernel of its own there: the product before it computes it."""
    found = held(tmp_path, PROFILES / "openvino-cpu.2026.4.xml", hot=[{"op": "Gelu"}])
    assert found.outcome is Outcome.PASS
    (product,) = (cell for cell in found.matrix.cells if "/mlp/Gelu" in cell.names)
    assert (product.op, product.shared, product.microseconds) == ("FullyConnected", True, 1293.0)
    assert (product.shape, product.dtype) == ("2x8x64, 128x64, 0", "bf16")


def graph(*layers: str, head: str = '<?xml version="1.0"?>') -> str:
    return f'{head}<net name="x" version="11"><layers>{"".join(layers)}</layers></net>'


def layer(kind: str, how: str, name: str = "a") -> str:
    return f'<layer id="0" name="{name}" type="{kind}"><data primitiveType="{how}" execTimeMcs="5" /></layer>'


@pytest.mark.parametrize(
    ("kind", "how", "column"),
    [
        ("Softmax", "jit_avx2_f32", Column.LIBRARY),
        ("MatMul", "gemm_mlas_f32", Column.LIBRARY),
        ("Reference", "ref_f32", Column.FALLBACK),
        ("Gather", "ref_any_f32", Column.FALLBACK),
        ("permute", "permute_ref__f16", Column.FALLBACK),
        ("gather", "ocl::ref::any", Column.FALLBACK),
        ("gemm", "gemm_tiled_opt__f16", Column.LIBRARY),
        ("Subgraph", "jit_avx512_bf16", Column.GENERATED),
        ("Softmax", "", Column.UNKNOWN),
    ],
)
def test_columns_of_openvino(kind: str, how: str, column: Column, tmp_path: Path) -> None:
    (tmp_path / "g.xml").write_text(graph(layer(kind, how), layer("Relu", "jit_avx2", "b")), "utf-8")
    found = held(tmp_path, tmp_path / "g.xml")
    assert next(cell.column for cell in found.matrix.cells if "a" in cell.names) is column


@pytest.mark.parametrize(
    "text",
    [
        graph(layer("Softmax", "jit_avx2_f32"))[:-40],
        graph(layer("Softmax", "jit_avx2_f32"), layer("If", "unknown")),
        graph(layer("Softmax", "")),
        graph(),
        graph(layer("Softmax", "jit_f32"), head='<?xml version="1.0"?><!DOCTYPE net [<!ENTITY a "b">]>'),
    ],
    ids=["cut", "a body that is not shown", "a model and no executed graph", "empty", "a document type"],
)
def test_a_graph_that_shows_too_little_never_passes(text: str, tmp_path: Path) -> None:
    (tmp_path / "g.xml").write_text(text, "utf-8")
    if "DOCTYPE" in text:
        assert held(tmp_path, tmp_path / "g.xml", hot=[{"op": "Softmax"}]).outcome is Outcome.UNPROVEN
        return
    found = held(tmp_path, tmp_path / "g.xml", hot=[{"op": "Softmax"}])
    assert found.outcome is Outcome.UNPROVEN
    assert found.read[0].problem


TENSOR = {"Name": "x", "Dimensions": [8, 64], "Format/Datatype": "Row major linear FP16 format"}


def trt(name: str, kind: str, **further: Any) -> dict[str, Any]:
    return {"Name": name, "LayerType": kind, "Inputs": [TENSOR], "Outputs": [TENSOR], **further}


ENGINE = [
    trt("Reformatting CopyNode for Input Tensor 0 to Conv_0", "Reformat"),
    trt("Conv_0 + Relu_1", "CaskConvolution", ParameterType="Convolution", TacticName="sm80_xmma_fprop_x"),
    trt("/head/Softmax", "kgen", Metadata="[ONNX Layer: /head/Softmax]", TacticName="__myl_Soft_0x1"),
    trt("attn_plugin", "PluginV3"),
    trt("PWN(Sigmoid_2)", "PointWiseV2"),
    trt("pool", "CudaPooling", ParameterType="Pooling"),
]


def engine(folder: Path, layers: list[Any]) -> Path:
    path = folder / "layers.json"
    path.write_text(json.dumps({"Layers": layers, "Bindings": ["x", "y"]}), "utf-8")
    return path


def test_layers_of_tensorrt(tmp_path: Path) -> None:
    """The format: docs.nvidia.com, "Engine Inspector", at detailed verbosity."""
    found = held(tmp_path, engine(tmp_path, ENGINE), hot=[{"op": "Softmax"}, {"op": "Relu"}])
    assert found.outcome is Outcome.PASS
    assert columns(found) == {
        "Convolution": {Column.LIBRARY},
        "Softmax": {Column.GENERATED},
        "PluginV3": {Column.HAND_WRITTEN},
        "Sigmoid": {Column.GENERATED},
        "Pooling": {Column.LIBRARY},
    }
    (convolution,) = cells(found, "Convolution")
    assert convolution.shape == "8x64"
    assert convolution.dtype == "f16"
    assert convolution.by == ("sm80_xmma_fprop_x",)
    assert {"Conv", "Relu", "Conv_0", "Relu_1"} <= set(convolution.names)


def test_the_profile_of_trtexec_beside_them_has_the_times(tmp_path: Path) -> None:
    times = tmp_path / "profile.json"
    rows = [
        {"count": 10},
        {"name": "pool", "timeMs": 1.9, "averageMs": 0.19, "medianMs": 0.2, "percentage": 5},
    ]
    times.write_text(json.dumps(rows), "utf-8")
    found = held(tmp_path, times, engine(tmp_path, ENGINE))
    assert [cell.microseconds for cell in cells(found, "Pooling")] == [200.0]
    assert [cell.microseconds for cell in cells(found, "Convolution")] == [None]


def test_a_gpu_layer_of_an_engine_for_the_dla_is_a_fallback(tmp_path: Path) -> None:
    layers = [
        trt("{ForeignNode[/a...]}", "DLA"),
        trt("/head/Softmax", "CudaSoftMax"),
        trt("x copy", "Reformat"),
    ]
    found = held(tmp_path, engine(tmp_path, layers), hot=[{"op": "Softmax"}])
    assert found.outcome is Outcome.BLOCKED
    assert [red.cell.kind for red in found.red] == [Kind.DEVICE_FALLBACK]
    assert sum(cell.column is Column.FALLBACK for cell in found.matrix.cells) == 1


def test_names_alone_tell_no_kernel(tmp_path: Path) -> None:
    found = held(tmp_path, engine(tmp_path, ["Conv_0 + Relu_1", "/head/Softmax"]), hot=[{"op": "Conv_0"}])
    assert found.outcome is Outcome.UNPROVEN
    assert {cell.column for cell in found.matrix.cells} == {Column.UNKNOWN}
    assert any("DETAILED" in why for why in found.open)


def test_layers_that_are_cut_never_pass(tmp_path: Path) -> None:
    path = engine(tmp_path, ENGINE)
    path.write_text(path.read_text("utf-8")[:-30], "utf-8")
    found = held(tmp_path, path, hot=[{"op": "Softmax"}])
    assert found.outcome is Outcome.UNPROVEN
    assert any("cut short" in why for why in found.open)


TEXTS = [
    (PROFILES / "onnxruntime-openvino.1.24.json").read_text("utf-8"),
    (PROFILES / "openvino-cpu.2026.4.xml").read_text("utf-8"),
    json.dumps({"Layers": ENGINE}),
    '[{"count": 10}, {"name": "pool", "averageMs": 0.19, "medianMs": 0.2}]',
]


@settings(max_examples=60)
@given(st.sampled_from(TEXTS), st.data())
def test_damage_ends_in_a_matrix_or_a_clear_error(text: str, data: st.DataObject) -> None:
    """A piece is cut out, or junk is put in: no traceback, and what is not whole does not pass by itself."""
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 400))
    junk = data.draw(st.sampled_from(["", "\x00", "{", "]", "<", '"', "9" * 400, '"dur": "x"', "&a;"]))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "damaged"
        path.write_text(text[:start] + junk + text[start + length :], "utf-8")
        found = held(Path(folder), path, hot=[{"op": "no-such-operator"}])
    assert found.outcome in (Outcome.UNPROVEN, Outcome.BLOCKED)
