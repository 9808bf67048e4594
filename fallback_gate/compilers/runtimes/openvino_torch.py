r"""openvino.torch: `torch.compile(backend="openvino")`: what OpenVINO leaves to PyTorch.

    DEBUG:openvino.frontend.pytorch.torchdynamo.partition:Graph module after partitioning <lambda>(
        gate_attn = torch.ops.acme.gate_attn.default(getitem_10, getitem_11, getitem_12)
    DEBUG:openvino.frontend.pytorch.torchdynamo.execute:OpenVINO execution failed with ... Falling back to native PyTorch execution.

**What falls back.** An operator outside the partitions `fused_N` runs in PyTorch. A partition that fails when
it is first run goes to PyTorch for good. Where the back end fails as a whole, Inductor compiles the graph.

**At which setting it speaks.** At DEBUG of Python's logging, for the first two.

**When it is silent.** By default. The failure as a whole is told at DEBUG by a logger that the module sets to
WARNING itself: it shows only where the program sets that logger back.

**What proves the end.** Nothing, for that reason; Dynamo's own log shows which back end got the graph, not
that it kept it.

Wording seen in 2026.4 with torch 2.14 (run).
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Marker, Reader, Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.model.names import operator
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "openvino.torch"
LONGEST = 50_000  # lines of one printed graph
_PARTITION = "DEBUG:openvino.frontend.pytorch.torchdynamo.partition:"
_EXECUTE = "DEBUG:openvino.frontend.pytorch.torchdynamo.execute:"

_CALL = Pattern(r"^\s{2,8}(?P<node>\w+) = (?P<op>torch\.ops\.\w+\.\w+(?:\.\w+)?)\(")
_SHAPES = ("sym_size", "sym_stride", "sym_numel", "sym_storage_offset")


def left_out(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The calls of the outer graph: what is in a partition is printed as `self.fused_N(...)`."""
    report = by_groups(rule, record, match)
    for line in record.following(LONGEST):
        if line.text.lstrip().startswith("return ") or line.text.startswith("DEBUG:"):
            return
        call = _CALL.match(line.text)
        if not call or call["op"].split(".")[3] in _SHAPES:
            continue
        op = operator(call["op"])
        yield report._replace(
            op=op,
            names=tuple(dict.fromkeys((op, call["op"], call["node"]))),
            site=call["node"],
            position=record.position_at(line.at),
            text=line.text,
            reason="left outside OpenVINO's partitions",
        )


_GRAPH = (
    _PARTITION
    + """Graph module after partitioning <lambda>(
  (fused_0): fused_0()
)
def forward(self, arg0_1):
    fused_0 = self.fused_0(arg0_1)
    gate_attn = torch.ops.acme.gate_attn.default(fused_0);  fused_0 = None
    return (gate_attn,)"""
)
LEFT_OUT = Rule(
    id="openvino-torch/left-out",
    compiler=NAME,
    anchor=("Graph module after partitioning ",),
    pattern=r"torchdynamo\.partition:\s?Graph module after partitioning ",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="OpenVINO's partitioner does not take the operator: PyTorch runs it between two partitions.",
    help="Rewrite the operator in those that OpenVINO's PyTorch front end converts.",
    seen_in="2026.4 (run), DEBUG",
    matches=(_GRAPH,),
    ignores=(_PARTITION + "Graph module before partitioning <lambda>()",),
    read=left_out,
)

NOT_RUN = Rule(
    id="openvino-torch/partition-failed",
    compiler=NAME,
    anchor=("OpenVINO execution failed with ", "Failed in OpenVINO execution: "),
    pattern=r"(?:OpenVINO execution failed with (?P<reason>.*?)\. Falling back to native PyTorch execution|Failed in OpenVINO execution: (?P<whole>.*))",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="A partition, or the whole graph, failed in OpenVINO: PyTorch runs it, with the right result.",
    help="The line holds the error; compile the model alone (openvino.convert_model) to see where it comes from.",
    seen_in="2026.4 (run), DEBUG",
    matches=(
        _EXECUTE
        + "OpenVINO execution failed with 'NoneType' object is not iterable. Falling back to native PyTorch execution.",
        "DEBUG:openvino.frontend.pytorch.torchdynamo.backend:Failed in OpenVINO execution: no rule",
    ),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(reason=match["reason"] or match["whole"]),
    ),
)

MARKERS = (
    Marker(
        id="openvino-torch/compiled",
        compiler=NAME,
        anchor=("OpenVINO graph compile successful on device ",),
        pattern=r"OpenVINO graph compile successful on device (?P<device>[\w.]{1,40})",
        shows="A partition was compiled.",
        seen_in="2026.4 (run)",
        matches=(
            "DEBUG:openvino.frontend.pytorch.torchdynamo.compile:OpenVINO graph compile successful on device CPU",
        ),
    ),
)
REQUIRED = frozenset({Kind.OP_FALLBACK, Kind.EAGER_FRAME})
SETTING = "logging at DEBUG, with the logger openvino.frontend.pytorch.torchdynamo.backend set back to DEBUG"


READER = Reader(
    name=NAME,
    rules=(LEFT_OUT, NOT_RUN),
    markers=MARKERS,
    required=REQUIRED,
    prove=shared.unended(
        "the back end hides a failure of the whole graph, and nothing shows that the last partition ran",
        SETTING,
        *REQUIRED,
    ),
    setting=SETTING,
    manual=__doc__,
    silent="yes",
    seen_in="2026.4 with torch 2.14 (run)",
)
