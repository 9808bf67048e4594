r"""torchair: PyTorch graphs on Ascend: through GE (max-autotune), or captured as an ACL graph (reduce-overhead).

    [WARNING] TORCHAIR(4711,python):2026-... When debug.run_eagerly=True is enabled, the graph FALLS BACK to EAGER execution. ...
    NotImplementedError: torch.ops.aten._cdist_forward.default ge_converter is not implemented!

**What falls back.** Three debugging options run the whole graph eager. An operator without a GE converter
ends the compile; torch.compile then fails, or suppresses the error and goes on eager.

**At which setting it speaks.** `torchair.logger` is at ERROR by default: the warnings show after
`logger.setLevel(logging.WARNING)`, and a captured graph at INFO. Converter errors always show, as exceptions.

**When it is silent.** At the default level, on a graph that a debugging option runs eager.

**What proves the end.** Nothing: no line ends the compile of the last graph. Skipped caches and skipped in-place
passes are no fallback: the graph still runs as one.

Wording from torchair's source of 2026.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.ascend.names import fixed, named, of_aten, sighted
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import BEFORE
from fallback_gate.scan.record import Record

NAME = "torchair"
_SEEN = "torchair of 2026 (source)"
_LOG = "[WARNING] TORCHAIR(4711,python3):2026-01-01 00:00:00.000.000 [npu_fx_compiler.py:696]4711 "

EAGER = Rule(
    id="torchair/graph-runs-eager",
    compiler=NAME,
    anchor=("FALLS BACK to EAGER execution", "FALLBACK to EAGER execution"),
    pattern=r"(?P<reason>When (?:(?:debug\.run_eagerly|force_eager)=True is enabled, the graph FALLS BACK|dumping data of FX Graph, npu run will be skipped, and FALLBACK"
    r"|summarizing FX Graph, npu compilation will be skipped, and FALLBACK) to EAGER execution)",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="A debugging option (run_eagerly, data_dump, fx_summary) runs the whole graph eager.",
    help="Switch the option off for a release build.",
    seen_in=f"{_SEEN}, WARNING, which the default level hides",
    matches=(
        _LOG
        + "When force_eager=True is enabled, the graph FALLS BACK to EAGER execution. Once running finished, please make sure",
        _LOG
        + "When debug.run_eagerly=True is enabled, the graph FALLS BACK to EAGER execution. Once running finished, please make sure",
        _LOG
        + "When dumping data of FX Graph, npu run will be skipped, and FALLBACK to EAGER execution, once dump finished, please",
        _LOG
        + "When summarizing FX Graph, npu compilation will be skipped, and FALLBACK to EAGER execution to ensure the integrity",
    ),
    ignores=("    'and FALLBACK to EAGER execution, once dump finished, please make sure to disable '",),
    read=fixed(),
)

NO_CONVERTER = Rule(
    id="torchair/no-converter",
    compiler=NAME,
    anchor=("ge_converter is not ",),
    pattern=rf"^{BEFORE}"
    + r"[\w.]{0,128}Error: (?:When [^,]{1,100}, )?torch\.ops\.(?P<op>[\w.]{1,256}) (?P<reason>ge_converter is not (?:implemented|supported).{0,200})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="GE has no converter for the operator, or not for this use of it: the graph is not compiled.",
    help="Decompose the operator, register a converter, or compile with mode reduce-overhead, which needs none.",
    seen_in=f"{_SEEN}, an exception",
    matches=(
        "NotImplementedError: torch.ops.aten._cdist_forward.default ge_converter is not implemented!",
        "RuntimeError: torch.ops.aten._fft_c2r.out ge_converter is not supported!",
        "NotImplementedError: When dim is Tensor, torch.ops.aten._fft_c2c.default ge_converter is not implemented!",
    ),
    ignores=(
        '    raise NotImplementedError("torch.ops.aten._cdist_forward.default ge_converter is not implemented!")',
    ),
    read=of_aten,
)


def not_fused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The nodes of the pattern, of which the first names the event."""
    nodes = [node.strip(" []'\"") for node in match["nodes"].split(",")]
    yield named(rule, record, match, *nodes[:20])._replace(site=match["nodes"])


NOT_FUSED = Rule(
    id="torchair/not-fused",
    compiler=NAME,
    anchor=("Cross-stream operation detected in pattern match",),
    pattern=r"(?P<reason>Cross-stream operation detected in pattern match)\. Match nodes: (?P<nodes>[^.]{1,2000})\. Stream distribution: ",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="Operators that have a fused kernel stay apart: they are on different streams.",
    help="Keep the operators of one pattern on one stream.",
    seen_in=f"{_SEEN}, DEBUG",
    matches=(
        "Cross-stream operation detected in pattern match. Match nodes: add_1, rms_norm_2. Stream distribution: {}. Fusion is not supported for cross-stream operations.",
    ),
    read=not_fused,
)


MARKERS = (
    Marker(
        id="torchair/captured",
        compiler=NAME,
        anchor=("Success to capture fx_graph",),
        pattern=r"Success to capture fx_graph (\S{1,256}) for graph key\{",
        shows="INFO of torchair was on, and a graph was captured and runs as an ACL graph.",
        seen_in=_SEEN,
        matches=(
            "Success to capture fx_graph graph_1 for graph key{8_128}. Start to run AclGraph{id: 70368} with the updated node num {2}.",
        ),
        read=sighted,
    ),
)
REQUIRED = frozenset({Kind.EAGER_FRAME})
SETTING = (
    "torchair.logger.setLevel(logging.INFO), and a marker in the policy for the line that ends the compile"
)


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """The default level hides the warnings, and no line ends the compile."""
    if evidence.first("torchair/captured") is None:
        why = "torchair's logger is at ERROR by default, and its warnings are below that"
        return {Kind.EAGER_FRAME: Proof(State.UNOBSERVABLE, why, None, SETTING)}
    why = "INFO of torchair was on, but no line shows that the last graph was compiled"
    return {Kind.EAGER_FRAME: Proof(State.UNPROVEN, why, None, SETTING)}


READER = Reader(
    name=NAME,
    rules=(EAGER, NO_CONVERTER, NOT_FUSED),
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="yes: its logger is at ERROR",
    seen_in="torchair of 2026 (source)",
)
