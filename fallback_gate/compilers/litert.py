r"""litert: the interpreter of LiteRT and TFLite on the CPU: what XNNPACK leaves to its plain kernels.

    VERBOSE: Replacing 90 out of 120 node(s) with delegate (TfLiteXNNPackDelegate) node, yielding 3 partitions for subgraph 0 (main).

**What falls back.** A node that XNNPACK does not take runs as the interpreter's own kernel, slower. Other
delegates have a reader of their own, `tflite`; where one is at work, the proof is that reader's.

**At which setting it speaks.** Coverage: on Android by default, elsewhere at VERBOSE of the interpreter's logger;
the wheels of LiteRT 2 do not hold the line. It names no node.

**When it is silent.** By default. `Created TensorFlow Lite XNNPACK delegate for CPU` says that the delegate
exists, not what it took. A printed list of operators still names those that it took; several rows
`DELEGATE` in it mean that the graph was split.

**What proves the end.** Nothing: even `Replacing N out of N` leaves out subgraphs of which no delegate took a
node, and does not tell whether another delegate was to have them.

Wording seen in 2.21 and LiteRT 2.3 (run, and their binaries).
"""

from __future__ import annotations

from collections.abc import Mapping

from fallback_gate.compilers.reading import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.model import Kind, Proof, Scope, State

NAME = "litert"

_REPLACING = r"Replacing (?P<took>\d{1,9}) out of (?P<of>\d{1,9}) node\(s\) with delegate \((?P<delegate>(?:TfLite)?X[Nn][Nn][^()]{1,80})\) node, yielding \d{1,9} partitions"
_LINE = "VERBOSE: Replacing {} out of 120 node(s) with delegate (TfLiteXNNPackDelegate) node, yielding 3 partitions for subgraph 0 (main)."
_HELP = "benchmark_model or the model explorer shows which nodes the delegate leaves out; replace them, or make their shapes static."

PARTLY = Rule(
    id="litert/partly-delegated",
    compiler=NAME,
    anchor=("node(s) with delegate (",),
    pattern=_REPLACING.replace(r"out of (", r"out of (?!(?P=took) )("),
    kind=Kind.OP_FALLBACK,
    scope=Scope.UNKNOWN,
    meaning="The delegate took a part of the nodes; the others, which the line does not name, run as plain kernels on the CPU.",
    help=_HELP,
    seen_in="2.3 to 2.21 (its binary), VERBOSE",
    matches=(_LINE.format(90),),
    ignores=(_LINE.format(120),),
    at_least=True,
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            reason=f"{match['took']} of {match['of']} nodes went to {match['delegate']}",
            site=record.text[:300],
        ),
    ),
)

NOT_FULLY = Rule(
    id="litert/not-fully-delegated",
    compiler=NAME,
    anchor=("but the graph is not fully delegated", "Model is not fully delegated by "),
    pattern=r"(?P<reason>Hint fully delegated to single delegate is set, but the graph is not fully delegated|Model is not fully delegated by \d{1,9} backend)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.UNKNOWN,
    meaning="The program asks for a model that one delegate takes whole, and it does not.",
    help=_HELP,
    seen_in="2.21 (its binary)",
    matches=(
        "ERROR: Hint fully delegated to single delegate is set, but the graph is not fully delegated.",
        "ERROR: Model is not fully delegated by 1 backend.",
    ),
    at_least=True,
)

MARKERS = (
    Marker(
        id="litert/delegated",
        compiler=NAME,
        anchor=PARTLY.anchor,
        pattern=_REPLACING,
        shows="A delegate took nodes of a subgraph: all, or a part.",
        seen_in=PARTLY.seen_in,
        matches=(_LINE.format(120),),
    ),
    Marker(
        id="litert/delegate-created",
        compiler=NAME,
        anchor=("Created TensorFlow Lite ",),
        pattern=r"INFO: Created TensorFlow Lite (?P<what>XNNPACK )?delegate for (?P<device>\w{1,20})",
        shows="A delegate exists; nothing of what it took.",
        seen_in="2.21 (run)",
        matches=("INFO: Created TensorFlow Lite XNNPACK delegate for CPU.",),
    ),
)
REQUIRED = frozenset({Kind.OP_FALLBACK})
SETTING = "the interpreter's logger at VERBOSE: the line Replacing N out of N node(s) with delegate"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """No line shows that every subgraph went to the delegate that it was meant for."""
    if evidence.of("litert/delegated") or Kind.OP_FALLBACK in evidence.reported:
        why = "the log does not show every subgraph, nor that each went to the delegate that it was meant for"
        return {Kind.OP_FALLBACK: Proof(State.UNPROVEN, why, None, SETTING)}
    why = "this level does not show how many nodes a delegate took"
    return {Kind.OP_FALLBACK: Proof(State.UNOBSERVABLE, why, None, SETTING)}


READER = Reader(
    name=NAME,
    rules=(PARTLY, NOT_FULLY),
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    inside=frozenset({"tflite"}),
    manual=__doc__,
    silent="yes, but on Android",
    seen_in="2.21, LiteRT 2.3 (run)",
)
