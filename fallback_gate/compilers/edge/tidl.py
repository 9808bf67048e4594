r"""tidl: Texas Instruments' TIDL, as a delegate of ONNX Runtime and TensorFlow Lite: nodes that stay on the Arm cores.

    Layer 296 -- layer name -- Squeeze_1433
    Layer 296 --- op type -  Squeeze,   Number of input dims 2  !=  4 .. not supported by TIDL
    Final number of subgraphs created are : 1, - Offloaded Nodes - 306, Total Nodes - 313

**What falls back.** A node that TIDL does not take runs on the CPU, and the graph is split around it.

**At which setting it speaks.** The share of offloaded nodes by default; single nodes with `debug_level` 1 and up.

**When it is silent.** By default, on the names: an event then names no operator.

**What proves the end.** The share of each model, where all its nodes are offloaded: a line for a node that TIDL
refuses says nothing of others that are left for their subgraph's size or number.

Wording seen in public logs of 8.0 to 10.x and in the source of the import tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "tidl"
SEEN = "TIDL 8.0 to 10.x (public logs and source)"
SETTING = "debug_level 1 or 2 in the delegate's options"

_LAYER = Pattern(r"^\s*Layer (?P<number>\d{1,9}) -- layer name -- (?P<layer>\S.{0,300})")


def layer(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A layer whose name stands on a line above it, with the same number."""
    report = by_groups(rule, record, match)
    for line in record.preceding(4):
        above = _LAYER.match(line.text)
        if above and above["number"] == match["number"]:
            name = above["layer"].strip()
            report = report._replace(layer=name, names=(*report.names, name), site=name)
            break
    yield report


MEANING = "TIDL does not take the node: it runs on the Arm cores, and the graph is split around it."
HELP = "The line gives the limit; change the node's shape, or replace the operator."
UNSUPPORTED = Rule(
    id="tidl/unsupported-layer",
    compiler=NAME,
    anchor=(".. not supported by TIDL",),
    pattern=r"Layer (?P<number>\d{1,9}) --- op type -\s{1,8}(?P<op>\w{1,80}),\s{1,8}(?P<reason>\S.{0,300}?) ?\.\. not supported by TIDL",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning=MEANING,
    help=HELP,
    seen_in=SEEN,
    matches=(
        "Layer 296 --- op type -  Squeeze,   Number of input dims 2  !=  4 .. not supported by TIDL",
        "Layer 296 -- layer name -- Squeeze_1433\n Input dims size = 2     dims --- 0   1\nLayer 296 --- op type -  Squeeze,   Number of input dims 2  !=  4 .. not supported by TIDL",
    ),
    read=layer,
)
TYPE = Rule(
    id="tidl/unsupported-type",
    compiler=NAME,
    anchor=(
        "not supported by TIDL --- layer type - ",
        "TIDL check) TIDL layer type ",
        "(imports) TIDL layer type ",
    ),
    pattern=r"(?:Layers type|Layer is) (?P<reason>not supported by TIDL) --- layer type - (?P<op>\w{1,80}), {1,4}Node name - ?(?P<layer>\S{1,300})"
    r"|Unsupported \((?:TIDL check|imports?)\) TIDL layer type(?: for \w{1,20} op type)? --- {1,40}(?P<kind>\w{1,80})",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning=MEANING,
    help=HELP,
    seen_in=SEEN,
    matches=(
        "Layers type not supported by TIDL --- layer type - TopK,  Node name -TopK_12",
        "Layer is not supported by TIDL --- layer type - TopK, Node name - TopK_12",
        "Unsupported (TIDL check) TIDL layer type ---            TopK",
        "Unsupported (imports) TIDL layer type for ONNX op type --- TopK",
    ),
    ignores=("Layers type supported by TIDL --- layer type - TopK,  Node name - TopK_12",),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op=match["op"] or match["kind"],
            names=tuple(filter(None, (match["op"] or match["kind"], match["layer"]))),
            site=match["layer"],
        ),
    ),
)
SHARE = Marker(
    id="tidl/offloaded-share",
    compiler=NAME,
    anchor=("- Offloaded Nodes - ", "nodes delegated out of "),
    pattern=r"(?P<text>Offloaded Nodes - (?P<part>\d{1,9}), Total Nodes - (?P<all>\d{1,9})|Number of subgraphs: ?\d{1,9} ?, (?P<taken>\d{1,9}) nodes delegated out of (?P<of>\d{1,9}) nodes)",
    shows="How many nodes of a model TIDL takes.",
    seen_in=SEEN,
    matches=(
        "Final number of subgraphs created are : 1, - Offloaded Nodes - 306, Total Nodes - 313",
        " Number of subgraphs:2 , 31 nodes delegated out of 38 nodes",
    ),
)

REQUIRED = frozenset({Kind.DEVICE_FALLBACK})


def unnamed(evidence: Evidence) -> Iterable[Report]:
    """The share that TIDL does not take, where no line names a node."""
    if evidence.rules:
        return
    for (text, part, whole, taken, of), position in sorted(
        evidence.facts.get(SHARE.id, {}).items(), key=lambda item: item[1]
    ):
        if int(part or taken) < int(whole or of):
            help = "debug_level 1 or 2 names the nodes that are left."
            yield shared.partly("tidl/partly-offloaded", NAME, Kind.DEVICE_FALLBACK, position, text, help)


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Each model's nodes are all offloaded: lines that name a node need not name all that are left."""
    shares = evidence.of(SHARE.id)
    if shares and all((part or taken) == (whole or of) for _, part, whole, taken, of in shares):
        why = "all nodes of each model are offloaded"
        return {Kind.DEVICE_FALLBACK: Proof(State.PROVEN, why, evidence.first(SHARE.id))}
    why = (
        "not all nodes are offloaded, and those that are named need not be all"
        if shares
        else "no share of offloaded nodes is printed"
    )
    return {Kind.DEVICE_FALLBACK: Proof(State.UNPROVEN, why, None, SETTING)}


READER = Reader(
    name=NAME,
    rules=(UNSUPPORTED, TYPE),
    markers=(SHARE,),
    required=REQUIRED,
    prove=prove,
    conclude=unnamed,
    setting=SETTING,
    manual=__doc__,
    silent="partly: a number, which names no node",
    seen_in="TIDL 8.0 to 10.x (public logs and source)",
)
