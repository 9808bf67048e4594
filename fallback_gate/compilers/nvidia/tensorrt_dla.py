r"""Room 3: TensorRT's messages about a layer that the DLA does not take.

The wording changed: `is not running on DLA` up to TensorRT 6, `is not supported on DLA` from 7, `Unsupported on
DLA. Switching this layer's device type to GPU.` from 8.5, with `Validation failed for DLA layer` where the DLA's own
compiler refuses it. The reason stands in a line before, at WARNING or
even ERROR, and repeats the layer's name: it belongs to the message and is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.nvidia import tensorrt_layers as layers
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.shared import hinted
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

NAME = "tensorrt"
_HELP = (
    "Replace the operator by one that the DLA runs, or build the model for the GPU: each border between the "
    "engines copies and reformats. Without --allowGPUFallback the build fails instead."
)


def _why(record: Record, name: str) -> str | None:
    """The reason that the lines before give for this layer."""
    for line in record.preceding(3):
        text = layers.LOGGER.sub("", line.text).strip()
        if name in text and "DLA" in text and "GPU" not in text:
            return text[:300]
    return None


def of_layer(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """One layer, in whichever wording names it."""
    name = next(match[group] for group in "abcde" if match[group]).strip()
    said = next(match[group] for group in ("r1", "r2", "r3", "r4", "r5") if match[group])
    report = layers.named(by_groups(rule, record, match), name, match["type"] or "")
    yield report._replace(reason=_why(record, name) or said)


LAYER = Rule(
    id="tensorrt/dla-layer",
    compiler=NAME,
    anchor=(
        "Default DLA is",
        "on DLA. Switching",
        "DLA only supports FP16",
        "per DLA core. Switching",
        "Validation failed for DLA layer",
    ),
    pattern=layers.HEAD
    + r"(?:Default DLA is enabled but layer (?P<a>.{1,400}?) (?P<r1>is not (?:supported|running) on DLA), falling back to GPU"
    r"|Layer '(?P<b>.{1,400}?)' \((?P<type>[A-Z_0-9]{1,40})\): (?P<r2>Unsupported on DLA)\. Switching this layer's device type to GPU"
    r"|(?P<r3>DLA only supports FP16 and Int8 precision type)\. Switching (?P<c>.{1,400}?) device type to GPU"
    r"|(?P<r4>DLA supports only \d{1,4} subgraphs per DLA core)\. Switching to GPU for layer (?P<d>.{1,400}\S)"
    r"|(?P<r5>Validation failed for DLA layer): (?P<e>.{1,400}?)\. Switching to GPU fallback)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The layer was to run on the DLA and is built for the GPU instead.",
    help=_HELP,
    seen_in="5 to 10 (public threads), WARNING",
    matches=(
        "[W] [TRT] Default DLA is enabled but layer gate_mix_1 is not supported on DLA, falling back to GPU.",
        "WARNING: Default DLA is enabled but layer layer74-act is not running on DLA, falling back to GPU.",
        "[01/01/2026-00:00:04] [TRT] [W] Layer '(Unnamed Layer* 77) [Shuffle]' (SHUFFLE): Unsupported on DLA. Switching this layer's device type to GPU.",
        "[W] [TRT] DLA only supports FP16 and Int8 precision type. Switching (Unnamed Layer* 12) [Gather] device type to GPU.",
        "[01/29/2026-15:42:41] [TRT] [W] Validation failed for DLA layer: (Unnamed Layer* 473) [ElementWise]. Switching to GPU fallback.",
        "WARNING: [TRT]: DLA supports only 8 subgraphs per DLA core. Switching to GPU for layer conv_6",
        "WARNING:TensorRT:Default DLA is enabled but layer gate_mix_1 is not supported on DLA, falling back to GPU.",
    ),
    ignores=(
        "[01/01/2026-00:00:00] [I] DLACore: 0(With GPU fallback)",
        "what does `Default DLA is enabled but layer x is not supported on DLA, falling back to GPU` mean?",
        "[W] [TRT] DLA Layer block/conv2d does not support dynamic shapes in any dimension.",
        "ERROR: [TRT]: act_1: ActivationLayer (with ActivationType = LEAKY_RELU) not supported for DLA.",
    ),
    read=of_layer,
)


NONE = Rule(
    id="tensorrt/dla-unused",
    compiler=NAME,
    anchor=("setDefaultDeviceType was called",),
    pattern=layers.HEAD
    + r"(?P<reason>setDefaultDeviceType was called but no layer in the network can run on DLA)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The DLA was asked for and takes no layer of the model: all of it runs on the GPU.",
    help=_HELP,
    seen_in="7 to 8.6 (public threads), WARNING",
    matches=("[W] [TRT] setDefaultDeviceType was called but no layer in the network can run on DLA.",),
    read=hinted,
)

LISTED = Rule(
    id="tensorrt/gpu-layer",
    compiler=NAME,
    anchor=("Layers Running on DLA", "Layers running on DLA"),
    pattern=r"-{5,20} Layers [Rr]unning on DLA\b",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="In an engine with layers on the DLA, this one is listed for the GPU.",
    help=_HELP,
    seen_in="7 to 10 (public threads), INFO",
    matches=(
        "[I] [TRT] ---------- Layers Running on DLA ----------\n"
        "[I] [TRT] [DlaLayer] {ForeignNode[/a/Conv.../b/Relu]}\n"
        "[I] [TRT] ---------- Layers Running on GPU ----------\n"
        "[I] [TRT] [GpuLayer] SOFTMAX: /head/Softmax\n"
        "[I] [TRT] [MemUsageChange] Init cuDNN",
    ),
    ignores=("The section Layers Running on DLA is empty.",),
    read=layers.left_to_gpu,
)

RULES = (LAYER, NONE, LISTED)
