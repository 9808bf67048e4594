"""hailo: Hailo's Dataflow Compiler: layers that its parser refuses.

    hailo_sdk_client.model_translator.exceptions.ParsingWithRecommendationException: Parsing failed. The errors found in the graph are:
     UnsupportedOperationError in op /head/TopK: TopK operation is unsupported
     UnsupportedShuffleLayerError in op /head/Flatten: Failed to determine type of layer to create in node /head/Flatten

**What falls back.** Nothing by itself: the model is parsed whole or not. Whoever ends it before the refused layers, as
the parser recommends, computes them on the host.

**At which setting it speaks.** Always: the error is a Python exception.

**When it is silent.** On what end nodes leave out: that is the program's own choice, and no line names it.

**What proves the end.** Nothing.

Wording seen in public logs of the Dataflow Compiler 3.27 to 3.33 (it is closed source).
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

NAME = "hailo"
SEEN = "Dataflow Compiler 3.27 to 3.33 (public logs), an exception"
_TOLD = Pattern(r"^(?P<op>\w{1,80}) operation is unsupported|\bop=(?P<named>\w{1,80})")
_COPY = Pattern(r"_\d{1,9}$")


def refused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator that the text names, else the last part of the layer's name."""
    layer = match["layer"]
    told = _TOLD.search(match["reason"])
    op = (told and (told["op"] or told["named"])) or _COPY.sub("", layer.rpartition("/")[2]) or layer
    names = tuple(dict.fromkeys((op, layer)))
    yield by_groups(rule, record, match)._replace(op=op, names=names, layer=layer, site=layer)


REFUSED = Rule(
    id="hailo/not-parsed",
    compiler=NAME,
    anchor=("Error in op ",),
    pattern=r"^\s*(?:hailo_sdk_client\.[\w.]{1,100}: )?(?P<error>Unsupported\w{2,60}Error) in op (?P<layer>[^\s:]{1,300}): (?P<reason>\S.{0,400})",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The parser can't translate the layer for the chip: the model is not compiled, or ends before it and the host computes the rest.",
    help="Rewrite the layer, or end the model before it, as the parser recommends, and allow what the host computes.",
    seen_in=SEEN,
    matches=(
        " UnsupportedOperationError in op /head/TopK_1: TopK operation is unsupported",
        "UnsupportedReduceMaxLayerError in op /head/ReduceMax: Failed to create reduce max layer at vertex /head/ReduceMax.",
        "UnsupportedActivationLayerError in op /act/Erf: Unexpected activation at /act/Erf, op=Erf",
    ),
    ignores=(
        "# UnsupportedOperationError in op conv2d_transpose: CUSTOM operation is unsupported",
        "Error in op 3: x",
    ),
    read=refused,
)
FAILED = Rule(
    id="hailo/parsing-failed",
    compiler=NAME,
    anchor=(
        "Parsing failed with recommendations for end node",
        "Parsing failed. The errors found in the graph are",
    ),
    pattern=r"(?:^|: )(?P<reason>Parsing failed(?: with recommendations for end node names: .{0,300}|\. The errors found in the graph are:))",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning=REFUSED.meaning,
    help=REFUSED.help,
    seen_in=SEEN,
    matches=(
        "Parsing failed with recommendations for end node names: ['/head/Add', '/head/Mul'].",
        "hailo_sdk_client.model_translator.exceptions.ParsingWithRecommendationException: Parsing failed. The errors found in the graph are:",
    ),
    read=shared.hinted,
)

REQUIRED = frozenset({Kind.COMPILE_ERROR})

READER = Reader(
    name=NAME,
    rules=(REFUSED, FAILED),
    markers=(),
    required=REQUIRED,
    prove=shared.unended("no line shows that each model was parsed and compiled", "", *REQUIRED),
    manual=__doc__,
    silent="no: a layer that is refused is an error",
    seen_in="Dataflow Compiler 3.27 to 3.33 (public logs)",
)
