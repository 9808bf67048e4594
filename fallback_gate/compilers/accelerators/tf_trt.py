r"""tf_trt: TensorFlow with TensorRT: operators outside the engines, and engines that run natively.

    There are 70 ops of 4 different types in the graph that are not converted to TensorRT: Pack, Shape, ...

**What falls back.** A type without a converter stays in TensorFlow; so does a segment whose engine can't be made,
at conversion or, for a new input shape, as the model runs.

**At which setting it speaks.** INFO of TensorFlow's C++ log, on by default. Placeholders, constants and variables
in the list are no work, and are left out.

**When it is silent.** With `TF_CPP_MIN_LOG_LEVEL` above 0. Native runs are warned of a few times only, in some
versions not at all. `TF-TRT Warning: Could not find TensorRT` at import is no fallback: every TensorFlow says so.

**What proves the end.** Nothing: engines are made as the model runs.

Wording seen in the source of TensorFlow 1.14 to 2.17 and in public logs.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Marker, Reader, Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

NAME = "tf_trt"
SEEN = "TensorFlow 1.14 to 2.17 (source and public logs)"
SETTING = "TF_CPP_MIN_LOG_LEVEL=0, allow_build_at_runtime=False, and a marker in the policy for the end"
NO_WORK = frozenset(
    {
        "Placeholder",
        "NoOp",
        "Const",
        "Identity",
        "IdentityN",
        "VarHandleOp",
        "ReadVariableOp",
        "_Arg",
        "_Retval",
    }
)


def types(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """One report for each type of the list that does work."""
    report = by_groups(rule, record, match)
    for op in shared.words(match["ops"]):
        if op not in NO_WORK:
            yield report._replace(op=op, names=(op,))


NOT_CONVERTED = Rule(
    id="tf-trt/not-converted",
    compiler=NAME,
    anchor=("that are not converted to TensorRT: ",),
    pattern=r"There are \d{1,9} ops of \d{1,9} different types in the graph that are (?P<reason>not converted to TensorRT): (?P<ops>(?:\w{1,120}, ?)+)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="Nodes of this type stay in TensorFlow: no converter, or a segment too small for an engine.",
    help="TF_TRT_SHOW_DETAILED_REPORT=1 gives the reason for each; lower minimum_segment_size, or replace the operator.",
    seen_in=f"{SEEN}, INFO",
    matches=(
        "2026-11-30 08:42:51.597091: I tensorflow/compiler/tf2tensorrt/segment/segment.cc:460] There are 70 ops of 4 different types in the graph that are not converted to TensorRT: Identity, Placeholder, Pack, Shape, (For more information see https://docs.nvidia.com/deeplearning/frameworks/tf-trt-user-guide/index.html#supported-ops).",
    ),
    ignores=(
        "There are 2 ops of 2 different types in the graph that are not converted to TensorRT: Placeholder, NoOp, (For more information see x).",
    ),
    read=types,
)
KEPT = Rule(
    id="tf-trt/segment-kept",
    compiler=NAME,
    anchor=("(keeping original segment)", "nodes failed: "),
    pattern=r"(?:Cannot replace segment \d{1,9} consisting of \d{1,9} nodes by (?P<op>[\w./-]{1,300})(?: reason: (?P<reason>.{1,600}))? \(keeping original segment\)"
    r"|TensorRT node (?P<node>[\w./-]{1,300}) added for segment \d{1,9} consisting of \d{1,9} nodes failed: (?P<why>.{1,600}))",
    kind=Kind.OP_FALLBACK,
    scope=Scope.REGION,
    meaning="The engine of the segment could not be made: its nodes run in TensorFlow.",
    help="The line gives TensorRT's reason.",
    seen_in=f"{SEEN}, WARNING",
    matches=(
        "W tensorflow/compiler/tf2tensorrt/convert/convert_graph.cc:1021] TF-TRT Warning: Cannot replace segment 0 consisting of 41 nodes by TRTEngineOp_000_000 reason: INVALID_ARGUMENT: shapes (keeping original segment).",
        "W tensorflow/compiler/tf2tensorrt/convert/convert_graph.cc:739] TensorRT node TRTEngineOp_0 added for segment 0 consisting of 41 nodes failed: Internal: Failed to build TensorRT engine. Fallback to TF...",
    ),
    ignores=("TensorRT node TRTEngineOp_0 added for segment 0 consisting of 6 nodes succeeded.",),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op=match["op"] or match["node"],
            names=(match["op"] or match["node"],),
            reason=match["reason"] or match["why"],
        ),
    ),
)
NATIVE = Rule(
    id="tf-trt/native-segment",
    compiler=NAME,
    anchor=("unning native segment for ", "retrying with native segment for "),
    pattern=r"(?P<reason>Engine retrieval for (?:input shapes: .{1,600}?|batch size \d{1,9}) failed|Failed to execute engine[^.]{0,200}?)(?:\. Running|,? retrying with) native segment for (?P<op>[\w./-]{1,300})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.REGION,
    meaning="For these shapes the segment has no engine, or it failed: its nodes ran in TensorFlow.",
    help="Build engines for the shapes beforehand (converter.build with an input function).",
    seen_in=f"{SEEN}, WARNING a few times",
    matches=(
        "W tensorflow/compiler/tf2tensorrt/kernels/trt_engine_op.cc:1] TF-TRT Warning: Engine retrieval for input shapes: [[3,224,224,3]] failed. Running native segment for PartitionedCall/TRTEngineOp_000_000",
        "W tensorflow/compiler/tf2tensorrt/kernels/trt_engine_op.cc:1] Failed to execute engine, retrying with native segment for TRTEngineOp_0",
    ),
    at_least=True,
)
CANDIDATES = Marker(
    id="tf-trt/candidate-segments",
    compiler=NAME,
    anchor=("Number of TensorRT candidate segments: ",),
    pattern=r"Number of TensorRT candidate segments: \d{1,9}",
    shows="TF-TRT converted a graph, at a level that lists what it left.",
    seen_in=SEEN,
    matches=(
        "2026-11-30 08:42:51.982417: I tensorflow/compiler/tf2tensorrt/convert/convert_graph.cc:633] Number of TensorRT candidate segments: 17",
    ),
)

REQUIRED = frozenset({Kind.OP_FALLBACK})


READER = Reader(
    name=NAME,
    rules=(NOT_CONVERTED, KEPT, NATIVE),
    markers=(CANDIDATES,),
    required=REQUIRED,
    prove=shared.unended("engines are made as the model runs, and no line shows the end", SETTING, *REQUIRED),
    setting=SETTING,
    manual=__doc__,
    silent="partly: native runs of an engine are warned of a few times only",
    seen_in="TensorFlow 1.14 to 2.17 (source and public logs)",
)
