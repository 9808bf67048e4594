"""mnn: Alibaba's MNN: operators that its back end hands to the CPU.

    CUDABackend Don't support type TopKV2, block/topk
    Can't Find type=2 backend, use 0 instead

**What falls back.** The back end has no creator for the operator: MNN makes it on the backup back end, the CPU. A
back end that is not there is replaced by the CPU for the whole model. The converter refuses a model with an operator
that it lacks.

**At which setting it speaks.** By default, printed without a level.

**When it is silent.** In builds with `MNN_BUILD_MINI` or without prints.

**What proves the end.** Nothing: a model that is taken whole prints no line.

Wording seen in the source of MNN 2.x and 3.x; 3.6 run without a GPU: its back ends and its converter.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "mnn"
SEEN = "MNN 2.x and 3.x (source)"


def operator_type(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator's type, its name in the model, and the back end that lacks it."""
    report = by_groups(rule, record, match)
    names = (match["op"], *filter(None, (match["name"],)))
    yield report._replace(op=names[0], names=names, layer=match["name"])


UNSUPPORTED = Rule(
    id="mnn/unsupported-type",
    compiler=NAME,
    anchor=("CUDABackend Don", "[CoreML] Don", "[CoreML] The Creator Don"),
    pattern=r"(?P<reason>(?:CUDABackend|\[CoreML\] (?:The Creator )?)\s?Don't support type) (?P<op>\w{1,80})(?:, (?P<name>\S{1,300}))?",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The back end lacks the operator: MNN runs it on the CPU.",
    help="Replace the operator in the model, or register a creator for it.",
    seen_in=SEEN,
    matches=("CUDABackend Don't support type TopKV2, block/topk", "[CoreML] Don't support type TopKV2."),
    read=operator_type,
)

INTERP = Rule(
    id="mnn/cuda-interp",
    compiler=NAME,
    anchor=("CUDA interp resize type:",),
    pattern=r"(?P<reason>CUDA interp resize type:\d{1,6} not support), back to CPU",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="CUDA has no such interpolation: it runs on the CPU.",
    help="Export the model with nearest or bilinear interpolation.",
    seen_in=SEEN,
    matches=("CUDA interp resize type:4 not support, back to CPU",),
    read=shared.called("Interp", "resize"),
)

_BACKENDS = {
    "1": "METAL", "2": "CUDA", "3": "OPENCL", "5": "NN", "6": "OPENGL", "7": "VULKAN", "9": "HIAI",
}  # fmt: skip


def backend(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The back end that was asked for, by its number in MNNForwardType."""
    name = _BACKENDS.get(match["number"], f"backend {match['number']}")
    yield by_groups(rule, record, match)._replace(op=name, names=(name,))


NO_BACKEND = Rule(
    id="mnn/no-backend",
    compiler=NAME,
    anchor=("t Find type=",),
    pattern=r"(?P<reason>Can't Find type=(?P<number>[1-9]\d{0,2}) backend, use (?!(?P=number) )\d{1,3} instead)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The back end that the program asks for is not built in, or its driver is missing: the model runs on another, mostly the CPU.",
    help="Build MNN with the back end (MNN_CUDA, MNN_OPENCL, MNN_VULKAN), or load its library first.",
    seen_in="MNN 3.6 (run)",
    matches=("Can't Find type=2 backend, use 0 instead",),
    ignores=("Can't Find type=2 in the table",),
    read=backend,
)

_LISTED = Pattern(r"(?<!\w)(?P<name>(?:\w{1,40}::)?(?P<op>[A-Za-z_]\w{0,119}))")


def listed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Each operator of the list: `ONNX::Optional | ONNX::TreeGather`."""
    report, rest, left = by_groups(rule, record, match), match["listed"], 200
    while left and (found := _LISTED.search(rest)):
        yield report._replace(op=found["op"], names=tuple(dict.fromkeys((found["op"], found["name"]))))
        rest, left = rest[found.end() :], left - 1


def numbered(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator by its number in MNN's OpType, and its name in the model."""
    op, layer = f"type {match['number']}", match["layer"]
    names = (op, *filter(None, (layer,)))
    yield by_groups(rule, record, match)._replace(op=op, names=names, site=layer)


QNN = Rule(
    id="mnn/qnn-unsupported",
    compiler=NAME,
    anchor=("MNN_QNN: ",),
    pattern=r"MNN_QNN: (?P<reason>(?:Not registered|Don't support) type) (?P<number>\d{1,6})(?:, (?P<layer>\S{1,300}?))?\.\s*$",
    kind=Kind.DEVICE_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="QNN's back end has no creator for the operator, or not with these parameters: MNN runs it on the CPU, or can't convert the model.",
    help="The number is that of OpType in MNN's schema; replace the operator, or take a later MNN.",
    seen_in="MNN 3.0 to 3.5 (source and public threads)",
    matches=(
        "MNN_QNN: Not registered type 17, /fpn/up/ConvTranspose_output_0.",
        "MNN_QNN: Don't support type 35.",
    ),
    read=numbered,
)

NOT_CONVERTED = Rule(
    id="mnn/not-converted",
    compiler=NAME,
    anchor=("These Op Not Support: ", "MNN NOT_SUPPORTED_OP: "),
    pattern=r"(?P<reason>These Op Not Support|MNN NOT_SUPPORTED_OP): (?:=+>\[ ?)?(?P<listed>\w[^\]]*)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="MNN's converter lacks the operator: there is no model.",
    help="Replace the operator in the model, or add a converter for it.",
    seen_in="MNN 3.6 (run), 0.2 (public threads)",
    matches=(
        "MNN NOT_SUPPORTED_OP: ======>[ FIFOQueueV2, Where,  ]<======",
        "[15:28:08] :220: These Op Not Support: ONNX::OptionalGetElement | ONNX::TreeGather ",
    ),
    read=listed,
)

REQUIRED = frozenset({Kind.DEVICE_FALLBACK})

READER = Reader(
    name=NAME,
    rules=(UNSUPPORTED, INTERP, NO_BACKEND, QNN, NOT_CONVERTED),
    markers=(),
    required=REQUIRED,
    prove=shared.unended("a model that is taken whole prints no line", "", *REQUIRED),
    manual=__doc__,
    silent="no: printed by default",
    seen_in="MNN 3.6 (run), 2.x and 3.x (source)",
)
