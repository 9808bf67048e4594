r"""Room 3: TensorRT's messages about the build itself: tactics that it can't try, a precision that it can't keep, no
engine at all.

A tactic is one implementation of a layer. The message about a tactic that needs too much memory names no
layer: the builder takes another one, which may be slower. `Skipping tactic` carries one or two lines of
detail. The spelling varies with the version: `insuficient`, `oom error`, `UNSUPPORTED_STATESkipping`.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.nvidia import tensorrt_layers as layers
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.shared import hinted
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "tensorrt"
_MEMORY = (
    "Give the builder more memory: a larger workspace pool, fewer processes on the GPU, a smaller batch."
)
_NO_KERNEL = Pattern(
    r"Could not find any implementation for node (?P<node>\S(?:.{0,298}?\S)?)\.?(?: In \w{1,60} at \S{1,200}:\d{1,6})?\)?\s*$"
)


def of_tactic(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A tactic is told by its id and size; the operator is not known."""
    tactic = match["tactic"]
    report = by_groups(rule, record, match)
    yield report._replace(names=(f"tactic {tactic}",), site=f"{tactic} {match['size']}")


SKIPPED = Rule(
    id="tensorrt/tactic-skipped",
    compiler=NAME,
    anchor=("Skipping tactic",),
    pattern=r"Skipping tactic \S{1,40} (?P<reason>due to (?:insuff?icient memory|oom error) on requested size of"
    r" (?P<size>\d{1,18})) detected for tactic (?P<tactic>(?:0x)?[0-9a-f]{1,18})\b",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.UNKNOWN,
    meaning="The builder could not try a tactic for want of memory, and took another one that may be slower.",
    help=_MEMORY,
    seen_in="8.2 to 10 (public threads), WARNING",
    matches=(
        "[01/01/2026-00:00:00] [TRT] [W] UNSUPPORTED_STATE: Skipping tactic 9 due to insufficient memory on requested size of 524288000 detected for tactic 0x1111222233334444.",
        "[01/01/2026-00:00:31] [TRT] [W] Skipping tactic 3 due to insuficient memory on requested size of 512 detected for tactic 4.",
        "[01/01/2026-00:00:00] [W] [TRT] UNSUPPORTED_STATESkipping tactic 0 due to insufficient memory on requested size of 100 detected for tactic 0x0000000000000000.",
    ),
    ignores=("Skipping tactic 3 due to Myelin error: unknown",),
    read=of_tactic,
)

NO_MEMORY = Rule(
    id="tensorrt/tactic-memory",
    compiler=NAME,
    anchor=("Tactic Device request: ", "Some tactics do not have sufficient"),
    pattern=r"(?P<reason>Tactic Device request: \d{1,9}MB Available: \d{1,9}MB"
    r"|Some tactics do not have sufficient workspace memory to run)",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.UNKNOWN,
    meaning="Tactics were left out for want of memory; the line does not say for which layers.",
    help=_MEMORY,
    seen_in="7 to 10 (public threads), WARNING or INFO",
    matches=(
        "[01/01/2026-00:00:00] [TRT] [W] Tactic Device request: 512MB Available: 130MB. Device memory is insufficient to use tactic.",
        "[TensorRT] INFO: Some tactics do not have sufficient workspace memory to run. Increasing workspace size may increase performance, please check verbose output.",
    ),
    at_least=True,
    read=hinted,
)

PRECISION = Rule(
    id="tensorrt/precision",
    compiler=NAME,
    anchor=("obeys the requested constraints", "expect fall back to non-int8"),
    pattern=r"[Nn]o implementation of (?:layer )?(?P<a>.{1,300}?) (?P<r1>obeys the requested constraints(?:, using a higher precision type| in strict mode)?)"
    r"|Missing (?P<r2>(?:scale and zero-point|dynamic range)) for tensor (?P<b>.{1,300}?), expect fall back to non-int8 implementation",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The layer does not run in the precision that was asked for.",
    help="Calibrate the tensor, or put a quantise/dequantise pair around the operator; else ask for the precision that it has.",
    seen_in="5 to 10 (public threads), WARNING",
    matches=(
        "[W] [TRT] No implementation of layer (Unnamed Layer* 82) [Convolution] obeys the requested constraints in strict mode. No conforming implementation was found i.e. requested layer computation precision and output precision types are ignored, using the fastest implementation.",
        "[W] [TRT] Warning: no implementation of (Unnamed Layer* 174) [Softmax] obeys the requested constraints, using a higher precision type",
        "[11/06/2025-11:57:39] [W] [TRT] Missing scale and zero-point for tensor gate_out, expect fall back to non-int8 implementation for any layer consuming or producing given tensor",
    ),
    ignores=("every result obeys the requested constraints and reports truncation",),
    read=lambda rule, record, match: (
        layers.named(by_groups(rule, record, match), match["a"] or match["b"])._replace(
            reason=f"no implementation {match['r1']}" if match["r1"] else f"missing {match['r2']}"
        ),
    ),
)


def of_failure(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """trtexec's word that there is no engine, with the node that has no implementation if one is named before."""
    report = by_groups(rule, record, match)._replace(hint=True)
    for line in record.preceding(8):
        if node := _NO_KERNEL.search(line.text):
            report = layers.named(report, node["node"])._replace(
                reason=f"Could not find any implementation for node {node['node']}", scope=Scope.PROGRAM
            )
            break
    yield report


FAILED = Rule(
    id="tensorrt/build-failed",
    compiler=NAME,
    anchor=(
        "Engine could not be created from network",
        "Failed to create engine from model",
        "[E] Engine set up failed",
    ),
    pattern=r"\[E\] (?P<reason>Engine could not be created from network|Failed to create engine from model|Engine set up failed)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="trtexec built no engine.",
    help="The lines before say why; --verbose says more.",
    seen_in="7 to 10 (source of trtexec), ERROR",
    matches=(
        "[01/01/2026-00:00:00] [E] Engine set up failed",
        "[01/01/2026-00:00:00] [E] Engine could not be created from network",
        "[01/01/2026-00:00:00] [E] Failed to create engine from model or file.",
    ),
    read=of_failure,
)

UNCAPTURED = Rule(
    id="tensorrt/cuda-graph-refused",
    compiler=NAME,
    anchor=("launched without using CUDA graph launch",),
    pattern=r"The specified (?:--useCudaGraph|UseCudaGraph) flag has been ignored\. (?P<reason>The inference will be launched without using CUDA graph launch)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.PROGRAM,
    meaning="The engine has operations that can't be captured: each inference launches its kernels one by one.",
    help="Look for loops, conditions and plugins that wait for the stream, and for shapes that depend on data.",
    seen_in="8 to 10 (source of trtexec), WARNING; Paddle Inference 3 (source)",
    matches=(
        "[01/01/2026-00:00:00] [W] The specified --useCudaGraph flag has been ignored. The inference will be launched without using CUDA graph launch.",
        "W0101 00:00:00.000000  4711 engine.cc:120] The built TensorRT engine contains operations that are not permitted under CUDA graph capture mode. The specified UseCudaGraph flag has been ignored. The inference will be launched without using CUDA graph launch.",
    ),
)

RULES = (SKIPPED, NO_MEMORY, PRECISION, FAILED, UNCAPTURED)
