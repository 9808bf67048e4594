r"""tidl: Texas Instruments' TIDL, as a delegate of ONNX Runtime and TensorFlow Lite: nodes that stay on the Arm cores.

    Layer 296 -- layer name -- Squeeze_1433
    Layer 296 --- op type -  Squeeze,   Number of input dims 2  !=  4 .. not supported by TIDL
    Final number of subgraphs created are : 1, - Offloaded Nodes - 306, Total Nodes - 313

**What falls back.** A node that TIDL does not take runs on the CPU, and the graph is split around it. Where the
artifacts of the compiled model are not found, the whole model does.

**At which setting it speaks.** The share of offloaded nodes by default; single nodes with `debug_level` 1 and up.

**When it is silent.** By default, on the names: an event then names no operator.

**What proves the end.** The share of each model, where all its nodes are offloaded: a line for a node that TIDL
refuses says nothing of others that are left for their subgraph's size or number.

Wording seen in public logs of 8.0 to 10.x, in the source of the import tool, and, for the table of cores, in the
tests of 9.2 to 11, which read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
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
        "(import) TIDL layer type ",
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
NOTHING = Rule(
    id="tidl/nothing-offloaded",
    compiler=NAME,
    anchor=("Entire model will run on ARM without any delegation",),
    pattern=r"Could not open \S{1,500}? for reading\.\.\. (?P<reason>Entire model will run on ARM without any delegation to TIDL)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The artifacts of the compiled model are not there: the whole model runs on the Arm cores.",
    help="Compile the model first, and give the run the same artifacts_folder: it has to hold allowedNode.txt.",
    seen_in="TIDL 8.0 to 10.x (source and public threads), a line of its runtime",
    matches=(
        "******** WARNING ******* : Could not open ./artifacts/allowedNode.txt for reading... Entire model will run on ARM without any delegation to TIDL !",
    ),
    ignores=('"Could not open %s for reading... Entire model will run on ARM", name',),
)
SHARE = Marker(
    id="tidl/offloaded-share",
    compiler=NAME,
    anchor=("Offloaded Nodes - ", "nodes delegated out of "),
    pattern=r"(?P<text>Offloaded Nodes - (?P<part>\d{1,9}), Total Nodes - (?P<all>\d{1,9})|Number of subgraphs: ?\d{1,9} ?, (?P<taken>\d{1,9}) nodes delegated out of (?P<of>\d{1,9}) nodes)",
    shows="How many nodes of a model TIDL takes.",
    seen_in=SEEN,
    matches=(
        "Final number of subgraphs created are : 1, - Offloaded Nodes - 306, Total Nodes - 313",
        " Number of subgraphs:2 , 31 nodes delegated out of 38 nodes",
    ),
)

_ON_ARM = Pattern(r"^\s*\|\s*CPU\s*\|\s*(?P<count>\d{1,9})\s*\|")


def in_table(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """The rows of both cores as a share; a table that is cut before the CPU's row tells none."""
    taken = int(match["count"])
    row = next(filter(None, (_ON_ARM.match(line.text) for line in record.following(4))), None)
    whole = taken + int(row["count"]) if row else 0
    text = f"C7x {taken}, CPU {row['count']}" if row else "C7x alone"
    yield Sighting(marker.id, record.position, (text, str(taken if row else 0), str(whole), "", ""))


TABLE = Marker(
    id="tidl/table-of-cores",
    compiler=NAME,
    anchor=("C7x ", "C7x|"),
    pattern=r"^\s*\|\s*C7x\s*\|\s*(?P<count>\d{1,9})\s*\|\s*(?:\d{1,9}|x)\s*\|\s*$",
    shows="How many nodes of a model TIDL takes, and how many stay on the Arm cores.",
    seen_in="TIDL 9.2 to 11 (its own tests read these rows)",
    matches=("|    C7x    |   124   |   1   |\n|    CPU    |   3   |   x   |",),
    ignores=("| C7x   | `j7-c71_0-fw` |",),
    read=in_table,
)

REQUIRED = frozenset({Kind.DEVICE_FALLBACK})


def unnamed(evidence: Evidence) -> Iterable[Report]:
    """The share that TIDL does not take, where no line names a node."""
    if evidence.rules:
        return
    shares = {**evidence.facts.get(SHARE.id, {}), **evidence.facts.get(TABLE.id, {})}
    for (text, part, whole, taken, of), position in sorted(shares.items(), key=lambda item: item[1]):
        if int(part or taken) < int(whole or of):
            help = "debug_level 1 or 2 names the nodes that are left."
            yield shared.partly("tidl/partly-offloaded", NAME, Kind.DEVICE_FALLBACK, position, text, help)


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Each model's nodes are all offloaded: lines that name a node need not name all that are left."""
    shares = evidence.of(SHARE.id) | evidence.of(TABLE.id)
    if shares and all((part or taken) == (whole or of) != "0" for _, part, whole, taken, of in shares):
        why = "all nodes of each model are offloaded"
        at = evidence.first(SHARE.id) or evidence.first(TABLE.id)
        return {Kind.DEVICE_FALLBACK: Proof(State.PROVEN, why, at)}
    why = (
        "not all nodes are offloaded, and those that are named need not be all"
        if shares
        else "no share of offloaded nodes is printed"
    )
    return {Kind.DEVICE_FALLBACK: Proof(State.UNPROVEN, why, None, SETTING)}


READER = Reader(
    name=NAME,
    rules=(UNSUPPORTED, TYPE, NOTHING),
    markers=(SHARE, TABLE),
    required=REQUIRED,
    prove=prove,
    conclude=unnamed,
    setting=SETTING,
    manual=__doc__,
    silent="partly: a number, which names no node",
    seen_in="TIDL 8.0 to 10.x (public logs and source)",
)
