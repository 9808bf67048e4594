"""mnn: Alibaba's MNN: operators that its back end hands to the CPU.

    CUDABackend Don't support type TopKV2, block/topk

**What falls back.** The back end has no creator for the operator: MNN makes it on the backup back end, the CPU.

**At which setting it speaks.** By default, printed without a level.

**When it is silent.** In builds with `MNN_BUILD_MINI` or without prints.

**What proves the end.** Nothing: a model that is taken whole prints no line.

Wording seen in the source of MNN 2.x and 3.x.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Report, Scope
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

REQUIRED = frozenset({Kind.DEVICE_FALLBACK})

READER = Reader(
    name=NAME,
    rules=(UNSUPPORTED, INTERP),
    markers=(),
    required=REQUIRED,
    prove=shared.unended("a model that is taken whole prints no line", "", *REQUIRED),
    manual=__doc__,
    silent="no: printed by default",
    seen_in="MNN 2.x and 3.x (source)",
)
