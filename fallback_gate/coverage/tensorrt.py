"""The annex, the coverage matrix: the layers of a TensorRT engine, as its inspector writes them.

`IEngineInspector.get_engine_information(JSON)` and `trtexec --exportLayerInfo=FILE` write an object with
`Layers`. Built with `ProfilingVerbosity.DETAILED`, a layer is an object: `Name` (`Conv_0 + Relu_1`),
`LayerType`, `ParameterType`, `TacticName`, `Inputs` and `Outputs` with `Dimensions` and `Format/Datatype`,
`Metadata` with the layers of the ONNX model. Otherwise it is a name alone, which tells no kernel.
`trtexec --exportProfile=FILE` writes the time of each layer beside it: `name`, `averageMs`, `medianMs`.

Plugins are hand-written; Myelin's and the pointwise kernels are generated; all else is NVIDIA's library. In
an engine with layers for the DLA, a layer for the GPU is a fallback; copies at the border are no layers.

Source: docs.nvidia.com/deeplearning/tensorrt, "Engine Inspector"; NVIDIA's trt-engine-explorer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fallback_gate.compilers.nvidia.tensorrt_build import NAME
from fallback_gate.compilers.nvidia.tensorrt_layers import is_copy, parts
from fallback_gate.coverage import shapes
from fallback_gate.errors import Unreadable
from fallback_gate.model import Kind
from fallback_gate.model.matrix import Cell, Column

MOST_LAYERS: Final = 200_000
NAMES_ONLY: Final = (
    "the layers are names only, which tell no kernel: build with ProfilingVerbosity.DETAILED "
    "(trtexec --profilingVerbosity=detailed)"
)
_FREE: Final = {
    "NoOp", "Reformat", "Constant", "Signal", "Wait", "TrainStation", "ShapeHostToDevice", "Copy", "Barrier",
    "DeviceToShapeHost", "DevicetoShapeHostCopy",
}  # fmt: skip
_GENERATED = re.compile(r"(?i)myelin|kgen|foreignnode|pointwise|pwn")
_DATA_TYPE = re.compile(
    r"(?i)\b(bf16|bfloat16|fp32|float|fp16|half|int8|fp8|fp4|int64|int32|int4|bool|uint8)\b"
)
_ONNX = re.compile(r"\[ONNX Layer: ([^\]\x1e]{1,300})\]")
_NUMBER = re.compile(r"_\d+$")


def layers(document: str, times: Mapping[str, float]) -> tuple[list[Cell], str | None]:
    """The cells of an engine, with the times that a profile gives its layers, and why they prove less.

    Raises `Unreadable` for what is no list of layers.
    """
    said = _load(document)
    found = said.get("Layers") if isinstance(said, dict) else None
    if not isinstance(found, list):
        raise Unreadable("no layers of TensorRT: there is no list under Layers")
    told = [layer for layer in found[:MOST_LAYERS] if isinstance(layer, dict)]
    problem = None
    if len(told) < len(found):
        problem = NAMES_ONLY if len(found) <= MOST_LAYERS else f"more than {MOST_LAYERS:,} layers"
    elif not told:
        problem = "the engine has no layer"
    on_dla = any(_is_dla(layer) for layer in told)
    cells = [cell for layer in told for cell in _cell(layer, on_dla, times)]
    named = (str(layer) for layer in found[:MOST_LAYERS] if isinstance(layer, str))
    cells += [
        Cell(op=name[:300], backend=NAME, column=Column.UNKNOWN, names=parts(name))
        for name in named
        if not is_copy(name)
    ]
    return cells, problem


def profile(document: str) -> dict[str, float]:
    """Microseconds by layer. Raises `Unreadable` for what is no profile of trtexec."""
    said = _load(document)
    if not isinstance(said, list):
        raise Unreadable("no profile of trtexec: it is no list")
    return {
        str(one["name"]): 1000 * float(time)
        for one in said
        if isinstance(one, dict)
        and "name" in one
        and isinstance(time := one.get("medianMs", one.get("averageMs")), (int, float))
    }


def _load(document: str) -> Any:
    try:
        return json.loads(document)
    except (ValueError, RecursionError) as wrong:
        raise Unreadable(f"no JSON, or cut short: {wrong}") from None


def _is_dla(layer: Mapping[str, Any]) -> bool:
    return "DLA" in str(layer.get("LayerType", "")).upper()


def _cell(layer: Mapping[str, Any], on_dla: bool, times: Mapping[str, float]) -> Iterator[Cell]:
    name, kind = str(layer.get("Name", "")), str(layer.get("LayerType", ""))
    if kind in _FREE or is_copy(name, kind.upper()):
        return
    tactic = str(layer.get("TacticName", ""))
    column, fell, reason = Column.LIBRARY, None, None
    if not kind:
        column = Column.UNKNOWN
    elif on_dla and not _is_dla(layer):
        column, fell = Column.FALLBACK, Kind.DEVICE_FALLBACK
        reason = "runs on the GPU, in an engine with layers for the DLA"
    elif "plugin" in kind.lower():
        column = Column.HAND_WRITTEN
    elif _GENERATED.search(kind):
        column = Column.GENERATED
    model = [*_ONNX.findall(str(layer.get("Metadata", "")))] or list(parts(name))
    operators = tuple(dict.fromkeys(filter(None, map(_operator, model))))
    tensors = [_tensor(one) for one in layer.get("Inputs") or () if isinstance(one, dict)]
    results = [_tensor(one) for one in layer.get("Outputs") or () if isinstance(one, dict)]
    types = [said for _, said in (*results, *tensors) if said]
    own = str(layer.get("ParameterType") or kind or name)
    yield Cell(
        op=(operators[0] if column is Column.GENERATED and len(operators) == 1 else own)[:300],
        backend=NAME,
        column=column,
        shape=shapes.inputs([shape for shape, _ in tensors]),
        dtype=types[0] if types else "",
        by=(tactic or kind,) if tactic or kind else (),
        microseconds=times.get(name),
        shared=len(operators) > 1,
        names=tuple(dict.fromkeys((*operators, *model)))[:16],
        kind=fell,
        reason=reason,
    )


def _operator(layer: str) -> str:
    """The operator that the name of an ONNX layer ends in: `/head/Softmax`, `Conv_5`."""
    last = _NUMBER.sub("", layer.rpartition("/")[2])
    return last if last.isidentifier() else ""


def _tensor(said: Mapping[str, Any]) -> tuple[str, str]:
    sizes = said.get("Dimensions")
    written = str(said.get("Datatype") or said.get("Format/Datatype") or "")
    kind = _DATA_TYPE.search(written)
    return shapes.dims(sizes) if isinstance(sizes, list) else "", shapes.dtype(kind[1]) if kind else ""
